//! Requests in flight on a connection, and the order of their answers.
//!
//! Requests are handed over as they are parsed; the application may answer them in any order. Only the first one's
//! answer goes out; those of later ones are held back (RFC 9112, 9.3.2).

use std::collections::VecDeque;

/// A request that has not been answered completely.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// Whether the response head has been given.
    pub(super) head_given: bool,
    /// Whether the body is framed as chunks.
    pub(super) chunked: bool,
    /// Whether the response is complete.
    pub(super) ended: bool,
    /// Whether the connection ends after this response.
    pub(super) close: bool,
    /// Output that waits for its turn.
    pub(super) held: Vec<u8>,
    /// Lengths of `held` at which an acknowledgement was asked for.
    pub(super) held_acks: Vec<usize>,
}

/// The requests in flight, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    queue: VecDeque<Exchange>,
    /// Sequence number of the oldest.
    first: u32,
}

impl Exchanges {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Enters a request.
    pub(super) fn push(&mut self, sequence: u32) {
        if self.queue.is_empty() {
            self.first = sequence;
        }
        self.queue.push_back(Exchange::default());
    }

    /// The exchange of a sequence number, and whether it is the one whose turn it is.
    #[inline]
    pub(super) fn find(&mut self, sequence: u32) -> Option<(&mut Exchange, bool)> {
        let index = usize::try_from(sequence.wrapping_sub(self.first)).ok()?;
        Some((self.queue.get_mut(index)?, index == 0))
    }

    /// Takes the oldest exchange away if it is complete.
    #[inline]
    pub(super) fn pop_ended(&mut self) -> Option<Exchange> {
        if !self.queue.front()?.ended {
            return None;
        }
        self.first = self.first.wrapping_add(1);
        self.queue.pop_front()
    }

    /// The exchange whose turn it is.
    pub(super) fn front_mut(&mut self) -> Option<&mut Exchange> {
        self.queue.front_mut()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Bytes held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.queue.iter().map(|exchange| exchange.held.len()).sum()
    }
}
