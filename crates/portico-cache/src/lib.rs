//! The output cache's decisions: what may be stored of an application's answers, for how long it is fresh, and which
//! requests may have it (RFC 9111 as a shared cache; RFC 5861, 9211, 9213).
//!
//! Nothing here reads a clock or opens a socket: heads and times are passed in. The decisions are pure functions; what they
//! let in is kept in a [`store`].
//!
//! * [`storing`]: whether a response is stored, and which of its fields.
//! * [`Freshness`]: how old it is, whether a request may have it, and whether it may stand in for a failed one.
//! * [`Variant`]: which requests it was chosen for. [`Key`]: what it is found by.
//! * [`site_rule`]: what a site says of it.
//! * [`validation`]: asking the application whether it still holds. [`invalidation`]: what a change makes invalid.
//! * [`store`]: what is kept, within a budget, for all shards of a process.
//! * [`CacheStatus`]: a field that says what was done.
//!
//! What a client's own conditions and ranges come to is in `portico_http::semantics`.
#![forbid(unsafe_code)]

mod cache_control;
mod cache_status;
mod freshness;
pub mod invalidation;
mod key;
pub mod site_rule;
pub mod status;
pub mod store;
mod stored_fields;
pub mod storing;
pub mod targeted;
mod time;
pub mod validation;
mod vary;

pub use cache_control::{RequestDirectives, ResponseDirectives, Scope};
pub use cache_status::{CacheStatus, Forward};
pub use freshness::{Exchanged, Failure, Freshness, Reuse};
pub use key::{Key, QueryRule, Target};
pub use time::Time;
pub use vary::Variant;
