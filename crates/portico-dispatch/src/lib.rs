//! The data path of the host: one engine shard, many applications.
//!
//! A shard of `portico-engine` believes that it has one application. Here its events are read by a dispatcher, which
//! decides for every *request* which member of which request queue gets it, and copies the request's records into that
//! member's channel; commands that come back are checked (is this exchange yours?) and applied to the shard.
//!
//! ```text
//!  clients ══ Shard ── events ─▶ Dispatcher ── channel ─▶ member 1 (a process)
//!                   ◀─ commands ─           ◀─         ─ member 2
//! ```
//!
//! Nothing a member writes is trusted: its bytes are copied before they are looked at, its records name connections and
//! requests that must be its own, and one that breaks the rules loses its channel and nothing else happens.
//!
//! Files: [`ShardThread`] is the thread and its mailbox, `shard_loop` what it does; `dispatcher` decides; `events` and
//! `commands` are the two directions; `client` is what is known of a connection, `in_flight` and `exchange` of its
//! requests, `member` of a member, `queue` of a request queue, `host_wide` what all shards count together.
#![forbid(unsafe_code)]

mod acks;
mod affinity;
mod answer_validation;
mod answers;
mod backlog;
mod broken_member;
mod broken_requests;
mod caching;
mod client;
mod commands;
mod dispatcher;
mod events;
mod exchange;
mod flow;
mod framing;
mod holding;
mod host_wide;
mod in_flight;
mod inspection;
mod limits;
mod listening;
mod member;
mod membership;
mod peer_end;
mod placing;
mod queue;
mod request;
mod response_timeouts;
mod room;
mod routes;
mod routing;
mod shard_loop;
mod stats;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod test_support;
mod thread;
mod to_settle;
mod unfinished;
mod uploads;
mod user_memory;
mod validation;
mod waiting;

pub use broken_member::{BreakReason, BrokenMember};
pub use caching::owner_of;
pub use host_wide::MemberLoad;
pub use inspection::{InspectedMember, InspectedRequest, Inspection};
pub use member::NewMember;
pub use routes::{Affinity, Endpoint, MemberId, QueueId, QueueOptions, Routes};
pub use stats::{LeftBehind, MemberStats, QueueStats, RefusalCounts, ShardStats};
pub use thread::{Pulse, ShardThread};
pub use user_memory::UserMemory;
