//! Counts of what a peer may do now and then but not all the time: a bucket for each kind, filled with time.

use crate::h2::error::ConnectionError;
use crate::h2::limits::FloodLimit;

/// What is counted. Each kind has its limit in [`crate::h2::SessionLimits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flood {
    /// RST_STREAM of the peer.
    Resets,
    /// Streams that the peer made us reset.
    ForcedResets,
    /// SETTINGS.
    Settings,
    /// PING.
    Pings,
    /// DATA without a byte that ends nothing.
    EmptyFrames,
    /// PRIORITY and PRIORITY_UPDATE.
    Priorities,
    /// WINDOW_UPDATE.
    WindowUpdates,
    /// DATA that a window made tiny.
    TinyWindows,
    /// Frames that are not known.
    UnknownFrames,
}

const KINDS: usize = 9;

/// How many more are allowed, by kind.
#[derive(Debug)]
pub(super) struct Floods {
    left: [u32; KINDS],
    filled_ms: [u64; KINDS],
}

impl Floods {
    /// All buckets are full.
    pub(super) fn new(limits: &[FloodLimit; KINDS], now_ms: u64) -> Self {
        Self {
            left: limits.map(|limit| limit.burst),
            filled_ms: [now_ms; KINDS],
        }
    }

    /// Counts one.
    ///
    /// # Errors
    /// The bucket is empty: ENHANCE_YOUR_CALM.
    #[inline]
    pub(super) fn count(
        &mut self,
        kind: Flood,
        limits: &[FloodLimit; KINDS],
        now_ms: u64,
    ) -> Result<(), ConnectionError> {
        let left = &mut self.left[kind as usize];
        if *left > 0 {
            *left -= 1;
            return Ok(());
        }
        self.fill(kind, limits, now_ms)
    }

    /// An empty bucket gets what the time since then is worth.
    #[cold]
    fn fill(
        &mut self,
        kind: Flood,
        limits: &[FloodLimit; KINDS],
        now_ms: u64,
    ) -> Result<(), ConnectionError> {
        let (limit, filled_ms) = (limits[kind as usize], &mut self.filled_ms[kind as usize]);
        let passed_ms = now_ms.saturating_sub(*filled_ms);
        let worth = passed_ms.saturating_mul(limit.per_second.into()) / 1000;
        if worth == 0 {
            return Err(ConnectionError::calm(reason(kind)));
        }
        *filled_ms = now_ms;
        self.left[kind as usize] = worth.min(limit.burst.into()) as u32 - 1;
        Ok(())
    }

    /// So many more are allowed: something useful was done that brings them along.
    #[inline]
    pub(super) fn allow(&mut self, kind: Flood, count: u32, limits: &[FloodLimit; KINDS]) {
        let left = &mut self.left[kind as usize];
        *left = left.saturating_add(count).min(limits[kind as usize].burst);
    }
}

fn reason(kind: Flood) -> &'static str {
    match kind {
        Flood::Resets => "too many streams were reset",
        Flood::ForcedResets => "too many streams had errors",
        Flood::Settings => "too many SETTINGS",
        Flood::Pings => "too many PING",
        Flood::EmptyFrames => "too many empty frames",
        Flood::Priorities => "too many priorities",
        Flood::WindowUpdates => "too many WINDOW_UPDATE",
        Flood::TinyWindows => "windows are too small for too long",
        Flood::UnknownFrames => "too many unknown frames",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_a_rate() {
        let limits = [FloodLimit {
            burst: 10,
            per_second: 2,
        }; KINDS];
        let mut floods = Floods::new(&limits, 5000);
        let mut allowed = |now_ms: u64| {
            (0..100)
                .take_while(|_| floods.count(Flood::Pings, &limits, now_ms).is_ok())
                .count()
        };
        assert_eq!(allowed(5000), 10);
        assert_eq!(allowed(5499), 0);
        assert_eq!(allowed(5500), 1);
        assert_eq!(allowed(7500), 4);
        assert_eq!(allowed(1 << 40), 10);
        // Time that goes backwards gives nothing.
        assert_eq!(allowed(0), 0);
        floods.allow(Flood::Pings, 3, &limits);
        assert!(floods.count(Flood::Pings, &limits, 0).is_ok());
        assert!(floods.count(Flood::Settings, &limits, 0).is_ok());
    }
}
