//! The HTTP engine: listeners, connections, timers and dispatch.
//!
//! The only crate with network I/O on the data path. It knows no JavaScript: an application is whoever reads the event
//! records and writes the command records of `portico_channel::layout`.
#![forbid(unsafe_code)]

mod counters;
mod options;
mod shard;

pub use counters::Counters;
pub use options::ListenerOptions;
pub use shard::{CommandError, ListenerId, Shard, TurnOutcome};
