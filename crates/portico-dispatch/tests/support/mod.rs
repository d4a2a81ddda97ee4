//! A host of one process: shards on their threads, and applications that the test plays itself. No sleeps.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

mod app;
mod client;
mod raw_member;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_application::AttachedEngine;
use portico_channel::shared::{Capacity, HostEnd};
use portico_dispatch::{
    Endpoint, MemberId, MemberLoad, NewMember, QueueId, QueueOptions, Routes, ShardThread,
    UserMemory,
};
use portico_engine::ListenerOptions;
use portico_router::{Scheme, UrlPrefix};
use portico_sys::bell;

pub(crate) use app::{App, Event, Req};
pub(crate) use client::{Answer, Client};
pub(crate) use raw_member::RawMember;

/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long a fact may take that many megabytes come before, on a machine that does much else.
const LONGEST: Duration = Duration::from_secs(120);

/// Resident bytes of this process.
pub(crate) fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

pub(crate) struct Host {
    pub(crate) shards: Vec<ShardThread>,
    pub(crate) address: SocketAddr,
    addresses: Vec<SocketAddr>,
    routes: Vec<(String, Option<QueueId>, QueueOptions)>,
    members: u32,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with_shards(1)
    }

    pub(crate) fn with_shards(count: u32) -> Self {
        Self::with(count, ListenerOptions::default())
    }

    /// Whose shards have a socket each: a test says which one gets a connection, by [`Host::connect_to`].
    pub(crate) fn with_sockets(count: u32, options: &ListenerOptions) -> Self {
        let connections = Arc::default();
        let mut host = Self {
            shards: ShardThread::start_all(count).unwrap(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            addresses: Vec::new(),
            routes: Vec::new(),
            members: 0,
        };
        for shard in &host.shards {
            let socket = TcpListener::bind("127.0.0.1:0").unwrap();
            host.addresses.push(socket.local_addr().unwrap());
            host.address = host.addresses[0];
            let endpoint = Endpoint {
                scheme: Scheme::Http,
                port: host.address.port(),
            };
            socket.set_nonblocking(true).unwrap();
            let connections = Arc::clone(&connections);
            shard
                .listen_with_names(
                    socket.into(),
                    options.clone(),
                    endpoint,
                    Vec::new(),
                    connections,
                )
                .unwrap();
        }
        host
    }

    /// A connection to one of the shards of [`Host::with_sockets`].
    pub(crate) fn connect_to(&self, shard: usize) -> Client {
        Client::connect(self.addresses[shard])
    }

    pub(crate) fn with(count: u32, options: ListenerOptions) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        socket.set_nonblocking(true).unwrap();
        let shards = ShardThread::start_all(count).unwrap();
        for shard in &shards {
            let endpoint = Endpoint {
                scheme: Scheme::Http,
                port: address.port(),
            };
            let socket = OwnedFd::from(socket.try_clone().unwrap());
            let options = ListenerOptions {
                connections_checking_interval: Duration::from_millis(50),
                ..options.clone()
            };
            shard.listen(socket, options, endpoint).unwrap();
        }
        Self {
            shards,
            address,
            addresses: Vec::new(),
            routes: Vec::new(),
            members: 0,
        }
    }

    /// A host with a queue 1 for `/`, and its default settings.
    pub(crate) fn with_root() -> Self {
        let mut host = Self::new();
        host.route("/", 1, QueueOptions::default());
        host
    }

    pub(crate) fn route(&mut self, path: &str, queue: u32, options: QueueOptions) {
        self.routes
            .push((path.to_owned(), Some(QueueId(queue)), options));
        self.set_routes();
    }

    pub(crate) fn reserve(&mut self, path: &str) {
        self.routes
            .push((path.to_owned(), None, QueueOptions::default()));
        self.set_routes();
    }

    /// Many at once.
    pub(crate) fn route_all(&mut self, routes: impl Iterator<Item = (String, u32)>) {
        for (path, queue) in routes {
            self.routes
                .push((path, Some(QueueId(queue)), QueueOptions::default()));
        }
        self.set_routes();
    }

    fn set_routes(&self) {
        let mut routes = Routes::default();
        for (path, queue, options) in &self.routes {
            let text = format!("http://*:{}{path}", self.address.port());
            let prefix = UrlPrefix::parse(&text).unwrap();
            match queue {
                Some(queue) => {
                    routes.table.insert(prefix, *queue).unwrap();
                    routes.queues.insert(*queue, options.clone());
                }
                None => routes.table.reserve(prefix).unwrap(),
            }
        }
        let routes = Arc::new(routes);
        for shard in &self.shards {
            shard.set_routes(Arc::clone(&routes));
        }
    }

    pub(crate) fn app(&mut self, queue: u32) -> App {
        self.app_with(queue, 1 << 20)
    }

    /// With channels of so many bytes.
    pub(crate) fn app_with(&mut self, queue: u32, bytes: u32) -> App {
        let id = self.new_id();
        let (host_ringer, app_bell) = bell().unwrap();
        let host_ringer = Arc::new(host_ringer);
        let load = Arc::<MemberLoad>::default();
        let mut channels = Vec::new();
        for shard in &self.shards {
            let capacity = Capacity {
                events: bytes,
                commands: bytes,
            };
            let (end, memory) = HostEnd::create(capacity).unwrap();
            let (ringer, host_bell) = bell().unwrap();
            channels.push((memory, ringer));
            shard
                .attach(NewMember {
                    id,
                    queue: QueueId(queue),
                    end,
                    bell: host_bell,
                    ringer: Arc::clone(&host_ringer),
                    load: Arc::clone(&load),
                    memory: UserMemory::limited(),
                })
                .unwrap();
        }
        App::new(id, AttachedEngine::open(app_bell, channels).unwrap())
    }

    pub(crate) fn new_id(&mut self) -> MemberId {
        self.members += 1;
        MemberId(self.members)
    }

    /// The application's process dies.
    pub(crate) fn kill(&self, app: App) {
        let id = app.id;
        drop(app);
        for shard in &self.shards {
            shard.detach(id);
        }
    }

    pub(crate) fn leave(&self, app: &App) {
        for shard in &self.shards {
            shard.leave(app.id);
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Requests that wait on all shards.
    pub(crate) fn waiting(&self) -> u32 {
        let of_shard = |shard: &ShardThread| -> u32 {
            shard.stats().queues.iter().map(|queue| queue.waiting).sum()
        };
        self.shards.iter().map(of_shard).sum()
    }

    /// Until a fact about the first shard's counters holds.
    #[track_caller]
    pub(crate) fn until(&self, fact: impl Fn(&portico_dispatch::ShardStats) -> bool) {
        until(|| fact(&self.shards[0].stats()));
    }
}

#[track_caller]
pub(crate) fn until(mut fact: impl FnMut() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < LONGEST, "it never came true");
        // A machine that is busy needs its processors for what is waited for.
        std::thread::sleep(Duration::from_millis(1));
    }
}
