//! The channel between two processes: a piece of memory that both map, with one stream of records in each direction.
//!
//! The host makes the memory, sealed so that no process can shrink it, and hands its descriptor over a Unix socket. From
//! then on either side treats what the other writes as bytes of unknown origin: positions are checked against the
//! capacity before use, bytes are copied out before they are looked at, and a side that breaks the rules is told by
//! [`Broken`]. Nothing in here panics or reads outside of the mapping, whatever the memory holds.
//!
//! Unlike [`crate::ring`], which lends slices of its memory to threads that trust each other, these streams copy.

mod ends;
mod header;
mod memory;
mod open_error;
mod stream;

pub use crate::layout::{FINGERPRINT, LAYOUT_VERSION};
#[cfg(loom)]
pub use ends::pair;
pub use ends::{ApplicationEnd, HostEnd};
pub use header::ANSWER_WINDOW_BYTES;
pub use memory::{Capacity, SharedMemory};
pub use open_error::OpenError;
pub use stream::{Broken, StreamReader, StreamWriter};
