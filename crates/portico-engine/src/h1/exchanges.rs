//! The exchanges of an HTTP/1 connection, in a ring.
//!
//! They lie side by side in the order of their numbers, in places that are used again. HTTP/1 ends them in this order, so
//! the place of a number is its distance from the first. An exchange lives until its request has been read to the end and
//! its answer is complete.

use std::collections::VecDeque;

use crate::exchange::BodyWish;
use crate::segments::Segments;

/// A request and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    sequence: u32,
    /// Whether the request has been read to its end, or nothing more of it will be.
    received: bool,
    /// What is wanted of the request's body.
    pub(super) body: BodyWish,
    /// The peer may wait for `100 Continue` before it sends the body.
    pub(super) awaits_continue: bool,
    /// Whether the answer's head has been given.
    pub(super) head_given: bool,
    /// Whether the answer's body is framed as chunks.
    pub(super) chunked: bool,
    /// Whether the answer is complete.
    pub(super) answered: bool,
    /// Whether the connection ends behind the answer.
    pub(super) close: bool,
    /// What has been given of the answer before its turn; `None` while there was nothing.
    held: Option<Box<Held>>,
}

/// Output that waits for its answer's turn.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) segments: Segments,
    /// How much of `segments` is in the total of its connection.
    counted_bytes: usize,
    /// Lengths of `segments` at which an acknowledgement was asked for.
    pub(super) acks: Vec<usize>,
}

impl Exchange {
    /// What waits for its turn, to append to.
    pub(super) fn held(&mut self) -> &mut Held {
        self.held.get_or_insert_default()
    }

    /// Whether the answer's head has been given, and its end has not.
    pub(super) fn is_answering(&self) -> bool {
        self.head_given && !self.answered
    }

    /// Whether nothing has been given of the answer's head.
    pub(super) fn is_unanswered(&self) -> bool {
        !self.head_given && !self.answered
    }
}

/// The exchanges of a connection, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    slots: VecDeque<Exchange>,
    /// Number of the exchange that began last.
    last: u32,
    /// Bytes held back, of all together.
    held_bytes: usize,
}

impl Exchanges {
    /// Number of the exchange that began last, 0 if none has.
    #[inline]
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    /// Exchanges that live.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether every answer is complete. (Only the last request may then be still arriving.)
    #[inline]
    pub(super) fn is_answered(&self) -> bool {
        self.slots.front().is_none_or(|exchange| exchange.answered)
    }

    /// The exchange whose turn it is to be answered, if nothing has been given of its answer.
    pub(super) fn first_unanswered(&self) -> Option<u32> {
        let first = self.slots.front();
        let first = first.filter(|exchange| exchange.is_unanswered())?;
        Some(first.sequence)
    }

