//! The shard's thread, and how the control side speaks to it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use portico_channel::token::Division;
use portico_channel::{EventWriter, Mailbox, Sleeper};
use portico_engine::{ListenerId, ListenerOptions, Shard, TurnOutcome};
use portico_sys::{Errno, Wake};

use crate::client::MemberIndex;
use crate::commands::CommandBuffer;
use crate::dispatcher::Dispatcher;
use crate::host_wide::HostWide;
use crate::limits::{EVENT_BYTES, MAX_HEADER_SIZE, PIPELINED_REQUESTS};
use crate::listening::Listening;
use crate::member::Member;
use crate::{
    BrokenMember, Endpoint, MemberId, MemberStats, NewMember, QueueStats, Routes, ShardStats,
};

/// Longest wait; readiness or a bell ends it before.
const LONG: Duration = Duration::from_secs(3600);
/// One engine thread of a host. Its methods post to the thread and wait for its answer, well under a millisecond unless
/// the thread is in the midst of much work. Dropping it closes all connections and ends the thread.
#[derive(Debug)]
pub struct ShardThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The most shards that a host has.
const MAX_SHARDS: u32 = 64;

#[derive(Debug)]
struct Shared {
    mailbox: Mailbox<Loop>,
    wake: Wake,
    sleeper: Sleeper,
    stop: AtomicBool,
}

impl ShardThread {
    /// Starts the threads of a host. What bounds members and queues holds for all of them together; their numbers are
    /// part of the connections' tokens.
    ///
    /// # Errors
    /// `EINVAL` unless `count` is 1 to 64; those of making descriptors and threads.
    pub fn start_all(count: u32) -> io::Result<Vec<Self>> {
        if !(1..=MAX_SHARDS).contains(&count) {
            return Err(Errno::INVAL.into());
        }
        let shared: io::Result<Vec<_>> = (0..count).map(|_| Shared::new().map(Arc::new)).collect();
        let all: Arc<[Arc<Shared>]> = shared?.into();
        let host_wide = Arc::<HostWide>::default();
        (0..count)
            .zip(all.iter())
            .map(|(index, own)| Self::start(index, own, &all, &host_wide))
            .collect()
    }

