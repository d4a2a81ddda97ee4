//! A member: its channel's end, and what it has been given.

use std::sync::Arc;

use portico_channel::shared::{Broken, HostEnd};
use portico_http::semantics::FramingFields;
use portico_sys::{Bell, Ringer};

use crate::BreakReason;
use crate::backlog::Backlog;
use crate::host_wide::{MemberLoad, QueueCounts};
use crate::limits::{BACKLOG_BYTES, BEHIND_BYTES, CAUGHT_UP_BYTES, FULL_BYTES};
use crate::unfinished::Unfinished;
use crate::user_memory::{Share, UserMemory};
use crate::{MemberId, QueueId};

/// A head kept under a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Template {
    /// None yet: the engine knows none either.
    #[default]
    Missing,
    /// One that says this of the body.
    Declares(FramingFields),
    /// One that is none, or too large: the engine never got it, and an answer that names it has no head.
    Refused,
}

/// A member for a shard: one registration of one process.
#[derive(Debug)]
pub struct NewMember {
    /// Its number, the same on all shards.
    pub id: MemberId,
    /// The queue whose requests it gets.
    pub queue: QueueId,
    /// Our end of its channel with this shard.
    pub end: HostEnd,
    /// Rung by the application.
    pub bell: Bell,
    /// Wakes the application; the same for all shards.
    pub ringer: Arc<Ringer>,
    /// Counts its requests in flight; the same for all shards.
    pub load: Arc<MemberLoad>,
    /// Its user's account; the same for all members of the user.
    pub memory: Arc<UserMemory>,
}

/// Which connections a member wants closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Those on which it has nothing to do.
    Idle,
    /// Those on which it has requests, too.
    All,
}

/// One registration of one process, on this shard.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: MemberId,
    pub(crate) queue: QueueId,
    pub(crate) end: HostEnd,
    pub(crate) backlog: Backlog,
    /// Rung by the application.
    pub(crate) bell: Bell,
    /// Wakes the application.
    ringer: Arc<Ringer>,
    /// Requests in flight on all shards.
    pub(crate) load: Arc<MemberLoad>,
    /// Those on this one.
    pub(crate) in_flight: u32,
    /// Of its queue.
    pub(crate) counts: Arc<QueueCounts>,
    /// Requests with their body that it has not taken, as its queue's counts have them.
    counted_untaken: u32,
    tunnels: u32,
    pub(crate) requests: u64,
    /// Nothing new goes to it.
    pub(crate) leaving: bool,
    /// It is looked at in every turn.
    pub(crate) active: bool,
    /// Which connections it wants closed: done once in a round, for each looks at every connection.
    closing: Option<Closing>,
    /// It has been given something in this turn.
    is_to_settle: bool,
    /// Its channel broke the rules, or its commands did.
    broken: bool,
    /// Why, if it was not that.
    reason: BreakReason,
    /// It is so far behind that connections whose bytes are for it are not read.
    behind: bool,
    /// Since when it has taken nothing of what it was sent, if there is any.
    stalled_since_ms: u64,
    /// How far it had taken it then.
    stalled_at: u64,
    /// Its templates, by number.
    pub(crate) templates: Vec<Template>,
    /// Bytes of each of them.
    template_bytes: Vec<u32>,
    template_share: Share,
    /// What has come of a record that comes in parts.
    pub(crate) unfinished: Unfinished,
    /// What is arriving and is not read because it is behind: connections and numbers.
    held_back: Vec<(u32, u32)>,
}

impl Member {
    pub(crate) fn new(new: NewMember, counts: Arc<QueueCounts>) -> Self {
        let NewMember {
            id,
            queue,
            end,
            bell,
            ringer,
            load,
            memory,
        } = new;
        // Both must ring from the first record on, whether the other has opened its end or not.
        end.host().fall_asleep();
        end.application().fall_asleep();
        Self {
            id,
            queue,
            end,
            backlog: Backlog::new(memory.for_backlog()),
            bell,
            ringer,
            load,
            in_flight: 0,
            counts,
            counted_untaken: 0,
            tunnels: 0,
            requests: 0,
            leaving: false,
            active: false,
            closing: None,
            is_to_settle: false,
            broken: false,
            reason: BreakReason::Rules,
            behind: false,
            stalled_since_ms: 0,
            stalled_at: 0,
            templates: Vec::new(),
            template_bytes: Vec::new(),
            template_share: memory.for_templates(),
            unfinished: Unfinished::new(&memory),
            held_back: Vec::new(),
        }
    }

    /// Whether it has so much before it that requests had better go to others.
    pub(crate) fn is_full(&self) -> bool {
        self.backlog.len() > FULL_BYTES || self.backlog.is_crowded()
    }

