//! The output cache of this process: one for all engines of all environments.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use napi::Result;
use napi_derive::napi;
use portico_cache::store::StoreLimits;
use portico_cache::storing::Rule;
use portico_engine::{CacheSite, OutputCache};

use crate::errors::failure;

static CACHE: OnceLock<Arc<OutputCache>> = OnceLock::new();

/// Numbers of engines, so that what one has stored is never another's: two servers of a process are two applications.
static ENGINES: AtomicU64 = AtomicU64::new(0);

/// The process's cache, made when an engine first asks for it.
pub(crate) fn cache() -> &'static Arc<OutputCache> {
    CACHE.get_or_init(|| Arc::new(OutputCache::new(StoreLimits::default())))
}

/// Whose answers an engine's are, and by which rule they are kept: what is asked for alone, all by what they say of
/// themselves, or all for so many milliseconds.
pub(crate) fn site(lifetime_ms: Option<f64>, is_standard: bool) -> CacheSite {
    let profile = lifetime_ms.map(|milliseconds| {
        let seconds = milliseconds.max(0.0) / 1000.0;
        let lifetime = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Rule::Profile(lifetime)
    });
    CacheSite {
        // A listener's number takes the lower half.
        owner: ENGINES.fetch_add(1, Ordering::Relaxed) << 32,
        rule: if is_standard {
            Some(Rule::Standard)
        } else {
            profile
        },
        rules: None,
    }
}

/// `CacheStats` of binding.ts.
#[napi(object)]
pub struct CacheStats {
    /// Requests that were answered with what was stored.
    pub hits: f64,
    /// Those of them that had waited for the answer to another one.
    pub collapsed: f64,
    /// Lookups that found nothing.
    pub misses: f64,
    /// Answers that are stored.
    pub entries: f64,
    /// Bytes that they take.
    pub bytes: f64,
    /// Bytes that they may take.
    pub budget_bytes: f64,
    /// Answers that were stored.
    pub stored: f64,
    /// Answers that made room for others.
    pub evicted: f64,
    /// Answers that went because they were of no more use.
    pub expired: f64,
    /// Answers that were purged, or made invalid.
    pub purged: f64,
}

/// What the process's cache has done and holds.
#[napi]
#[must_use]
pub fn cache_stats() -> CacheStats {
    let cache = cache();
    let stats = cache.stats();
    #[expect(clippy::cast_precision_loss, reason = "no cache counts to 2^53")]
    let number = |count: u64| count as f64;
    let size = |count: usize| number(u64::try_from(count).unwrap_or(u64::MAX));
    CacheStats {
        hits: number(stats.hits),
        collapsed: number(stats.collapsed),
        misses: number(stats.store.not_found),
        entries: size(stats.store.entries),
        bytes: size(stats.store.used_bytes),
        budget_bytes: size(cache.store().limits().budget_bytes),
        stored: number(stats.store.inserted),
        evicted: number(stats.store.evicted),
        expired: number(stats.store.expired),
        purged: number(stats.store.purged),
    }
}

/// Purges what is stored of a URL (`url`; of a path alone, on each host), below a beginning of one (`prefix`), of a tag
/// (`tag`), or all (`all`); returns how many answers went.
#[napi]
pub fn purge_cache(kind: String, text: String) -> Result<u32> {
    let purged = cache().purge_by(&kind, &text, None);
    let purged = purged.ok_or_else(|| failure(format!("no purge by {kind}")))?;
    Ok(u32::try_from(purged).unwrap_or(u32::MAX))
}
