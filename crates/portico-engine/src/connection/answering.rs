//! The application's records about requests, turned into output.

use portico_channel::External;
use portico_channel::layout::response_flag;
use portico_http::h1::{
    BodyFraming, CHUNK_END, ConnectionField, KeepAlive, ResponseHead, write_chunk_size,
    write_last_chunk, write_response_head,
};

use super::input::{BodyWish, Phase};
use super::{AfterFlush, Connection};
use crate::core::Core;
use crate::limits::EXTERNAL_COPY_BYTES;

/// A response head as the application gave it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) flags: u32,
    /// 0: none.
    pub(crate) template: u32,
    pub(crate) reason: &'a [u8],
    pub(crate) fields: &'a [u8],
    pub(crate) content_length: u64,
}

/// Body bytes, and the same where they lie outside of the record, so that they need not be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) external: Option<External<'a>>,
}

impl<'a> Payload<'a> {
    /// Bytes that are better sent from where they lie.
    fn outside(&self) -> Option<External<'a>> {
        self.external
            .filter(|external| external.bytes().len() > EXTERNAL_COPY_BYTES)
    }
}

impl Connection {
    /// `RESPOND`. A second head for a request is ignored.
    pub(crate) fn respond(
        &mut self,
        core: &mut Core,
        sequence: u32,
        answer: &Answer<'_>,
        body: Payload<'_>,
    ) {
        if self.output.after != AfterFlush::Continue {
            return;
        }
        let Some((exchange, first)) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.head_given || exchange.ended {
            return;
        }
        exchange.head_given = true;
        exchange.chunked = answer.flags & response_flag::CHUNKED != 0;
        exchange.close |= answer.flags & response_flag::CLOSE != 0;
        let out = if first {
            self.output.buffer(&mut core.buffers)
        } else {
            exchange.held().queue.buffer(&mut core.buffers)
        };
        write_head(core, self.listener, out, answer);
        self.write_body(core, sequence, answer.flags, body);
    }

    /// `DATA`.
    pub(crate) fn data(&mut self, core: &mut Core, sequence: u32, flags: u32, body: Payload<'_>) {
        match self.exchanges.find(sequence) {
            _ if self.output.after != AfterFlush::Continue => {}
            Some((exchange, _)) if exchange.head_given && !exchange.ended => {
                self.write_body(core, sequence, flags, body);
            }
            _ => {}
        }
    }

    /// `END`, with trailer lines.
    pub(crate) fn end(&mut self, core: &mut Core, sequence: u32, flags: u32, trailers: &[u8]) {
        let Some((exchange, first)) = self.exchanges.find(sequence) else {
            return;
        };
        if !exchange.head_given || exchange.ended || self.output.after != AfterFlush::Continue {
            return;
        }
        if exchange.chunked {
            let out = if first {
                self.output.buffer(&mut core.buffers)
            } else {
                exchange.held().queue.buffer(&mut core.buffers)
            };
            write_last_chunk(out, trailers);
        }
        self.after_record(core, sequence, flags | response_flag::END);
    }

    /// `INFORM`.
    pub(crate) fn inform(&mut self, core: &mut Core, sequence: u32, flags: u32, bytes: &[u8]) {
        let Some((exchange, first)) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.head_given || exchange.ended || self.output.after != AfterFlush::Continue {
            return;
        }
        let out = if first {
            self.output.buffer(&mut core.buffers)
        } else {
            exchange.held().queue.buffer(&mut core.buffers)
        };
        out.extend_from_slice(bytes);
        self.input.awaits_continue = false;
        self.after_record(core, sequence, flags & response_flag::ACK);
    }

    /// `RAW`.
    pub(crate) fn raw(&mut self, core: &mut Core, flags: u32, body: Payload<'_>) {
        if self.output.ended || self.output.after != AfterFlush::Continue {
            return;
        }
        self.append(core, body, b"");
        if flags & response_flag::ACK != 0 {
            let position = self.output.position();
            self.output.acknowledge(position);
        }
        self.mark_dirty(core);
    }

