//! A member that writes anything, anywhere and at any time into its side of the channel, as a sequence of operations,
//! beside a good one whose requests must be answered whatever happens. Used by `tests/hostile.rs` and by the fuzz
//! target `channel_application_side`.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use portico_application::AttachedEngine;
use portico_channel::layout::{command, event, response_flag as flag};
use portico_channel::shared::{ApplicationEnd, Capacity, HostEnd};
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_dispatch::{
    Affinity, Endpoint, MemberId, NewMember, QueueId, QueueOptions, Routes, ShardThread, UserMemory,
};
use portico_engine::ListenerOptions;
use portico_router::{Scheme, UrlPrefix};
use portico_sys::{Bell, Ringer, bell};

const GOOD: QueueId = QueueId(1);
const BAD: QueueId = QueueId(2);
const CHANNEL_BYTES: u32 = 64 * 1024;
/// Where the positions and sleepers lie in the memory.
const HEADER_BYTES: u64 = 1200;
const PATIENCE: Duration = Duration::from_secs(20);

/// Plays a sequence. Panics if the good member is not served.
#[allow(unreachable_pub, reason = "a module of a fuzz target too")]
pub fn run(operations: &[u8]) {
    let mut world = World::new();
    let mut source = Source(operations);
    while let Some(operation) = source.byte() {
        world.act(operation, &mut source);
    }
    world.good_is_served();
}

/// The rest of the sequence.
struct Source<'a>(&'a [u8]);

impl<'a> Source<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn small(&mut self) -> u32 {
        u32::from(self.byte().unwrap_or(0))
    }

    fn word(&mut self) -> u32 {
        let bytes = [0; 4].map(|_: u8| self.byte().unwrap_or(0));
        u32::from_le_bytes(bytes)
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte().unwrap_or(0)).min(self.0.len());
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }
}

struct Bad {
    id: MemberId,
    end: ApplicationEnd,
    memory: OwnedFd,
    ringer: Ringer,
    /// Never looked at.
    _bell: Bell,
    /// Requests it has seen.
    requests: Vec<(u32, u32)>,
}

struct World {
    shard: ShardThread,
    address: SocketAddr,
    good: AttachedEngine,
    bad: Bad,
    clients: Vec<UnixStream>,
    members: u32,
    memory: Vec<u8>,
}

impl World {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("portico-hostile-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let socket = UnixListener::bind_addr(&address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let shard = ShardThread::start_all(1).unwrap().remove(0);
        let endpoint = Endpoint {
            scheme: Scheme::Http,
            port: 80,
        };
        shard
            .listen(socket.into(), ListenerOptions::default(), endpoint)
            .unwrap();
        let mut routes = Routes::default();
        for (text, queue) in [("http://*:80/good/", GOOD), ("http://*:80/bad/", BAD)] {
            let prefix = UrlPrefix::parse(text).unwrap();
            routes.table.insert(prefix, queue).unwrap();
        }
        let options = QueueOptions {
            length: 20,
            retry_safe: true,
            max_in_flight: 8,
            affinity: Affinity::Header("x-user".to_owned()),
            ..QueueOptions::default()
        };
        routes.queues.insert(BAD, options);
        shard.set_routes(Arc::new(routes));
        let (memory, ringer, bell) = attach(&shard, MemberId(1), GOOD);
        let good = AttachedEngine::open(bell, vec![(memory, ringer)]).unwrap();
        let bad = Bad::new(&shard, MemberId(2));
        Self {
            shard,
            address,
            good,
            bad,
            clients: Vec::new(),
            members: 2,
            memory: vec![0; 128 * 1024],
        }
    }

