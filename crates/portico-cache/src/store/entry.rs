//! A stored response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use portico_http::semantics::{Fields, FieldsBuffer};

use crate::freshness::Freshness;
use crate::key::Key;
use crate::time::Time;
use crate::vary::Variant;

/// A response that is to be stored.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// What it is found by.
    pub key: Arc<Key>,
    /// Which requests it is for.
    pub variant: Variant,
    /// How long it may be used.
    pub freshness: Freshness,
    /// Its status.
    pub status: u16,
    /// Its fields, without those that are not stored.
    pub fields: FieldsBuffer,
    /// Its body, whole.
    pub body: Arc<[u8]>,
    /// Names by which it can be purged together with others.
    pub tags: Box<[Box<[u8]>]>,
}

/// A response that is stored. Whoever holds one may use it, also when it is no longer in the store.
#[derive(Debug)]
pub struct Entry {
    content: NewEntry,
    hash: u64,
    /// Hits since it was last looked at by eviction, up to `MAX_HITS`.
    hits: AtomicU8,
    /// When the application was last asked for a new one in the background, and when it last failed to give one; 0:
    /// never.
    refreshed_ms: AtomicU64,
    failed_ms: AtomicU64,
}

/// More hits than this make no difference to eviction.
const MAX_HITS: u8 = 3;

/// What it costs to keep an entry beside its own bytes: its place in two tables, a queue, and the allocator's share of
/// eight allocations. Held against a process's memory by a test.
const OVERHEAD_BYTES: usize = 392;

impl Entry {
    pub(super) fn new(content: NewEntry, hash: u64) -> Self {
        Self {
            content,
            hash,
            hits: AtomicU8::new(0),
            refreshed_ms: AtomicU64::new(0),
            failed_ms: AtomicU64::new(0),
        }
    }

    /// What it is found by.
    #[must_use]
    pub fn key(&self) -> &Arc<Key> {
        &self.content.key
    }

    /// Which requests it is for.
    #[must_use]
    pub fn variant(&self) -> &Variant {
        &self.content.variant
    }

    /// How long it may be used.
    #[must_use]
    pub fn freshness(&self) -> &Freshness {
        &self.content.freshness
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.content.status
    }

    /// Its fields.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        self.content.fields.fields()
    }

    /// Its body.
    #[must_use]
    pub fn body(&self) -> &Arc<[u8]> {
        &self.content.body
    }

    /// Names by which it can be purged.
    pub fn tags(&self) -> impl Iterator<Item = &[u8]> {
        self.content.tags.iter().map(AsRef::as_ref)
    }

    /// The same response with other fields and another freshness, as a 304 makes it; to be inserted in its place.
    #[must_use]
    pub fn freshened(&self, fields: FieldsBuffer, freshness: Freshness) -> NewEntry {
        NewEntry {
            fields,
            freshness,
            ..self.content.clone()
        }
    }

    /// Bytes of the budget that it takes.
    #[must_use]
    pub fn cost_bytes(&self) -> usize {
        let content = &self.content;
        let tags: usize = content.tags.iter().map(|tag| tag.len() + 32).sum();
        size_of::<Self>()
            + OVERHEAD_BYTES
            + content.key.as_bytes().len()
            + content.variant.memory_bytes()
            + content.fields.memory_bytes()
            + content.body.len()
            + tags
    }

    /// Whether the application is to be asked for a new one in the background now: of all who ask at once the first is told
    /// so, and then no other for so long, whatever becomes of that.
    #[must_use]
    pub fn begin_refresh(&self, now: Time, pause: Duration) -> bool {
        let before = self.refreshed_ms.load(Ordering::Relaxed);
        let is_due = before == 0 || now.since(Time(before)) >= pause;
        let (ordering, now) = (Ordering::Relaxed, now.0);
        is_due
            && self
                .refreshed_ms
                .compare_exchange(before, now, ordering, ordering)
                .is_ok()
    }

    /// The application has failed to say whether it still holds.
    pub fn note_failure(&self, now: Time) {
        self.failed_ms.store(now.0, Ordering::Relaxed);
    }

    /// Whether that was not long before.
    #[must_use]
    pub fn has_failed_within(&self, duration: Duration, now: Time) -> bool {
        let failed = self.failed_ms.load(Ordering::Relaxed);
        failed != 0 && now.since(Time(failed)) <= duration
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// Counts a hit. Several at once may count as one.
    pub(super) fn hit(&self) {
        let hits = self.hits.load(Ordering::Relaxed);
        if hits < MAX_HITS {
            self.hits.store(hits + 1, Ordering::Relaxed);
        }
    }

    pub(super) fn hits(&self) -> u8 {
        self.hits.load(Ordering::Relaxed)
    }

    pub(super) fn set_hits(&self, hits: u8) {
        self.hits.store(hits, Ordering::Relaxed);
    }
}
