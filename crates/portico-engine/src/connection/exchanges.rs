//! Requests in flight on a connection, and the order of their answers.
//!
//! Requests are handed over as they are parsed; the application may answer them in any order. Only the first one's
//! answer goes out; those of later ones are held back (RFC 9112, 9.3.2).

use std::collections::VecDeque;

use super::segments::Segments;

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
    /// Output that waits for its turn; `None` while there was none.
    held: Option<Box<Held>>,
}

/// Output that waits for its answer's turn.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) queue: Segments,
    /// How much of `queue` is in the total of its connection.
    counted_bytes: usize,
    /// Lengths of `queue` at which an acknowledgement was asked for.
    pub(super) acks: Vec<usize>,
}

impl Exchange {
    /// What waits for its turn, to append to.
    pub(super) fn held(&mut self) -> &mut Held {
        self.held.get_or_insert_default()
    }
}

/// The requests in flight, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    queue: VecDeque<Exchange>,
    /// Sequence number of the oldest.
    first: u32,
    /// Bytes held back, of all together.
    held_bytes: usize,
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

    /// What was held back of the exchange whose turn it is now.
    #[inline]
    pub(super) fn take_held(&mut self) -> Option<Box<Held>> {
        let held = self.queue.front_mut()?.held.take()?;
        self.held_bytes -= held.counted_bytes;
        Some(held)
    }

    /// The last request turned out to be none.
    pub(super) fn pop_newest(&mut self) {
        if let Some(held) = self.queue.pop_back().and_then(|exchange| exchange.held) {
            self.held_bytes -= held.counted_bytes;
        }
    }

    /// Something was added to what is held back of an exchange.
    pub(super) fn note_held(&mut self, sequence: u32) {
        let Some(held) = self
            .find(sequence)
            .and_then(|(exchange, _)| exchange.held.as_mut())
        else {
            return;
        };
        let length = held.queue.len();
        let before = std::mem::replace(&mut held.counted_bytes, length);
        self.held_bytes = self.held_bytes + length - before;
    }

    /// Nothing of what is held back of an exchange will be sent.
    pub(super) fn forget_held(&mut self, sequence: u32) {
        let held = self
            .find(sequence)
            .and_then(|(exchange, _)| exchange.held.take());
        if let Some(held) = held {
            self.held_bytes -= held.counted_bytes;
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.held_bytes = 0;
    }

    /// Bytes held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}
