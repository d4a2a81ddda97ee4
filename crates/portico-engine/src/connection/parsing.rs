//! Bytes into events: heads, bodies, tunnels.

use portico_channel::EventWriter;
use portico_channel::layout::{body_flag, event, request_flag};
use portico_http::h1::{ChunkEvent, Expect, Field, Framing, Head, leading_blank};
use portico_http::{ParseError, ParseErrorCode};

use super::input::Phase;
use super::{Connection, Stop};
use crate::core::Core;
use crate::limits::{BODY_PIECE_BYTES, CLIENT_ERROR_MS, PIPELINED_REQUESTS};

/// Why parsing paused without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Everything that can be used without further bytes is used.
    NeedMore,
    /// The application has to do something first: answer, resume, decide on an upgrade.
    Blocked,
}

/// What one step of parsing did.
enum Step {
    /// So many bytes are used; go on.
    Used(usize),
    /// Pause.
    Pause(Pause),
}

/// Words of `REQUEST` before its table of fields.
const REQUEST_WORDS: usize = 11;
/// Words of `END` before its table of fields.
const END_WORDS: usize = 5;
/// Bytes of `BODY` and `RAW` before their payload.
const PIECE_HEAD_BYTES: usize = 24;
/// Bytes of one field in a table.
const FIELD_BYTES: usize = 16;

impl Connection {
    /// Whether parsing must wait for the application.
    pub(super) fn is_blocked(&self, core: &Core) -> bool {
        match self.input.phase {
            Phase::Upgrade { .. } | Phase::Stopped => true,
            Phase::Head => self.input.paused || self.is_pipeline_full(core),
            Phase::Sized { .. } | Phase::Chunked(_) => self.input.paused && !self.input.discard,
            Phase::Raw => self.input.paused,
            Phase::Ignored { .. } => false,
        }
    }

    fn is_pipeline_full(&self, core: &Core) -> bool {
        if self.exchanges.is_empty() && self.queued() == 0 {
            return false;
        }
        let high_water_mark = core
            .listeners
            .find(self.listener)
            .map_or(0, |listener| listener.options.high_water_mark);
        self.exchanges.len() >= PIPELINED_REQUESTS
            || self.queued() + self.exchanges.held_bytes() > high_water_mark
    }

    /// Parses `bytes`, which begin where the last call stopped, from `used` on, and moves `used` behind what is done
    /// with.
    pub(super) fn parse(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        bytes: &[u8],
        used: &mut usize,
    ) -> Result<Pause, Stop> {
        loop {
            let input = bytes.get(*used..).unwrap_or_default();
            if input.is_empty() {
                return Ok(Pause::NeedMore);
            }
            if self.is_blocked(core) {
                return Ok(Pause::Blocked);
            }
            let step = match self.input.phase {
                Phase::Head => match self.parse_head(core, events, input)? {
                    Ok(step) => step,
                    Err(error) => return self.refuse(core, events, bytes, *used, error),
                },
                Phase::Sized { left } => self.parse_sized(events, input, left)?,
                Phase::Chunked(_) => match self.parse_chunked(core, events, input)? {
                    Ok(step) => step,
                    Err(error) => return self.refuse(core, events, bytes, *used, error),
                },
                Phase::Raw => Step::Used(self.write_piece(events, event::RAW, 0, input, 0)?),
                Phase::Ignored { left } => Step::Used(self.ignore(input, left)),
                Phase::Upgrade { .. } | Phase::Stopped => return Ok(Pause::Blocked),
            };
            match step {
                Step::Used(count) => *used += count,
                Step::Pause(pause) => return Ok(pause),
            }
            if !self.input.is_in_body() && self.input.message_started_ms == 0 {
                self.become_idle(core);
            }
        }
    }

    /// One head. The outer error is a stop, the inner one the peer's.
    fn parse_head(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        input: &[u8],
    ) -> Result<Result<Step, ParseError>, Stop> {
        if matches!(input.first(), Some(b'\r' | b'\n')) {
            return Ok(Ok(Step::Used(leading_blank(input))));
        }
        if self.input.message_started_ms == 0 {
            self.input.message_started_ms = core.clock.now_ms();
        }
        self.become_busy();
        let Some(listener) = core.listeners.find(self.listener) else {
            return Err(Stop::Close(0));
        };
        match core
            .parser
            .parse(input, &mut self.input.progress, &listener.head_limits)
        {
            Ok(None) => Ok(Ok(Step::Pause(Pause::NeedMore))),
            Err(error) => Ok(Err(error)),
            Ok(Some(head)) => {
                self.tell_request(core, events, input, &head)?;
                self.begin_request(&head, input);
                core.counters.requests += 1;
                Ok(Ok(Step::Used(to_usize(head.head_bytes))))
            }
        }
    }

