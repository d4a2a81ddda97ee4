//! The records that an engine and an application exchange.
//!
//! Both directions are byte streams of records. A record is a sequence of 32-bit little-endian words, its size a
//! multiple of four bytes, followed by its payload (padded to four bytes):
//!
//! | word | meaning |
//! |---|---|
//! | 0 | size of the whole record in bytes, payload and padding included |
//! | 1 | kind in the low 8 bits, flags in the high 24 |
//! | 2 | connection token (or what the kind says) |
//!
//! Offsets inside a record count bytes from the record's first byte. 64-bit numbers take two words, low word first; what
//! is smaller than a word shares one, the first in the low bits.
//!
//! What follows is the kind's own: [`event`] and [`command`] are the two tables, in the language of [`crate::schema`]. A
//! connection's token is [`crate::token`]'s matter. A **sequence number** names a request on its connection, counted from 1;
//! in HTTP/2 it is the stream's number.
//!
//! These tables are the only source: `make generate` writes the TypeScript copy and `docs/records.md`.

pub mod command;
pub mod event;
mod flags;
mod tables;

use crate::schema::Fingerprint;

pub use flags::{
    NUMBERS, alpn_flag, body_flag, cache_flag, close_idle_flag, destroy_flag, flushed_flag,
    open_flag, peer_end_flag, request_flag, reset_code, response_flag, scheme, secure_flag,
    session_command, session_event, shutdown_flag, take_over_flag, timeout_kind,
};

/// Version of the records and of the memory that carries them between processes. Both sides must have the same. It is
/// raised where what a record means changes, and with the memory's first page.
pub const LAYOUT_VERSION: u32 = 2;

/// Fingerprint of these tables, and of the numbers that records carry. Both sides must have the same: builds of the same
/// version may still have been made from different tables, and would read one word for another.
pub const FINGERPRINT: u32 = fingerprint(tables::TABLES);

/// The fingerprint of these tables with others of this hash; for the generator.
#[must_use]
pub const fn fingerprint(tables: u32) -> u32 {
    Fingerprint::new()
        .records(event::EVENTS)
        .records(command::COMMANDS)
        .numbers(NUMBERS)
        .word(crate::token::SLOT_BITS)
        .word(crate::token::GENERATION_BITS)
        .word(TEMPLATE_BYTES)
        .word(HEAD_BYTES)
        .word(RECORD_BYTES)
        .word(tables)
        .number()
}

/// Bytes of a head (reason and field lines) that is kept under a number, at most.
pub const TEMPLATE_BYTES: u32 = 1 << 16;
/// Bytes of a request's head that an engine takes, at most, whatever a server allows.
pub const HEAD_BYTES: u32 = 8 << 20;
/// Bytes of a record between two processes, at most.
pub const RECORD_BYTES: u32 = 1 << 24;
