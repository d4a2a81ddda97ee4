//! Time as decisions need it: passed in, never read here.

use std::time::Duration;

/// A moment, in milliseconds since the start of 1970.
///
/// The caller makes it of a clock that is not set while the process runs: the wall time of its start, and what a
/// monotonic clock has counted since. A step of the machine's clock then makes nothing older or younger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The moment in whole seconds.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        (self.0 / 1000) as i64
    }

    /// How long ago `earlier` was; nothing, if it is yet to come.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}
