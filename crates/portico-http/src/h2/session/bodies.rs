//! Bodies of requests: DATA as it comes, and the windows that hold it back (RFC 9113, sections 5.2, 6.1 and 6.9).

use super::core::Session;
use super::event::Event;
use super::floods::Flood;
use super::receiving::Step;
use super::streams::{StreamKey, UNKNOWN_LENGTH};
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::{FRAME_HEADER_BYTES, FrameHeader, flag, write_window_update};

/// A DATA frame of which not all has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    /// Whose body it is; `None`: of a stream that has gone, it is skipped.
    stream: Option<StreamKey>,
    left: usize,
    padding: usize,
    is_last: bool,
}

impl Session {
    /// The header of DATA, with its byte of padding if it has one. All that can be wrong with the frame is known then.
    pub(super) fn data_header(
        &mut self,
        header: &FrameHeader,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Step, ConnectionError> {
        let mut consumed = FRAME_HEADER_BYTES;
        let (length, mut padding) = (header.length as usize, 0);
        let mut overhead = 0;
        if header.stream == 0 {
            return Err(ConnectionError::protocol("DATA on no stream"));
        }
        if header.has(flag::PADDED) {
            if length == 0 {
                return Err(ConnectionError::frame_size("a padded frame is empty"));
            }
            let Some(&bytes) = rest.first() else {
                return Ok(Step::More);
            };
            (padding, overhead) = (usize::from(bytes), 1);
            consumed += 1;
        }
        let left = length
            .checked_sub(padding + overhead)
            .ok_or(ConnectionError::protocol("more padding than payload"))?;
        self.check_not_idle(header.stream)?;
        self.receive_window -= i64::from(header.length);
        if self.receive_window < 0 {
            return Err(ConnectionError::new(
                ErrorCode::FLOW_CONTROL_ERROR,
                "DATA beyond the connection's window",
            ));
        }
        let is_last = header.has(flag::END_STREAM);
        if left == 0 && !is_last {
            self.count(Flood::EmptyFrames)?;
        }
        let refused = self.check_data(header, left, is_last);
        let stream = match refused {
            Ok(stream) => stream,
            Err(code) => {
                let event = self.stream_error(header.stream, code, out)?;
                self.skip(left, padding, overhead, out);
                return Ok(event.map_or(Step::Next(consumed), |event| Step::Event(consumed, event)));
            }
        };
        match stream {
            Some(key) => {
                // Padding is used up at once.
                self.hold(key, header.length);
                self.release(key, (padding + overhead) as u32, out);
                self.body = Some(Body {
                    stream,
                    left,
                    padding,
                    is_last,
                });
            }
            None => self.skip(left, padding, overhead, out),
        }
        Ok(Step::Next(consumed))
    }

    /// Whether a stream may get these bytes. `Ok(None)`: they came before the peer knew that it has gone.
    fn check_data(
        &mut self,
        header: &FrameHeader,
        left: usize,
        is_last: bool,
    ) -> Result<Option<StreamKey>, ErrorCode> {
        let is_reset = self.seen.contains(header.stream);
        let key = self.streams.find(header.stream);
        let Some(stream) = key.and_then(|key| self.streams.get_mut(key)) else {
            return match is_reset {
                true => Ok(None),
                false => Err(ErrorCode::STREAM_CLOSED),
            };
        };
        if stream.is_dead && is_reset {
            return Ok(None);
        }
        if !stream.receives_more {
            return Err(ErrorCode::STREAM_CLOSED);
        }
        stream.receive_window -= i64::from(header.length);
        if stream.receive_window < 0 {
            return Err(ErrorCode::FLOW_CONTROL_ERROR);
        }
        // RFC 9113, section 8.1.1: the body's length is the one that was said.
        if stream.body_left != UNKNOWN_LENGTH {
            stream.body_left = stream
                .body_left
                .checked_sub(left as u64)
                .filter(|after| !is_last || *after == 0)
                .ok_or(ErrorCode::PROTOCOL_ERROR)?;
        }
        Ok(key)
    }

    /// The payload will be skipped: the connection's window is given back at once.
    fn skip(&mut self, left: usize, padding: usize, overhead: usize, out: &mut Vec<u8>) {
        self.release_connection((left + padding + overhead) as u32, out);
        self.body = Some(Body {
            stream: None,
            left,
            padding,
            is_last: false,
        });
    }

    fn hold(&mut self, key: StreamKey, count: u32) {
        if let Some(stream) = self.streams.get_mut(key) {
            stream.held += count;
        }
    }

    /// More of the payload of a DATA frame.
    pub(super) fn body_bytes(&mut self, input: &[u8], out: &mut Vec<u8>) -> Step {
        let Some(body) = self.body.as_mut() else {
            return Step::Next(0);
        };
        let count = body.left.min(input.len());
        body.left -= count;
        let skipped = if body.left == 0 {
            body.padding.min(input.len() - count)
        } else {
            0
        };
        body.padding -= skipped;
        let body = *body;
        let is_done = body.left == 0 && body.padding == 0;
        if is_done {
            self.body = None;
        }
        let consumed = count + skipped;
        // The application may have given the stream up between two parts of a frame.
        let stream = body.stream.filter(|key| {
            let stream = self.streams.get(*key);
            stream.is_some_and(|stream| stream.receives_more)
        });
        let Some(stream) = stream else {
            return match consumed == 0 && !is_done {
                true => Step::More,
                false => Step::Next(consumed),
            };
        };
        let is_last = is_done && body.is_last;
        if is_last && let Some(stream) = self.streams.get_mut(stream) {
            stream.receives_more = false;
        }
        if is_last {
            self.free_if_closed(stream, out);
        }
        if count == 0 && !is_last {
            return match consumed == 0 && !is_done {
                true => Step::More,
                false => Step::Next(consumed),
            };
        }
        let event = Event::Data {
            stream,
            bytes: 0..count,
            is_last,
        };
        Step::Event(consumed, event)
    }

    /// The application is done with so many bytes of a request's body: the peer may send as many again. Without this
    /// the peer has to stop when its window is used up.
    pub fn release(&mut self, key: StreamKey, count: u32, out: &mut Vec<u8>) {
        let window = self.local.initial_window_size;
        let Some(stream) = self.streams.get_mut(key) else {
            return;
        };
        let count = count.min(stream.held);
        stream.held -= count;
        stream.credit = stream.credit.saturating_add(count);
        // Half of a window at a time: neither a frame for each part, nor a window that runs dry.
        if stream.receives_more && stream.credit > 0 && stream.credit >= window / 2 {
            write_window_update(out, key.id, stream.credit);
            stream.receive_window += i64::from(stream.credit);
            stream.credit = 0;
        }
        self.release_connection(count, out);
    }

    /// The same for the connection's window.
    pub(super) fn release_connection(&mut self, count: u32, out: &mut Vec<u8>) {
        self.credit += i64::from(count);
        if self.credit >= i64::from(self.options.connection_window / 2) {
            self.give_credit(out);
        }
    }

    /// Tells the peer of what was released of the connection's window.
    pub(super) fn give_credit(&mut self, out: &mut Vec<u8>) {
        if self.credit > 0 {
            write_window_update(out, 0, self.credit as u32);
            self.receive_window += self.credit;
            self.credit = 0;
        }
    }

    /// Bytes of a request's body that have been received and not been released.
    #[must_use]
    pub fn held_bytes(&self, key: StreamKey) -> u32 {
        self.streams.get(key).map_or(0, |stream| stream.held)
    }
}