    /// Enters the request whose event has been written.
    fn begin_request(&mut self, head: &Head, input: &[u8]) {
        self.input.sequence = self.input.sequence.wrapping_add(1);
        self.input.keep_alive = head.keep_alive;
        self.exchanges.push(self.input.sequence);
        if head.upgrade {
            let attached = input.len() - to_usize(head.head_bytes).min(input.len());
            self.input.phase = Phase::Upgrade {
                framing: head.framing,
                attached,
            };
            self.input.message_started_ms = 0;
        } else if !self.input.begin_body(head.framing) {
            self.input.message_complete();
        }
    }

    fn tell_request(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
        input: &[u8],
        head: &Head,
    ) -> Result<(), Stop> {
        self.tell_open(core, events)?;
        let (start, end) = (to_usize(head.start), to_usize(head.head_bytes));
        let end = if head.upgrade { input.len() } else { end };
        let bytes = input.get(start..end).unwrap_or_default();
        let fields = core.parser.fields();
        let words = REQUEST_WORDS + fields.len() * FIELD_BYTES / 4;
        let flags = self.request_flags(core, head);
        let mut record = events.record(event::REQUEST, flags, self.token, words, bytes.len())?;
        let base = record.payload_offset.wrapping_sub(head.start);
        record.set(3, self.input.sequence.wrapping_add(1));
        let count = u32::try_from(fields.len()).unwrap_or(u32::MAX);
        record.set(
            4,
            head.method as u32 | u32::from(head.minor_version) << 8 | count << 16,
        );
        record.set(5, base.wrapping_add(head.target.offset));
        record.set(6, head.target.length);
        if head.upgrade {
            record.set(7, base.wrapping_add(head.head_bytes));
            record.set(
                8,
                u32::try_from(input.len())
                    .unwrap_or(0)
                    .saturating_sub(head.head_bytes),
            );
        } else {
            record.set(7, 0);
            record.set(8, 0);
        }
        record.set_u64(
            9,
            match head.framing {
                Framing::ContentLength(length) => length,
                Framing::None | Framing::Chunked => u64::MAX,
            },
        );
        write_fields(record.table(REQUEST_WORDS), fields, base);
        record.put(0, bytes);
        Ok(())
    }

    fn request_flags(&self, core: &Core, head: &Head) -> u32 {
        let mut flags = 0;
        let mut set = |condition: bool, flag: u32| {
            if condition {
                flags |= flag;
            }
        };
        set(head.keep_alive, request_flag::KEEP_ALIVE);
        set(head.framing.is_empty(), request_flag::COMPLETE);
        set(head.framing == Framing::Chunked, request_flag::CHUNKED);
        set(
            head.expect == Expect::Continue,
            request_flag::EXPECT_CONTINUE,
        );
        set(head.expect == Expect::Other, request_flag::EXPECT_OTHER);
        set(head.upgrade, request_flag::UPGRADE);
        set(head.has_host, request_flag::HAS_HOST);
        let limit = core
            .listeners
            .find(self.listener)
            .map_or(0, |listener| listener.options.max_requests_per_socket);
        let number = self.input.sequence.wrapping_add(1);
        set(limit != 0 && number > limit, request_flag::OVER_LIMIT);
        set(limit != 0 && number == limit, request_flag::LAST_ALLOWED);
        flags
    }

    fn parse_sized(
        &mut self,
        events: &mut EventWriter<'_>,
        input: &[u8],
        left: u64,
    ) -> Result<Step, Stop> {
        let available = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
        let part = input.get(..available).unwrap_or_default();
        let count = if self.input.discard {
            available
        } else {
            self.write_piece(events, event::BODY, self.input.sequence, part, left)?
        };
        let left = left - u64::try_from(count).unwrap_or(left).min(left);
        self.input.phase = Phase::Sized { left };
        if left == 0 {
            self.input.message_complete();
        }
        Ok(Step::Used(count))
    }

