//! A part of the store: a table, and the order in which entries make room (S3-FIFO; Yang and others, SOSP 2023).
//!
//! ```text
//!   new ──▶ probation ──hit twice──▶ main ──not hit──▶ gone
//!                │                     ▲ └──hit──┘
//!                └──▶ gone, remembered ┘ when it comes again
//! ```
//!
//! What is asked for once, as by a crawler, passes through `probation`, a tenth of the budget, and leaves `main` alone.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use portico_http::semantics::Fields;

use super::entry::Entry;
use super::{Found, Rejected, StoreStats};
use crate::key::Key;
use crate::time::Time;

/// `probation` has this share of the budget: one in ten.
const PROBATION_SHARE: usize = 10;

/// Hits on probation that lead to `main`.
const HITS_TO_STAY: u8 = 2;

/// Hashes are made by the store, with a secret: they need no more hashing.
#[derive(Default)]
struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

type Unhash = BuildHasherDefault<Unhashed>;

#[derive(Debug)]
pub(super) struct Part {
    budget_bytes: usize,
    max_variants: usize,
    /// Entries by their keys' hashes, those of one key together, the newest first.
    table: HashMap<u64, Vec<Slot>, Unhash>,
    probation: Queue,
    main: Queue,
    /// Hashes of keys that left from probation, in their order; as many as `main` has entries.
    remembered: VecDeque<u64>,
    remembered_set: HashSet<u64, Unhash>,
    next_number: u64,
    inserted: u64,
    evicted: u64,
    expired: u64,
    purged: u64,
}

#[derive(Debug)]
struct Slot {
    entry: Arc<Entry>,
    /// Tells it from others of its key that came before or come later.
    number: u64,
    is_in_main: bool,
}

/// Entries in the order in which they came, by hash and number. One whose entry has gone stays until its turn comes, or
/// until too many have gone.
#[derive(Debug, Default)]
struct Queue {
    places: VecDeque<(u64, u64)>,
    entries: usize,
    bytes: usize,
}

impl Queue {
    fn push(&mut self, place: (u64, u64), bytes: usize) {
        self.places.push_back(place);
        self.entries += 1;
        self.bytes += bytes;
    }

    /// An entry has gone, whether its place is still here or not.
    fn take(&mut self, bytes: usize) {
        self.entries -= 1;
        self.bytes -= bytes;
    }
}

/// Why an entry goes.
#[derive(Clone, Copy)]
enum Cause {
    Replaced,
    Evicted,
    Expired,
    Purged,
}

impl Part {
    pub(super) fn new(budget_bytes: usize, max_variants: usize) -> Self {
        Self {
            budget_bytes,
            max_variants: max_variants.max(1),
            table: HashMap::default(),
            probation: Queue::default(),
            main: Queue::default(),
            remembered: VecDeque::new(),
            remembered_set: HashSet::default(),
            next_number: 0,
            inserted: 0,
            evicted: 0,
            expired: 0,
            purged: 0,
        }
    }

    pub(super) fn find(&self, hash: u64, key: &Key, request: Fields<'_>) -> Found {
        let mut has_others = false;
        for slot in self.slots(hash) {
            if **slot.entry.key() != *key {
                continue;
            }
            if slot.entry.variant().matches(request) {
                slot.entry.hit();
                return Found::Entry(Arc::clone(&slot.entry));
            }
            has_others = true;
        }
        if has_others {
            Found::OtherVariants
        } else {
            Found::Nothing
        }
    }

