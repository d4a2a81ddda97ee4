//! The first page of the memory: who it is, how large its streams are, how far they have been written and read.

use crate::Sleeper;
use crate::sync::AtomicU64;

/// Bytes of records about one answer that an application may write before its client has read some. A record may
/// be written while fewer have been, and go beyond.
pub const ANSWER_WINDOW_BYTES: u64 = 256 * 1024;

/// The first word of the memory.
pub(super) const MAGIC: u32 = 0x5254_4f50;

/// Bytes before the streams.
pub(super) const HEADER_BYTES: usize = 4096;

/// What the memory says of itself. Written once, before the other side gets it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) magic: u32,
    pub(super) version: u32,
    pub(super) events_bytes: u32,
    pub(super) commands_bytes: u32,
    /// Of the records ([`crate::layout::FINGERPRINT`]).
    pub(super) fingerprint: u32,
}

/// The first page. Every bit pattern of it is valid. What one side writes lies on cache lines of its own.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Header {
    pub(super) identity: Identity,
    pub(super) events: Positions,
    pub(super) commands: Positions,
    /// The application sleeps in its event loop.
    pub(super) application: Line<Sleeper>,
    /// The host's shard sleeps in its epoll.
    pub(super) host: Line<Sleeper>,
    /// The host has events that found no room.
    pub(super) host_wants_room: Line<Sleeper>,
    /// The application has commands that found no room.
    pub(super) application_wants_room: Line<Sleeper>,
}

/// How far a stream has been read (`head`) and written (`tail`), in bytes since the start.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Positions {
    pub(super) head: Line<AtomicU64>,
    pub(super) tail: Line<AtomicU64>,
}

/// On a cache line of its own, with its neighbour that the processor fetches along.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub(super) struct Line<T>(pub(super) T);

#[cfg(loom)]
impl Header {
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            identity,
            events: Positions::default(),
            commands: Positions::default(),
            application: Line::default(),
            host: Line::default(),
            host_wants_room: Line::default(),
            application_wants_room: Line::default(),
        }
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);
