//! Bodies of requests, and the bytes of a connection that was taken over, into events.

use portico_channel::EventWriter;
use portico_channel::layout::{body_flag, event};
use portico_channel::schema::Record;
use portico_http::ParseError;
use portico_http::h1::ChunkEvent;

use super::H1;
use super::input::{Phase, TakenOver};
use super::step::{Pause, Step};
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::limits::{
    BODY_PIECE_BYTES, IN_PLACE_BYTES, IN_PLACE_READ_BYTES, READ_ROOM_BYTES, STREAM_ROOM_BYTES,
};
use crate::stop::Stop;
use crate::transport::{Received, Transport};

/// Bytes of `BODY` and `RAW` before their payload.
const PIECE_HEAD_BYTES: usize = event::Body::BYTES;

impl H1 {
    /// Reads once, straight to where an event tells of it, if the peer's next bytes need no parsing: the middle of a body
    /// of known length, or a byte stream. `false`: they do, and nothing was read. Rather than to tear what comes at once,
    /// it asks for more event memory.
    #[inline]
    pub(crate) fn receive_in_place(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<bool, Stop> {
        match self.unparsed_bytes() {
            Some(most) if !transport.is_tls() => {
                self.receive_unparsed(transport, core, events, most)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// How many of the peer's next bytes need no parsing.
    #[inline]
    fn unparsed_bytes(&self) -> Option<usize> {
        if !self.input.rest.is_empty() {
            return None;
        }
        match self.input.phase {
            Phase::Raw if self.input.taken_over != Some(TakenOver::Untold) => {
                Some(IN_PLACE_READ_BYTES)
            }
            Phase::Sized { left } if self.body_wish() == BodyWish::Bytes => {
                let left = usize::try_from(left)
                    .map_or(IN_PLACE_READ_BYTES, |left| left.min(IN_PLACE_READ_BYTES));
                (left >= IN_PLACE_BYTES).then_some(left)
            }
            _ => None,
        }
    }

    fn receive_unparsed(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        most: usize,
    ) -> Result<(), Stop> {
        let expected = self.input.expected_read();
        let room = if expected < IN_PLACE_READ_BYTES {
            expected.max(READ_ROOM_BYTES)
        } else {
            STREAM_ROOM_BYTES
        };
        let wanted = room.min(most);
        if events.payload_room::<event::Body>() < wanted {
            return Err(Stop::NeedSpace(wanted + PIECE_HEAD_BYTES + 4));
        }
        let (token, sequence) = (transport.token(), self.exchanges.last());
        let mut room = 0;
        let fill = |place: &mut [u8]| -> Result<usize, Stop> {
            room = place.len();
            Ok(match transport.receive(core, place)? {
                Received::Bytes(count) => count,
                Received::Nothing => 0,
            })
        };
        let count = if let Phase::Sized { left } = self.input.phase {
            events.tell_filled(most, fill, |bytes| {
                let is_last = u64::from(bytes.length) == left;
                let flags = if is_last { body_flag::LAST } else { 0 };
                (
                    flags,
                    event::Body {
                        token,
                        sequence,
                        bytes,
                    },
                )
            })
        } else {
            events.tell_filled(most, fill, |bytes| {
                (
                    0,
                    event::Raw {
                        token,
                        sequence: 0,
                        bytes,
                    },
                )
            })
        }?;
        if count > 0 {
            transport.touch(core);
            self.input.note_read(count, room);
            self.advance_body(count);
        }
        Ok(())
    }

    /// So much of the body in work, if there is one, has been dealt with.
    fn advance_body(&mut self, count: usize) {
        if let Phase::Sized { left } = &mut self.input.phase {
            *left -= u64::try_from(count).unwrap_or(*left).min(*left);
            let is_complete = *left == 0;
            self.note_body_begun();
            if is_complete {
                self.message_complete();
            }
        }
    }

    pub(super) fn parse_sized(
        &mut self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
        input: &[u8],
        left: u64,
    ) -> Result<Step, Stop> {
        let available = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
        let part = input.get(..available).unwrap_or_default();
        let count = if self.body_wish() == BodyWish::End {
            if u64::try_from(available) == Ok(left) {
                self.write_end(transport, events, &[], &[])?;
            }
            available
        } else {
            self.write_body(transport, events, part, left)?
        };
        self.advance_body(count);
        Ok(Step::Used(count))
    }

    pub(super) fn parse_chunked(
        &mut self,
        transport: &Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        input: &[u8],
    ) -> Result<Result<Step, ParseError>, Stop> {
        let Phase::Chunked(mut decoder) = self.input.phase else {
            return Ok(Ok(Step::Used(0)));
        };
        let Some(listener) = core.listeners.find(transport.listener()) else {
            return Err(Stop::Close(0));
        };
        let limits = listener.head_limits;
        self.note_body_begun();
        let is_dropped = self.body_wish() == BodyWish::End;
        let room = if is_dropped {
            input.len()
        } else {
            piece_room(events, input.len())?
        };
        let window = input.get(..room).unwrap_or(input);
        let (count, found) = match decoder.decode(window, &mut core.parser, &limits) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        match found {
            ChunkEvent::Data(range) => {
                if !is_dropped {
                    let data = window.get(range).unwrap_or_default();
                    self.write_body(transport, events, data, u64::MAX)?;
                }
            }
            ChunkEvent::Done => {
                let trailers = window.get(..count).unwrap_or_default();
                self.write_end(transport, events, core.parser.fields(), trailers)?;
                self.message_complete();
                return Ok(Ok(Step::Used(count)));
            }
            ChunkEvent::NeedMore if count == 0 && window.len() < input.len() => {
                // A trailer section that is longer than the event memory is free.
                return Err(Stop::NeedSpace(input.len() + PIECE_HEAD_BYTES));
            }
            ChunkEvent::NeedMore if window.len() == input.len() && count == 0 => {
                self.input.phase = Phase::Chunked(decoder);
                return Ok(Ok(Step::Pause(Pause::NeedMore)));
            }
            ChunkEvent::NeedMore => {}
        }
        self.input.phase = Phase::Chunked(decoder);
        Ok(Ok(Step::Used(count)))
    }

    /// A part of the body in work has come: the peer did not wait to be told to go on, or has been.
    fn note_body_begun(&mut self) {
        if let Some(exchange) = self.exchanges.arriving_mut() {
            exchange.awaits_continue = false;
        }
    }

    /// Writes as much of `bytes` as fits into one `BODY`. `left`: what the body lacks, these bytes included.
    fn write_body(
        &self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
        bytes: &[u8],
        left: u64,
    ) -> Result<usize, Stop> {
        let count = piece_room(events, bytes.len())?;
        let piece = bytes.get(..count).unwrap_or(bytes);
        let last = u64::try_from(piece.len()) == Ok(left);
        let flags = if last { body_flag::LAST } else { 0 };
        events.tell_bytes(flags, piece, |bytes| event::Body {
            token: transport.token(),
            sequence: self.exchanges.last(),
            bytes,
        })?;
        Ok(piece.len())
    }
}

impl H1 {
    /// Tells an application that has taken the connection over behind a body when all that was received is told: with
    /// what follows the body, or with an empty `RAW`.
    pub(crate) fn tell_taken_over(
        &mut self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if self.input.taken_over == Some(TakenOver::Untold) {
            write_raw(transport, events, &[])?;
            self.input.taken_over = Some(TakenOver::Told);
        }
        Ok(())
    }

    /// Bytes of a connection that was taken over.
    pub(super) fn parse_raw(
        &mut self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
        input: &[u8],
    ) -> Result<Step, Stop> {
        let count = write_raw(transport, events, input)?;
        self.input.taken_over = self.input.taken_over.and(Some(TakenOver::Told));
        Ok(Step::Used(count))
    }
}

/// Writes as much of `bytes` as fits into one `RAW`.
fn write_raw(
    transport: &Transport,
    events: &mut EventWriter<'_>,
    bytes: &[u8],
) -> Result<usize, Stop> {
    let count = piece_room(events, bytes.len())?;
    let piece = bytes.get(..count).unwrap_or(bytes);
    events.tell_bytes(0, piece, |bytes| event::Raw {
        token: transport.token(),
        sequence: 0,
        bytes,
    })?;
    Ok(piece.len())
}

/// How much of a piece of `wanted` bytes fits. A small part of a large piece is not worth a record.
fn piece_room(events: &EventWriter<'_>, wanted: usize) -> Result<usize, Stop> {
    let room = events.remaining().saturating_sub(PIECE_HEAD_BYTES) & !3;
    if room >= wanted {
        Ok(wanted)
    } else if room >= BODY_PIECE_BYTES {
        Ok(room)
    } else {
        Err(Stop::NeedSpace(wanted + PIECE_HEAD_BYTES + 4))
    }
}
