//! Requests that wait for the answer to an equal one, across shards.
//!
//! A request waits only where the answer is likely to be stored: waiting for one that is not costs the client the time
//! of a whole answer, and two clients that wait for each other (a chat that answers the first when the second has asked)
//! would wait for ever. So what an answer to a key came to is remembered, a hash for a key, in tables of fixed size.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use portico_cache::Key;
use portico_cache::store::{Flights, Join};
use portico_sys::Wake;

use crate::limits::{COALESCED_REQUESTS, REMEMBERED_OUTCOMES};

/// Which requests wait, and for what.
#[derive(Debug)]
pub(super) struct Coalescing {
    flights: Flights<Waiter>,
    hasher: RandomState,
    /// Keys whose last answer was stored.
    stored: Box<[AtomicU64]>,
    /// Keys whose last answer was not.
    refused: Box<[AtomicU64]>,
}

impl Coalescing {
    pub(super) fn new() -> Self {
        let table = || {
            (0..REMEMBERED_OUTCOMES)
                .map(|_| AtomicU64::new(0))
                .collect()
        };
        Self {
            flights: Flights::new(COALESCED_REQUESTS),
            hasher: RandomState::new(),
            stored: table(),
            refused: table(),
        }
    }

    /// A request for a key that nothing is stored for. `is_expected`: answers are stored unless something forbids it.
    pub(super) fn join(&self, key: &Key, is_expected: bool, waiter: Waiter) -> Join {
        let hash = self.hasher.hash_one(key);
        let has = |table: &[AtomicU64]| place(table, hash).load(Ordering::Relaxed) == hash;
        let is_likely = if is_expected {
            !has(&self.refused)
        } else {
            has(&self.stored)
        };
        if is_likely {
            self.flights.join(key, waiter)
        } else {
            Join::Full
        }
    }

    /// What the answer to a key came to.
    pub(super) fn note(&self, key: &Key, is_stored: bool) {
        let hash = self.hasher.hash_one(key);
        let (of, not_of) = if is_stored {
            (&self.stored, &self.refused)
        } else {
            (&self.refused, &self.stored)
        };
        place(of, hash).store(hash, Ordering::Relaxed);
        let _ = place(not_of, hash).compare_exchange(hash, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Who waits for a key is told that its answer has come.
    pub(super) fn land(&self, key: &Key) {
        for waiter in self.flights.land(key) {
            waiter.mail.put(waiter.token, waiter.sequence);
        }
    }

    /// A request waits no longer.
    pub(super) fn leave(&self, key: &Key, waiter: &Waiter) {
        self.flights.leave(key, waiter);
    }
}

fn place(table: &[AtomicU64], hash: u64) -> &AtomicU64 {
    &table[hash as usize % table.len()]
}

/// A request that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) mail: Arc<Mail>,
    pub(super) token: u32,
    pub(super) sequence: u32,
}

impl PartialEq for Waiter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mail, &other.mail)
            && (self.token, self.sequence) == (other.token, other.sequence)
    }
}

/// Where a shard hears of answers that its requests wait for.
#[derive(Debug)]
pub(super) struct Mail {
    landed: Mutex<Vec<(u32, u32)>>,
    has_landed: AtomicBool,
    pub(super) wake: Wake,
}

impl Mail {
    pub(super) fn new() -> portico_sys::Result<Self> {
        Ok(Self {
            landed: Mutex::default(),
            has_landed: AtomicBool::new(false),
            wake: Wake::new()?,
        })
    }

    fn put(&self, token: u32, sequence: u32) {
        let mut landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        landed.push((token, sequence));
        if !self.has_landed.swap(true, Ordering::Release) {
            self.wake.wake();
        }
    }

    /// Those that have been put since the last call.
    pub(super) fn take(&self) -> Vec<(u32, u32)> {
        if !self.has_landed.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_landed.store(false, Ordering::Release);
        std::mem::take(&mut *landed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use portico_cache::{QueryRule, Target};

    #[test]
    fn equal_requests_beyond_the_limit_go_to_the_application() {
        let coalescing = Coalescing::new();
        let target = Target {
            owner: 0,
            is_secure: false,
            authority: b"a.test",
            path_and_query: b"/",
            context: b"",
        };
        let key = Key::new(&target, &QueryRule::All);
        let mail = Arc::new(Mail::new().unwrap());
        let join = |sequence| {
            let waiter = Waiter {
                mail: Arc::clone(&mail),
                token: 1,
                sequence,
            };
            coalescing.join(&key, true, waiter)
        };
        assert_eq!(join(0), Join::First);
        let limit = u32::try_from(COALESCED_REQUESTS).unwrap();
        for sequence in 1..=limit {
            assert_eq!(join(sequence), Join::Waiting);
        }
        assert_eq!(join(limit + 1), Join::Full);
        coalescing.land(&key);
        assert_eq!(mail.take().len(), COALESCED_REQUESTS);
    }
}
