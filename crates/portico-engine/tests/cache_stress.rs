//! One cache for two shards on two threads: hits, validations, purges, evictions, answers that are given up and clients that
//! go, all at once. Each answer names its target and its version: nothing of one key comes under another, nothing comes that
//! was purged before its request began, and the memory stays within its budget.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use portico_cache::store::StoreLimits;
use portico_cache::storing::Rule;
use portico_channel::Response;
use portico_channel::layout::{command, event, response_flag as flag};
use portico_engine::{CacheSite, OutputCache};
use support::{Event, Server, send};

const KEYS: u64 = 200;
const BUDGET: usize = 1 << 19;
const ANSWERS_PER_THREAD: u64 = 3_000;
const CLIENTS: usize = 6;

/// What the threads share beside the cache.
struct Shared {
    cache: Arc<OutputCache>,
    /// Versions of answers, which grow.
    version: AtomicU64,
    /// Below this no version of a key may come to requests that begin now.
    purged: Vec<AtomicU64>,
    is_over: AtomicBool,
}

/// Numbers as if by chance (xorshift), the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A client with at most one request under way.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    /// The key that it has asked for, and what must not come.
    asked: Option<(u64, u64)>,
}

impl Client {
    fn new(server: &Server) -> Self {
        let stream = server.connect();
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            received: Vec::new(),
            asked: None,
        }
    }

    /// Reads what is there. `false`: the server has ended the connection.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }

    /// The status and body of an answer that has come whole.
    fn answer(&mut self) -> Option<(String, Vec<u8>)> {
        let end = self
            .received
            .windows(4)
            .position(|end| end == b"\r\n\r\n")?
            + 4;
        let head = String::from_utf8(self.received[..end].to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .map_or(0, |length| length.parse().unwrap());
        let body = self.received.get(end..end + length)?.to_vec();
        self.received.drain(..end + length);
        Some((head, body))
    }
}

#[test]
fn two_shards_share_a_cache_under_purges_evictions_and_deaths() {
    let limits = StoreLimits {
        budget_bytes: BUDGET,
        max_body_bytes: 32 * 1024,
        ..StoreLimits::default()
    };
    let shared = Arc::new(Shared {
        cache: Arc::new(OutputCache::new(limits)),
        version: AtomicU64::new(1),
        purged: (0..KEYS).map(|_| AtomicU64::new(0)).collect(),
        is_over: AtomicBool::new(false),
    });
    let threads: Vec<_> = [7, 11]
        .map(|seed| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || serve(&shared, Chance(seed)))
        })
        .into_iter()
        .collect();
    let purger = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || purge(&shared, Chance(13)))
    };
    for thread in threads {
        thread.join().unwrap();
    }
    shared.is_over.store(true, Ordering::Relaxed);
    purger.join().unwrap();
    let stats = shared.cache.stats();
    // How often what happened is the machine's to say.
    assert!(stats.hits > 0 && stats.store.inserted > 0, "{stats:?}");
}

/// Purges keys and tags, and looks at the memory.
fn purge(shared: &Shared, mut chance: Chance) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let key = chance.below(KEYS);
        let until = shared.version.load(Ordering::SeqCst);
        let target = format!("/{key}");
        let keys: Vec<u64> = match chance.below(20) {
            0 => {
                shared.cache.purge_by("tag", "even", None).unwrap();
                (0..KEYS).filter(|key| key % 2 == 0).collect()
            }
            1 => {
                shared.cache.purge_by("all", "", None).unwrap();
                (0..KEYS).collect()
            }
            _ => {
                shared.cache.purge_by("url", &target, None).unwrap();
                vec![key]
            }
        };
        for key in keys {
            shared.purged[key as usize].fetch_max(until, Ordering::SeqCst);
        }
        let used = shared.cache.stats().store.used_bytes;
        assert!(used <= BUDGET + BUDGET / 20, "{used} bytes");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A shard, its application and its clients.