    fn parse_chunked(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        input: &[u8],
    ) -> Result<Result<Step, ParseError>, Stop> {
        let Phase::Chunked(mut decoder) = self.input.phase else {
            return Ok(Ok(Step::Used(0)));
        };
        let Some(listener) = core.listeners.find(self.listener) else {
            return Err(Stop::Close(0));
        };
        let limits = listener.head_limits;
        let room = if self.input.discard {
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
                if !self.input.discard {
                    let data = window.get(range).unwrap_or_default();
                    let left = u64::MAX;
                    self.write_piece(events, event::BODY, self.input.sequence, data, left)?;
                }
            }
            ChunkEvent::Done => {
                if !self.input.discard {
                    self.tell_end(core, events, window.get(..count).unwrap_or_default())?;
                }
                self.input.message_complete();
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

    /// The end of a chunked body. `bytes` hold the trailer section.
    fn tell_end(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        let fields = core.parser.fields();
        let bytes = if fields.is_empty() { &[][..] } else { bytes };
        let words = END_WORDS + fields.len() * FIELD_BYTES / 4;
        let mut record = events.record(event::END, 0, self.token, words, bytes.len())?;
        let base = record.payload_offset;
        record.set(3, self.input.sequence);
        record.set(4, u32::try_from(fields.len()).unwrap_or(0));
        write_fields(record.table(END_WORDS), fields, base);
        record.put(0, bytes);
        Ok(())
    }

    /// Writes as much of `bytes` as fits into one `BODY` or `RAW`. `left`: what the body lacks, these bytes included.
    fn write_piece(
        &self,
        events: &mut EventWriter<'_>,
        kind: u32,
        sequence: u32,
        bytes: &[u8],
        left: u64,
    ) -> Result<usize, Stop> {
        let count = piece_room(events, bytes.len())?;
        let piece = bytes.get(..count).unwrap_or(bytes);
        let last = kind == event::BODY && u64::try_from(piece.len()) == Ok(left);
        let flags = if last { body_flag::LAST } else { 0 };
        let mut record =
            events.record(kind, flags, self.token, PIECE_HEAD_BYTES / 4, piece.len())?;
        let offset = record.payload_offset;
        record.set(3, sequence);
        record.set(4, offset);
        record.set(5, u32::try_from(piece.len()).unwrap_or(0));
        record.put(0, piece);
        Ok(piece.len())
    }

    fn ignore(&mut self, input: &[u8], left: u64) -> usize {
        let left = left.saturating_sub(u64::try_from(input.len()).unwrap_or(u64::MAX));
        self.input.phase = if left == 0 {
            Phase::Stopped
        } else {
            Phase::Ignored { left }
        };
        input.len()
    }

    /// The peer broke the protocol. Tells it with the packet, and waits for what the application says to it.
    fn refuse(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        packet: &[u8],
        before: usize,
        error: ParseError,
    ) -> Result<Pause, Stop> {
        self.tell_client_error(core, events, error.code, before + error.offset, packet)?;
        Ok(Pause::Blocked)
    }

    /// The peer ended in the middle of a message.
    pub(super) fn refuse_end(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        self.tell_client_error(core, events, ParseErrorCode::InvalidEofState, 0, &[])
    }

    fn tell_client_error(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        code: ParseErrorCode,
        parsed: usize,
        packet: &[u8],
    ) -> Result<(), Stop> {
        self.tell_open(core, events)?;
        let mut record = events.record(event::CLIENT_ERROR, 0, self.token, 7, packet.len())?;
        let offset = record.payload_offset;
        record.set(3, u32::from(code.number()));
        record.set(4, u32::try_from(parsed).unwrap_or(u32::MAX));
        record.set(5, offset);
        record.set(6, u32::try_from(packet.len()).unwrap_or(0));
        record.put(0, packet);
        // Read on, within bounds: the peer's end must be heard of, and unread bytes would make a reset of the close.
        self.input.ignore_the_rest();
        self.input.refused = true;
        self.input.rest = Vec::new();
        self.input.held = false;
        self.guard(core, CLIENT_ERROR_MS);
        Ok(())
    }
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

/// Writes a table of fields whose offsets are moved by `base`.
#[inline]
fn write_fields(table: &mut [u8], fields: &[Field], base: u32) {
    for (place, field) in table.chunks_exact_mut(FIELD_BYTES).zip(fields) {
        let words = [
            u32::from(field.name_number) << 16 | u32::from(field.name_length),
            base.wrapping_add(field.name_offset),
            base.wrapping_add(field.value_offset),
            field.value_length,
        ];
        for (bytes, word) in place.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
