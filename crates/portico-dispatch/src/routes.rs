//! What the control side tells a shard about prefixes and queues.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use portico_cache::site_rule::SiteRules;
use portico_router::{Scheme, Table};

/// Number of a member: one registration of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(pub u32);

/// Number of a request queue: one URL prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// What a listener stands for in the routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// The port that prefixes name.
    pub port: u16,
}

/// The routing table with the settings of its queues.
#[derive(Debug, Default)]
pub struct Routes {
    /// Queues by prefix, registered or reserved.
    pub table: Table<QueueId>,
    /// Settings of the queues. A queue that is missing has the defaults.
    pub queues: HashMap<QueueId, QueueOptions>,
}

/// Settings of a request queue. What they bound is counted on all shards of the host together. Its defaults are those of
/// the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// Requests that no process has taken yet, at most; beyond, 503 at once.
    pub length: u32,
    /// How long a request waits for a process before it gets 503.
    pub wait: Duration,
    /// `Retry-After` of the queue's 503.
    pub retry_after_seconds: u32,
    /// Requests a member may have in flight; 0: no limit. Those whose body has not arrived are counted apart.
    pub max_in_flight: u32,
    /// Requests whose body has not arrived, for each member; beyond, 503; 0: no limit. When half of
    /// them are there, one client address (of IPv6: a /64) may have no more than a sixteenth.
    pub max_uploads: u32,
    /// How long a member may take until the head of its answer, once it has the whole request or stops reading it;
    /// beyond: 504. Zero: no limit.
    pub response_timeout: Duration,
    /// Whether a request that a process had taken when it died is given to another one, if its method is safe, it has
    /// no body and nothing was answered.
    pub retry_safe: bool,
    /// What binds requests to one member.
    pub affinity: Affinity,
    /// What is kept of its answers, beside those that ask for it.
    pub cache: Option<Arc<SiteRules>>,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self::from(&portico_config::QueueOptions::default())
    }
}

impl From<&portico_config::QueueOptions> for QueueOptions {
    /// What `[queue]` of the configuration says; the rest is a site's.
    fn from(options: &portico_config::QueueOptions) -> Self {
        let retry_after = options.retry_after.as_millis().div_ceil(1000);
        Self {
            length: options.length,
            wait: options.wait,
            retry_after_seconds: u32::try_from(retry_after).unwrap_or(u32::MAX),
            max_in_flight: options.max_in_flight_per_process,
            max_uploads: options.max_uploads_per_process,
            response_timeout: options.response_timeout,
            retry_safe: false,
            affinity: Affinity::None,
            cache: None,
        }
    }
}

/// What binds requests to one member: those with the same value go to the same one while it lives. A request without
/// the value goes to the least loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Every request goes to the least loaded member.
    #[default]
    None,
    /// The value of a cookie.
    Cookie(String),
    /// The value of a header field. Lower case.
    Header(String),
    /// A segment of the path, from 1.
    Segment(u32),
}
