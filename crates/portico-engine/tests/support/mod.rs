//! A shard on real sockets, driven by the test itself: no threads, no sleeps.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_channel::layout::{event, response_flag as flag};
use portico_channel::schema::{Record, View};
use portico_channel::{CommandWriter, EventWriter, External, Records, Response};
use portico_engine::{ListenerId, ListenerOptions, Responder, Shard, TurnOutcome};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// An event, copied.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) token: u32,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}:{:x} of {:x}, {} bytes",
            self.kind,
            self.flags,
            self.token,
            self.bytes.len()
        )
    }
}

impl Event {
    /// The record as one of its kind.
    #[track_caller]
    pub(crate) fn read<R: Record>(&self) -> View<'_, R> {
        assert_eq!(self.kind, R::KIND);
        let record = Records::new(&self.bytes).next().unwrap().unwrap();
        record.read().unwrap()
    }

    /// The bytes of a `BODY` or `RAW`.
    pub(crate) fn piece(&self) -> &[u8] {
        let range = match self.kind {
            event::BODY => self.read::<event::Body>().bytes,
            _ => self.read::<event::Raw>().bytes,
        };
        &self.bytes[range.offset as usize..range.end() as usize]
    }

    /// The packet of a `CLIENT_ERROR`.
    pub(crate) fn packet(&self) -> &[u8] {
        let error = self.read::<event::ClientError>();
        error.bytes(error.packet)
    }

    /// The target of a `REQUEST`.
    pub(crate) fn target(&self) -> String {
        let request = self.read::<event::Request>();
        String::from_utf8_lossy(request.bytes(request.target)).into_owned()
    }

    /// Name and value of a header field of a `REQUEST`.
    pub(crate) fn field(&self, index: usize) -> (String, String) {
        let request = self.read::<event::Request>();
        let field = request.fields().nth(index).unwrap();
        (
            String::from_utf8_lossy(request.bytes(field.name())).into_owned(),
            String::from_utf8_lossy(request.bytes(field.value)).into_owned(),
        )
    }

    /// Name and value of a trailer field of an `END`.
    pub(crate) fn trailer(&self, index: usize) -> (String, String) {
        let end = self.read::<event::End>();
        let field = end.fields().nth(index).unwrap();
        (
            String::from_utf8_lossy(end.bytes(field.name())).into_owned(),
            String::from_utf8_lossy(end.bytes(field.value)).into_owned(),
        )
    }

    pub(crate) fn sequence(&self) -> u32 {
        let record = Records::new(&self.bytes).next().unwrap().unwrap();
        record.sequence()
    }
}

