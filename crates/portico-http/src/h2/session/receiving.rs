//! Received bytes to events: the preface, frames, and what each frame does.

use super::core::Session;
use super::event::{Event, Received};
use super::floods::Flood;
use super::streams::StreamKey;
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::{
    FRAME_HEADER_BYTES, Frame, FrameError, FrameHeader, FrameKind, flag, write_ping,
    write_rst_stream,
};
use crate::h2::limits::MAX_EARLY_PRIORITIES;
use crate::h2::priority::Priority;

/// What a client sends first (RFC 9113, section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The preface, of which so many bytes have come.
    Preface(usize),
    /// SETTINGS, and nothing else.
    FirstSettings,
    /// Any frame.
    Frames,
    /// CONTINUATION of the block that is being put together.
    Continuation,
    /// Nothing: the connection has had an error.
    Failed,
}

impl Session {
    /// Takes bytes in, up to the first event. What is to be sent is appended to `out`.
    ///
    /// # Errors
    /// The connection must be closed when `out` has been sent, which ends with GOAWAY.
    pub fn receive(
        &mut self,
        input: &[u8],
        now_ms: u64,
        out: &mut Vec<u8>,
    ) -> Result<Received, ConnectionError> {
        self.now_ms = now_ms;
        let mut consumed = 0;
        loop {
            let rest = input.get(consumed..).unwrap_or_default();
            match self.step(rest, out) {
                Ok(Step::More) => {
                    let event = Event::NeedMore;
                    return Ok(Received { consumed, event });
                }
                Ok(Step::Next(count)) => consumed += count,
                Ok(Step::Event(count, mut event)) => {
                    if let Event::Data { bytes, .. }
                    | Event::GoAway { debug: bytes, .. }
                    | Event::PeerSettings { entries: bytes } = &mut event
                    {
                        *bytes = bytes.start + consumed..bytes.end + consumed;
                    }
                    consumed += count;
                    return Ok(Received { consumed, event });
                }
                Err(error) => {
                    self.fail(error, out);
                    return Err(error);
                }
            }
        }
    }

    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<Step, ConnectionError> {
        match self.phase {
            Phase::Preface(seen) => return self.preface(input, seen),
            Phase::Failed => return Ok(Step::More),
            _ => {}
        }
        if self.body.is_some() {
            return Ok(self.body_bytes(input, out));
        }
        let Some((header, rest)) = input.split_first_chunk::<FRAME_HEADER_BYTES>() else {
            return Ok(Step::More);
        };
        let header = FrameHeader::parse(header);
        let length = header.length as usize;
        if header.length > self.max_frame_size() {
            return Err(ConnectionError::frame_size("a frame is too large"));
        }
        self.check_phase(&header)?;
        if header.kind == FrameKind::DATA {
            return self.data_header(&header, rest, out);
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(Step::More);
        };
        let consumed = FRAME_HEADER_BYTES + length;
        let event = match Frame::parse(&header, payload) {
            Ok(frame) => self.frame(&header, frame, out)?,
            Err(FrameError::Connection(error)) => return Err(error),
            Err(FrameError::Stream(code)) => self.wrong_frame(&header, code, out)?,
        };
        Ok(match event {
            Some(event) => Step::Event(consumed, event),
            None => Step::Next(consumed),
        })
    }

    /// RFC 9113, section 3.4. What is something else is known by its first byte that differs.
    fn preface(&mut self, input: &[u8], seen: usize) -> Result<Step, ConnectionError> {
        let expected = PREFACE.get(seen..).unwrap_or_default();
        let count = input.len().min(expected.len());
        if input.get(..count) != expected.get(..count) {
            return Err(ConnectionError::protocol("no preface of HTTP/2"));
        }
        if count < expected.len() {
            self.phase = Phase::Preface(seen + count);
            return Ok(match count {
                0 => Step::More,
                _ => Step::Next(count),
            });
        }
        self.phase = Phase::FirstSettings;
        Ok(Step::Next(count))
    }

    fn check_phase(&mut self, header: &FrameHeader) -> Result<(), ConnectionError> {
        match self.phase {
            Phase::FirstSettings if header.kind != FrameKind::SETTINGS || header.has(flag::ACK) => {
                Err(ConnectionError::protocol("the first frame is not SETTINGS"))
            }
            // RFC 9113, section 6.10: of the same stream, with nothing in between.
            Phase::Continuation
                if header.kind != FrameKind::CONTINUATION || !self.block.is_of(header.stream) =>
            {
                Err(ConnectionError::protocol("a field block is interrupted"))
            }
            Phase::Frames if header.kind == FrameKind::CONTINUATION => {
                Err(ConnectionError::protocol("CONTINUATION continues nothing"))
            }
            _ => Ok(()),
        }
    }

    /// The largest payload: the peer may know our last settings or not.
    fn max_frame_size(&self) -> u32 {
        let sizes = self
            .unacknowledged
            .iter()
            .map(|(settings, _)| settings.max_frame_size);
        sizes.fold(self.local.max_frame_size, u32::max)
    }

