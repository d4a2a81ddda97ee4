//! The shard's thread, and how the control side speaks to it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use portico_cache::store::StoreLimits;
use portico_channel::token::Division;
use portico_channel::{Mailbox, Sleeper};
use portico_engine::{CacheSite, ListenerId, ListenerOptions, OutputCache, ShardCache};
use portico_sys::{Errno, Wake};

use crate::caching::Caching;
use crate::dispatcher::Dispatcher;
use crate::host_wide::HostWide;
use crate::limits::{CONCURRENT_STREAMS, MAX_HEADER_SIZE};
use crate::member::Member;
use crate::shard_loop::Loop;
use crate::{
    BrokenMember, Endpoint, Inspection, LeftBehind, MemberId, NewMember, Routes, ShardStats,
};

/// One engine thread of a host. Its methods post to the thread and wait for its answer, well under a millisecond unless
/// the thread is in the midst of much work. Dropping it closes all connections and ends the thread.
#[derive(Debug)]
pub struct ShardThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The most shards that a host has.
const MAX_SHARDS: u32 = 64;

/// What the thread and those who speak to it share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mailbox: Mailbox<Loop>,
    pub(crate) wake: Wake,
    pub(crate) sleeper: Sleeper,
    pub(crate) stop: AtomicBool,
}

impl ShardThread {
    /// Starts the threads of a host. What bounds members and queues holds for all of them together; their numbers are
    /// part of the connections' tokens.
    ///
    /// # Errors
    /// `EINVAL` unless `count` is 1 to 64; those of making descriptors and threads.
    pub fn start_all(count: u32) -> io::Result<Vec<Self>> {
        let cache = OutputCache::new(StoreLimits::default());
        Self::start_all_with(count, &Arc::new(cache))
    }

    /// As [`ShardThread::start_all`]. Answers are kept in `cache`.
    ///
    /// # Errors
    /// As [`ShardThread::start_all`].
    pub fn start_all_with(count: u32, cache: &Arc<OutputCache>) -> io::Result<Vec<Self>> {
        if !(1..=MAX_SHARDS).contains(&count) {
            return Err(Errno::INVAL.into());
        }
        let shared: io::Result<Vec<_>> = (0..count).map(|_| Shared::new().map(Arc::new)).collect();
        let all: Arc<[Arc<Shared>]> = shared?.into();
        let host_wide = Arc::<HostWide>::default();
        (0..count)
            .zip(all.iter())
            .map(|(index, own)| Self::start(index, own, &all, &host_wide, cache))
            .collect()
    }

    fn start(
        index: u32,
        shared: &Arc<Shared>,
        all: &Arc<[Arc<Shared>]>,
        host_wide: &Arc<HostWide>,
        cache: &Arc<OutputCache>,
    ) -> io::Result<Self> {
        let thread = usize::try_from(index).unwrap_or(usize::MAX);
        let division = Division::among(all.len());
        let (base, count) = (division.first_slot(thread), division.slots());
        let is_alone = all.len() == 1;
        // Each queue's requests say whose answers they may get.
        let nobodys = CacheSite::default();
        let caching = Caching::new(ShardCache::new(Arc::clone(cache), nobodys)?);
        let dispatcher = Dispatcher::new(base, index, is_alone, Arc::clone(host_wide), caching);
        let (own, all) = (Arc::clone(shared), Arc::clone(all));
        let (made, result) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name(format!("portico-{index}"))
            .spawn(move || match Loop::new(base, count, dispatcher, own, all) {
                Ok(own) => {
                    let _ = made.send(Ok(()));
                    own.run();
                }
                Err(error) => {
                    let _ = made.send(Err(error));
                }
            })?;
        result.recv().map_err(|_| gone())??;
        Ok(Self {
            shared: Arc::clone(shared),
            thread: Some(thread),
        })
    }

