//! A server and its clients as a sequence of operations that bytes choose: for the tests and for the fuzzer.
//!
//! Whatever the operations are, the events must make sense: see [`Watcher`].

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use portico_channel::layout::{
    body_flag, command, event, request_flag, response_flag as flag, take_over_flag, timeout_kind,
};
use portico_channel::{CommandWriter, EventWriter, RecordView, Records, Response};
use portico_engine::{ListenerId, ListenerOptions, Shard, TurnOutcome};

/// What clients say.
const SPEECH: [&[u8]; 14] = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHo",
    b"st: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n",
    b"0123456789",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"5\r\nhello\r\n",
    b"0\r\nTrailer: value\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: t\r\nContent-Length: 3\r\n\r\nabc",
    b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
    b"garbage\r\n\r\n",
];

/// Most clients at one time.
const CLIENTS: usize = 4;

/// Carries the operations out, ends everything, and panics if something does not make sense.
/// Returns how many events of each kind came.
pub fn run(operations: &[u8]) -> [u32; 19] {
    let mut world = World::new();
    let mut bytes = operations.iter().copied();
    while let Some(operation) = bytes.next() {
        let argument = bytes.next().unwrap_or(0);
        world.step(operation, argument, &mut bytes);
    }
    world.end()
}

struct World {
    shard: Shard,
    listener: ListenerId,
    clients: Vec<Option<Client>>,
    watcher: Watcher,
    commands: CommandWriter,
    memory: Vec<u8>,
}

struct Client {
    stream: UnixStream,
    received: Vec<u8>,
}

impl World {
    fn new() -> Self {
        let mut shard = Shard::new().expect("a shard");
        let options = ListenerOptions {
            notify_open: false,
            max_requests_per_socket: 5,
            high_water_mark: 2_000,
            ..ListenerOptions::default()
        };
        let listener = shard.create_listener(options);
        let clients = (0..CLIENTS).map(|_| None).collect();
        let (watcher, commands) = (Watcher::default(), CommandWriter::new());
        Self {
            shard,
            listener,
            clients,
            watcher,
            commands,
            memory: vec![0; 64 * 1024],
        }
    }

    fn step(&mut self, operation: u8, argument: u8, bytes: &mut impl Iterator<Item = u8>) {
        match operation % 20 {
            0..=4 => self.speak(
                argument,
                SPEECH[(usize::from(operation / 20) + usize::from(argument)) % SPEECH.len()],
            ),
            5 => {
                let words: Vec<u8> = bytes.take(usize::from(argument % 32)).collect();
                self.speak(argument, &words);
            }
            6..=8 => self.turn([4_200, 9_000, 64 * 1024][usize::from(argument % 3)]),
            9..=15 => self.command(operation, argument),
            16 => self.listen_to(argument),
            17 => {
                if let Some(client) = &self.clients[usize::from(argument) % CLIENTS] {
                    let _ = client.stream.shutdown(Shutdown::Write);
                }
            }
            18 => self.clients[usize::from(argument) % CLIENTS] = None,
            _ => {
                // Not even records.
                let nonsense: Vec<u8> = bytes.take(usize::from(argument % 48)).collect();
                let _ = self.shard.apply(&nonsense, None);
                self.watcher.forgive_all();
            }
        }
    }

    /// A client says something; a new one if there is none.
    fn speak(&mut self, client: u8, words: &[u8]) {
        let place = &mut self.clients[usize::from(client) % CLIENTS];
        let client = place.get_or_insert_with(|| {
            let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
            ours.set_nonblocking(true).expect("non-blocking");
            self.shard
                .adopt(self.listener, theirs.into())
                .expect("adopted");
            Client {
                stream: ours,
                received: Vec::new(),
            }
        });
        let _ = client.stream.write(words);
    }

    fn turn(&mut self, room: usize) {
        let mut events = EventWriter::new(&mut self.memory[..room]);
        let outcome = self.shard.turn(None, &mut events);
        self.watcher.look(events.written());
        if let TurnOutcome::NeedSpace(bytes) = outcome
            && bytes > room
            && events.is_empty()
        {
            let mut memory = vec![0; bytes];
            let mut events = EventWriter::new(&mut memory);
            let again = self.shard.turn(None, &mut events);
            assert!(
                !events.is_empty(),
                "{again:?} with the space that was asked for"
            );
            self.watcher.look(events.written());
        }
    }

