//! A request queue: its members, and the requests that none of them has been given.

use std::collections::VecDeque;

use crate::QueueOptions;
use crate::client::MemberIndex;

/// A request queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) options: QueueOptions,
    pub(crate) members: Vec<MemberIndex>,
    pub(crate) waiting: VecDeque<Waiting>,
    /// Where the search for the least loaded begins: members of equal load take turns.
    pub(crate) next: usize,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) moved: u64,
}

/// A request that waits. It may have gone with its connection since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) token: u32,
    pub(crate) sequence: u32,
    pub(crate) deadline_ms: u64,
}
