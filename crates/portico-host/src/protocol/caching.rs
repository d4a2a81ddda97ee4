//! What is kept of answers: commands about it, and what they are answered.

use serde::{Deserialize, Serialize};

/// What is kept of answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum CacheCommand {
    /// Counters.
    Status,
    /// The answers that are kept.
    Show {
        /// Those whose URL begins so; of a path, on each host.
        #[serde(default)]
        prefix: String,
        /// So many at most.
        limit: u32,
    },
    /// Give answers up.
    Purge {
        /// By what: `url`, `prefix`, `tag` or `all`.
        by: String,
        /// The URL or path, the beginning of one, or the tag.
        #[serde(default)]
        value: String,
    },
}

/// What the cache has done since the host's start, and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheCounters {
    /// Requests that were answered with what was kept.
    pub hits: u64,
    /// Those of them that had waited for the answer to an equal one.
    pub collapsed: u64,
    /// Requests for which nothing was kept.
    pub misses: u64,
    /// Answers that are kept.
    pub entries: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Bytes that they may take.
    pub budget_bytes: u64,
    /// Answers that were kept.
    pub stored: u64,
    /// Answers that made room for others.
    pub evicted: u64,
    /// Answers that went because they were of no more use.
    pub expired: u64,
    /// Answers that were purged, or made invalid by a request that changed something.
    pub purged: u64,
}

/// An answer that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheEntry {
    /// Its URL.
    pub url: String,
    /// The prefix that it is of.
    pub prefix: String,
    /// Its status code.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: u64,
    /// Its age in seconds.
    pub age_seconds: u64,
    /// For how many seconds more it is given.
    pub fresh_seconds: u64,
    /// Names by which it can be purged.
    pub tags: Vec<String>,
}
