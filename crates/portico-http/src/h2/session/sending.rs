//! Bodies of answers: whose turn it is, and how much the windows let through (RFC 9113, section 5.2).

use super::core::{Session, StreamGone};
use super::event::Event;
use super::floods::Flood;
use super::streams::{Stream, StreamKey};
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::write_data_header;
use crate::h2::limits::{MAX_DATA_BYTES, MAX_WINDOW, TINY_DATA_BYTES};

/// A DATA frame, or the trailers behind the last one, whose header has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFrame {
    /// Whose answer it is.
    pub stream: StreamKey,
    /// So many bytes of its body must follow now.
    pub bytes: usize,
    /// The answer has ended with it. The key may name nothing any more.
    pub is_last: bool,
}

/// DATA that a client may answer with this many WINDOW_UPDATE, or PING.
const UPDATES_OF_DATA: u32 = 4;

impl Session {
    /// The application has so many bytes more of an answer's body. They stay where they are until
    /// [`Session::next_data`] asks for them.
    ///
    /// # Errors
    /// The stream has gone, has no head, or has been ended.
    pub fn queue(&mut self, key: StreamKey, bytes: u64) -> Result<(), StreamGone> {
        let stream = self.streams.get_mut(key).ok_or(StreamGone)?;
        if !stream.has_answer || !stream.sends_more || stream.ends {
            return Err(StreamGone);
        }
        if bytes > 0 {
            stream.queued += bytes;
            self.schedule(key);
        }
        Ok(())
    }

    /// Bytes of an answer's body that wait for their turn or for a window.
    #[must_use]
    pub fn queued_bytes(&self, key: StreamKey) -> u64 {
        self.streams.get(key).map_or(0, |stream| stream.queued)
    }

    /// Bytes that may be sent of an answer, and of all, as far as windows go; less than 0 where SETTINGS took away what
    /// had been sent.
    #[must_use]
    pub fn send_windows(&self, key: StreamKey) -> (i64, i64) {
        let stream = self.streams.get(key);
        (
            stream.map_or(0, |stream| stream.send_window),
            self.send_window,
        )
    }

    /// Whether [`Session::next_data`] would give something now.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.trailers_next.is_some() || self.send_window > 0 && self.scheduler.has_streams()
    }

    /// Writes the header of the next DATA frame, of at most so many bytes; the body's bytes must be put behind it before
    /// anything else is written. `None`: nothing is queued, or it has no window.
    ///
    /// To be called until it gives nothing, or as long as there is room for output.
    pub fn next_data(&mut self, most: usize, out: &mut Vec<u8>) -> Option<DataFrame> {
        if let Some(stream) = self.trailers_next.take()
            && self
                .streams
                .get(stream)
                .is_some_and(|stream| stream.sends_more)
        {
            self.send_trailers(stream, out);
            return Some(DataFrame {
                stream,
                bytes: 0,
                is_last: true,
            });
        }
        if most == 0 {
            return None;
        }
        if self.send_window <= 0 {
            self.note_blocked_connection();
            return None;
        }
        let key = self.scheduler.next(&mut self.streams)?;
        let max_size = MAX_DATA_BYTES
            .min(self.peer.max_frame_size as usize)
            .min(most) as u64;
        let stream = self.streams.get_mut(key)?;
        let wanted = stream.queued.min(max_size);
        let window = self.send_window.min(stream.send_window).max(0) as u64;
        let bytes = wanted.min(window);
        stream.queued -= bytes;
        stream.send_window -= bytes as i64;
        self.send_window -= bytes as i64;
        let is_all = stream.queued == 0 && stream.ends;
        let is_last = is_all && stream.trailers.is_empty();
        if bytes < wanted && bytes < TINY_DATA_BYTES {
            // The limit is checked when the window grows, where the connection can end. It is no progress.
            self.tiny_frames = self.tiny_frames.saturating_add(1);
        } else {
            stream.blocked_since_ms = u64::MAX;
            self.blocked_since_ms = u64::MAX;
        }
        if stream.queued == 0 || stream.send_window <= 0 {
            self.scheduler.remove(&mut self.streams, key);
            self.note_blocked(key);
        }
        self.allow(Flood::WindowUpdates, UPDATES_OF_DATA);
        self.allow(Flood::Pings, UPDATES_OF_DATA);
        if is_last {
            if let Some(stream) = self.streams.get_mut(key) {
                stream.sends_more = false;
            }
            // This may give back a part of the connection's window: nothing stands between the header and its bytes.
            self.free_if_closed(key, out);
        } else if is_all {
            self.trailers_next = Some(key);
        }
        write_data_header(out, key.id, bytes as usize, is_last);
        Some(DataFrame {
            stream: key,
            bytes: bytes as usize,
            is_last,
        })
    }

    /// Lists a stream that has something to send, and a window for it.
    fn schedule(&mut self, key: StreamKey) {
        let can_send = |stream: &Stream| stream.queued > 0 && stream.send_window > 0;
        if self.streams.get(key).is_some_and(can_send) {
            self.scheduler.add(&mut self.streams, key);
        } else {
            self.note_blocked(key);
        }
    }

    /// From now on a stream waits for its window, if it has something to send.
    fn note_blocked(&mut self, key: StreamKey) {
        let now_ms = self.now_ms;
        if let Some(stream) = self.streams.get_mut(key)
            && stream.queued > 0
            && stream.blocked_since_ms == u64::MAX
        {
            stream.blocked_since_ms = now_ms;
            self.check_windows_later();
        }
    }

    /// WINDOW_UPDATE (RFC 9113, section 6.9).
    pub(super) fn window_update(
        &mut self,
        id: u32,
        increment: u32,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        self.count(Flood::WindowUpdates)?;
        for _ in 0..std::mem::take(&mut self.tiny_frames) {
            self.count(Flood::TinyWindows)?;
        }
        if id == 0 {
            self.send_window += i64::from(increment);
            if self.send_window > MAX_WINDOW {
                return Err(ConnectionError::new(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "the connection's window is too large",
                ));
            }
            return Ok(None);
        }
        self.check_not_idle(id)?;
        let Some(key) = self.streams.find(id) else {
            return Ok(None);
        };
        let Some(stream) = self.streams.get_mut(key).filter(|stream| !stream.is_dead) else {
            return Ok(None);
        };
        stream.send_window += i64::from(increment);
        if stream.send_window > MAX_WINDOW {
            return self.stream_error(id, ErrorCode::FLOW_CONTROL_ERROR, out);
        }
        self.schedule(key);
        Ok(None)
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE has changed by so much (RFC 9113, section 6.9.2).
    pub(super) fn change_send_windows(&mut self, change: i64) -> Result<(), ConnectionError> {
        let mut changed = std::mem::take(&mut self.changed);
        for (key, stream) in self.streams.iter_mut() {
            stream.send_window += change;
            if stream.send_window > MAX_WINDOW {
                return Err(ConnectionError::new(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "SETTINGS make a window too large",
                ));
            }
            if stream.queued > 0 {
                changed.push(key);
            }
        }
        for key in changed.drain(..) {
            self.scheduler.remove(&mut self.streams, key);
            self.schedule(key);
        }
        self.changed = changed;
        Ok(())
    }
}
