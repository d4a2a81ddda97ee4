//! Bytes into events: heads, bodies, tunnels.

use portico_channel::EventWriter;
use portico_channel::layout::{body_flag, event};
use portico_http::h1::{ChunkEvent, Expect, Head, leading_blank};
use portico_http::{ParseError, ParseErrorCode};

use super::input::{BodyWish, Phase};
use super::{Connection, Stop};
use crate::core::Core;
use crate::limits::{BODY_PIECE_BYTES, PACKET_OUTPUT_BYTES, REQUESTS_PER_TURN};

/// Why parsing paused without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Everything that can be used without further bytes is used.
    NeedMore,
    /// The application has to do something first: answer, resume, decide on an upgrade.
    Blocked,
    /// Enough for a turn.
    Turn,
}

/// What one step of parsing did.
enum Step {
    /// So many bytes are used; go on.
    Used(usize),
    /// Pause.
    Pause(Pause),
}

/// Bytes of `BODY` and `RAW` before their payload.
const PIECE_HEAD_BYTES: usize = 24;

impl Connection {
    /// Whether parsing must wait for the application.
    pub(super) fn is_blocked(&self, core: &Core) -> bool {
        match self.input.phase {
            Phase::Upgrade { .. } | Phase::Stopped => true,
            Phase::Head => self.is_head_blocked(core) || self.input.over && self.is_over(core),
            Phase::Sized { .. } | Phase::Chunked(_) => match self.input.body {
                BodyWish::Bytes => self.input.paused,
                BodyWish::Nothing => true,
                BodyWish::End => false,
            },
            Phase::Raw => self.input.paused,
            Phase::Ignored { .. } => false,
        }
    }

    /// The same in the middle of what has been received. That is handed over to its end although more output waits than
    /// the high-water mark allows, as in Node, but not without a bound: Node keeps references to what its programs
    /// answer with, and so do we, but heads and small bodies are copied.
    fn is_blocked_in_packet(&self, core: &Core) -> bool {
        match self.input.phase {
            Phase::Head => {
                let is_far_over = self.input.over && self.waiting_bytes() > PACKET_OUTPUT_BYTES;
                self.is_head_blocked(core) || is_far_over && self.is_over(core)
            }
            Phase::Sized { .. } | Phase::Chunked(_) => {
                self.input.paused && self.input.body != BodyWish::End
            }
            _ => self.is_blocked(core),
        }
    }

    fn is_head_blocked(&self, core: &Core) -> bool {
        self.input.paused || self.exchanges.len() >= core.pipelined_requests
    }

    /// Whether no further request is handed over in this turn.
    pub(super) fn has_told_enough(&self) -> bool {
        self.input.told_in_turn >= REQUESTS_PER_TURN && matches!(self.input.phase, Phase::Head)
    }

    /// Whether more output waits than the high-water mark allows.
    fn is_over(&self, core: &Core) -> bool {
        let waiting = self.waiting_bytes();
        waiting > 0
            && core
                .listeners
                .find(self.listener)
                .is_some_and(|listener| waiting > listener.options.high_water_mark)
    }

    /// Bytes of answers that wait for the kernel or for their turn.
    #[inline]
    fn waiting_bytes(&self) -> usize {
        self.queued() + self.exchanges.held_bytes()
    }

    /// Parses `bytes`, which begin where the last call stopped, from `used` on, and moves `used` behind what is done
    /// with. What came last begins at `packet_at`.
    pub(super) fn parse(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        bytes: &[u8],
        used: &mut usize,
        packet_at: usize,
    ) -> Result<Pause, Stop> {
        loop {
            let input = bytes.get(*used..).unwrap_or_default();
            if input.is_empty() {
                return Ok(Pause::NeedMore);
            }
            if self.is_blocked_in_packet(core) {
                return Ok(Pause::Blocked);
            }
            if self.has_told_enough() {
                return Ok(Pause::Turn);
            }
            let step = match self.input.phase {
                Phase::Head => match self.parse_head(core, events, input)? {
                    Ok(step) => step,
                    Err(error) => {
                        return self.refuse(
                            core,
                            events,
                            packet_with(bytes, packet_at, *used + error.offset),
                            error.code,
                        );
                    }
                },
                Phase::Sized { left } => self.parse_sized(events, input, left)?,
                Phase::Chunked(_) => match self.parse_chunked(core, events, input)? {
                    Ok(step) => step,
                    Err(error) => {
                        return self.refuse(
                            core,
                            events,
                            packet_with(bytes, packet_at, *used + error.offset),
                            error.code,
                        );
                    }
                },
                Phase::Raw => Step::Used(self.write_piece(events, event::RAW, 0, input, 0)?),
                Phase::Ignored { left } => {
                    self.tell_client_error_again(events, input)?;
                    Step::Used(self.ignore(input, left))
                }
                Phase::Upgrade { .. } | Phase::Stopped => return Ok(Pause::Blocked),
            };
            match step {
                Step::Used(count) => *used += count,
                Step::Pause(pause) => return Ok(pause),
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
                self.input.over = self.is_over(core);
                self.begin_request(&head, input);
                core.counters.requests += 1;
                Ok(Ok(Step::Used(to_usize(head.head_bytes))))
            }
        }
    }

    /// Enters the request whose event has been written.
    fn begin_request(&mut self, head: &Head, input: &[u8]) {
        self.input.sequence = self.input.sequence.wrapping_add(1);
        self.input.told_in_turn += 1;
        self.input.keep_alive = head.keep_alive;
        self.input.awaits_continue = head.expect == Expect::Continue;
        self.exchanges.push(self.input.sequence);
        self.become_busy();
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

    fn parse_sized(
        &mut self,
        events: &mut EventWriter<'_>,
        input: &[u8],
        left: u64,
    ) -> Result<Step, Stop> {
        let available = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
        let part = input.get(..available).unwrap_or_default();
        let count = if self.input.body == BodyWish::End {
            if u64::try_from(available) == Ok(left) {
                self.tell_end(events, &[], &[])?;
            }
            available
        } else {
            self.write_piece(events, event::BODY, self.input.sequence, part, left)?
        };
        self.input.awaits_continue = false;
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
        self.input.awaits_continue = false;
        let room = if self.input.body == BodyWish::End {
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
                if self.input.body != BodyWish::End {
                    let data = window.get(range).unwrap_or_default();
                    let left = u64::MAX;
                    self.write_piece(events, event::BODY, self.input.sequence, data, left)?;
                }
            }
            ChunkEvent::Done => {
                let trailers = window.get(..count).unwrap_or_default();
                self.tell_end(events, core.parser.fields(), trailers)?;
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

    /// The peer broke the protocol. Tells it with the packet and the place in it, and waits for what the application
    /// says to it.
    fn refuse(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        (packet, place): (&[u8], usize),
        code: ParseErrorCode,
    ) -> Result<Pause, Stop> {
        self.tell_client_error(core, events, code, place, packet)?;
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
}

/// What came last of `bytes`, and where in it `place` is: an error is told with its packet, as Node does, and not with
/// what came before.
fn packet_with(bytes: &[u8], packet_at: usize, place: usize) -> (&[u8], usize) {
    let start = if packet_at <= place { packet_at } else { 0 };
    (bytes.get(start..).unwrap_or_default(), place - start)
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

pub(super) fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
