//! An application that the test plays.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use portico_application::AttachedEngine;
use portico_channel::layout::{command, event, response_flag as flag};
use portico_channel::schema::{Record, View};
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_dispatch::MemberId;
use portico_engine::TurnOutcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PATIENCE;

/// An event, copied.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) token: u32,
    bytes: Vec<u8>,
}

impl Event {
    /// The record as one of its kind.
    #[track_caller]
    pub(crate) fn read<R: Record>(&self) -> View<'_, R> {
        assert_eq!(self.kind, R::KIND);
        let record = Records::new(&self.bytes).next().unwrap().unwrap();
        record.read().expect("a record that is what it says")
    }

    /// Bytes of its record.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn as_request(&self) -> Req {
        let request = self.read::<event::Request>();
        Req {
            token: request.token,
            sequence: request.sequence,
            target: String::from_utf8_lossy(request.bytes(request.target)).into_owned(),
            flags: self.flags,
        }
    }

    /// The bytes of a `BODY` or `RAW`.
    pub(crate) fn piece(&self) -> &[u8] {
        let range = match self.kind {
            event::BODY => self.read::<event::Body>().bytes,
            _ => self.read::<event::Raw>().bytes,
        };
        &self.bytes[range.offset as usize..range.end() as usize]
    }
}

/// A request that an application got.
#[derive(Clone, Debug)]
pub(crate) struct Req {
    pub(crate) token: u32,
    pub(crate) sequence: u32,
    pub(crate) target: String,
    pub(crate) flags: u32,
}

pub(crate) struct App {
    pub(crate) id: MemberId,
    pub(crate) engine: AttachedEngine,
    pub(crate) commands: CommandWriter,
    queue: VecDeque<Event>,
    memory: Vec<u8>,
    /// `OPEN` events by token, in order.
    pub(crate) opened: Vec<u32>,
    pub(crate) closed: Vec<u32>,
}

impl App {
    pub(crate) fn new(id: MemberId, engine: AttachedEngine) -> Self {
        Self {
            id,
            engine,
            commands: CommandWriter::new(),
            queue: VecDeque::new(),
            memory: vec![0; 128 * 1024],
            opened: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Takes what is there; waits for something at most so long.
    pub(crate) fn poll(&mut self, wait: Duration) -> bool {
        let wait = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        let fd = rustix_fd(&self.engine);
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        poll(&mut fds, Some(&wait)).unwrap();
        self.take()
    }

    /// Takes what is there.
    pub(crate) fn take(&mut self) -> bool {
        let before = self.queue.len();
        loop {
            let mut events = EventWriter::new(&mut self.memory);
            let outcome = self.engine.take(&mut events);
            for record in Records::new(events.written()) {
                let record = record.unwrap();
                let event = Event {
                    kind: record.kind(),
                    flags: record.flags(),
                    token: record.token(),
                    bytes: record.as_bytes().to_vec(),
                };
                match event.kind {
                    event::OPEN => self.opened.push(event.token),
                    event::CLOSED => self.closed.push(event.token),
                    _ => {}
                }
                self.queue.push_back(event);
            }
            match outcome {
                TurnOutcome::Idle => break,
                TurnOutcome::NeedSpace(bytes) if bytes > self.memory.len() => {
                    self.memory.resize(bytes, 0);
                }
                _ => {}
            }
        }
        self.queue.len() > before
    }

    /// The next event of a kind; others before it are dropped.
    #[track_caller]
    pub(crate) fn next(&mut self, kind: u32) -> Event {
        let start = Instant::now();
        loop {
            while let Some(event) = self.queue.pop_front() {
                if event.kind == kind {
                    return event;
                }
            }
            assert!(start.elapsed() < PATIENCE, "no event of kind {kind}");
            self.poll(Duration::from_millis(100));
        }
    }

    /// The next event, whatever it is.
    #[track_caller]
    pub(crate) fn any(&mut self) -> Event {
        let start = Instant::now();
        loop {
            if let Some(event) = self.queue.pop_front() {
                return event;
            }
            assert!(start.elapsed() < PATIENCE, "no event");
            self.poll(Duration::from_millis(100));
        }
    }

    /// Whether an event of a kind is there after everything the host had to say has come.
    pub(crate) fn has(&mut self, kind: u32) -> bool {
        self.take();
        self.queue.iter().any(|event| event.kind == kind)
    }

    #[track_caller]
    pub(crate) fn request(&mut self) -> Req {
        self.next(event::REQUEST).as_request()
    }

    /// The whole body of the request in work.
    #[track_caller]
    pub(crate) fn body(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        let start = Instant::now();
        loop {
            while let Some(event) = self.queue.pop_front() {
                match event.kind {
                    event::BODY => {
                        body.extend_from_slice(event.piece());
                        if event.flags & 1 != 0 {
                            return body;
                        }
                    }
                    event::END => return body,
                    _ => {}
                }
            }
            assert!(start.elapsed() < PATIENCE, "the body does not end");
            self.poll(Duration::from_millis(100));
        }
    }

    pub(crate) fn submit(&mut self) {
        let commands = std::mem::take(&mut self.commands);
        self.engine.submit(commands.as_bytes(), None).unwrap();
    }

    pub(crate) fn answer(&mut self, request: &Req, body: &str) {
        self.answer_with(request, body.as_bytes(), 0);
    }

    pub(crate) fn answer_with(&mut self, request: &Req, body: &[u8], flags: u32) {
        let length = body.len() as u64;
        self.head(
            request,
            200,
            flag::END | flag::CONTENT_LENGTH | flags,
            "",
            body,
            length,
        );
    }

    /// A head with anything in it.
    pub(crate) fn head(
        &mut self,
        request: &Req,
        status: u32,
        flags: u32,
        fields: &str,
        body: &[u8],
        length: u64,
    ) {
        let response = Response {
            status,
            flags,
            reason: b"OK",
            fields: fields.as_bytes(),
            body,
            content_length: length,
            ..Response::default()
        };
        self.commands
            .respond(request.token, request.sequence, &response);
        self.submit();
    }

    pub(crate) fn chunked_head(&mut self, request: &Req) {
        self.head(
            request,
            200,
            flag::CHUNKED | flag::TRANSFER_ENCODING,
            "",
            b"",
            0,
        );
    }

    pub(crate) fn data(&mut self, request: &Req, bytes: &[u8], flags: u32) {
        self.commands
            .data(request.token, request.sequence, flags, bytes);
        self.submit();
    }

    pub(crate) fn end(&mut self, request: &Req) {
        self.commands.end(request.token, request.sequence, 0, b"");
        self.submit();
    }

    /// A command without payload.
    pub(crate) fn command<R: Record>(&mut self, flags: u32, words: R) {
        self.commands.write(flags, words, &[]);
        self.submit();
    }

    /// Gives the answer to a request up.
    pub(crate) fn give_up(&mut self, token: u32, sequence: u32) {
        self.commands.reset(token, sequence);
        self.submit();
    }

    /// Wants no more of a request's body for now.
    pub(crate) fn pause(&mut self, request: &Req) {
        self.commands.write(
            0,
            command::Pause {
                token: request.token,
                sequence: request.sequence,
            },
            &[],
        );
        self.submit();
    }

    pub(crate) fn raw(&mut self, token: u32, bytes: &[u8]) {
        self.commands.raw(token, 0, bytes);
        self.submit();
    }
}

fn rustix_fd(engine: &AttachedEngine) -> std::os::fd::BorrowedFd<'_> {
    // SAFETY: the engine owns the descriptor and outlives the borrow.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(engine.poll_fd()) }
}
