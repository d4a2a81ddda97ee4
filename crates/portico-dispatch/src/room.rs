//! Room for requests that wait. It may appear on one shard while they wait on another.
//!
//! A member that has answered on this shard may be given a request of any shard: [`Dispatcher::share_room`] calls those
//! on which some wait, one after the other, so that none of them is passed over. What members have not taken counts for
//! all shards too, and a shard that sleeps does not see it being taken: it wakes up to look.

use std::time::Duration;

use crate::QueueId;
use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::host_wide::bit;

/// Longest time between two looks at what members have not taken.
const LONGEST_INTERVAL_MS: u64 = 1000;

/// A shard is to look whether there is room for its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoomCall {
    pub(crate) shard: u32,
    pub(crate) queue: QueueId,
    /// Shards that have looked, a bit each.
    pub(crate) tried: u64,
}

/// When to look again at what members have not taken. The longer it takes them, the rarer.
#[derive(Debug, Default)]
pub(crate) struct UntakenCheck {
    /// 0: there is nothing to look at.
    next_ms: u64,
    interval_ms: u64,
}

impl Dispatcher {
    /// A member has one request less: its place may be for one that waits.
    pub(crate) fn finish_one(&mut self, index: MemberIndex) {
        let Some(member) = self.member(index) else {
            return;
        };
        member.finished();
        let queue = member.queue;
        self.note_room(queue);
    }

    /// There may be room in a queue. It is shared at the end of the round.
    pub(crate) fn note_room(&mut self, id: QueueId) {
        let waits = |queue: &crate::queue::Queue| queue.counts.waits() && !queue.members.is_empty();
        if self.queues.get(&id).is_some_and(waits) && !self.roomy.contains(&id) {
            self.roomy.push(id);
        }
    }

    /// Gives the room that was noted to requests that wait.
    pub(crate) fn share_noted_room(&mut self) {
        while let Some(id) = self.roomy.pop() {
            self.share_room(id, 0);
        }
    }

    /// Another shard has room for requests that wait here.
    pub(crate) fn answer_room_call(&mut self, id: QueueId, tried: u64) {
        self.pump(id);
        if self.may_have_room(id) {
            self.share_room(id, tried | bit(self.shard));
        }
    }

    /// Gives room to the shards on which requests wait, in turn, as long as there is some.
    fn share_room(&mut self, id: QueueId, mut tried: u64) {
        while let Some(next) = self
            .queues
            .get(&id)
            .and_then(|queue| queue.counts.next_waiting(tried))
        {
            if next != self.shard {
                self.calls.push(RoomCall {
                    shard: next,
                    queue: id,
                    tried,
                });
                return;
            }
            self.pump(id);
            if !self.may_have_room(id) {
                return;
            }
            tried |= bit(self.shard);
        }
    }

    fn may_have_room(&self, id: QueueId) -> bool {
        self.queues.get(&id).is_some_and(|queue| {
            queue.members.iter().any(|index| {
                let member = self.members.get(*index).and_then(Option::as_ref);
                member.is_some_and(|member| member.load.has_room(queue.options.max_in_flight))
            })
        })
    }

    /// Looks at what members have not taken, if it is time.
    pub(crate) fn check_untaken(&mut self) {
        if self.is_alone || self.now_ms < self.untaken_check.next_ms {
            return;
        }
        let mut is_any = false;
        for place in 0..self.active.len() {
            let Some(&index) = self.active.get(place) else {
                break;
            };
            if self
                .member(index)
                .is_some_and(|member| member.has_untaken())
            {
                self.settle_member(index);
                is_any |= self
                    .member(index)
                    .is_some_and(|member| member.has_untaken());
            }
        }
        let check = &mut self.untaken_check;
        *check = match (is_any, check.interval_ms) {
            (false, _) => UntakenCheck::default(),
            (true, interval_ms) => UntakenCheck {
                next_ms: self.now_ms + interval_ms.max(1),
                interval_ms: (2 * interval_ms).clamp(1, LONGEST_INTERVAL_MS),
            },
        };
    }

    /// Time until that is due. `None`: never.
    pub(crate) fn until_untaken_check(&self) -> Option<Duration> {
        let next_ms = self.untaken_check.next_ms;
        (next_ms != 0).then(|| Duration::from_millis(next_ms.saturating_sub(self.now_ms)))
    }
}
