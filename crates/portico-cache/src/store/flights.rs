//! Requests for the same key while one of them is at the application: the others wait for its answer.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard};

use super::lock;
use crate::key::Key;

/// Locks, so that shards seldom wait for each other.
const PARTS: usize = 16;

/// Which keys are at the application, and who waits for them. `W` names a waiting request; comparing two says whether they
/// are the same.
///
/// A request waits once: what it gets then is what is stored, or its own turn at the application. So an answer that
/// can't be stored, or is for others, costs the time of one answer, and never one after the other.
#[derive(Debug)]
pub struct Flights<W> {
    parts: [Mutex<HashMap<Key, Vec<W>>>; PARTS],
    hasher: RandomState,
    max_waiting: usize,
}

/// What became of a request that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It is the first, and goes to the application; [`Flights::land`] has to be called when its answer is stored, or is
    /// known not to be, or has failed.
    First,
    /// It waits.
    Waiting,
    /// As many wait as may; it goes to the application by itself, and lands nothing.
    Full,
}

impl<W: PartialEq> Flights<W> {
    /// At most `max_waiting` requests wait for one key.
    #[must_use]
    pub fn new(max_waiting: usize) -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
            max_waiting,
        }
    }

    /// A request for a key that nothing is stored for.
    pub fn join(&self, key: &Key, waiter: W) -> Join {
        let mut part = self.part(key);
        match part.get_mut(key) {
            None => {
                part.insert(key.clone(), Vec::new());
                Join::First
            }
            Some(waiters) if waiters.len() < self.max_waiting => {
                waiters.push(waiter);
                Join::Waiting
            }
            Some(_) => Join::Full,
        }
    }

    /// The first one's answer is stored, or known not to be: those that waited, in their order.
    #[must_use]
    pub fn land(&self, key: &Key) -> Vec<W> {
        self.part(key).remove(key).unwrap_or_default()
    }

    /// A waiting request waits no longer: its client has gone, or it has waited long enough. False: it was not waiting.
    pub fn leave(&self, key: &Key, waiter: &W) -> bool {
        let mut part = self.part(key);
        let Some(waiters) = part.get_mut(key) else {
            return false;
        };
        let index = waiters.iter().position(|other| other == waiter);
        index.map(|index| waiters.remove(index)).is_some()
    }

    /// Keys that are at the application.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| lock(part.lock()).len()).sum()
    }

    /// Whether no key is at the application.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn part(&self, key: &Key) -> MutexGuard<'_, HashMap<Key, Vec<W>>> {
        let hash = self.hasher.hash_one(key);
        lock(self.parts[hash as usize % PARTS].lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{QueryRule, Target};

    fn key(path: &str) -> Key {
        let target = Target {
            owner: 1,
            is_secure: false,
            authority: b"a",
            path_and_query: path.as_bytes(),
            context: b"",
        };
        Key::new(&target, &QueryRule::All)
    }

    #[test]
    fn the_first_goes_and_the_others_wait_until_it_lands() {
        let flights = Flights::new(2);
        assert_eq!(flights.join(&key("/a"), 1), Join::First);
        assert_eq!(flights.join(&key("/b"), 2), Join::First);
        assert_eq!(flights.join(&key("/a"), 3), Join::Waiting);
        assert_eq!(flights.join(&key("/a"), 4), Join::Waiting);
        assert_eq!(flights.join(&key("/a"), 5), Join::Full);
        assert!(flights.leave(&key("/a"), &3));
        assert!(!flights.leave(&key("/a"), &3));
        assert_eq!(flights.join(&key("/a"), 6), Join::Waiting);
        assert_eq!(flights.land(&key("/a")), [4, 6]);
        assert_eq!(flights.land(&key("/a")), [0; 0]);
        assert_eq!(flights.join(&key("/a"), 7), Join::First);
        assert_eq!(flights.len(), 2);
    }
}