    /// A command about one of the connections that are known.
    fn command(&mut self, operation: u8, argument: u8) {
        let Some((token, sequence)) = self.watcher.pick(argument) else {
            return;
        };
        let flags = [0, flag::END, flag::ACK, flag::END | flag::ACK][usize::from(argument / 4 % 4)];
        let kind = u32::from(argument / 16);
        match operation % 20 {
            9..=11 => {
                let extra = [0, flag::CHUNKED, flag::CLOSE, flag::CHUNKED | flag::CLOSE];
                let fields = format!("S: {sequence}\r\n");
                let response = Response {
                    status: 200,
                    flags: flags | flag::DATE | extra[usize::from(argument / 16 % 4)],
                    fields: fields.as_bytes(),
                    body: b"body",
                    ..Response::default()
                };
                self.commands.respond(token, sequence, &response);
            }
            12 => self.commands.data(
                token,
                sequence,
                flags,
                &vec![b'd'; usize::from(argument) * 40],
            ),
            13 => self.commands.end(token, sequence, flags, b"T: v\r\n"),
            14 => match kind % 4 {
                // Of the connection or of a body; a body's may have crossed with its end.
                0 => self.commands.write(
                    0,
                    command::Pause {
                        token,
                        sequence: sequence * u32::from(argument & 1),
                    },
                    &[],
                ),
                1 => self.commands.write(
                    0,
                    command::Resume {
                        token,
                        sequence: sequence * u32::from(argument & 1),
                    },
                    &[],
                ),
                2 => self
                    .commands
                    .write(0, command::Discard { token, sequence }, &[]),
                _ => self
                    .commands
                    .inform(token, sequence, 103, b"Early Hints", b""),
            },
            _ => match kind % 10 {
                0 => self
                    .commands
                    .write(u32::from(argument & 1), command::Destroy { token }, &[]),
                1 => self
                    .commands
                    .write(u32::from(argument & 1), command::Shutdown { token }, &[]),
                2 => self.commands.write(0, command::TakeOver { token }, &[]),
                3 => {
                    let flags = take_over_flag::BEHIND_BODY;
                    self.commands.write(flags, command::TakeOver { token }, &[]);
                }
                4 => self.commands.write(0, command::Proceed { token }, &[]),
                5 => self.commands.raw(token, flags, b"raw"),
                6 => self.commands.write(
                    0,
                    command::SetTimeout {
                        token,
                        milliseconds: 1,
                    },
                    &[],
                ),
                7 => self.commands.write(
                    0,
                    command::CloseIdle {
                        listener: self.listener.0,
                    },
                    &[],
                ),
                8 => self.commands.write(
                    0,
                    command::CloseAll {
                        listener: self.listener.0,
                    },
                    &[],
                ),
                _ => self.commands.write(
                    0,
                    command::SetSocket {
                        token,
                        no_delay: 1,
                        keep_alive: 1,
                        keep_alive_seconds: 5,
                    },
                    &[],
                ),
            },
        }
        self.shard
            .apply(self.commands.as_bytes(), None)
            .expect("the command is well formed");
        self.watcher.sent(self.commands.as_bytes());
        self.commands.clear();
    }

    /// A client reads what has come, and finds its answers in order.
    fn listen_to(&mut self, client: u8) {
        let Some(client) = &mut self.clients[usize::from(client) % CLIENTS] else {
            return;
        };
        let mut buffer = [0; 4096];
        while let Ok(count) = client.stream.read(&mut buffer) {
            if count == 0 {
                break;
            }
            client.received.extend_from_slice(&buffer[..count]);
        }
        let text = String::from_utf8_lossy(&client.received);
        let numbers: Vec<u32> = text
            .lines()
            .filter_map(|line| line.strip_prefix("S: ")?.parse().ok())
            .collect();
        assert!(
            numbers.windows(2).all(|pair| pair[0] < pair[1]),
            "answers out of order: {numbers:?}"
        );
    }

    /// All clients go, the application destroys what it knows, and nothing may be left.
    fn end(mut self) -> [u32; 19] {
        for client in 0..CLIENTS {
            self.listen_to(u8::try_from(client).expect("few clients"));
            self.clients[client] = None;
        }
        for _ in 0..1000 {
            self.turn(64 * 1024);
            for token in self.watcher.tokens() {
                self.commands.write(0, command::Destroy { token }, &[]);
            }
            self.shard
                .apply(self.commands.as_bytes(), None)
                .expect("well formed");
            self.commands.clear();
            if self.shard.counters().connections_open == 0 && !self.shard.has_pending_events() {
                break;
            }
        }
        self.turn(64 * 1024);
        assert_eq!(self.shard.counters().connections_open, 0);
        assert_eq!(self.shard.connection_count(self.listener), 0);
        assert_eq!(self.shard.referenced_connections(), 0);
        assert!(
            self.watcher.tokens().is_empty(),
            "CLOSED is missing for {:?}",
            self.watcher.tokens()
        );
        self.watcher.counts
    }
}

/// What the application knows of a connection.
#[derive(Default)]
struct Known {
    requests: u32,
    /// Whether the last request's body is still coming.
    body: bool,
    /// Whether only its end may be told.
    discarded: bool,
    upgrade: bool,
    tunnel: bool,
    /// The tunnel begins behind the last request's body.
    behind_body: bool,
    ended: bool,
    failed: bool,
    paused: bool,
    acks: u32,
}