    /// `FEED`: bytes to parse from somewhere else than the socket.
    pub(crate) fn feed(&mut self, core: &mut Core, bytes: &[u8]) {
        if matches!(self.input.phase, Phase::Stopped) || bytes.is_empty() {
            return;
        }
        self.input.rest.extend_from_slice(bytes);
        self.input.held = true;
        self.schedule(core);
    }

    /// `TAKE_OVER`: the connection is a byte stream from now on. Answers to earlier requests may still be given; they
    /// mix with the stream as the application writes both, as in Node.
    pub(crate) fn take_over(&mut self, core: &mut Core) {
        if let Phase::Upgrade { attached, .. } = self.input.phase {
            self.input.phase = Phase::Raw;
            self.exchanges.pop_newest();
            self.become_busy();
            self.input.drop_used(attached);
            self.look_again(core);
        }
    }

    /// `PROCEED`: the upgrade is an ordinary request.
    pub(crate) fn proceed(&mut self, core: &mut Core) {
        if let Phase::Upgrade { framing, .. } = self.input.phase {
            if self.input.begin_body(framing) {
                self.input.message_started_ms = core.clock.now_ms();
            } else {
                self.input.message_complete();
            }
            self.look_again(core);
        }
    }

    /// `PAUSE` and `RESUME` of the connection.
    pub(crate) fn set_paused(&mut self, core: &mut Core, paused: bool) {
        self.input.pauses = self.input.pauses.wrapping_add(u32::from(paused));
        self.input.paused = paused;
        if !paused {
            self.look_again(core);
        }
    }

    /// `PAUSE`, `RESUME` and `DISCARD` of a body. What crossed with the body's end is about nothing any more; what is
    /// discarded stays so.
    pub(crate) fn set_body_wish(&mut self, core: &mut Core, sequence: u32, wish: BodyWish) {
        let is_in_work = sequence == self.input.sequence && self.input.has_body_to_come();
        if is_in_work && self.input.body != BodyWish::End {
            let pauses = u32::from(wish == BodyWish::Nothing);
            self.input.pauses = self.input.pauses.wrapping_add(pauses);
            self.input.body = wish;
            self.look_again(core);
        }
    }

    /// `DESTROY` of an answer: when its turn comes, the connection ends instead.
    pub(crate) fn destroy_answer(&mut self, core: &mut Core, sequence: u32) {
        let Some((exchange, first)) = self.exchanges.find(sequence) else {
            return;
        };
        exchange.ended = true;
        exchange.close = true;
        if first {
            self.advance(core);
            self.mark_dirty(core);
        } else {
            self.exchanges.forget_held(sequence);
        }
    }

    /// `SHUTDOWN`.
    pub(crate) fn shutdown(&mut self, core: &mut Core, close: bool) {
        if close {
            self.output.after = AfterFlush::Close;
            self.exchanges.clear();
            self.close_input();
        } else if self.output.after == AfterFlush::Continue {
            self.output.after = AfterFlush::End;
        }
        self.mark_dirty(core);
    }

