//! Bounds that hold for a host as a whole, however many shards it has.
//!
//! A member and a queue are served by every shard of a host, each on its own thread. What bounds them is counted in
//! atomics that all shards share: a place is claimed before a request is given to a member or put into a line, and
//! given back by whoever holds it. A shard whose requests wait says so in a bit of its own ([`QueueCounts::waits`]);
//! the shard on which a place becomes free passes it on to those in turn (`Dispatcher::share_room`).
//!
//! Lock-free but for the table of queues and for uploads, which are not on the path of a request without a body.

use std::collections::HashMap;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use portico_cache::storing::Rule;

use crate::QueueId;
use crate::uploads::Uploads;

/// Requests of one member in flight, on all shards. All shards are given the same one.
#[derive(Debug, Default)]
pub struct MemberLoad {
    /// In the lower half those in flight, in the upper half those of them whose body has not arrived.
    counts: AtomicU64,
}

/// One request whose body has not arrived, in the upper half.
const UPLOAD: u64 = 1 << 32;

impl MemberLoad {
    /// Requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        lower(self.counts.load(SeqCst))
    }

    /// Whether there is a place for another one, of so many (0: no limit) that have their body.
    pub(crate) fn has_room(&self, limit: u32) -> bool {
        has_room(self.counts.load(SeqCst), limit)
    }

    /// Takes a place, if there is one. Places of uploads are not counted.
    pub(crate) fn claim(&self, limit: u32, is_upload: bool) -> bool {
        let one = if is_upload { 1 + UPLOAD } else { 1 };
        self.counts
            .fetch_update(SeqCst, SeqCst, |counts| {
                has_room(counts, limit).then_some(counts + one)
            })
            .is_ok()
    }

    /// So many are answered, or never will be.
    pub(crate) fn release(&self, count: u32) {
        self.counts.fetch_sub(u64::from(count), SeqCst);
    }

    /// A body has arrived, or no member waits for it any more.
    pub(crate) fn release_upload(&self) {
        self.counts.fetch_sub(UPLOAD, SeqCst);
    }

    #[cfg(test)]
    pub(crate) fn uploads(&self) -> u32 {
        upper(self.counts.load(SeqCst))
    }
}

fn has_room(counts: u64, limit: u32) -> bool {
    limit == 0 || lower(counts).saturating_sub(upper(counts)) < limit
}

fn lower(counts: u64) -> u32 {
    (counts & u64::from(u32::MAX)) as u32
}

fn upper(counts: u64) -> u32 {
    (counts >> 32) as u32
}

/// What a queue holds on all shards.
#[derive(Debug, Default)]
pub(crate) struct QueueCounts {
    /// Requests with their body that no member has taken: they wait, or lie in a member's channel.
    held: AtomicU32,
    /// Requests that wait without it.
    held_uploads: AtomicU32,
    /// Shards on which requests wait, a bit each.
    waiting_shards: AtomicU64,
    /// The shard that was given room last.
    last_served: AtomicU32,
    pub(crate) uploads: Uploads,
    /// What is kept of its members' answers: see [`QueueCounts::cache_rule`].
    cache: AtomicU64,
}

/// Nothing of a queue's answers is kept.
const KEEPS_NOTHING: u64 = 0;
/// Only answers that ask for it are kept. Above: all are, for so many milliseconds and this.
const KEEPS_ASKED: u64 = 1;

impl QueueCounts {
    /// What is kept of its members' answers: `None`: nothing; else the rule for those that don't ask for it.
    pub(crate) fn cache_rule(&self) -> Option<Option<Rule>> {
        match self.cache.load(Relaxed) {
            KEEPS_NOTHING => None,
            KEEPS_ASKED => Some(None),
            rule => {
                let lifetime = Duration::from_millis(rule - KEEPS_ASKED);
                Some(Some(Rule::Profile(lifetime)))
            }
        }
    }

    /// Answers that ask for it are kept from now on.
    pub(crate) fn keep_asked(&self) {
        // What says more stays.
        let _ = self
            .cache
            .compare_exchange(KEEPS_NOTHING, KEEPS_ASKED, Relaxed, Relaxed);
    }

    /// All answers are kept from now on, for so long; 0: those that ask for it.
    pub(crate) fn keep_all(&self, milliseconds: u64) {
        self.cache
            .store(milliseconds.saturating_add(KEEPS_ASKED), Relaxed);
    }

    /// Its first member comes: what those before it said of all answers does not hold for its own. What is kept stays.
    pub(crate) fn forget_keep_all(&self) {
        let _ = self.cache.fetch_update(Relaxed, Relaxed, |rule| {
            (rule > KEEPS_ASKED).then_some(KEEPS_ASKED)
        });
    }

    fn of(&self, is_upload: bool) -> &AtomicU32 {
        if is_upload {
            &self.held_uploads
        } else {
            &self.held
        }
    }

