//! The application's records about answers: heads go out at once, bodies wait for [`output`](super::output).

use portico_channel::layout::response_flag;
use portico_http::h1::FieldLines;
use portico_http::h2::ErrorCode;
use portico_http::h2::hpack::OutgoingField;
use portico_http::semantics::field_name;

use super::H2;
use crate::answer::{AnswerHead, InterimHead, Part, Payload};
use crate::core::Core;
use crate::transport::Transport;

impl H2 {
    /// `RESPOND`. A second head for a request is ignored.
    pub(crate) fn respond(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        head: &AnswerHead<'_>,
        body: Payload<'_>,
    ) {
        let Some(exchange) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.has_head || exchange.gone.is_some() || !transport.takes_output() {
            return;
        }
        exchange.has_head = true;
        let ends = head.flags & response_flag::END != 0;
        let is_last = ends && body.bytes.is_empty();
        let key = exchange.key;
        let out = transport.buffer(core);
        let Core {
            templates, clock, ..
        } = core;
        let template = templates.find(head.template);
        let lines = template.map_or(head.fields, |template| &template.fields);
        let date = clock.date();
        let length = Decimal::new(head.content_length);
        let has = |flag: u32| head.flags & flag != 0;
        let date = has(response_flag::DATE)
            .then(|| OutgoingField::numbered(b"date", field_name::DATE, date));
        let length = has(response_flag::CONTENT_LENGTH).then(|| {
            let number = field_name::CONTENT_LENGTH;
            OutgoingField::numbered(b"content-length", number, length.text())
        });
        let fields = fields(lines).chain(date).chain(length);
        // It fails only where the stream has gone: its exchange is about to be.
        let _ = self.session.respond(key, head.status, fields, is_last, out);
        if has(response_flag::CLOSE) {
            self.session.shut_down(out);
        }
        if is_last {
            exchange.is_answered = true;
            self.after_record(transport, core, sequence, head.flags);
            self.note_sent(core, sequence);
            transport.flush_later(core);
        } else {
            self.give(transport, core, sequence, head.flags, Part::Bytes(body));
        }
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
        self.give(transport, core, sequence, flags, Part::Bytes(body));
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
        let flags = flags | response_flag::END;
        if trailers.is_empty() {
            let nothing = Part::Bytes(Payload::inside(b""));
            return self.give(transport, core, sequence, flags, nothing);
        }
        let exchange = self.exchanges.find(sequence);
        let Some(exchange) = exchange.filter(|it| it.has_head && !it.is_answered) else {
            return;
        };
        exchange.is_answered = true;
        let key = exchange.key;
        let waits = self.session.queued_bytes(key) > 0;
        let out = transport.buffer(core);
        let _ = self.session.end_with_trailers(key, fields(trailers), out);
        self.after_record(transport, core, sequence, flags);
        if !waits {
            self.note_sent(core, sequence);
        }
        transport.flush_later(core);
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
        let Some(exchange) = self.exchanges.find(sequence) else {
            return;
        };
        // RFC 9113, section 8.6: there is no 101.
        if exchange.has_head || head.status == 101 || !transport.takes_output() {
            return;
        }
        let key = exchange.key;
        let out = transport.buffer(core);
        let _ = self
            .session
            .inform(key, head.status, fields(head.fields), out);
        self.after_record(transport, core, sequence, flags);
        transport.flush_later(core);
    }

    /// `RAW`: there is no byte stream beneath streams.
    #[expect(clippy::unused_self, reason = "a protocol's record")]
    pub(crate) fn raw(&mut self, _: &mut Transport, _: &mut Core, _: u32, _: Payload<'_>) {}

    /// `RESET`: the peer is told, and the connection goes on.
    pub(crate) fn reset(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        code: u32,
    ) {
        if let Some(exchange) = self.exchanges.remove(sequence) {
            let out = transport.buffer(core);
            // It fails where both sides have ended in order.
            let _ = self.session.reset(exchange.key, ErrorCode(code), out);
            transport.flush_later(core);
        }
    }

    /// Adds to the body of an answer, and ends it with the flag `END`.
    pub(crate) fn give(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        part: Part<'_>,
    ) {
        let exchange = self.exchanges.find(sequence);
        let Some(exchange) = exchange.filter(|it| it.has_head && !it.is_answered) else {
            return;
        };
        let key = exchange.key;
        let count = part.len();
        if count > 0 && self.session.queue(key, count).is_ok() {
            exchange.given += count;
            match part {
                Part::Bytes(body) => exchange.body.push(body, b"", &mut core.buffers),
                Part::File(range) => exchange.body.push_file(range.clone()),
            }
        }
        let ends = flags & response_flag::END != 0;
        let is_sent = ends && exchange.given == exchange.framed;
        if ends {
            exchange.is_answered = true;
            let _ = self.session.end(key, transport.buffer(core));
        }
        self.after_record(transport, core, sequence, flags);
        if is_sent {
            self.note_sent(core, sequence);
        }
        transport.flush_later(core);
    }

    /// An acknowledgement, if the record asks for one.
    fn after_record(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        flags: u32,
    ) {
        if flags & response_flag::ACK == 0 {
            return;
        }
        let Some(exchange) = self.exchanges.find(sequence) else {
            return;
        };
        if exchange.given == exchange.framed {
            transport.acknowledge(transport.position(), sequence);
        } else {
            exchange.acks.push(exchange.given);
        }
        transport.flush_later(core);
    }

    /// All of an answer has been framed.
    pub(super) fn note_sent(&mut self, core: &mut Core, sequence: u32) {
        core.counters.responses += 1;
        if let Some(exchange) = self.exchanges.find(sequence) {
            exchange.is_sent = true;
            self.exchanges.remove_if_over(sequence);
        }
    }
}

/// Fields of an answer as the application gives them: lines, which end at the first that is none.
pub(super) fn fields(lines: &[u8]) -> impl Iterator<Item = OutgoingField<'_>> {
    FieldLines::new(lines)
        .map_while(Result::ok)
        .map(|line| OutgoingField::numbered(line.name, line.number, line.value))
}

/// A number as text.
struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    fn new(mut number: u64) -> Self {
        let mut decimal = Self {
            digits: [b'0'; 20],
            start: 20,
        };
        for (place, digit) in decimal.digits.iter_mut().enumerate().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
            decimal.start = place;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        decimal
    }

    fn text(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }
}
