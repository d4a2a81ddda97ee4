//! The application's side of a host.
//!
//! [`find_and_register`] speaks to a host's control socket and comes back with [`Channels`] for an [`AttachedEngine`]: the
//! same event and command records as an engine of one's own, but the shards are threads of another process. Knows
//! neither JSON nor JavaScript: the lines of the control protocol are the caller's.
#![forbid(unsafe_code)]

mod answer_windows;
mod attached_engine;
mod flow;
mod registration;
mod scan;
mod shard_link;
mod traffic;

pub use attached_engine::{AttachedEngine, Channels};
pub use registration::{RegisterError, Registration, find_and_register, register};
