//! Header sections: a request begins, or ends with trailers.

use super::core::Session;
use super::event::Event;
use super::floods::Flood;
use super::streams::{StreamKey, UNKNOWN_LENGTH};
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::{FRAME_HEADER_BYTES, FrameKind, flag, write_field_block, write_rst_stream};
use crate::h2::head::{Head, HeadRules, check_trailers};
use crate::h2::hpack::{OutgoingField, encode_independent};

impl Session {
    /// A whole section has been decoded. Whatever is wrong with it, the table of HPACK is right.
    pub(super) fn header_section(
        &mut self,
        id: u32,
        ends_stream: bool,
        depends_on_itself: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        if id.is_multiple_of(2) {
            // RFC 9113, section 5.1.1
            return Err(ConnectionError::protocol("a client opens an even stream"));
        }
        if let Some(key) = self.streams.find(id) {
            return self.trailers(key, ends_stream, out);
        }
        if id <= self.seen.last() {
            // What came before the peer knew of our RST_STREAM.
            if self.seen.contains(id) {
                return Ok(None);
            }
            return Err(ConnectionError::new(
                ErrorCode::STREAM_CLOSED,
                "HEADERS on a closed stream",
            ));
        }
        self.seen.advance(id);
        self.floods_allow_priorities();
        let early = self.take_early_priority(id);
        if self.shutdown.refuses(id) {
            // RFC 9113, section 6.8: it is not looked at; the peer knows that from GOAWAY.
            self.seen.insert(id);
            return Ok(None);
        }
        if self.peer_streams >= self.max_concurrent_streams() {
            // Section 5.1.2: it may be tried again.
            return self.stream_error(id, ErrorCode::REFUSED_STREAM, out);
        }
        if self.section.is_too_large() && !self.options.answers_large_fields {
            return self.stream_error(id, ErrorCode::ENHANCE_YOUR_CALM, out);
        }
        if self.section.is_too_large() {
            return self.refuse_fields(id, ends_stream, out);
        }
        let rules = HeadRules {
            extended_connect: self.local.enable_connect_protocol,
            strict_host: self.options.strict_host,
        };
        let head = Head::read(&mut self.section, ends_stream, rules);
        let Ok(head) = head else {
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, out);
        };
        if depends_on_itself {
            return self.stream_error(id, ErrorCode::PROTOCOL_ERROR, out);
        }
        let priority = early.or(head.priority);
        let key = self.streams.insert(id);
        self.peer_streams += 1;
        let receive_window = self.local.initial_window_size.into();
        let send_window = self.peer.initial_window_size.into();
        if let Some(stream) = self.streams.get_mut(key) {
            stream.receives_more = !ends_stream;
            stream.sends_more = true;
            stream.body_left = head.content_length.unwrap_or(UNKNOWN_LENGTH);
            stream.receive_window = receive_window;
            stream.send_window = send_window;
            stream.has_priority = priority.is_some();
            stream.priority = priority.unwrap_or_default();
        }
        self.head = Some(head);
        Ok(Some(Event::Request(key)))
    }

    fn floods_allow_priorities(&mut self) {
        /// Priorities that a client may send for each request.
        const PRIORITIES: u32 = 4;
        self.allow(Flood::Priorities, PRIORITIES);
    }

    /// PRIORITY_UPDATE wins over the field of the request it came before (RFC 9218, section 7).
    fn take_early_priority(&mut self, id: u32) -> Option<crate::h2::Priority> {
        let found = self
            .early_priorities
            .iter()
            .position(|(other, _)| *other == id);
        let priority = found.map(|index| self.early_priorities.remove(index).1);
        let last = self.seen.last();
        self.early_priorities.retain(|(other, _)| *other > last);
        priority
    }

    fn max_concurrent_streams(&self) -> u32 {
        let last = self
            .unacknowledged
            .back()
            .map_or(&self.local, |last| &last.0);
        last.max_concurrent_streams
    }

    /// A second section: trailers (RFC 9113, section 8.1).
    fn trailers(
        &mut self,
        key: StreamKey,
        ends_stream: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        let is_too_large = self.section.is_too_large();
        let Some(stream) = self.streams.get_mut(key) else {
            return Ok(None);
        };
        if stream.is_dead {
            return match self.seen.contains(key.id) {
                true => Ok(None),
                false => Err(ConnectionError::new(
                    ErrorCode::STREAM_CLOSED,
                    "HEADERS on a stream that the peer has reset",
                )),
            };
        }
        if !stream.receives_more {
            return self.stream_error(key.id, ErrorCode::STREAM_CLOSED, out);
        }
        let is_short = !matches!(stream.body_left, 0 | UNKNOWN_LENGTH);
        if is_too_large || !ends_stream || is_short || check_trailers(&self.section).is_err() {
            return self.stream_error(key.id, ErrorCode::PROTOCOL_ERROR, out);
        }
        stream.receives_more = false;
        self.free_if_closed(key, out);
        Ok(Some(Event::Trailers(key)))
    }

    /// RFC 9113, section 10.5.1: the answer to a section that is too large is 431; no more of the request is read.
    fn refuse_fields(
        &mut self,
        id: u32,
        ends_stream: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        self.count(Flood::ForcedResets)?;
        let start = out.len();
        out.resize(start + FRAME_HEADER_BYTES, 0);
        self.encoder.begin(out);
        encode_independent(out, 431, [OutgoingField::new(b"content-length", b"0")]);
        let max_size = self.peer.max_frame_size as usize;
        write_field_block(
            out,
            start,
            FrameKind::HEADERS,
            flag::END_STREAM,
            id,
            max_size,
        );
        if !ends_stream {
            write_rst_stream(out, id, ErrorCode::NO_ERROR);
            self.seen.insert(id);
        }
        Ok(None)
    }
}