    pub(super) fn insert(&mut self, entry: &Arc<Entry>, now: Time) -> Result<(), Rejected> {
        let cost = entry.cost_bytes();
        if cost > self.budget_bytes {
            return Err(Rejected::TooLarge);
        }
        let hash = entry.hash();
        self.replace(hash, entry);
        while self.used_bytes() + cost > self.budget_bytes && self.evict_one(now) {}
        let is_known = self.remembered_set.contains(&hash);
        let number = self.next_number;
        self.next_number += 1;
        let queue = if is_known {
            &mut self.main
        } else {
            &mut self.probation
        };
        queue.push((hash, number), cost);
        let slot = Slot {
            entry: Arc::clone(entry),
            number,
            is_in_main: is_known,
        };
        // Most keys have one entry, and a Vec that grows by itself begins with room for four.
        let slots = self
            .table
            .entry(hash)
            .or_insert_with(|| Vec::with_capacity(1));
        slots.reserve_exact(1);
        slots.insert(0, slot);
        self.inserted += 1;
        self.compact();
        Ok(())
    }

    /// Removes what is stored for the same requests, and the oldest of the key if there are too many.
    fn replace(&mut self, hash: u64, entry: &Entry) {
        let is_same_key = |other: &Entry| other.key() == entry.key();
        self.remove_slots(hash, Cause::Replaced, |other| {
            is_same_key(other) && other.variant() == entry.variant()
        });
        let of_key = |slot: &&Slot| is_same_key(&slot.entry);
        let too_many = self
            .slots(hash)
            .iter()
            .filter(of_key)
            .nth(self.max_variants - 1);
        if let Some(number) = too_many.map(|slot| slot.number) {
            self.remove_number(hash, number, Cause::Evicted);
        }
    }

    pub(super) fn remove_key(&mut self, hash: u64, key: &Key) -> usize {
        self.remove_slots(hash, Cause::Purged, |entry| entry.key().has_target_of(key))
    }

    pub(super) fn remove(&mut self, hash: u64, entry: &Entry) {
        self.remove_slots(hash, Cause::Expired, |other| std::ptr::eq(other, entry));
    }

    pub(super) fn remove_where(&mut self, is_purged: impl Fn(&Entry) -> bool) -> usize {
        let hashes: Vec<u64> = self.table.keys().copied().collect();
        let purged = hashes
            .into_iter()
            .map(|hash| self.remove_slots(hash, Cause::Purged, &is_purged))
            .sum();
        self.compact();
        purged
    }

    pub(super) fn expire(&mut self, now: Time, at_most: usize) {
        for _ in 0..at_most.min(self.probation.places.len()) {
            self.rotate(now, |part| &mut part.probation);
        }
        for _ in 0..at_most.min(self.main.places.len()) {
            self.rotate(now, |part| &mut part.main);
        }
    }

    pub(super) fn for_each(&self, visit: &mut impl FnMut(&Arc<Entry>)) {
        for slot in self.table.values().flatten() {
            visit(&slot.entry);
        }
    }

    pub(super) fn add_to(&self, stats: &mut StoreStats) {
        stats.entries += self.probation.entries + self.main.entries;
        stats.used_bytes += self.used_bytes();
        stats.inserted += self.inserted;
        stats.evicted += self.evicted;
        stats.expired += self.expired;
        stats.purged += self.purged;
    }

    fn used_bytes(&self) -> usize {
        self.probation.bytes + self.main.bytes
    }

    fn slots(&self, hash: u64) -> &[Slot] {
        self.table.get(&hash).map_or(&[], Vec::as_slice)
    }

    fn slot(&self, hash: u64, number: u64) -> Option<&Slot> {
        self.slots(hash).iter().find(|slot| slot.number == number)
    }

    /// Takes the entry whose turn it is out of its queue: it goes, or stays for another round. False: there is none.
    fn evict_one(&mut self, now: Time) -> bool {
        let is_probation_full = self.probation.bytes > self.budget_bytes / PROBATION_SHARE;
        let from_probation = is_probation_full || self.main.entries == 0;
        let queue = if from_probation {
            &mut self.probation
        } else {
            &mut self.main
        };
        let Some((hash, number)) = queue.places.pop_front() else {
            return false;
        };
        let Some(slot) = self.slot(hash, number) else {
            return true; // it has gone before
        };
        let (hits, cost) = (slot.entry.hits(), slot.entry.cost_bytes());
        let is_useless =
            slot.entry.freshness().useful_until() <= now && !has_validator(&slot.entry);
        if is_useless {
            self.remove_number(hash, number, Cause::Expired);
        } else if from_probation && hits >= HITS_TO_STAY {
            slot.entry.set_hits(0);
            self.probation.take(cost);
            self.main.push((hash, number), cost);
            if let Some(slot) = self.slot_mut(hash, number) {
                slot.is_in_main = true;
            }
        } else if from_probation {
            self.remove_number(hash, number, Cause::Evicted);
            self.remember(hash);
        } else if hits > 0 {
            slot.entry.set_hits(hits - 1);
            self.main.places.push_back((hash, number));
        } else {
            self.remove_number(hash, number, Cause::Evicted);
        }
        true
    }

