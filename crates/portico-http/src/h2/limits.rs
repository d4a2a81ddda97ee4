//! Limits of a session of HTTP/2.

/// What each field counts beyond its bytes in the size of a field section (RFC 9113, section 6.5.2).
pub const FIELD_OVERHEAD_BYTES: u64 = 32;

/// So many times the allowed size may a field section have before its connection is given up. Below it only the stream
/// is: the fields are still decoded, because the table that they change is the connection's.
pub const MAX_EXCESS: u64 = 4;
