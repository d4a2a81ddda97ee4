//! Answers that are kept, and given again without the application.
//!
//! What may be kept and who may have it is decided by `portico_cache`; here it meets requests and answers, of whatever
//! protocol. One [`OutputCache`] serves all shards of a process. Each shard has a [`ShardCache`], which is offered
//! requests and says one of these:
//!
//! ```text
//! a fresh answer is stored            Answered
//! a stale one that may be used        Answered, and a request of the engine's own asks for a new one (`validating`)
//! a stale one that may not            Filtered: the application is asked whether it holds (`validating`)
//! none, and none is on its way        Filtered: a copy of the answer is taken (`storing`)
//! none, but one is on its way         Waits for it (`coalescing`), then Answered or Filtered
//! a request that changes something    Filtered: what it makes invalid goes (`invalidating`)
//! anything else                       Passed
//! ```
//!
//! Off, it is not there: an embedded engine gets its cache when the program first asks for one.

mod answering;
mod asked;
mod coalescing;
mod frequency;
mod invalidating;
mod shard_cache;
mod site;
mod storing;
mod validating;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use portico_cache::site_rule::SiteRule;
use portico_cache::store::{Purge, Store, StoreLimits, StoreStats};
use portico_cache::{Key, QueryRule, Target, Time};
use portico_sys::clock;

pub use shard_cache::ShardCache;
pub use site::CacheSite;

use crate::limits::{CACHE_EXPIRY_MS, CACHE_EXPIRY_STEP};
use coalescing::Coalescing;
use frequency::Frequency;

/// The answers that a process keeps, for all of its shards.
#[derive(Debug)]
pub struct OutputCache {
    store: Store,
    coalescing: Coalescing,
    /// Wall time less monotonic time at the start, in milliseconds: a step of the machine's clock makes no answer older.
    unix_offset_ms: u64,
    /// When entries that are of no more use were last looked for, in monotonic milliseconds.
    expired_ms: AtomicU64,
    hits: AtomicU64,
    collapsed: AtomicU64,
    /// Which targets have been asked for often enough.
    frequency: Frequency,
    /// Whose answers have been on their way.
    owners: RwLock<Vec<u64>>,
}

/// What a cache has done since its start, and holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Requests that were answered with what was stored.
    pub hits: u64,
    /// Those of them that had waited for the answer to another request.
    pub collapsed: u64,
    /// What the store says of itself.
    pub store: StoreStats,
}

impl OutputCache {
    /// An empty one.
    #[must_use]
    pub fn new(limits: StoreLimits) -> Self {
        Self {
            store: Store::new(limits),
            coalescing: Coalescing::new(),
            unix_offset_ms: clock::unix_ms().saturating_sub(clock::monotonic_ms()),
            expired_ms: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            collapsed: AtomicU64::new(0),
            frequency: Frequency::default(),
            owners: RwLock::default(),
        }
    }

    /// Removes what is purged; returns how many entries went. Requests that begin when this has returned get nothing of
    /// it, on any shard, nor is anything of it stored that was asked of the application before.
    pub fn purge(&self, purge: Purge) -> usize {
        self.store.purge(purge)
    }

    /// As [`OutputCache::purge`], of what is named as in `cache.purge()`: by `url` (of a path alone, on each host), by the
    /// beginning of one (`prefix`), by `tag`, or `all`. `owner`: whose; `None`: everybody's. `None` is returned for another
    /// kind.
    pub fn purge_by(&self, kind: &str, text: &str, owner: Option<u64>) -> Option<usize> {
        let purge = match (kind, owner) {
            ("all", None) => Purge::All,
            ("all", Some(owner)) => Purge::Owner(owner),
            ("prefix", _) => Purge::Prefix {
                owner,
                prefix: text.into(),
            },
            ("tag", _) => Purge::Tag {
                owner,
                tag: text.as_bytes().into(),
            },
            ("url", _) => match split_url(text) {
                Some(url) => return Some(self.purge_url(url, owner)),
                None => Purge::Path {
                    owner,
                    path: text.as_bytes().into(),
                },
            },
            _ => return None,
        };
        Some(self.purge(purge))
    }

    fn purge_url(
        &self,
        (is_secure, authority, path): (bool, &str, &str),
        of: Option<u64>,
    ) -> usize {
        let (authority, path_and_query) = (authority.as_bytes(), path.as_bytes());
        let owners = self.owners.read().unwrap_or_else(PoisonError::into_inner);
        let purge_of = |&owner: &u64| {
            let target = Target {
                owner,
                is_secure,
                authority,
                path_and_query,
                context: b"",
            };
            self.purge(Purge::Url(Key::new(&target, &QueryRule::All)))
        };
        let is_meant = |owner: &&u64| of.is_none_or(|of| of == **owner);
        owners.iter().filter(is_meant).map(purge_of).sum()
    }

    /// Gives up what is stored of owners that are no more.
    pub fn retain_owners(&self, is_kept: impl Fn(u64) -> bool) {
        let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|&owner| {
            let keeps = is_kept(owner);
            if !keeps {
                self.store.purge(Purge::Owner(owner));
            }
            keeps
        });
    }

    /// What it has done and holds. Walks the parts of the store, not the entries.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            collapsed: self.collapsed.load(Ordering::Relaxed),
            store: self.store.stats(),
        }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The present moment, as the decisions count it.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.unix_offset_ms + clock::monotonic_ms())
    }

    /// Whether the answer to this request may be stored, since as many came as a site's rule asks for. Counts it.
    fn is_frequent(&self, key: &Key, rule: Option<&SiteRule>) -> bool {
        rule.is_none_or(|rule| {
            rule.min_hits <= 1
                || self.frequency.count(key, rule.period, self.now()) >= rule.min_hits
        })
    }

    /// An answer of this owner may be stored from now on.
    fn enter_owner(&self, owner: u64) {
        let is_known = |owners: &[u64]| owners.contains(&owner);
        if is_known(&self.owners.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
        if !is_known(&owners) {
            owners.push(owner);
        }
    }

    /// The answer to `key` is stored, or is known not to be: who waits for it is told.
    fn land(&self, key: &Arc<Key>) {
        self.coalescing.land(key);
    }

    /// Removes a few entries that are of no more use, if that was not done a moment ago.
    fn expire(&self, now: Time) {
        let before = self.expired_ms.load(Ordering::Relaxed);
        let is_due = now.0.saturating_sub(before) >= CACHE_EXPIRY_MS;
        let ordering = Ordering::Relaxed;
        if is_due
            && self
                .expired_ms
                .compare_exchange(before, now.0, ordering, ordering)
                .is_ok()
        {
            self.store.expire(now, CACHE_EXPIRY_STEP);
        }
    }
}

/// Whether a URL is secure, its host, and its path with the query. `None`: it is no whole URL.
fn split_url(url: &str) -> Option<(bool, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let path_at = rest.find('/')?;
    let (authority, path) = rest.split_at(path_at);
    Some((scheme == "https", authority, path))
}