    /// Moves the first of a queue to its end, or out if it is of no more use. The order of eviction loses nothing that
    /// matters: a round moves all alike.
    fn rotate(&mut self, now: Time, queue: impl Fn(&mut Self) -> &mut Queue) {
        let Some((hash, number)) = queue(self).places.pop_front() else {
            return;
        };
        let Some(slot) = self.slot(hash, number) else {
            return;
        };
        if slot.entry.freshness().useful_until() <= now && !has_validator(&slot.entry) {
            self.remove_number(hash, number, Cause::Expired);
        } else {
            queue(self).places.push_back((hash, number));
        }
    }

    fn slot_mut(&mut self, hash: u64, number: u64) -> Option<&mut Slot> {
        let slots = self.table.get_mut(&hash)?;
        slots.iter_mut().find(|slot| slot.number == number)
    }

    fn remember(&mut self, hash: u64) {
        if self.remembered_set.insert(hash) {
            self.remembered.push_back(hash);
        }
        let most = (self.main.entries + self.probation.entries).max(16);
        while self.remembered.len() > most {
            if let Some(forgotten) = self.remembered.pop_front() {
                self.remembered_set.remove(&forgotten);
            }
        }
    }

    fn remove_number(&mut self, hash: u64, number: u64, cause: Cause) {
        if let Some(slots) = self.table.get_mut(&hash)
            && let Some(index) = slots.iter().position(|slot| slot.number == number)
        {
            let slot = slots.remove(index);
            if slots.is_empty() {
                self.table.remove(&hash);
            }
            self.let_go(&slot, cause);
        }
    }

    fn remove_slots(
        &mut self,
        hash: u64,
        cause: Cause,
        is_removed: impl Fn(&Entry) -> bool,
    ) -> usize {
        let Some(slots) = self.table.get_mut(&hash) else {
            return 0;
        };
        let removed: Vec<Slot> = slots
            .extract_if(.., |slot| is_removed(&slot.entry))
            .collect();
        if slots.is_empty() {
            self.table.remove(&hash);
        }
        for slot in &removed {
            self.let_go(slot, cause);
        }
        removed.len()
    }

    fn let_go(&mut self, slot: &Slot, cause: Cause) {
        let queue = if slot.is_in_main {
            &mut self.main
        } else {
            &mut self.probation
        };
        queue.take(slot.entry.cost_bytes());
        match cause {
            Cause::Replaced => {}
            Cause::Evicted => self.evicted += 1,
            Cause::Expired => self.expired += 1,
            Cause::Purged => self.purged += 1,
        }
    }

    /// Drops places whose entries have gone, once they are the most.
    fn compact(&mut self) {
        let is_there = |table: &HashMap<u64, Vec<Slot>, Unhash>, (hash, number): (u64, u64)| {
            table
                .get(&hash)
                .is_some_and(|slots| slots.iter().any(|slot| slot.number == number))
        };
        for queue in [&mut self.probation, &mut self.main] {
            if queue.places.len() > 64 + 2 * queue.entries {
                queue.places.retain(|&place| is_there(&self.table, place));
                queue.places.shrink_to(2 * queue.entries);
            }
        }
    }
}

/// Whether the application can be asked if it still holds.
fn has_validator(entry: &Entry) -> bool {
    entry.fields().has(b"etag") || entry.fields().has(b"last-modified")
}