    /// Accepts from a socket that is bound and listens; every shard gets a copy of it. `max_header_size` above 64 KiB
    /// counts as 64 KiB.
    ///
    /// # Errors
    /// Those of epoll_ctl(2); `EPIPE` if the thread has died.
    pub fn listen(
        &self,
        socket: OwnedFd,
        options: ListenerOptions,
        endpoint: Endpoint,
    ) -> io::Result<ListenerId> {
        self.listen_with_names(socket, options, endpoint, Vec::new(), Arc::default())
    }

    /// [`ShardThread::listen`], with TLS contexts for server names from the first connection on: patterns as in
    /// [`ShardThread::add_server_name`], and numbers of contexts. `connections` counts those of all listeners that are
    /// given the same one, on all shards: `max_connections` holds for them together.
    ///
    /// # Errors
    /// As [`ShardThread::listen`].
    pub fn listen_with_names(
        &self,
        socket: OwnedFd,
        options: ListenerOptions,
        endpoint: Endpoint,
        names: Vec<(String, u32)>,
        connections: Arc<AtomicU32>,
    ) -> io::Result<ListenerId> {
        let options = within_bounds(options);
        self.ask(move |own| {
            let id = own.shard.add_listening(socket, options, connections)?;
            for (pattern, context) in names {
                own.shard.add_server_name(id, &pattern, context);
            }
            own.note_listener(id, endpoint);
            Ok(id)
        })
        .recv()
        .map_err(|_| gone())?
    }

    /// Changes a listener's settings, for its connections too.
    pub fn update_listener(&self, id: ListenerId, options: ListenerOptions) {
        let options = within_bounds(options);
        self.call(move |own| {
            own.shard.update_listener(id, options);
            own.renew_listener(id);
        });
    }

    /// Stops accepting. Its connections live on.
    pub fn close_listener(&self, id: ListenerId) {
        self.call(move |own| {
            own.shard.close_listener(id);
            own.forget_listeners();
        });
    }

    /// Keeps a TLS context. Returns its number, 0 if the thread has died.
    pub fn add_tls_context(&self, context: portico_tls::Context) -> u32 {
        self.ask(move |own| own.shard.add_tls_context(context))
            .recv()
            .unwrap_or(0)
    }

    /// Forgets a TLS context. Listeners and connections that use it go on.
    pub fn release_tls_context(&self, context: u32) {
        self.call(move |own| own.shard.release_tls_context(context));
    }

    /// Uses a context for server names (`*.example.com` or a name) of a TLS listener. Later ones win.
    pub fn add_server_name(&self, id: ListenerId, pattern: &str, context: u32) {
        let pattern = pattern.to_owned();
        self.call(move |own| {
            own.shard.add_server_name(id, &pattern, context);
            own.renew_listener(id);
        });
    }

    /// Replaces prefixes and settings of queues. Requests in flight keep what they have.
    pub fn set_routes(&self, routes: Arc<Routes>) {
        self.call(move |own| own.dispatcher.set_routes(routes));
    }

    /// Gives the shard a member. The application must have the other ends of its channel, bell and ringer.
    ///
    /// # Errors
    /// Those of epoll_ctl(2); `EPIPE` if the thread has died.
    pub fn attach(&self, member: NewMember) -> io::Result<()> {
        self.ask(move |own| {
            let counts = Arc::clone(&own.dispatcher.queue_mut(member.queue).counts);
            let member = Member::new(member, counts);
            own.dispatcher.attach(member, &own.shard)
        })
        .recv()
        .map_err(|_| gone())?
    }

    /// Nothing new goes to the member; it finishes what it has. Connections on which it has nothing to do close for
    /// it.
    pub fn leave(&self, member: MemberId) {
        self.call(move |own| own.dispatcher.leave(member));
    }

    /// The member's process is gone: requests that it had not taken go to others of its queue, those it had taken get
    /// 502 or are tried again, its tunnels end. Unknown members are ignored.
    /// Returns how many there were of each.
    pub fn detach(&self, member: MemberId) -> LeftBehind {
        let left_behind = self.ask(move |own| {
            let index = own.dispatcher.index_of(member);
            index.map(|index| own.detach(index))
        });
        left_behind.recv().ok().flatten().unwrap_or_default()
    }