    fn start(
        index: u32,
        shared: &Arc<Shared>,
        all: &Arc<[Arc<Shared>]>,
        host_wide: &Arc<HostWide>,
    ) -> io::Result<Self> {
        let thread = usize::try_from(index).unwrap_or(usize::MAX);
        let division = Division::among(all.len());
        let (base, count) = (division.first_slot(thread), division.slots());
        let is_alone = all.len() == 1;
        let dispatcher = Dispatcher::new(base, index, is_alone, Arc::clone(host_wide));
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
    pub fn detach(&self, member: MemberId) {
        self.call(move |own| {
            if let Some(index) = own.dispatcher.index_of(member) {
                own.detach(index);
            }
        });
    }

    /// From now on every answer is the last of its connection: the host is going. Idle connections end by their
    /// keep-alive timeout, so that no request crosses with a close.
    pub fn drain(&self) {
        self.call(|own| own.dispatcher.draining = true);
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

    fn ask<T: Send + 'static>(
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

/// What the thread owns.
#[derive(Debug)]
struct Loop {
    shard: Shard,
    dispatcher: Dispatcher,
    buffer: CommandBuffer,
    events: Vec<u8>,
    /// Members served in a round; empty between rounds.
    round: Vec<MemberIndex>,
    shared: Arc<Shared>,
    /// Of all shards of the host, by number.
    all: Arc<[Arc<Shared>]>,
}

impl Loop {
    /// On the thread itself: a shard never leaves its thread.
    fn new(
        base: u32,
        slots: usize,
        dispatcher: Dispatcher,
        shared: Arc<Shared>,
        all: Arc<[Arc<Shared>]>,
    ) -> io::Result<Self> {
        let mut shard = Shard::with_slots(base, slots)?;
        shard.limit_pipelining(PIPELINED_REQUESTS);
        shard.watch(&shared.wake)?;
        Ok(Self {
            shard,
            dispatcher,
            buffer: CommandBuffer::default(),
            events: vec![0; EVENT_BYTES],
            round: Vec::new(),
            shared,
            all,
        })
    }

    /// Enters a listener with its server names.
    fn note_listener(&mut self, id: ListenerId, endpoint: Endpoint) {
        let listening = Listening::new(endpoint, self.shard.server_names(id));
        self.dispatcher.listeners.insert(id.0, listening);
        self.forget_listeners();
    }

    /// A listener's contexts have changed.
    fn renew_listener(&mut self, id: ListenerId) {
        if let Some(listening) = self.dispatcher.listeners.get(&id.0) {
            self.note_listener(id, listening.endpoint);
        }
    }

    /// Forgets listeners that have closed and whose connections have gone.
    fn forget_listeners(&mut self) {
        let shard = &self.shard;
        let listeners = &mut self.dispatcher.listeners;
        listeners.retain(|id, _| shard.has_listener(ListenerId(*id)));
    }

    fn run(mut self) {
        loop {
            while let Some(task) = self.shared.mailbox.take() {
                task(&mut self);
            }
            if self.shared.stop.load(Ordering::Acquire) {
                return;
            }
            self.serve_members();
            self.dispatcher.expire();
            self.dispatcher.expire_responses();
            self.dispatcher.expire_unfinished();
            self.share_room();
            self.dispatcher.settle_members();
            self.dispatcher.check_untaken();
            self.apply_own();
            let rest = self.fall_asleep();
            let wait = if rest {
                Some(self.dispatcher.patience().unwrap_or(LONG))
            } else {
                None
            };
            self.turn(wait);
            if rest {
                self.wake_up();
            }
            self.ring();
            self.share_room();
            self.dispatcher.settle_members();
            self.apply_own();
        }
    }

    /// Room that has appeared goes to requests that wait, wherever they do.
    fn share_room(&mut self) {
        self.dispatcher.share_noted_room();
        for call in self.dispatcher.calls.drain(..) {
            let shard = usize::try_from(call.shard).unwrap_or(usize::MAX);
            if let Some(shared) = self.all.get(shard) {
                // Without waiting for the answer.
                let _ = shared.ask(move |own: &mut Loop| {
                    own.dispatcher.answer_room_call(call.queue, call.tried);
                });
            }
        }
    }

    /// One turn of the shard; its events are handed on.
    fn turn(&mut self, wait: Option<Duration>) {
        let mut writer = EventWriter::new(&mut self.events);
        let outcome = self.shard.turn(wait, &mut writer);
        let written = writer.len();
        self.dispatcher.update_clock();
        let events = self.events.get(..written).unwrap_or_default();
        self.dispatcher.handle_events(events);
        if let TurnOutcome::NeedSpace(bytes) = outcome
            && bytes > self.events.len()
        {
            self.events.resize(bytes.next_power_of_two(), 0);
        }
    }

    /// Members that rang have commands.
    fn ring(&mut self) {
        for number in self.shard.take_rung() {
            let index = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
            self.dispatcher.activate(index);
            // Perhaps not for commands but because it has made room.
            if let Some(member) = self.dispatcher.member(index) {
                member.bell.note_ring();
                member.end.host().wake_up();
            }
            self.dispatcher.settle_member(index);
        }
    }

    fn serve_members(&mut self) {
        let mut active = std::mem::take(&mut self.round);
        active.extend_from_slice(&self.dispatcher.active);
        for index in active.drain(..) {
            self.dispatcher
                .serve(index, &mut self.shard, &mut self.buffer);
            self.apply_own();
            if self
                .dispatcher
                .member(index)
                .is_some_and(|member| member.broken)
            {
                self.drop_broken(index);
            } else {
                self.rest_if_idle(index);
            }
        }
        self.round = active;
    }

    /// A member without requests is looked at again when it rings.
    fn rest_if_idle(&mut self, index: MemberIndex) {
        let is_answered = |member: &mut Member| member.in_flight == 0 && member.has_untaken();
        if self.dispatcher.member(index).is_some_and(is_answered) {
            self.dispatcher.settle_member(index);
        }
        let Some(member) = self.dispatcher.member(index) else {
            return;
        };
        if member.is_busy() || member.broken || !member.active {
            return;
        }
        member.end.host().fall_asleep();
        if member.end.commands.available() == Ok(0) {
            member.active = false;
            self.dispatcher.active.retain(|other| *other != index);
        } else {
            member.end.host().wake_up();
        }
    }

    fn drop_broken(&mut self, index: MemberIndex) {
        if let Some(member) = self.dispatcher.member(index) {
            let broken = BrokenMember {
                id: member.id,
                reason: member.break_reason(),
            };
            self.dispatcher.broken.push(broken);
        }
        self.detach(index);
    }

    fn detach(&mut self, index: MemberIndex) {
        self.dispatcher
            .detach(index, &mut self.shard, &mut self.buffer);
        self.apply_own();
    }

    /// Applies the dispatcher's own commands.
    fn apply_own(&mut self) {
        if self.dispatcher.commands.as_bytes().is_empty() {
            return;
        }
        let applied = self.shard.apply(self.dispatcher.commands.as_bytes(), None);
        debug_assert!(applied.is_ok(), "{applied:?}");
        self.dispatcher.commands.clear();
    }

    /// Whether the thread may sleep. If so, members and the control side know it.
    fn fall_asleep(&mut self) -> bool {
        if self.shard.has_pending_events() {
            return false;
        }
        self.shared.sleeper.fall_asleep();
        let mut nothing =
            self.shared.mailbox.is_empty() && !self.shared.stop.load(Ordering::Acquire);
        for index in &self.dispatcher.active {
            if let Some(Some(member)) = self.dispatcher.members.get(*index) {
                member.end.host().fall_asleep();
                nothing = nothing && !member.broken && member.end.commands.available() == Ok(0);
            }
        }
        if !nothing {
            self.wake_up();
        }
        nothing
    }

    fn wake_up(&mut self) {
        self.shared.sleeper.wake_up();
        for index in &self.dispatcher.active {
            if let Some(Some(member)) = self.dispatcher.members.get(*index) {
                member.end.host().wake_up();
            }
        }
    }

    fn stats(&mut self) -> ShardStats {
        self.dispatcher.update_clock();
        let now_ms = self.dispatcher.now_ms;
        for index in 0..self.dispatcher.members.len() {
            self.dispatcher.settle_member(index);
        }
        self.apply_own();
        self.dispatcher.forget_all_gone();
        let members = self.dispatcher.members.iter().flatten();
        let queues = self.dispatcher.queues.iter();
        ShardStats {
            members: members
                .map(|member| MemberStats {
                    member: member.id,
                    in_flight: member.in_flight,
                    untaken: member.backlog.untaken(),
                    requests: member.requests,
                    stalled_ms: member.stalled_ms(now_ms),
                })
                .collect(),
            queues: queues
                .map(|(id, queue)| QueueStats {
                    queue: *id,
                    waiting: queue.waiting.len(),
                    requests: queue.requests,
                    refused: queue.refused,
                    lost: queue.lost,
                    moved: queue.moved,
                    timed_out: queue.timed_out,
                })
                .collect(),
            counters: self.shard.counters(),
            refusals: self.dispatcher.refusals,
        }
    }
}

/// Options whose events fit into a channel.
fn within_bounds(mut options: ListenerOptions) -> ListenerOptions {
    options.max_header_size = match options.max_header_size {
        0 => 0,
        bytes => bytes.min(MAX_HEADER_SIZE),
    };
    options
}

/// The thread has ended by a panic.
fn gone() -> io::Error {
    Errno::PIPE.into()
}
