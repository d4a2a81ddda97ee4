//! Acknowledgements that the engine was asked for on a connection, in the order in which it gives them.

use std::collections::VecDeque;

use crate::client::MemberIndex;
use crate::flow::Ack;

/// The acknowledgements that are due.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    /// In the order of the answers.
    due: VecDeque<Ack>,
}

impl Acks {
    /// Whether none is due.
    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Enters one of an answer, in the order of the requests.
    pub(crate) fn expect(&mut self, ack: Ack) {
        let place = self
            .due
            .iter()
            .rposition(|earlier| ack.sequence.wrapping_sub(earlier.sequence) < u32::MAX / 2)
            .map_or(0, |index| index + 1);
        self.due.insert(place, ack);
    }

    /// Enters one of a byte stream: behind all others.
    pub(crate) fn expect_last(&mut self, ack: Ack) {
        self.due.push_back(ack);
    }

    /// The next one has come true: of an exchange, or of all.
    pub(crate) fn take(&mut self, sequence: Option<u32>) -> Option<Ack> {
        let place = match sequence {
            Some(sequence) => self.due.iter().position(|ack| ack.sequence == sequence)?,
            None => 0,
        };
        self.due.remove(place)
    }

    /// A member is gone: what it asked for is told to none, under a number that no member ever has.
    pub(crate) fn abandon(&mut self, member: MemberIndex) {
        for ack in self.due.iter_mut().filter(|ack| ack.member == member) {
            ack.member = usize::MAX;
        }
    }
}
