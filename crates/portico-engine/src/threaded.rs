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
//! **Tokens.** The thread's index stands in the highest bits of the slot, so tokens of several threads differ and a
//! command finds its thread by its token. `N` threads take `log2(N)` of the 20 bits (rounded up); each has
//! `2^20 / 2^bits` connections.

mod application_end;
mod application_lane;
mod engine_end;
mod lane;
mod lending;
mod mailbox;

pub use application_end::ThreadedEngine;

/// Threads of one engine at most.
pub(crate) const MAX_THREADS: usize = 64;

/// Bits of the slot that hold the index of one of `threads` threads.
fn thread_bits(threads: usize) -> u32 {
    threads.next_power_of_two().trailing_zeros()
}