    /// From now on every answer is the last of its connection: the host is going. Idle connections end by their
    /// keep-alive timeout, so that no request crosses with a close; clients of HTTP/2 are told (GOAWAY), and finish the
    /// streams that they have.
    pub fn drain(&self) {
        self.call(|own| {
            own.dispatcher.draining = true;
            own.shard.retire_connections();
        });
    }

    /// Open connections of clients.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.ask(|own| own.shard.counters().connections_open)
            .recv()
            .ok()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(0)
    }

    /// Members that were dropped since the last call. They are detached already.
    #[must_use]
    pub fn broken_members(&self) -> Vec<BrokenMember> {
        self.ask(|own| std::mem::take(&mut own.dispatcher.broken))
            .recv()
            .unwrap_or_default()
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> ShardStats {
        self.ask(|own| own.stats()).recv().unwrap_or_default()
    }

    /// Every request in flight, and what it waits for.
    #[must_use]
    pub fn inspect(&self) -> Inspection {
        self.ask(|own| {
            own.dispatcher.update_clock();
            own.dispatcher.inspect(&mut own.shard)
        })
        .recv()
        .unwrap_or_default()
    }

    /// For a watchdog.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        let name = self
            .thread
            .as_ref()
            .and_then(|thread| thread.thread().name());
        Pulse {
            name: name.unwrap_or_default().to_owned(),
            shared: Arc::clone(&self.shared),
        }
    }

    fn call(&self, call: impl FnOnce(&mut Loop) + Send + 'static) {
        // Nothing to be told if the thread has died.
        let _ = self.ask(call).recv();
    }

    fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Loop) -> T + Send + 'static,
    ) -> Receiver<T> {
        self.shared.ask(call)
    }
}

impl Shared {
    fn new() -> io::Result<Self> {
        Ok(Self {
            mailbox: Mailbox::default(),
            wake: Wake::new()?,
            sleeper: Sleeper::default(),
            stop: AtomicBool::new(false),
        })
    }

    pub(crate) fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Loop) -> T + Send + 'static,
    ) -> Receiver<T> {
        let answer = self.mailbox.post(call);
        if self.sleeper.must_be_woken() {
            self.wake.wake();
        }
        answer
    }
}

/// Asks a shard's thread whether it still turns, and waits for nothing.
#[derive(Debug)]
pub struct Pulse {
    name: String,
    shared: Arc<Shared>,
}

impl Pulse {
    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The answer comes with the thread's next turn, well under a millisecond unless it is in the midst of much work,
    /// and never if it is stuck or has died. Ask again only when it has come.
    #[must_use]
    pub fn ask(&self) -> Receiver<()> {
        self.shared.ask(|_| ())
    }
}

impl Drop for ShardThread {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed by its hook.
            let _ = thread.join();
        }
    }
}

/// Options whose events fit into a channel.
fn within_bounds(mut options: ListenerOptions) -> ListenerOptions {
    options.max_header_size = match options.max_header_size {
        0 => 0,
        bytes => bytes.min(MAX_HEADER_SIZE),
    };
    let http2 = &mut options.http2;
    let streams = &mut http2.settings.max_concurrent_streams;
    *streams = (*streams).min(CONCURRENT_STREAMS);
    // Heads have the limits of HTTP/1, though a field counts for a little more (RFC 9113, section 6.5.2).
    if options.max_header_size > 0 {
        http2.settings.max_header_list_size =
            u32::try_from(options.max_header_size).unwrap_or(u32::MAX);
    }
    if options.max_headers_count > 0 {
        http2.max_fields = options.max_headers_count;
    }
    options
}

/// The thread has ended by a panic.
fn gone() -> io::Error {
    Errno::PIPE.into()
}
