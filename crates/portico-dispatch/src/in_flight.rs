//! The requests in flight on a connection, in the order of their numbers.

use std::collections::VecDeque;

use crate::client::MemberIndex;
use crate::exchange::Exchange;

/// The requests in flight on a connection.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// In the order of their numbers. Without streams these follow each other but for those that the host has answered
    /// itself; those of streams grow.
    exchanges: VecDeque<Exchange>,
}

impl InFlight {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter()
    }

    /// All of them, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.exchanges.iter_mut()
    }

    /// The oldest.
    pub(crate) fn first(&self) -> Option<&Exchange> {
        self.exchanges.front()
    }

    /// The same, to be changed.
    pub(crate) fn first_mut(&mut self) -> Option<&mut Exchange> {
        self.exchanges.front_mut()
    }

    /// The one that came last.
    pub(crate) fn last(&self) -> Option<&Exchange> {
        self.exchanges.back()
    }

    /// The same, to be changed.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Exchange> {
        self.exchanges.back_mut()
    }

    /// The one of a number.
    pub(crate) fn find(&self, sequence: u32) -> Option<&Exchange> {
        self.exchanges.get(self.place_of(sequence)?)
    }

    /// The same, to be changed.
    pub(crate) fn find_mut(&mut self, sequence: u32) -> Option<&mut Exchange> {
        let place = self.place_of(sequence)?;
        self.exchanges.get_mut(place)
    }

    /// One more, with a number behind those of the others.
    pub(crate) fn add(&mut self, exchange: Exchange) {
        self.exchanges.push_back(exchange);
    }

    /// Takes the one of a number away.
    pub(crate) fn take(&mut self, sequence: u32) -> Option<Exchange> {
        let place = self.place_of(sequence)?;
        self.exchanges.remove(place)
    }

    /// Takes the one away that came last.
    pub(crate) fn take_last(&mut self) -> Option<Exchange> {
        self.exchanges.pop_back()
    }

    /// Drops all that are not wanted.
    pub(crate) fn retain(&mut self, is_wanted: impl FnMut(&Exchange) -> bool) {
        self.exchanges.retain(is_wanted);
    }

    /// Drops those that a member has.
    pub(crate) fn drop_of(&mut self, member: MemberIndex) {
        self.retain(|exchange| !exchange.is_with(member));
    }

    /// Drops all: the connection is a tunnel.
    pub(crate) fn clear(&mut self) {
        self.exchanges.clear();
    }

    fn place_of(&self, sequence: u32) -> Option<usize> {
        let first = self.exchanges.front()?.sequence;
        let distance = sequence.wrapping_sub(first);
        let guess = usize::try_from(distance).unwrap_or(usize::MAX);
        let is_there = |exchange: &Exchange| exchange.sequence == sequence;
        if self.exchanges.get(guess).is_some_and(is_there) {
            return Some(guess);
        }
        let by_distance = |exchange: &Exchange| exchange.sequence.wrapping_sub(first);
        let found = self.exchanges.binary_search_by_key(&distance, by_distance);
        found.ok()
    }
}
