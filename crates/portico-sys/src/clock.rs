//! Clocks.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds of the monotonic clock.
#[must_use]
pub fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    millis(now.tv_sec, now.tv_nsec)
}

/// Milliseconds since 1970-01-01 UTC.
#[must_use]
pub fn unix_ms() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    millis(now.tv_sec, now.tv_nsec)
}

fn millis(seconds: i64, nanoseconds: i64) -> u64 {
    u64::try_from(
        seconds
            .saturating_mul(1000)
            .saturating_add(nanoseconds / 1_000_000),
    )
    .unwrap_or(0)
}
