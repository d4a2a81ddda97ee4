//! What a shard's thread does: one round after the other, as long as the host lives.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portico_channel::EventWriter;
use portico_engine::{ListenerId, Shard, TurnOutcome};

use crate::client::MemberIndex;
use crate::commands::CommandBuffer;
use crate::dispatcher::Dispatcher;
use crate::limits::{EVENT_BYTES, PIPELINED_REQUESTS};
use crate::listening::Listening;
use crate::member::Member;
use crate::thread::Shared;
use crate::{BrokenMember, Endpoint, LeftBehind, MemberStats, QueueStats, ShardStats};

/// Longest wait; readiness or a bell ends it before.
const LONG: Duration = Duration::from_secs(3600);

/// What the thread owns.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) shard: Shard,
    pub(crate) dispatcher: Dispatcher,
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
    pub(crate) fn new(
        base: u32,
        slots: usize,
        dispatcher: Dispatcher,
        shared: Arc<Shared>,
        all: Arc<[Arc<Shared>]>,
    ) -> io::Result<Self> {
        let mut shard = Shard::with_slots(base, slots)?;
        shard.limit_pipelining(PIPELINED_REQUESTS);
        shard.watch(&shared.wake)?;
        shard.watch(dispatcher.caching.cache.wake())?;
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
    pub(crate) fn note_listener(&mut self, id: ListenerId, endpoint: Endpoint) {
        let listening = Listening::new(endpoint, self.shard.server_names(id));
        self.dispatcher.listeners.insert(id.0, listening);
        self.forget_listeners();
    }

    /// A listener's contexts have changed.
    pub(crate) fn renew_listener(&mut self, id: ListenerId) {
        if let Some(listening) = self.dispatcher.listeners.get(&id.0) {
            self.note_listener(id, listening.endpoint);
        }
    }

    /// Forgets listeners that have closed and whose connections have gone.
    pub(crate) fn forget_listeners(&mut self) {
        let shard = &self.shard;
        let listeners = &mut self.dispatcher.listeners;
        listeners.retain(|id, _| shard.has_listener(ListenerId(*id)));
    }

    pub(crate) fn run(mut self) {
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
            self.dispatcher.end_broken();
            self.share_room();
            self.dispatcher.settle_members();
            self.dispatcher.check_untaken();
            self.apply_own();
            let rest = self.dispatcher.roomy.is_empty() && self.fall_asleep();
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
        let shard = &mut self.shard;
        let cache = &mut self.dispatcher.caching.cache;
        cache.settle(|token, sequence, offered| {
            shard.settle(token, sequence, offered);
        });
        let mut writer = EventWriter::new(&mut self.events);
        let outcome = self
            .shard
            .turn_with(wait, &mut writer, &mut self.dispatcher);
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
                .is_some_and(|member| member.is_broken())
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
        if member.is_busy() || member.is_broken() || !member.active {
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

    pub(crate) fn detach(&mut self, index: MemberIndex) -> LeftBehind {
        let left_behind = self
            .dispatcher
            .detach(index, &mut self.shard, &mut self.buffer);
        self.apply_own();
        left_behind
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
                nothing =
                    nothing && !member.is_broken() && member.end.commands.available() == Ok(0);
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

    pub(crate) fn stats(&mut self) -> ShardStats {
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
            http2: self.shard.http2_load(),
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
