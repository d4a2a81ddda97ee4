//! How often targets have been asked for, for rules that keep only what is asked for often.
//!
//! A table of fixed size: of two targets in one place the later takes it, and the other begins anew. That stores an
//! answer later than it could be, and never one too early.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portico_cache::{Key, Time};

use crate::limits::REMEMBERED_OUTCOMES;

/// Each place: 32 bits of the target's hash, 24 of the number of the period, 8 of the count.
#[derive(Debug)]
pub(super) struct Frequency {
    places: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Frequency {
    fn default() -> Self {
        let place = |_| AtomicU64::new(0);
        Self {
            places: (0..REMEMBERED_OUTCOMES).map(place).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Frequency {
    /// Counts a request; returns how many there have been in this period, up to 255.
    pub(super) fn count(&self, key: &Key, period: Duration, now: Time) -> u8 {
        let hash = self.hasher.hash_one(key);
        let period_ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX).max(1);
        let name = hash >> 32 << 32 | ((now.0 / period_ms) & 0xff_ffff) << 8;
        let place = &self.places[hash as usize % self.places.len()];
        let counted = |before: u64| {
            let count = if before & !0xff == name {
                (before & 0xff) + 1
            } else {
                1
            };
            name | count.min(0xff)
        };
        let before = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
            Some(counted(before))
        });
        u8::try_from(counted(before.unwrap_or(0)) & 0xff).unwrap_or(u8::MAX)
    }
}
