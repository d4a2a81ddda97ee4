//! The application's records about requests, turned into output.

use portico_channel::layout::response_flag;
use portico_http::h1::{CHUNK_END, Head, write_chunk_size, write_last_chunk};

use super::H1;
use super::heads::{write_head, write_interim_head};
use super::input::Phase;
use crate::answer::{Answer, AnswerHead, InterimHead, Part, Payload};
use crate::core::Core;
use crate::transport::{AfterFlush, Transport};
use portico_http::Method;

impl H1 {
    /// `RESPOND`. A second head for a request is ignored.
    #[inline]
    pub(crate) fn respond(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        head: &AnswerHead<'_>,
        body: Payload<'_>,
    ) {
        if !transport.takes_output() {
            return;
        }
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        if !exchange.is_unanswered() {
            return;
        }
        exchange.head_given = true;
        exchange.chunked = head.flags & response_flag::CHUNKED != 0;
        exchange.close |= head.flags & response_flag::CLOSE != 0;
        let listener = transport.listener();
        let out = if is_first {
            transport.buffer(core)
        } else {
            exchange.held().segments.buffer(&mut core.buffers)
        };
        write_head(core, listener, out, head);
        self.write_body_part(transport, core, sequence, head.flags, body);
    }

    /// Gives the whole answer to a request that the application is not told of. Nothing of its body is read.
    pub(super) fn answer(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        head: &Head,
        answer: Answer,
    ) {
        let keep_alive = answer.keep_alive && head.keep_alive && head.framing.is_empty();
        if keep_alive {
            self.message_complete();
        } else {
            self.input.unread_at_close |= !head.framing.is_empty();
            self.ignore_the_rest();
        }
        let nothing = Payload::inside(b"");
        self.respond(transport, core, sequence, &answer.head(keep_alive), nothing);
        if head.method != Method::Head {
            for segment in &answer.body {
                segment.lend(|part| self.give(transport, core, sequence, 0, part));
            }
        }
        self.end(transport, core, sequence, 0, &[]);
    }

    /// Adds to the body of an answer that is given whole.
    pub(crate) fn give(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        part: Part<'_>,
    ) {
        let range = match part {
            Part::Bytes(body) => return self.data(transport, core, sequence, flags, body),
            Part::File(range) => range.clone(),
        };
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        if !exchange.is_answering() || !transport.takes_output() {
            return;
        }
        if is_first {
            transport.append_file(range);
        } else {
            exchange.held().segments.push_file(range);
        }
        self.after_record(transport, core, sequence, flags);
    }

    /// `DATA`.
    pub(crate) fn data(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        body: Payload<'_>,
    ) {
        let is_answering = self
            .exchanges
            .find(sequence)
            .is_some_and(|(exchange, _)| exchange.is_answering());
        if is_answering && transport.takes_output() {
            self.write_body_part(transport, core, sequence, flags, body);
        }
    }

    /// `END`, with trailer lines.
    pub(crate) fn end(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        trailers: &[u8],
    ) {
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        if !exchange.is_answering() || !transport.takes_output() {
            return;
        }
        if exchange.chunked {
            let out = if is_first {
                transport.buffer(core)
            } else {
                exchange.held().segments.buffer(&mut core.buffers)
            };
            write_last_chunk(out, trailers);
        }
        self.after_record(transport, core, sequence, flags | response_flag::END);
    }

    /// `INFORM`.
    pub(crate) fn inform(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        head: &InterimHead<'_>,
    ) {
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        if !exchange.is_unanswered() || !transport.takes_output() {
            return;
        }
        exchange.awaits_continue = false;
        let out = if is_first {
            transport.buffer(core)
        } else {
            exchange.held().segments.buffer(&mut core.buffers)
        };
        write_interim_head(out, head);
        self.after_record(transport, core, sequence, flags & response_flag::ACK);
    }

    /// `RAW`.
    pub(crate) fn raw(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        flags: u32,
        body: Payload<'_>,
    ) {
        if transport.has_output_ended() || !transport.takes_output() {
            return;
        }
        transport.append(core, body, b"");
        if flags & response_flag::ACK != 0 {
            transport.acknowledge(transport.position(), 0);
        }
        transport.flush_later(core);
    }

