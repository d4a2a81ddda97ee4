//! Shards on threads of their own.
//!
//! The application's thread and each engine thread exchange the same records as with an inline shard, through a pair
//! of rings. Neither side waits for the other's lock: control calls (listen, close, ...) go through a mailbox and are
//! answered between two turns.
//!
//! ```text
//!              commands ring, mailbox ─▶ engine thread ─ Shard
//! application                             (woken by an eventfd in its epoll)
//!              events ring ◀─────────────
//!   (woken by one eventfd for all threads)
//! ```
//!
//! The thread's index is part of its connections' tokens: see [`portico_channel::token`].

mod application_end;
mod engine_end;
mod lending;
mod shard_link;
mod shared;

pub use application_end::ThreadedEngine;

/// Threads of one engine at most.
pub(crate) const MAX_THREADS: usize = 64;