    fn act(&mut self, operation: u8, source: &mut Source<'_>) {
        match operation % 16 {
            0 => self.client().write(
                source,
                b"GET /bad/a HTTP/1.1\r\nHost: a\r\nX-User: b\r\n\r\n",
            ),
            1 => self.client().write(
                source,
                b"POST /bad/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
            ),
            2 => self.client().write(
                source,
                b"GET /bad/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            ),
            3 => {
                let bytes = source.bytes();
                self.client().write(source, bytes);
            }
            4 => {
                if !self.clients.is_empty() {
                    let index = source.small() as usize % self.clients.len();
                    self.clients.swap_remove(index);
                }
            }
            5 => self.good_is_served(),
            6 => self.bad.scribble(u64::from(source.word()), source.bytes()),
            7 => self
                .bad
                .scribble(u64::from(source.word()) % HEADER_BYTES, source.bytes()),
            8 => {
                // A position that is nearly right.
                let place = [128, 256, 384, 512][source.small() as usize % 4];
                let value = u64::from(source.word() % (2 * CHANNEL_BYTES));
                self.bad.scribble(place, &value.to_le_bytes());
            }
            9 => self.bad.ringer.ring(),
            10 => self.bad.read(&mut self.memory),
            11 => self.bad.write_record(source),
            12 => self.bad.answer(source),
            13 => self.bad.template(source),
            14 => {
                // The host may have dropped it already.
                self.shard.detach(self.bad.id);
                self.members += 1;
                self.bad = Bad::new(&self.shard, MemberId(self.members));
            }
            _ => {
                if source.small() == 0 {
                    self.shard.leave(self.bad.id);
                } else {
                    let _ = self.shard.stats();
                }
            }
        }
    }

    fn client(&mut self) -> Writing<'_> {
        Writing(self)
    }