fn serve(shared: &Shared, mut chance: Chance) {
    let mut server = Server::new();
    let site = CacheSite {
        rule: Some(Rule::Standard),
        ..CacheSite::default()
    };
    let cache = Arc::clone(&shared.cache);
    server.shard.use_cache(cache, site).unwrap();
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::new(&server)).collect();
    let start = Instant::now();
    let mut answers = 0;
    while answers < ANSWERS_PER_THREAD {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "{answers} answers"
        );
        for client in &mut clients {
            if client.asked.is_none() {
                let key = chance.below(KEYS) * chance.below(KEYS) / KEYS;
                let least = shared.purged[key as usize].load(Ordering::SeqCst);
                send(
                    &mut client.stream,
                    format!("GET /{key} HTTP/1.1\r\nHost: a.test\r\n\r\n"),
                );
                client.asked = Some((key, least));
            }
        }
        for asked in server.turn(Duration::from_millis(1)) {
            if asked.kind == event::REQUEST {
                answer(shared, &mut server, &asked, &mut chance);
            }
        }
        for client in &mut clients {
            let is_open = client.read();
            if let Some((head, body)) = client.answer() {
                check(&head, &body, client.asked.take().unwrap());
                answers += 1;
            }
            if !is_open || client.asked.is_some() && chance.below(500) == 0 {
                *client = Client::new(&server);
            }
        }
    }
}

/// What came is of the key that was asked for, whole, of one version, and not purged.
fn check(head: &str, body: &[u8], (key, least): (u64, u64)) {
    let text = std::str::from_utf8(body).unwrap();
    if head.starts_with("HTTP/1.1 504") {
        return;
    }
    let first = text.split_inclusive(';').next().unwrap();
    let (name, version) = first.trim_end_matches(';').split_once(':').unwrap();
    assert_eq!(name, key.to_string(), "{head}");
    let version: u64 = version.parse().unwrap();
    assert!(
        version >= least,
        "{key}: {version} was purged at {least}: {head}"
    );
    assert!(
        text.split_inclusive(';').all(|part| part == first),
        "{head}"
    );
}

fn answer(shared: &Shared, server: &mut Server, asked: &Event, chance: &mut Chance) {
    let version = shared.version.fetch_add(1, Ordering::SeqCst);
    let (token, sequence) = (asked.token, asked.sequence());
    let target = asked.target();
    let key: u64 = target.trim_start_matches('/').parse().unwrap();
    let count = asked.read::<event::Request>().field_count as usize;
    let is_conditional = (0..count).any(|index| asked.field(index).0 == "If-None-Match");
    let body = format!("{key}:{version};").repeat(1 + usize::try_from(chance.below(1500)).unwrap());
    let fate = chance.below(40);
    if fate == 0 {
        server.commands.write(0, command::Destroy { token }, &[]);
        return server.submit();
    }
    let is_whole = fate != 1;
    let is_not_modified = is_conditional && chance.below(2) == 0;
    let lifetime = [
        "max-age=60",
        "max-age=0",
        "no-store",
        "max-age=0, stale-while-revalidate=60",
    ];
    let lifetime = lifetime[usize::try_from(chance.below(4)).unwrap()];
    let tag = if key.is_multiple_of(2) {
        "Cache-Tag: even\r\n"
    } else {
        ""
    };
    let fields = format!("ETag: \"{key}\"\r\nCache-Control: {lifetime}\r\n{tag}");
    let body = if is_not_modified { "" } else { &body };
    let (status, framing) = match is_not_modified {
        true => (304, 0),
        false => (200, flag::CONTENT_LENGTH),
    };
    let response = Response {
        status,
        flags: framing | if is_whole { flag::END } else { 0 },
        reason: b"OK",
        fields: fields.as_bytes(),
        body: &body.as_bytes()[..if is_whole { body.len() } else { body.len() / 2 }],
        content_length: body.len() as u64,
        ..Response::default()
    };
    server.commands.respond(token, sequence, &response);
    if !is_whole {
        server.commands.write(0, command::Destroy { token }, &[]);
    }
    server.submit();
}