    /// What a whole frame does.
    fn frame(
        &mut self,
        header: &FrameHeader,
        frame: Frame<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        match frame {
            Frame::Headers {
                fragment,
                depends_on_itself,
            } => {
                self.block.start(header, depends_on_itself);
                self.field_block(header, fragment, true, out)
            }
            Frame::Continuation(fragment) => self.field_block(header, fragment, false, out),
            Frame::Priority { depends_on_itself } => {
                self.count(Flood::Priorities)?;
                // Of RFC 7540, which RFC 9113, section 5.3.2 abolishes: only what was always wrong is an error.
                match depends_on_itself {
                    true => self.stream_error(header.stream, ErrorCode::PROTOCOL_ERROR, out),
                    false => Ok(None),
                }
            }
            Frame::RstStream(code) => self.peer_reset(header.stream, code),
            Frame::Settings(entries) => {
                self.phase = Phase::Frames;
                self.settings(entries, out)?;
                let end = FRAME_HEADER_BYTES + header.length as usize;
                let entries = FRAME_HEADER_BYTES..end;
                Ok(Some(Event::PeerSettings { entries }))
            }
            Frame::SettingsAck => self.settings_acknowledged().map(Some),
            Frame::PushPromise(..) => {
                // RFC 9113, section 8.4
                Err(ConnectionError::protocol("a client pushes"))
            }
            Frame::Ping(data) => {
                self.count(Flood::Pings)?;
                write_ping(out, true, data);
                Ok(Some(Event::Ping(data)))
            }
            Frame::PingAck(data) => Ok(self.ping_answered(data, out)),
            Frame::GoAway {
                last_stream,
                code,
                debug,
            } => {
                self.count(Flood::Pings)?;
                let end = FRAME_HEADER_BYTES + header.length as usize;
                Ok(Some(Event::GoAway {
                    last_stream,
                    code,
                    debug: end - debug.len()..end,
                }))
            }
            Frame::WindowUpdate(increment) => self.window_update(header.stream, increment, out),
            Frame::PriorityUpdate(stream, value) => self.priority_update(stream, value),
            // RFC 7838, section 4, and RFC 8336, section 2.1: not for servers.
            Frame::AltSvc(..) | Frame::Origin(_) | Frame::Unknown => {
                self.count(Flood::UnknownFrames)?;
                Ok(None)
            }
        }
    }

    /// A frame that costs its stream, if there is one.
    fn wrong_frame(
        &mut self,
        header: &FrameHeader,
        code: ErrorCode,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        // PRIORITY may come for any stream; other frames not before the stream's first.
        if header.kind != FrameKind::PRIORITY {
            self.check_not_idle(header.stream)?;
        }
        if header.stream <= self.seen.last() && self.streams.find(header.stream).is_none() {
            // It has ended, perhaps while the frame was on its way: the client learns of its error all the same.
            self.count(Flood::ForcedResets)?;
            write_rst_stream(out, header.stream, code);
            return Ok(None);
        }
        self.stream_error(header.stream, code, out)
    }

    /// RST_STREAM (RFC 9113, section 6.4).
    fn peer_reset(&mut self, id: u32, code: ErrorCode) -> Result<Option<Event>, ConnectionError> {
        self.check_not_idle(id)?;
        self.count(Flood::Resets)?;
        let Some(stream) = self.streams.find(id) else {
            return Ok(None);
        };
        Ok(self.kill(stream).then_some(Event::Reset {
            stream,
            code,
            by_peer: true,
        }))
    }

    /// RFC 9113, section 5.1: on an idle stream only HEADERS and PRIORITY may come.
    pub(super) fn check_not_idle(&self, id: u32) -> Result<(), ConnectionError> {
        let last = match id % 2 {
            0 => self.last_pushed,
            _ => self.seen.last(),
        };
        if id > last {
            return Err(ConnectionError::protocol("a frame on an idle stream"));
        }
        Ok(())
    }

    /// PRIORITY_UPDATE (RFC 9218, section 7.1). It may come before its stream.
    fn priority_update(&mut self, id: u32, value: &[u8]) -> Result<Option<Event>, ConnectionError> {
        self.count(Flood::Priorities)?;
        if id == 0 || (id.is_multiple_of(2) && id > self.last_pushed) {
            return Err(ConnectionError::protocol("PRIORITY_UPDATE of no stream"));
        }
        let priority = Priority::parse(value);
        if let Some(key) = self.streams.find(id) {
            self.set_priority(key, priority);
        } else if id > self.seen.last() {
            self.early_priorities.retain(|(other, _)| *other != id);
            if self.early_priorities.len() >= MAX_EARLY_PRIORITIES {
                self.early_priorities.remove(0);
            }
            self.early_priorities.push((id, priority));
        }
        Ok(None)
    }

    /// Gives an answer a priority, as a `Priority` field in it would (RFC 9218, section 8).
    pub fn set_priority(&mut self, key: StreamKey, priority: Priority) {
        self.scheduler
            .reprioritize(&mut self.streams, key, priority);
    }
}

/// What became of the front of the input.
pub(super) enum Step {
    /// Nothing: more must come.
    More,
    /// So many bytes are done with.
    Next(usize),
    /// The same, and something happened. Places count from the front of this input.
    Event(usize, Event),
}