    /// Appends body bytes in the response's framing.
    fn write_body(&mut self, core: &mut Core, sequence: u32, flags: u32, body: Payload<'_>) {
        let Some((exchange, first)) = self.exchanges.find(sequence) else {
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
        let out = if first {
            self.output.buffer(&mut core.buffers)
        } else {
            exchange.held().queue.buffer(&mut core.buffers)
        };
        if chunked && !body.bytes.is_empty() {
            write_chunk_size(out, u64::try_from(body.bytes.len()).unwrap_or(u64::MAX));
        }
        if first {
            self.append(core, body, tail);
        } else if let Some(external) = body.outside() {
            let held = exchange.held();
            held.queue
                .push_lent(external.keep(), 0, external.bytes().len());
            held.queue.buffer(&mut core.buffers).extend_from_slice(tail);
        } else {
            out.extend_from_slice(body.bytes);
            out.extend_from_slice(tail);
        }
        self.after_record(core, sequence, flags);
    }

    /// Appends to the queued output. Large outside bytes are offered to the kernel first, and kept where they are if it
    /// does not take them.
    fn append(&mut self, core: &mut Core, body: Payload<'_>, tail: &[u8]) {
        match body.outside() {
            Some(external) if self.can_send_directly() => {
                self.send_directly(core, external, tail);
            }
            Some(external) => {
                let length = external.bytes().len();
                self.output.queue.push_lent(external.keep(), 0, length);
                let out = self.output.buffer(&mut core.buffers);
                out.extend_from_slice(tail);
            }
            None => {
                let out = self.output.buffer(&mut core.buffers);
                out.extend_from_slice(body.bytes);
                out.extend_from_slice(tail);
            }
        }
    }

    /// What every record about a response may ask for: an acknowledgement, and that the response is complete.
    fn after_record(&mut self, core: &mut Core, sequence: u32, flags: u32) {
        let position = self.output.position();
        let Some((exchange, first)) = self.exchanges.find(sequence) else {
            return;
        };
        exchange.close |= flags & response_flag::CLOSE != 0;
        if flags & response_flag::ACK != 0 {
            if first {
                self.output.acknowledge(position);
            } else {
                let held = exchange.held();
                held.acks.push(held.queue.len());
            }
        }
        if flags & response_flag::END != 0 {
            exchange.ended = true;
            if first {
                self.advance(core);
            }
        }
        if first {
            self.mark_dirty(core);
        } else {
            self.exchanges.note_held(sequence);
        }
    }

    /// The answer whose turn it was is complete: the next ones get theirs.
    fn advance(&mut self, core: &mut Core) {
        while let Some(exchange) = self.exchanges.pop_ended() {
            core.counters.responses += 1;
            if exchange.close {
                self.output.after = AfterFlush::Close;
                self.exchanges.clear();
                self.close_input();
                return;
            }
            if let Some(held) = self.exchanges.take_held() {
                let start = self.output.position();
                self.output.queue.append(held.queue, &mut core.buffers);
                for length in held.acks {
                    self.output
                        .acknowledge(start + u64::try_from(length).unwrap_or(0));
                }
            }
        }
        if self.exchanges.is_empty() {
            self.become_idle(core);
        }
        self.look_again(core);
    }

    /// No further request is wanted. A body that is still coming is read and dropped.
    fn close_input(&mut self) {
        if !matches!(self.input.phase, Phase::Stopped) {
            self.input.unread_at_close = self.input.is_in_body() || !self.input.rest.is_empty();
            self.input.rest = Vec::new();
            self.input.held = false;
            self.input.ignore_the_rest();
        }
    }

    /// Has the connection driven in the next turn: what stopped it may be gone.
    fn look_again(&mut self, core: &mut Core) {
        if self.input.held || self.input.readable || self.input.ended {
            self.schedule(core);
        }
    }
}

fn write_head(core: &mut Core, listener: u32, out: &mut Vec<u8>, answer: &Answer<'_>) {
    let flags = answer.flags;
    let Core {
        templates,
        clock,
        listeners,
        ..
    } = core;
    let (reason, fields) = match templates.find(answer.template) {
        Some(template) => (&template.reason[..], &template.fields[..]),
        None => (answer.reason, answer.fields),
    };
    let connection = if flags & response_flag::CONNECTION_CLOSE != 0 {
        ConnectionField::Close
    } else if flags & response_flag::CONNECTION_KEEP_ALIVE != 0 {
        ConnectionField::KeepAlive
    } else {
        ConnectionField::None
    };
    let keep_alive = listeners
        .find(listener)
        .filter(|_| flags & response_flag::KEEP_ALIVE != 0)
        .map(|listener| {
            let max = listener.options.max_requests_per_socket;
            KeepAlive {
                timeout_seconds: u32::try_from(listener.options.keep_alive_timeout.as_secs())
                    .unwrap_or(u32::MAX),
                max: (max != 0).then_some(max),
            }
        });
    let framing = if flags & response_flag::CONTENT_LENGTH != 0 {
        BodyFraming::ContentLength(answer.content_length)
    } else if flags & response_flag::TRANSFER_ENCODING != 0 {
        BodyFraming::Chunked
    } else {
        BodyFraming::None
    };
    let date = (flags & response_flag::DATE != 0).then(|| clock.date());
    write_response_head(
        out,
        &ResponseHead {
            status: answer.status,
            reason,
            fields,
            date,
            connection,
            keep_alive,
            framing,
        },
    );
}
