//! A shard whose connections speak the tests' protocol, and a client of it.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use portico_channel::layout::{event, response_flag};
use portico_channel::{CommandWriter, EventWriter, Records, Response};

use crate::Shard;
use crate::echo::Echo;
use crate::echo::frames::{Frame, Kind};
use crate::{ListenerId, ListenerOptions, Offer, Offered, Responder, TurnOutcome};

/// A shard whose connections speak in streams, and a client.
pub(super) struct Pair {
    pub(super) shard: Shard,
    pub(super) client: UnixStream,
    pub(super) token: u32,
    received: Vec<u8>,
}

/// What the shard told: kind, sequence, flags, payload (or count, or code).
pub(super) type Event = (u32, u32, u32, Vec<u8>);

impl Pair {
    pub(super) fn new() -> Self {
        let mut shard = Shard::new().unwrap();
        shard.first_protocol = Echo::first;
        let listener: ListenerId = shard.create_listener(ListenerOptions::default());
        let (client, theirs) = UnixStream::pair().unwrap();
        client.set_nonblocking(true).unwrap();
        shard.adopt(listener, theirs.into()).unwrap();
        Self {
            shard,
            client,
            token: 0,
            received: Vec::new(),
        }
    }

    pub(super) fn send(&mut self, stream: u32, kind: Kind, payload: &[u8]) {
        let mut bytes = Vec::new();
        let frame = Frame {
            stream,
            kind,
            payload,
        };
        frame.write(&mut bytes);
        self.client.write_all(&bytes).unwrap();
    }

    /// What some turns tell, but for `OPEN`.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        self.take_events_with(&mut Passes)
    }

    /// The same, with a responder.
    pub(super) fn take_events_with(&mut self, responder: &mut dyn Responder) -> Vec<Event> {
        let mut memory = vec![0; 256 * 1024];
        let mut events = EventWriter::new(&mut memory);
        for _ in 0..4 {
            let outcome = self.shard.turn_with(None, &mut events, responder);
            assert!(!matches!(outcome, TurnOutcome::NeedSpace(_)));
        }
        let mut told = Vec::new();
        for record in Records::new(events.written()).map(Result::unwrap) {
            let rest = match record.kind() {
                event::OPEN => {
                    self.token = record.token();
                    continue;
                }
                event::REQUEST => {
                    let words = record.read::<event::Request>().unwrap();
                    words.bytes(words.target).to_vec()
                }
                event::BODY => {
                    let words = record.read::<event::Body>().unwrap();
                    words.bytes(words.bytes).to_vec()
                }
                event::RESET => {
                    let words = record.read::<event::Reset>().unwrap();
                    words.code.to_be_bytes().to_vec()
                }
                event::FLUSHED => {
                    let words = record.read::<event::Flushed>().unwrap();
                    assert_eq!(words.token, self.token);
                    let count = words.count.to_be_bytes().to_vec();
                    told.push((event::FLUSHED, words.sequence, words.flags(), count));
                    continue;
                }
                _ => Vec::new(),
            };
            told.push((record.kind(), record.sequence(), record.flags(), rest));
        }
        told
    }

    pub(super) fn apply(&mut self, write: impl FnOnce(&mut CommandWriter, u32)) {
        let mut commands = CommandWriter::new();
        write(&mut commands, self.token);
        self.shard.apply(commands.as_bytes(), None).unwrap();
    }

    pub(super) fn answer(&mut self, sequence: u32, flags: u32, body: &[u8]) {
        self.apply(|commands, token| {
            let response = Response {
                status: 200,
                flags: flags | response_flag::END,
                body,
                ..Response::default()
            };
            commands.respond(token, sequence, &response);
        });
    }

    /// The frames that have come: stream, kind, payload.
    pub(super) fn frames(&mut self) -> Vec<(u32, Kind, Vec<u8>)> {
        self.read();
        let mut frames = Vec::new();
        let mut used = 0;
        while let Some((frame, size)) = Frame::read(&self.received[used..]) {
            frames.push((frame.stream, frame.kind, frame.payload.to_vec()));
            used += size;
        }
        self.received.drain(..used);
        frames
    }

    pub(super) fn read(&mut self) {
        let mut buffer = [0; 65536];
        loop {
            match self.client.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Passes everything.
struct Passes;

impl Responder for Passes {
    fn offer(&mut self, _: &Offer<'_>) -> Offered {
        Offered::Passed
    }
}

/// Has everything wait.
#[derive(Default)]
pub(super) struct Slow {
    pub(super) cancelled: Vec<u32>,
}

impl Responder for Slow {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        match offer.head().target() {
            b"/slow" => Offered::Waits,
            _ => Offered::Passed,
        }
    }

    fn cancelled(&mut self, _: u32, sequence: u32) {
        self.cancelled.push(sequence);
    }
}

/// Streams in the order of their ends.
pub(super) fn ends(frames: &[(u32, Kind, Vec<u8>)]) -> Vec<u32> {
    let ends = frames.iter().filter(|(_, kind, _)| *kind == Kind::End);
    ends.map(|(stream, ..)| *stream).collect()
}