    /// Whether there is something that [`H1::fill_output`] would frame: answers are framed as they are given.
    #[inline]
    pub(crate) fn holds_output(&self) -> bool {
        false
    }

    /// Nothing: see [`H1::holds_output`].
    #[inline]
    pub(crate) fn fill_output(&mut self, _: &mut Transport, _: &mut Core) {}

    /// `RESET`: when the answer's turn comes, the connection ends instead. HTTP/1 has no way to say why.
    pub(crate) fn reset(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        _code: u32,
    ) {
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.answered && is_first {
            return;
        }
        exchange.answered = true;
        exchange.close = true;
        if is_first {
            self.advance(transport, core);
            transport.flush_later(core);
        } else {
            self.exchanges.drop_held(sequence);
        }
    }

    /// `SHUTDOWN`.
    pub(crate) fn shutdown(&mut self, transport: &mut Transport, close: bool) {
        if close {
            self.close(transport);
        } else {
            transport.set_after_flush(AfterFlush::End);
        }
    }

    /// The connection ends behind what is queued: no further request is wanted, and no answer that was not given.
    fn close(&mut self, transport: &mut Transport) {
        transport.set_after_flush(AfterFlush::Close);
        self.exchanges.clear();
        self.close_input();
    }

    /// Appends body bytes in the response's framing.
    #[inline]
    fn write_body_part(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        body: Payload<'_>,
    ) {
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        let ends = flags & response_flag::END != 0;
        let chunked = exchange.chunked;
        let tail: &[u8] = match (chunked, body.bytes.is_empty(), ends) {
            (false, _, _) | (true, true, false) => b"",
            (true, true, true) => b"0\r\n\r\n",
            (true, false, false) => CHUNK_END,
            (true, false, true) => b"\r\n0\r\n\r\n",
        };
        let size = u64::try_from(body.bytes.len()).unwrap_or(u64::MAX);
        if is_first {
            if chunked && size > 0 {
                write_chunk_size(transport.buffer(core), size);
            }
            transport.append(core, body, tail);
        } else {
            let segments = &mut exchange.held().segments;
            if chunked && size > 0 {
                write_chunk_size(segments.buffer(&mut core.buffers), size);
            }
            segments.push(body, tail, &mut core.buffers);
        }
        self.after_record(transport, core, sequence, flags);
    }

    /// What every record about a response may ask for: an acknowledgement, and that the response is complete.
    #[inline]
    fn after_record(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
    ) {
        let Some((exchange, is_first)) = self.exchanges.find(sequence) else {
            return;
        };
        exchange.close |= flags & response_flag::CLOSE != 0;
        if flags & response_flag::ACK != 0 {
            if is_first {
                transport.acknowledge(transport.position(), 0);
            } else {
                let held = exchange.held();
                held.acks.push(held.segments.len());
            }
        }
        if flags & response_flag::END != 0 {
            exchange.answered = true;
            if is_first {
                self.advance(transport, core);
            }
        }
        if is_first {
            transport.flush_later(core);
        } else {
            self.exchanges.count_held(sequence);
        }
    }

    /// The answer whose turn it was is complete: the next ones get theirs.
    fn advance(&mut self, transport: &mut Transport, core: &mut Core) {
        while let Some(close) = self.exchanges.first_answered() {
            core.counters.responses += 1;
            if close {
                self.close(transport);
                return;
            }
            if !self.exchanges.end_first() {
                // The last request is still arriving, though its answer is complete.
                break;
            }
            if let Some(held) = self.exchanges.take_held() {
                let start = transport.append_segments(core, held.segments);
                for length in held.acks {
                    transport.acknowledge(start + u64::try_from(length).unwrap_or(0), 0);
                }
            }
        }
        if self.exchanges.is_answered() && self.is_http() {
            transport.become_idle(core);
        }
        self.look_again(transport, core);
    }

    /// No further request is wanted. A body that is still coming is read and dropped.
    fn close_input(&mut self) {
        if !matches!(self.input.phase, Phase::Stopped) {
            self.input.unread_at_close |= self.input.is_in_body() || !self.input.rest.is_empty();
            self.input.drop_rest();
            self.ignore_the_rest();
        }
    }
}