/// Checks that events make sense: `OPEN` first, nothing after `CLOSED`, requests counted from 1, bodies only where one
/// is due, nothing while paused, no more acknowledgements than asked for.
#[derive(Default)]
struct Watcher {
    known: HashMap<u32, Known>,
    counts: [u32; 19],
    /// Nonsense may have been a command: what depends on commands is no longer checked.
    forgiving: bool,
}

impl Watcher {
    fn forgive_all(&mut self) {
        self.forgiving = true;
    }

    fn tokens(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// A connection and one of its requests.
    fn pick(&self, argument: u8) -> Option<(u32, u32)> {
        let mut tokens = self.tokens();
        tokens.sort_unstable();
        let token = *tokens.get(usize::from(argument) % tokens.len().max(1))?;
        let requests = self.known[&token].requests;
        Some((
            token,
            requests.saturating_sub(u32::from(argument / 64)).max(1),
        ))
    }

    fn sent(&mut self, commands: &[u8]) {
        for record in Records::new(commands).flatten() {
            let Some(known) = self.known.get_mut(&record.token()) else {
                continue;
            };
            match record.kind() {
                command::PAUSE if record.sequence() == 0 => known.paused = true,
                command::RESUME if record.sequence() == 0 => known.paused = false,
                command::TAKE_OVER if known.upgrade => {
                    known.upgrade = false;
                    known.behind_body = record.flags() & take_over_flag::BEHIND_BODY != 0;
                    known.tunnel = !(known.behind_body && known.body);
                }
                command::PROCEED => known.upgrade = false,
                command::DISCARD if !known.upgrade && record.sequence() == known.requests => {
                    known.discarded = known.body;
                }
                command::RESPOND
                | command::DATA
                | command::END
                | command::INFORM
                | command::RAW
                    if record.flags() & flag::ACK != 0 =>
                {
                    known.acks += 1;
                }
                _ => {}
            }
        }
    }

    fn look(&mut self, events: &[u8]) {
        for record in Records::new(events) {
            self.look_at(record.expect("a well-formed event"));
        }
    }

    fn look_at(&mut self, record: RecordView<'_>) {
        let (kind, token) = (record.kind(), record.token());
        assert!(event::is_sound(record), "what a record says of itself");
        self.counts[kind as usize] += 1;
        if kind == event::DRAINED {
            return;
        }
        if kind == event::OPEN {
            assert!(
                self.known.insert(token, Known::default()).is_none(),
                "opened twice"
            );
            return;
        }
        let forgiving = self.forgiving;
        let known = self
            .known
            .get_mut(&token)
            .expect("a connection that was opened and not closed");
        match kind {
            event::CLOSED => {
                self.known.remove(&token);
            }
            event::REQUEST => {
                known.requests += 1;
                assert_eq!(record.sequence(), known.requests);
                assert!(!known.body || forgiving, "a request in the body of another");
                assert!(!known.tunnel && !known.ended && !known.failed);
                assert!(!known.paused || forgiving, "a request while paused");
                known.upgrade = record.flags() & request_flag::UPGRADE != 0;
                known.body = record.flags() & request_flag::COMPLETE == 0;
                known.discarded = false;
            }
            event::BODY => {
                assert!(
                    known.body && !known.tunnel && !known.failed && !known.ended,
                    "no body is due"
                );
                // Of a body that is held what has been read is still handed over.
                let stopped = known.upgrade || known.paused || known.discarded;
                assert!(!stopped || forgiving);
                assert_eq!(record.sequence(), known.requests);
                known.body = record.flags() & body_flag::LAST == 0;
                known.tunnel = known.behind_body && !known.body;
            }
            event::END => {
                assert!(known.body && !known.tunnel && !known.failed);
                known.body = false;
                known.tunnel = known.behind_body;
            }
            event::RAW => {
                let raw = record.read::<event::Raw>().expect("its words");
                let is_sign = known.behind_body && raw.bytes(raw.bytes).is_empty();
                assert!(known.tunnel || is_sign || forgiving);
                assert!(!known.paused || is_sign || forgiving);
            }
            event::PEER_END => {
                assert!(!known.ended, "the end told twice");
                known.ended = true;
            }
            event::CLIENT_ERROR => {
                assert!(!known.tunnel, "told of a tunnel");
                // What follows an error is told with the same, nothing of it parsed.
                let error = record.read::<event::ClientError>().expect("its words");
                assert!(
                    !known.failed || error.parsed_bytes == 0,
                    "parsed after an error"
                );
                known.failed = true;
            }
            event::FLUSHED => {
                let flushed = record.read::<event::Flushed>().expect("its words");
                assert!(
                    flushed.count <= known.acks || forgiving,
                    "more acknowledgements than asked for"
                );
                known.acks = known.acks.saturating_sub(flushed.count);
            }
            event::TIMEOUT => {
                let timeout = record.read::<event::Timeout>().expect("its words");
                assert!(timeout.deadline <= timeout_kind::KEEP_ALIVE);
            }
            other => panic!("event {other} was not expected"),
        }
    }
}
