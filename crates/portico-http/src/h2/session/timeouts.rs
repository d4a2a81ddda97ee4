//! What a peer must do in time.

use super::core::Session;
use super::event::Event;
use super::receiving::Phase;
use super::shutdown::Shutdown;
use super::streams::StreamKey;
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::write_rst_stream;

impl Session {
    /// When [`Session::handle_timeout`] must be called, if nothing happens before.
    #[must_use]
    pub fn deadline_ms(&self) -> Option<u64> {
        if self.phase == Phase::Failed {
            return None;
        }
        let limits = &self.options.limits;
        let settings = self
            .unacknowledged
            .front()
            .filter(|_| limits.settings_timeout_ms > 0)
            .map(|(_, sent_ms)| sent_ms + limits.settings_timeout_ms);
        let shutdown = match self.shutdown {
            Shutdown::Announced(since_ms) => Some(since_ms + limits.shutdown_timeout_ms),
            _ => None,
        };
        let windows = Some(self.window_check_ms).filter(|check_ms| *check_ms != u64::MAX);
        [settings, shutdown, windows].into_iter().flatten().min()
    }

    /// Does what is due: to be called until it gives nothing.
    ///
    /// # Errors
    /// The peer has not done in time what it must; as from [`Session::receive`].
    pub fn handle_timeout(
        &mut self,
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        self.now_ms = now_ms;
        if self.phase == Phase::Failed {
            return Ok(None);
        }
        let limits = self.options.limits;
        let is_late = |since_ms: u64, limit_ms: u64| now_ms.saturating_sub(since_ms) >= limit_ms;
        if let Some((_, sent_ms)) = self.unacknowledged.front()
            && limits.settings_timeout_ms > 0
            && is_late(*sent_ms, limits.settings_timeout_ms)
        {
            let code = ErrorCode::SETTINGS_TIMEOUT;
            let error = ConnectionError::new(code, "SETTINGS were not acknowledged");
            self.fail(error, out);
            return Err(error);
        }
        if let Shutdown::Announced(since_ms) = self.shutdown
            && is_late(since_ms, limits.shutdown_timeout_ms)
        {
            self.finish_shutdown(out);
        }
        if now_ms < self.window_check_ms {
            return Ok(None);
        }
        let limit_ms = limits.window_timeout_ms;
        let has_blocked_all = self.blocked_since_ms != u64::MAX;
        if has_blocked_all && is_late(self.blocked_since_ms, limit_ms) {
            let error = ConnectionError::calm("the connection's window stays closed");
            self.fail(error, out);
            return Err(error);
        }
        Ok(self.reset_blocked(limit_ms, out))
    }

    /// Resets a stream that has waited too long for its window, and says when to look again.
    fn reset_blocked(&mut self, limit_ms: u64, out: &mut Vec<u8>) -> Option<Event> {
        let mut oldest: Option<(StreamKey, u64)> = None;
        for (key, stream) in self.streams.iter_mut() {
            let since_ms = stream.blocked_since_ms;
            // One that is listed has a window now, and waits for us.
            let is_blocked = since_ms != u64::MAX && !stream.is_scheduled;
            if is_blocked && oldest.is_none_or(|(_, other_ms)| since_ms < other_ms) {
                oldest = Some((key, since_ms));
            }
        }
        if let Some((stream, since_ms)) = oldest
            && self.now_ms.saturating_sub(since_ms) >= limit_ms
        {
            let code = ErrorCode::ENHANCE_YOUR_CALM;
            write_rst_stream(out, stream.id, code);
            self.seen.insert(stream.id);
            self.kill(stream);
            return Some(Event::Reset {
                stream,
                code,
                by_peer: false,
            });
        }
        let streams_ms = oldest.map_or(u64::MAX, |(_, since_ms)| since_ms);
        let since_ms = streams_ms.min(self.blocked_since_ms);
        self.window_check_ms = since_ms.saturating_add(limit_ms);
        None
    }

    /// All answers wait for the connection's window.
    pub(super) fn note_blocked_connection(&mut self) {
        if self.blocked_since_ms == u64::MAX && self.scheduler.has_streams() {
            self.blocked_since_ms = self.now_ms;
            self.check_windows_later();
        }
    }

    /// A stream has gone: perhaps nothing waits any more.
    pub(super) fn forget_blocked(&mut self) {
        if self.blocked_since_ms != u64::MAX && !self.scheduler.has_streams() {
            self.blocked_since_ms = u64::MAX;
        }
    }

    /// Something waits for a window since now.
    pub(super) fn check_windows_later(&mut self) {
        let limit_ms = self.options.limits.window_timeout_ms;
        if limit_ms > 0 {
            let check_ms = self.now_ms.saturating_add(limit_ms);
            self.window_check_ms = self.window_check_ms.min(check_ms);
        }
    }
}