    /// Whether it has so much before it that no bodies are read for it for now.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.backlog.len() > BEHIND_BYTES || self.backlog.is_crowded()
    }

    /// Whether they are read again.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.backlog.len() < CAUGHT_UP_BYTES && !self.backlog.is_crowded()
    }

    /// Whether it may be given another request, with so many (0: any number) in flight on all shards.
    pub(crate) fn has_room(&self, limit: u32) -> bool {
        !self.is_full() && self.load.has_room(limit)
    }

    /// A request whose place in `load` has been claimed.
    pub(crate) fn began(&mut self) {
        self.in_flight += 1;
        self.requests += 1;
    }

    pub(crate) fn finished(&mut self) {
        if self.in_flight > 0 {
            self.in_flight -= 1;
            self.load.release(1);
        }
    }

    /// It has taken a connection over as a byte stream.
    pub(crate) fn began_tunnel(&mut self) {
        self.tunnels += 1;
    }

    /// The end of such a connection.
    pub(crate) fn ended_tunnel(&mut self) {
        self.tunnels = self.tunnels.saturating_sub(1);
    }

    /// It wants connections closed.
    pub(crate) fn ask_to_close(&mut self, all: bool) {
        if all || self.closing.is_none() {
            self.closing = Some(if all { Closing::All } else { Closing::Idle });
        }
    }

    /// Which ones, once.
    pub(crate) fn take_closing(&mut self) -> Option<Closing> {
        self.closing.take()
    }

    /// It is given something in this turn, or is looked at behind it. Returns whether it had been given something.
    #[inline]
    pub(crate) fn set_to_settle(&mut self, is_to_settle: bool) -> bool {
        std::mem::replace(&mut self.is_to_settle, is_to_settle)
    }

    /// Whether it is so far behind that connections whose bytes are for it are not read.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// It is that far behind from now on.
    pub(crate) fn fall_behind(&mut self) {
        self.behind = true;
    }

    /// Something that is arriving for it is not read until it has caught up.
    pub(crate) fn hold_back(&mut self, token: u32, sequence: u32) {
        self.held_back.push((token, sequence));
    }

    /// It is not behind any more, or is gone. What was not read for it.
    pub(crate) fn catch_up(&mut self) -> Vec<(u32, u32)> {
        self.behind = false;
        std::mem::take(&mut self.held_back)
    }

    /// Whether the next round drops it.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Marks it as broken; the next round drops it.
    pub(crate) fn break_off(&mut self, reason: BreakReason) {
        self.broken = true;
        self.reason = reason;
    }

    /// The same because its channel or its commands broke the rules, unless there is a reason already.
    pub(crate) fn break_rules(&mut self) {
        self.broken = true;
    }

    pub(crate) fn break_reason(&self) -> BreakReason {
        self.reason
    }

    /// Keeps what a template says under its number; `bytes` is what the engine keeps of it. False: its user has no memory
    /// left.
    pub(crate) fn keep_template(&mut self, number: usize, template: Template, bytes: u32) -> bool {
        if self.templates.len() <= number {
            self.templates.resize(number + 1, Template::Missing);
            self.template_bytes.resize(number + 1, 0);
        }
        let (Some(place), Some(kept)) = (
            self.templates.get_mut(number),
            self.template_bytes.get_mut(number),
        ) else {
            return false;
        };
        // A refused one leaves the engine the one that it has.
        if template != Template::Refused {
            let as_usize = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
            self.template_share.give(as_usize(*kept));
            *kept = 0;
            if !self.template_share.take(as_usize(bytes)) {
                return false;
            }
            *kept = bytes;
        }
        *place = template;
        true
    }

    /// The request that it is told of next has a place among those that no member has taken.
    pub(crate) fn take_over_place(&mut self) {
        self.counted_untaken += 1;
    }

    /// Whether it had not taken all requests when that was looked at last.
    pub(crate) fn has_untaken(&self) -> bool {
        self.counted_untaken > 0
    }

    fn count_untaken(&mut self) {
        let untaken = self.backlog.untaken_whole();
        self.counts.count_untaken(self.counted_untaken, untaken);
        self.counted_untaken = untaken;
    }

    /// Sends records.
    pub(crate) fn tell(&mut self, records: &[u8], now_ms: u64) {
        if self.backlog.len() == 0 {
            self.stalled_since_ms = now_ms;
        }
        if self.backlog.len() > BACKLOG_BYTES {
            self.broken = true;
        } else if self.backlog.is_crowded_by(2) {
            // Neither requests nor bodies: it asks for ever more events.
            self.break_off(BreakReason::UserMemory);
        }
        if !self.broken {
            let result = self.backlog.push(records, &mut self.end.events);
            self.note(result);
        }
        self.count_untaken();
    }

    /// Looks at what it has taken, and sends what waited for room.
    pub(crate) fn settle(&mut self) {
        let result = self.backlog.settle(&mut self.end.events);
        self.note(result);
        if self.backlog.is_waiting() || self.behind {
            // It rings when it has made room; look again, lest it just did.
            self.end.wants_room().fall_asleep();
            let result = self.backlog.settle(&mut self.end.events);
            self.note(result);
        }
        self.count_untaken();
    }

    /// To be called after [`Member::settle`].
    pub(crate) fn note_progress(&mut self, now_ms: u64) {
        let taken = self.backlog.taken();
        if taken != self.stalled_at {
            self.stalled_at = taken;
            self.stalled_since_ms = now_ms;
        }
    }

    /// For how long it has taken nothing though there is something, as of the last [`Member::note_progress`].
    pub(crate) fn stalled_ms(&self, now_ms: u64) -> u64 {
        if self.backlog.len() == 0 {
            return 0;
        }
        now_ms.saturating_sub(self.stalled_since_ms)
    }

    pub(crate) fn wake_if_asleep(&self) {
        if self.end.application().must_be_woken() {
            self.ringer.ring();
        }
    }

    /// Wakes an application that waits for room among its commands.
    pub(crate) fn made_room(&self) {
        if self.end.application_wants_room().must_be_woken() {
            self.ringer.ring();
        }
    }

    /// Whether it has requests or tunnels whose commands may come at any time.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.tunnels > 0 || self.backlog.is_waiting() || self.has_untaken()
    }

    fn note(&mut self, result: Result<(), Broken>) {
        if result.is_err() {
            self.broken = true;
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.load.release(self.in_flight);
        self.counts.count_untaken(self.counted_untaken, 0);
    }
}
