//! The wall clock, for lifetimes of sessions and certificates. Looked at during handshakes only.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 if the clock stands before that.
pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
