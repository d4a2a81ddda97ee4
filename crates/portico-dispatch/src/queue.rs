//! A request queue: its members, and the requests that none of them has been given.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::QueueOptions;
use crate::client::MemberIndex;
use crate::host_wide::QueueCounts;

/// A request queue, on one shard.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) options: QueueOptions,
    pub(crate) members: Vec<MemberIndex>,
    pub(crate) waiting: Line,
    /// What it holds on all shards.
    pub(crate) counts: Arc<QueueCounts>,
    /// Where the search for the least loaded begins: members of equal load take turns.
    pub(crate) next: usize,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) moved: u64,
    pub(crate) timed_out: u64,
}

impl Queue {
    /// An empty one, on a shard.
    pub(crate) fn new(options: QueueOptions, counts: Arc<QueueCounts>, shard: u32) -> Self {
        Self {
            options,
            members: Vec::new(),
            waiting: Line::new(Arc::clone(&counts), shard),
            counts,
            next: 0,
            requests: 0,
            refused: 0,
            lost: 0,
            moved: 0,
            timed_out: 0,
        }
    }

    /// Requests without their body that it may have, waiting and with its members; 0: no limit.
    pub(crate) fn upload_limit(&self) -> u32 {
        let members = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        self.options.max_uploads.saturating_mul(members.max(1))
    }
}

/// A request that waits. It may have gone with its connection since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) token: u32,
    pub(crate) sequence: u32,
    pub(crate) deadline_ms: u64,
}

/// Requests that wait on one shard, in the order of their deadlines, and some that have gone since. Their places are with
/// their exchanges.
#[derive(Debug)]
pub(crate) struct Line {
    entries: VecDeque<Waiting>,
    counts: Arc<QueueCounts>,
    shard: u32,
    /// Entries at which those that have gone are looked for.
    crowd: usize,
}

impl Line {
    fn new(counts: Arc<QueueCounts>, shard: u32) -> Self {
        Self {
            entries: VecDeque::new(),
            counts,
            shard,
            crowd: CROWD,
        }
    }

    /// All that wait.
    pub(crate) fn len(&self) -> u32 {
        as_u32(self.entries.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&Waiting> {
        self.entries.front()
    }

    pub(crate) fn get(&self, place: usize) -> Option<Waiting> {
        self.entries.get(place).copied()
    }

    /// True: it is the first that waits here. A member's place that became free before other shards could know of it has
    /// to be looked for again.
    pub(crate) fn push_back(&mut self, waiting: Waiting) -> bool {
        self.entries.push_back(waiting);
        self.entries.len() == 1 && self.counts.set_waiting(self.shard, true)
    }

    pub(crate) fn push_front(&mut self, waiting: Waiting) {
        self.entries.push_front(waiting);
        self.counts.set_waiting(self.shard, true);
    }

    pub(crate) fn remove(&mut self, place: usize) -> Option<Waiting> {
        let waiting = self.entries.remove(place)?;
        self.note_end();
        Some(waiting)
    }

    /// Whether so many have been added that those which have gone should be forgotten.
    pub(crate) fn is_crowded(&self) -> bool {
        self.entries.len() >= self.crowd
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&Waiting) -> bool) {
        self.entries.retain(keep);
        self.crowd = 2 * self.entries.len() + CROWD;
        self.note_end();
    }

    fn note_end(&self) {
        if self.entries.is_empty() {
            self.counts.set_waiting(self.shard, false);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.counts.set_waiting(self.shard, false);
    }
}

/// Entries, at least, before those that have gone are looked for.
const CROWD: usize = 64;

fn as_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