    /// Takes one of `limit` places of requests that no member has taken, if there is one.
    pub(crate) fn claim(&self, is_upload: bool, limit: u32) -> bool {
        self.of(is_upload)
            .fetch_update(SeqCst, SeqCst, |held| (held < limit).then_some(held + 1))
            .is_ok()
    }

    /// Takes a place without regard to a limit: of a request that comes back from a member.
    pub(crate) fn claim_anyway(&self, is_upload: bool) {
        self.of(is_upload).fetch_add(1, SeqCst);
    }

    /// Gives back a place that was claimed.
    pub(crate) fn release(&self, is_upload: bool) {
        self.of(is_upload).fetch_sub(1, SeqCst);
    }

    /// So many requests with their body lie in a channel of a member, or `before` as was said last.
    pub(crate) fn count_untaken(&self, before: u32, now: u32) {
        if now > before {
            self.held.fetch_add(now - before, SeqCst);
        } else if now < before {
            self.held.fetch_sub(before - now, SeqCst);
        }
    }

    /// Says whether requests wait on a shard. True: that is new.
    pub(crate) fn set_waiting(&self, shard: u32, waits: bool) -> bool {
        let bit = bit(shard);
        if waits {
            self.waiting_shards.fetch_or(bit, SeqCst) & bit == 0
        } else {
            self.waiting_shards.fetch_and(!bit, SeqCst) & bit != 0
        }
    }

    /// Whether requests wait on any shard.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.waiting_shards.load(SeqCst) != 0
    }

    /// The shard whose turn it is to be given room, of those on which requests wait and that are not among `tried`.
    pub(crate) fn next_waiting(&self, tried: u64) -> Option<u32> {
        let waiting = self.waiting_shards.load(SeqCst) & !tried;
        if waiting == 0 {
            return None;
        }
        let after = self.last_served.load(SeqCst) + 1;
        let shard = (waiting.rotate_right(after).trailing_zeros() + after) % u64::BITS;
        self.last_served.store(shard, SeqCst);
        Some(shard)
    }
}

/// The place of a request that waits, among those of its queue that no member has taken. Dropping it gives it back, whichever way the
/// request ends.
#[derive(Debug)]
pub(crate) struct Place {
    counts: Arc<QueueCounts>,
    is_upload: bool,
}

impl Place {
    /// One that has been claimed.
    pub(crate) fn of_claim(counts: &Arc<QueueCounts>, is_upload: bool) -> Self {
        Self {
            counts: Arc::clone(counts),
            is_upload,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counts.release(self.is_upload);
    }
}

/// The bit of a shard; there are 64 at most.
pub(crate) fn bit(shard: u32) -> u64 {
    1 << (shard % u64::BITS)
}

/// The queues of a host, for all of its shards.
#[derive(Debug, Default)]
pub(crate) struct HostWide {
    queues: Mutex<HashMap<QueueId, Weak<QueueCounts>>>,
}

impl HostWide {
    /// What a queue holds. It is forgotten when no shard has it any more.
    pub(crate) fn queue(&self, id: QueueId) -> Arc<QueueCounts> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = queues.get(&id).and_then(Weak::upgrade) {
            return counts;
        }
        queues.retain(|_, counts| counts.strong_count() > 0);
        let counts = Arc::default();
        queues.insert(id, Arc::downgrade(&counts));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_on_which_requests_wait_take_turns() {
        let counts = QueueCounts::default();
        assert_eq!(counts.next_waiting(0), None);
        for shard in [0, 5, 63] {
            assert!(counts.set_waiting(shard, true));
            assert!(!counts.set_waiting(shard, true));
        }
        let turns: Vec<_> = (0..6).filter_map(|_| counts.next_waiting(0)).collect();
        assert_eq!(turns, [5, 63, 0, 5, 63, 0]);
        assert_eq!(counts.next_waiting(bit(5)), Some(63));
        assert_eq!(counts.next_waiting(bit(5) | bit(63)), Some(0));
        counts.set_waiting(0, false);
        assert_eq!(counts.next_waiting(bit(5) | bit(63)), None);
    }

    #[test]
    fn uploads_take_no_place_of_complete_requests() {
        let load = MemberLoad::default();
        assert!(load.claim(1, true));
        assert!(load.claim(1, true));
        assert!(load.claim(1, false));
        assert!(!load.claim(1, false));
        // A body is there now: it is one of them, and the limit was for those that began.
        load.release_upload();
        load.release(1);
        assert!(!load.claim(1, false));
        load.release(1);
        assert!(load.claim(1, false));
        assert_eq!((load.in_flight(), load.uploads()), (2, 1));
        assert!(load.claim(0, false));
    }

    #[test]
    fn a_queue_is_the_same_for_all_shards_while_one_has_it() {
        let host = HostWide::default();
        let first = host.queue(QueueId(1));
        assert!(first.claim(false, 1));
        assert!(!host.queue(QueueId(1)).claim(false, 1));
        assert!(host.queue(QueueId(2)).claim(false, 1));
        drop(first);
        assert!(host.queue(QueueId(1)).claim(false, 1));
    }
}