    /// Begins an exchange, whose request is still to be received. Returns its number.
    #[inline]
    pub(super) fn begin(&mut self, awaits_continue: bool) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.slots.push_back(Exchange {
            sequence: self.last,
            received: false,
            body: BodyWish::default(),
            awaits_continue,
            head_given: false,
            chunked: false,
            answered: false,
            close: false,
            held: None,
        });
        self.last
    }

    /// The exchange that began last has not begun: the application could not be told of it.
    pub(super) fn take_back(&mut self) {
        self.slots.pop_back();
        self.last = self.last.wrapping_sub(1);
    }

    /// The exchange of a number, and whether it is its turn to be answered.
    #[inline]
    pub(super) fn find(&mut self, sequence: u32) -> Option<(&mut Exchange, bool)> {
        let first = self.slots.front()?.sequence;
        let guess = usize::try_from(sequence.wrapping_sub(first)).ok()?;
        let exchange = self.slots.get_mut(guess)?;
        Some((exchange, guess == 0))
    }

    /// The exchange whose request is being received.
    #[inline]
    pub(super) fn arriving(&self) -> Option<&Exchange> {
        self.slots.back().filter(|exchange| !exchange.received)
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn arriving_mut(&mut self) -> Option<&mut Exchange> {
        self.slots.back_mut().filter(|exchange| !exchange.received)
    }

    /// The request that is being received is there, or no more of it will be.
    #[inline]
    pub(super) fn end_request(&mut self) {
        let is_first = self.slots.len() == 1;
        if let Some(exchange) = self.arriving_mut() {
            exchange.received = true;
            // One that is not the first has its answer held.
            if exchange.answered && is_first {
                self.slots.pop_back();
            }
        }
    }

    /// The request that is being received is none: its connection has become a byte stream.
    pub(super) fn remove_arriving(&mut self) {
        if self.arriving().is_some()
            && let Some(held) = self.slots.pop_back().and_then(|exchange| exchange.held)
        {
            self.held_bytes -= held.counted_bytes;
        }
    }

    /// The first exchange is answered: it ends, unless its request is still arriving (`false`).
    #[inline]
    pub(super) fn end_first(&mut self) -> bool {
        let is_over = self.slots.front().is_some_and(|first| first.received);
        if is_over {
            self.slots.pop_front();
        }
        is_over
    }

    /// What was held back of the first exchange's answer: its turn has come.
    #[inline]
    pub(super) fn take_held(&mut self) -> Option<Box<Held>> {
        let held = self.slots.front_mut()?.held.take()?;
        self.held_bytes -= held.counted_bytes;
        Some(held)
    }

    /// If the first exchange's answer is complete, whether the connection ends behind it.
    #[inline]
    pub(super) fn first_answered(&self) -> Option<bool> {
        let first = self.slots.front().filter(|first| first.answered)?;
        Some(first.close)
    }

    /// Something was added to what is held back of an exchange.
    pub(super) fn count_held(&mut self, sequence: u32) {
        let Some(held) = self
            .find(sequence)
            .and_then(|(exchange, _)| exchange.held.as_mut())
        else {
            return;
        };
        let length = held.segments.len();
        let before = std::mem::replace(&mut held.counted_bytes, length);
        self.held_bytes = self.held_bytes + length - before;
    }

    /// Nothing of what is held back of an exchange will be sent.
    pub(super) fn drop_held(&mut self, sequence: u32) {
        let held = self
            .find(sequence)
            .and_then(|(exchange, _)| exchange.held.take());
        if let Some(held) = held {
            self.held_bytes -= held.counted_bytes;
        }
    }

    /// Ends all.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.held_bytes = 0;
    }

    /// Bytes held back.
    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::buffer_pool::BufferPool;

    fn hold(exchanges: &mut Exchanges, sequence: u32, bytes: &[u8]) {
        let (exchange, _) = exchanges.find(sequence).unwrap();
        let buffer = exchange.held().segments.buffer(&mut BufferPool::default());
        buffer.extend_from_slice(bytes);
        exchanges.count_held(sequence);
    }

    #[test]
    fn a_number_is_never_given_again_and_finds_nothing_when_its_exchange_is_over() {
        let mut exchanges = Exchanges::default();
        assert_eq!((exchanges.begin(false), exchanges.last()), (1, 1));
        exchanges.end_request();
        exchanges.find(1).unwrap().0.answered = true;
        assert_eq!(exchanges.first_answered(), Some(false));
        assert!(exchanges.end_first());
        assert!(exchanges.find(1).is_none() && exchanges.find(2).is_none());
        assert_eq!(exchanges.begin(false), 2);
        assert!(exchanges.find(1).is_none() && exchanges.find(3).is_none());
        assert!(exchanges.find(2).unwrap().1);
    }

    #[test]
    fn an_exchange_lives_until_its_request_and_its_answer_are_over() {
        let mut exchanges = Exchanges::default();
        exchanges.begin(true);
        exchanges.find(1).unwrap().0.answered = true;
        assert!(exchanges.is_answered());
        assert!(!exchanges.end_first());
        assert!(exchanges.arriving().unwrap().awaits_continue);
        exchanges.end_request();
        assert!(exchanges.find(1).is_none() && exchanges.arriving().is_none());
    }

    #[test]
    fn what_is_held_counts_until_its_turn() {
        let mut exchanges = Exchanges::default();
        for _ in 0..3 {
            exchanges.begin(false);
            exchanges.end_request();
        }
        hold(&mut exchanges, 2, b"second");
        hold(&mut exchanges, 3, b"third");
        hold(&mut exchanges, 3, b"!");
        assert_eq!(exchanges.held_bytes(), 12);
        exchanges.find(2).unwrap().0.answered = true;
        assert!(!exchanges.is_answered());
        exchanges.find(1).unwrap().0.answered = true;
        assert!(exchanges.end_first());
        assert_eq!(exchanges.take_held().unwrap().segments.len(), 6);
        assert_eq!(exchanges.first_answered(), Some(false));
        assert!(exchanges.end_first());
        exchanges.drop_held(3);
        assert_eq!((exchanges.held_bytes(), exchanges.len()), (0, 1));
    }

    #[test]
    fn an_answer_that_is_held_outlives_the_arrival_of_its_request() {
        let mut exchanges = Exchanges::default();
        exchanges.begin(false);
        exchanges.end_request();
        exchanges.begin(false);
        hold(&mut exchanges, 2, b"second");
        exchanges.find(2).unwrap().0.answered = true;
        exchanges.end_request();
        assert_eq!((exchanges.held_bytes(), exchanges.len()), (6, 2));
    }

    #[test]
    fn what_turned_out_to_be_none_leaves_nothing() {
        let mut exchanges = Exchanges::default();
        exchanges.begin(false);
        exchanges.take_back();
        assert_eq!(exchanges.begin(false), 1);
        hold(&mut exchanges, 1, b"answer");
        exchanges.remove_arriving();
        assert_eq!((exchanges.held_bytes(), exchanges.len()), (0, 0));
    }
}