/// A shard with one listener on loopback.
pub(crate) struct Server {
    pub(crate) shard: Shard,
    pub(crate) listener: ListenerId,
    pub(crate) address: SocketAddr,
    pub(crate) commands: CommandWriter,
    /// Who is offered each request.
    pub(crate) responder: Option<Box<dyn Responder>>,
    memory: Vec<u8>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(ListenerOptions::default())
    }

    pub(crate) fn with(options: ListenerOptions) -> Self {
        Self::with_context(options, None)
    }

    /// With a TLS context, whose number is 1.
    pub(crate) fn with_context(
        options: ListenerOptions,
        context: Option<portico_tls::Context>,
    ) -> Self {
        Self::build(Shard::new().unwrap(), options, context, 64 * 1024)
    }

    /// With so many bytes for events.
    pub(crate) fn with_memory(options: ListenerOptions, bytes: usize) -> Self {
        Self::build(Shard::new().unwrap(), options, None, bytes)
    }

    /// With room for so many connections.
    pub(crate) fn with_slots(options: ListenerOptions, slots: usize) -> Self {
        let shard = Shard::with_slots(0, slots).unwrap();
        Self::build(shard, options, None, 64 * 1024)
    }

    fn build(
        mut shard: Shard,
        options: ListenerOptions,
        context: Option<portico_tls::Context>,
        bytes: usize,
    ) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        if let Some(context) = context {
            shard.add_tls_context(context);
        }
        let listener = shard.listen(OwnedFd::from(socket), 511, options).unwrap();
        Self {
            shard,
            listener,
            address,
            commands: CommandWriter::new(),
            responder: None,
            memory: vec![0; bytes],
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// One turn that waits at most so long.
    pub(crate) fn turn(&mut self, wait: Duration) -> Vec<Event> {
        let mut events = EventWriter::new(&mut self.memory);
        let outcome = match &mut self.responder {
            None => self.shard.turn(Some(wait), &mut events),
            Some(responder) => self
                .shard
                .turn_with(Some(wait), &mut events, responder.as_mut()),
        };
        let found = decode(events.written());
        if let TurnOutcome::NeedSpace(bytes) = outcome
            && found.is_empty()
            && self.memory.len() < bytes
        {
            self.memory.resize(bytes, 0);
        }
        found
    }

    /// Turns until nothing has happened for a moment.
    pub(crate) fn settle(&mut self) -> Vec<Event> {
        self.settle_for(Duration::from_millis(20))
    }

    /// As [`Server::settle`], for what loopback has delivered already.
    pub(crate) fn settle_fast(&mut self) -> Vec<Event> {
        self.settle_for(Duration::from_millis(1))
    }

    fn settle_for(&mut self, moment: Duration) -> Vec<Event> {
        let mut all = Vec::new();
        let mut quiet = 0;
        // Accepting is a turn without events too.
        while quiet < 2 {
            let found = self.turn(moment);
            quiet = if found.is_empty() && !self.shard.has_pending_events() {
                quiet + 1
            } else {
                0
            };
            all.extend(found);
        }
        all
    }

    /// Turns until `enough` says so of all events so far.
    pub(crate) fn until(&mut self, mut enough: impl FnMut(&[Event]) -> bool) -> Vec<Event> {
        let start = Instant::now();
        let mut all = Vec::new();
        while !enough(&all) {
            assert!(start.elapsed() < PATIENCE, "no such events: {all:?}");
            all.extend(self.turn(Duration::from_millis(20)));
        }
        all
    }

    /// Turns until an event of this kind comes, and returns it. Others before it are dropped.
    pub(crate) fn next(&mut self, kind: u32) -> Event {
        let events = self.until(|events| events.iter().any(|event| event.kind == kind));
        events.into_iter().find(|event| event.kind == kind).unwrap()
    }

    /// Turns until `count` events of this kind have come, and returns them.
    pub(crate) fn collect(&mut self, kind: u32, count: usize) -> Vec<Event> {
        let events =
            self.until(|events| events.iter().filter(|event| event.kind == kind).count() >= count);
        events
            .into_iter()
            .filter(|event| event.kind == kind)
            .collect()
    }

    pub(crate) fn request(&mut self) -> Event {
        self.next(event::REQUEST)
    }

    /// Applies what is in `commands`.
    pub(crate) fn submit(&mut self) {
        self.submit_with(None);
    }

    pub(crate) fn submit_with(&mut self, external: Option<&[u8]>) {
        let commands = std::mem::take(&mut self.commands);
        self.shard
            .apply(commands.as_bytes(), external.map(External::from))
            .unwrap();
    }

    /// Applies what is in `commands`, the last of which has its body outside.
    pub(crate) fn submit_external(&mut self, external: External<'_>) {
        let commands = std::mem::take(&mut self.commands);
        self.shard
            .apply(commands.as_bytes(), Some(external))
            .unwrap();
    }

    /// A whole answer with Content-Length, and the submission.
    pub(crate) fn answer(&mut self, request: &Event, body: &[u8]) {
        self.answer_flags(request, body, 0);
    }

    pub(crate) fn answer_flags(&mut self, request: &Event, body: &[u8], flags: u32) {
        self.queue_answer_flags(request, body, flags);
        self.submit();
    }

    /// A whole answer, to be submitted with others.
    pub(crate) fn queue_answer(&mut self, request: &Event, body: &[u8]) {
        self.queue_answer_flags(request, body, 0);
    }

    fn queue_answer_flags(&mut self, request: &Event, body: &[u8], flags: u32) {
        let response = Response {
            status: 200,
            flags: flag::END | flag::CONTENT_LENGTH | flags,
            reason: b"OK",
            body,
            content_length: body.len() as u64,
            ..Response::default()
        };
        self.commands
            .respond(request.token, request.sequence(), &response);
    }

    /// A head for a chunked answer.
    pub(crate) fn chunked_head(&mut self, request: &Event) {
        let response = Response {
            status: 200,
            flags: flag::CHUNKED | flag::TRANSFER_ENCODING,
            reason: b"OK",
            ..Response::default()
        };
        self.commands
            .respond(request.token, request.sequence(), &response);
    }
}

/// A file in memory, without a name.
pub(crate) fn memory_file(bytes: &[u8]) -> Arc<OwnedFd> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("range", flags).unwrap());
    file.write_all(bytes).unwrap();
    Arc::new(file.into())
}

pub(crate) fn decode(bytes: &[u8]) -> Vec<Event> {
    Records::new(bytes)
        .map(|record| {
            let record = record.unwrap();
            Event {
                kind: record.kind(),
                flags: record.flags(),
                token: record.token(),
                bytes: record.as_bytes().to_vec(),
            }
        })
        .collect()
}

/// Reads exactly `text`.
#[track_caller]
pub(crate) fn expect(stream: &mut TcpStream, text: &str) {
    let mut buffer = vec![0; text.len()];
    let mut length = 0;
    while length < buffer.len() {
        match stream.read(&mut buffer[length..]) {
            Ok(count) if count > 0 => length += count,
            other => panic!(
                "{other:?} after {:?}",
                String::from_utf8_lossy(&buffer[..length])
            ),
        }
        if !text.as_bytes().starts_with(&buffer[..length]) {
            break;
        }
    }
    assert_eq!(String::from_utf8_lossy(&buffer[..length]), text);
}

/// Reads one answer with Content-Length and returns its body.
#[track_caller]
pub(crate) fn read_answer(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "ended in {:?}",
            String::from_utf8_lossy(&head)
        );
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |value| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

pub(crate) fn send(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) {
    stream.write_all(bytes.as_ref()).unwrap();
}

/// Reads to the end; the error if the connection was reset.
pub(crate) fn read_to_end(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).map(|_| all)
}
