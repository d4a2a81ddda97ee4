//! The state of one stream.

use crate::exchange::BodyWish;
use crate::offer::Waiting;
use crate::segments::Segments;

/// A stream.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) target: Vec<u8>,
    pub(super) is_whole: bool,
    /// It waits for its responder.
    pub(super) waiting: Option<Waiting>,
    pub(super) received: bool,
    pub(super) wish: BodyWish,
    /// Of its body, while that is paused.
    pub(super) kept: Vec<u8>,
    pub(super) head_given: bool,
    pub(super) answered: bool,
    /// Frames of the answer's head, then body bytes.
    pub(super) head: Vec<u8>,
    pub(super) body: Segments,
    /// How much of `body` is framed, and where acknowledgements are due.
    pub(super) framed: usize,
    pub(super) acks: Vec<usize>,
}

impl Exchange {
    /// Whether its body is not told for now.
    pub(super) fn is_held(&self) -> bool {
        self.wish == BodyWish::Nothing || self.waiting.is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.received && self.answered && self.head.is_empty() && self.body.is_empty()
    }
}
