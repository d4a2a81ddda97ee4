//! A request queue: its members, and the requests that none of them has been given.

use std::collections::VecDeque;

use crate::QueueOptions;
use crate::client::MemberIndex;
use crate::uploads::Uploads;

/// A request queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) options: QueueOptions,
    pub(crate) members: Vec<MemberIndex>,
    pub(crate) waiting: Line,
    /// Requests whose body has not arrived, waiting or with a member.
    pub(crate) uploads: Uploads,
    /// Where the search for the least loaded begins: members of equal load take turns.
    pub(crate) next: usize,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) moved: u64,
    pub(crate) timed_out: u64,
}

impl Queue {
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
    /// Its body had not arrived when it began to wait.
    pub(crate) is_upload: bool,
}

/// Requests that wait, in the order of their deadlines. Those without their body are counted apart.
#[derive(Debug, Default)]
pub(crate) struct Line {
    entries: VecDeque<Waiting>,
    uploads: usize,
}

impl Line {
    /// All that wait.
    pub(crate) fn len(&self) -> u32 {
        as_u32(self.entries.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many wait that had their body, or had not.
    pub(crate) fn count(&self, is_upload: bool) -> u32 {
        as_u32(if is_upload {
            self.uploads
        } else {
            self.entries.len() - self.uploads
        })
    }

    pub(crate) fn front(&self) -> Option<&Waiting> {
        self.entries.front()
    }

    pub(crate) fn get(&self, place: usize) -> Option<Waiting> {
        self.entries.get(place).copied()
    }

    pub(crate) fn push_back(&mut self, waiting: Waiting) {
        self.uploads += usize::from(waiting.is_upload);
        self.entries.push_back(waiting);
    }

    pub(crate) fn push_front(&mut self, waiting: Waiting) {
        self.uploads += usize::from(waiting.is_upload);
        self.entries.push_front(waiting);
    }

    pub(crate) fn remove(&mut self, place: usize) -> Option<Waiting> {
        let waiting = self.entries.remove(place)?;
        self.uploads -= usize::from(waiting.is_upload);
        Some(waiting)
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&Waiting) -> bool) {
        self.entries.retain(keep);
        self.uploads = self.entries.iter().filter(|entry| entry.is_upload).count();
    }
}

fn as_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
