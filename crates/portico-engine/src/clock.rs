//! The shard's time: read once a turn, with the `Date` header's text of the second.

use portico_http::h1::{DateCache, HTTP_DATE_LENGTH};
use portico_sys::clock;

/// Cached time. Nothing else in the engine asks the system for it.
#[derive(Debug)]
pub(crate) struct Clock {
    now_ms: u64,
    date: DateCache,
    /// Monotonic time until which `date` is right.
    date_until_ms: u64,
    /// How far a test has moved the time on.
    #[cfg(test)]
    ahead_ms: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let mut clock = Self {
            now_ms: 0,
            date: DateCache::new(),
            date_until_ms: 0,
            #[cfg(test)]
            ahead_ms: 0,
        };
        clock.update();
        clock
    }

    /// Reads the clock.
    pub(crate) fn update(&mut self) {
        self.now_ms = clock::monotonic_ms();
        #[cfg(test)]
        {
            self.now_ms += self.ahead_ms;
        }
    }

    /// Moves the time on.
    #[cfg(test)]
    pub(crate) fn advance(&mut self, by_ms: u64) {
        self.ahead_ms += by_ms;
        self.update();
    }

    /// Milliseconds of the monotonic clock at the last update.
    #[inline]
    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The present second as text for `Date`.
    #[inline]
    pub(crate) fn date(&mut self) -> &[u8; HTTP_DATE_LENGTH] {
        if self.now_ms >= self.date_until_ms {
            let unix_ms = clock::unix_ms();
            self.date.update(unix_ms / 1000);
            self.date_until_ms = self.now_ms + 1000 - unix_ms % 1000;
        }
        self.date.text()
    }
}