    /// A request of another member is answered as if nothing were.
    fn good_is_served(&mut self) {
        let mut client = UnixStream::connect_addr(&self.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
            .write_all(b"GET /good/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .unwrap();
        let start = Instant::now();
        while !self.answer_good() {
            assert!(start.elapsed() < PATIENCE, "the good member got no request");
            std::thread::yield_now();
        }
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert!(
            answer.ends_with(b"\r\n\r\ngood"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }

    fn answer_good(&mut self) -> bool {
        let mut events = EventWriter::new(&mut self.memory);
        self.good.take(&mut events);
        let mut commands = CommandWriter::new();
        for record in Records::new(events.written()) {
            let record = record.unwrap();
            if record.kind() == event::REQUEST {
                let response = Response {
                    status: 200,
                    flags: flag::END | flag::CONTENT_LENGTH | flag::CLOSE | flag::CONNECTION_CLOSE,
                    body: b"good",
                    content_length: 4,
                    ..Response::default()
                };
                commands.respond(record.token(), record.sequence(), &response);
            }
        }
        self.good.submit(commands.as_bytes(), None).unwrap();
        !commands.as_bytes().is_empty()
    }
}

/// One of the clients, an old or a new one.
struct Writing<'a>(&'a mut World);

impl Writing<'_> {
    fn write(self, source: &mut Source<'_>, bytes: &[u8]) {
        let number = source.small() as usize % 8;
        let clients = &mut self.0.clients;
        if number >= clients.len() {
            let client = UnixStream::connect_addr(&self.0.address).unwrap();
            client.set_nonblocking(true).unwrap();
            clients.push(client);
        }
        let index = number.min(clients.len() - 1);
        // Its connection may have ended, or take no more.
        let _ = clients[index].write(bytes);
    }
}

impl Bad {
    fn new(shard: &ShardThread, id: MemberId) -> Self {
        let (memory, ringer, bell) = attach(shard, id, BAD);
        Self {
            id,
            end: ApplicationEnd::open(&memory).unwrap(),
            memory,
            ringer,
            _bell: bell,
            requests: Vec::new(),
        }
    }

    /// Bytes at any place of the memory.
    fn scribble(&self, offset: u64, bytes: &[u8]) {
        let size = 4096 + 2 * u64::from(CHANNEL_BYTES);
        // Beyond the end nothing can be written: the memory is sealed.
        let _ = rustix::io::pwrite(&self.memory, bytes, offset % size);
    }

    fn read(&mut self, memory: &mut [u8]) {
        let Ok(count) = self.end.events.copy(memory) else {
            return;
        };
        for record in Records::new(&memory[..count]).flatten() {
            if record.kind() == event::REQUEST {
                self.requests.push((record.token(), record.sequence()));
            }
        }
        let _ = self.end.events.take(count);
    }

    fn named(&self, source: &mut Source<'_>) -> (u32, u32) {
        let number = source.small() as usize;
        match self.requests.len() {
            0 => (
                (source.small() << 20) | (source.small() % 8),
                source.small() % 4,
            ),
            count => self.requests[number % count],
        }
    }

    /// A record with the words of the sequence.
    fn write_record(&mut self, source: &mut Source<'_>) {
        let kind = source.small() % 24;
        let (token, sequence) = self.named(source);
        let flags = source.word() & 0x7ff;
        let mut words = vec![token, sequence];
        for _ in 0..source.small() % 10 {
            words.push(source.small());
        }
        let mut writer = CommandWriter::new();
        writer.unlisted(kind, flags, &words, &[source.bytes()]);
        self.write(writer.as_bytes());
    }

    /// An answer that is nearly right.
    fn answer(&mut self, source: &mut Source<'_>) {
        let (token, sequence) = self.named(source);
        let mut writer = CommandWriter::new();
        let length = source.small() % 8;
        match source.small() % 5 {
            0 => writer.respond(
                token,
                sequence,
                &Response {
                    status: 200 + source.small() % 4,
                    flags: flag::END | flag::CONTENT_LENGTH,
                    template: source.small() % 4,
                    body: b"hello",
                    content_length: 3 + u64::from(length),
                    ..Response::default()
                },
            ),
            1 => writer.respond(
                token,
                sequence,
                &Response {
                    status: 200,
                    flags: source.word() & 0x3ff,
                    fields: b"Content-Length: 4\r\n",
                    content_length: u64::from(length),
                    ..Response::default()
                },
            ),
            2 => writer.data(token, sequence, source.small() & 3, source.bytes()),
            3 => writer.end(token, sequence, source.small() & 2, b"A: b\r\n"),
            _ => {
                let kinds = [
                    command::TAKE_OVER,
                    command::PROCEED,
                    command::PAUSE,
                    command::SHUTDOWN,
                ];
                writer.unlisted(
                    kinds[source.small() as usize % 4],
                    source.small() & 1,
                    &[token],
                    &[],
                );
                writer.raw(token, source.small() & 2, source.bytes());
            }
        }
        self.write(writer.as_bytes());
    }

    fn template(&mut self, source: &mut Source<'_>) {
        let mut writer = CommandWriter::new();
        let number = source.small();
        match source.small() % 3 {
            0 => writer.template(number, b"OK", source.bytes()),
            1 => writer.template(number % 4, b"OK", b"Content-Length: 5\r\n"),
            _ => writer.template(number % 4, b"OK", b"Transfer-Encoding: chunked\r\n"),
        }
        self.write(writer.as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        let _ = self.end.commands.write(bytes);
        self.ringer.ring();
    }
}

/// Attaches a member. Returns its memory, what rings the shard, and its bell.
fn attach(shard: &ShardThread, id: MemberId, queue: QueueId) -> (OwnedFd, Ringer, Bell) {
    let capacity = Capacity {
        events: CHANNEL_BYTES,
        commands: CHANNEL_BYTES,
    };
    let (end, memory) = HostEnd::create(capacity).unwrap();
    let (ringer, host_bell) = bell().unwrap();
    let (host_ringer, bell) = bell().unwrap();
    let load = Arc::default();
    shard
        .attach(NewMember {
            id,
            queue,
            end,
            bell: host_bell,
            ringer: Arc::new(host_ringer),
            load,
            memory: UserMemory::limited(),
        })
        .unwrap();
    (memory, ringer, bell)
}
