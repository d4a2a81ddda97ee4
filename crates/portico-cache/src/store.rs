//! Stored responses, shared by all shards of a process, within a budget of bytes.
//!
//! Keys are divided among parts by their hash; each part has its share of the budget, its own lock, and its own
//! eviction order (`part`). A hit takes the lock for reading only: hits never wait for each other. Nothing here reads a
//! clock; times are passed in.
//!
//! A purge holds for every request that begins after it returned: what was asked of the application before it is not
//! stored behind it ([`Ticket`]).

mod entry;
mod flights;
mod part;
mod purge;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use portico_http::semantics::Fields;

use crate::key::Key;
use crate::time::Time;

pub use entry::{Entry, NewEntry};
pub use flights::{Flights, Join};
use part::Part;
use purge::Purges;
pub use purge::{Purge, Ticket};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// All entries with what it costs to keep them, in bytes. 64 MiB by default.
    pub budget_bytes: usize,
    /// The largest body, in bytes. 1 MiB by default. At most a part's share of the budget is kept of one entry.
    pub max_body_bytes: usize,
    /// Responses of one key, by `Vary`; the oldest makes room. 64 by default.
    pub max_variants: usize,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            budget_bytes: 64 << 20,
            max_body_bytes: 1 << 20,
            max_variants: 64,
        }
    }
}

/// Parts of a store that is large enough for them.
const MAX_PARTS: usize = 16;

/// Each part has room for this many of the largest entries, or there are fewer parts.
const LARGEST_ENTRIES_PER_PART: usize = 4;

/// What a request's key leads to.
#[derive(Clone, Debug)]
pub enum Found {
    /// A response for this request, fresh or not.
    Entry(Arc<Entry>),
    /// Responses for other requests of the same target.
    OtherVariants,
    /// Nothing.
    Nothing,
}

/// Why an entry was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// It is larger than entries may be.
    TooLarge,
    /// It was purged while it was on its way.
    Purged,
}

/// What a store has done and holds. Counts are since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Entries that are stored.
    pub entries: usize,
    /// Bytes of the budget that they take.
    pub used_bytes: usize,
    /// Lookups that found an entry, fresh or not.
    pub found: u64,
    /// Lookups that did not.
    pub not_found: u64,
    /// Entries that were stored.
    pub inserted: u64,
    /// Entries that made room for others.
    pub evicted: u64,
    /// Entries that went because they were of no more use.
    pub expired: u64,
    /// Entries that were purged or made invalid.
    pub purged: u64,
}

/// Stored responses.
#[derive(Debug)]
pub struct Store {
    parts: Box<[RwLock<Part>]>,
    hasher: RandomState,
    limits: StoreLimits,
    purges: Mutex<Purges>,
    /// Number of purges, as `purges` counts them.
    purge_count: AtomicU64,
    found: AtomicU64,
    not_found: AtomicU64,
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new(limits: StoreLimits) -> Self {
        let largest = limits
            .max_body_bytes
            .max(1)
            .saturating_mul(LARGEST_ENTRIES_PER_PART);
        let count = (limits.budget_bytes / largest).clamp(1, MAX_PARTS);
        let share = limits.budget_bytes / count;
        let part = || RwLock::new(Part::new(share, limits.max_variants));
        Self {
            parts: (0..count).map(|_| part()).collect(),
            hasher: RandomState::new(),
            limits,
            purges: Mutex::default(),
            purge_count: AtomicU64::new(0),
            found: AtomicU64::new(0),
            not_found: AtomicU64::new(0),
        }
    }

    /// The limits that it was made with.
    #[must_use]
    pub fn limits(&self) -> &StoreLimits {
        &self.limits
    }

    /// The newest response that is stored for a request. The caller asks its freshness.
    #[must_use]
    pub fn find(&self, key: &Key, request: Fields<'_>) -> Found {
        let hash = self.hash(key);
        let found = self.read(hash).find(hash, key, request);
        let count = match found {
            Found::Entry(_) => &self.found,
            Found::OtherVariants | Found::Nothing => &self.not_found,
        };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// To be taken before a request goes to the application, and given back with its answer.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket(self.purge_count.load(Ordering::Acquire))
    }

    /// Stores a response in the place of what is stored for the same requests; others make room for it.
    ///
    /// # Errors
    /// [`Rejected`]; nothing is changed then.
    pub fn insert(
        &self,
        entry: NewEntry,
        ticket: Ticket,
        now: Time,
    ) -> Result<Arc<Entry>, Rejected> {
        if entry.body.len() > self.limits.max_body_bytes {
            return Err(Rejected::TooLarge);
        }
        let hash = self.hash(&entry.key);
        let entry = Arc::new(Entry::new(entry, hash));
        let mut part = self.write(hash);
        // Behind the lock: a purge that comes later than this look waits for the lock, and finds the entry.
        let is_outdated = ticket != self.ticket();
        if is_outdated && self.purges().has_come(ticket, &entry) {
            return Err(Rejected::Purged);
        }
        part.insert(&entry, now)?;
        Ok(entry)
    }

    /// Removes what is purged, and sees to it that nothing of it that is on its way is stored. Returns how many entries
    /// went. Walks all entries, except for a purge of one URL.
    pub fn purge(&self, purge: Purge) -> usize {
        let purge = {
            let mut purges = self.purges();
            let purge = purges.add(purge);
            self.purge_count.store(purges.count(), Ordering::Release);
            purge
        };
        if let Purge::Url(key) = &*purge {
            let hash = self.hash(key);
            return self.write(hash).remove_key(hash, key);
        }
        self.parts
            .iter()
            .map(|part| lock(part.write()).remove_where(|entry| purge.holds_for(entry)))
            .sum()
    }

    /// Removes one entry, if it is still stored.
    pub fn remove(&self, entry: &Entry) {
        self.write(entry.hash()).remove(entry.hash(), entry);
    }

    /// Removes entries that are of no more use: looks at `at_most` of each part, and goes on from there with the next
    /// call. To be called from time to time; without it they go when room is needed.
    pub fn expire(&self, now: Time, at_most: usize) {
        for part in &self.parts {
            lock(part.write()).expire(now, at_most);
        }
    }

    /// Goes through all entries.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<Entry>)) {
        for part in &self.parts {
            lock(part.read()).for_each(&mut visit);
        }
    }

    /// What it has done and holds.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let mut stats = StoreStats {
            found: self.found.load(Ordering::Relaxed),
            not_found: self.not_found.load(Ordering::Relaxed),
            ..StoreStats::default()
        };
        for part in &self.parts {
            lock(part.read()).add_to(&mut stats);
        }
        stats
    }

    fn hash(&self, key: &Key) -> u64 {
        // Of the target alone: a purge finds all contexts in one place.
        self.hasher.hash_one(key.target())
    }

    fn part(&self, hash: u64) -> &RwLock<Part> {
        // The high bits: the tables within the parts use the low ones.
        let index = (hash >> 48) as usize % self.parts.len();
        &self.parts[index]
    }

    fn read(&self, hash: u64) -> RwLockReadGuard<'_, Part> {
        lock(self.part(hash).read())
    }

    fn write(&self, hash: u64) -> RwLockWriteGuard<'_, Part> {
        lock(self.part(hash).write())
    }

    fn purges(&self) -> MutexGuard<'_, Purges> {
        lock(self.purges.lock())
    }
}

/// A lock whose holder panicked is taken all the same: nothing is left half done that a later call could not bear.
fn lock<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
