//! A member's records about an answer: whether the request is its own, the framing holds, and the window has room.

use portico_channel::RecordView;
use portico_channel::layout::{command, response_flag};
use portico_http::h1;
use portico_http::semantics::FramingFields;
use portico_http::semantics::field_value::is_field_value;

use crate::answers::Refusal;
use crate::client::{Exchange, MemberIndex, Stage};
use crate::commands::{closing, is_end};
use crate::dispatcher::Dispatcher;
use crate::flow::Ack;
use crate::framing::Outcome;
use crate::judging::Verdict;
use crate::member::Template;

/// Bytes of `RESPOND` before its payload.
const RESPOND_BYTES: usize = 44;
/// Bytes of the others before their payload.
const SIZED_BYTES: usize = 20;

impl Dispatcher {
    pub(crate) fn judge_answer(
        &mut self,
        index: MemberIndex,
        record: RecordView<'_>,
        ended: &mut Vec<(u32, u32)>,
    ) -> Verdict {
        let (token, sequence) = (record.word(2), record.word(3));
        if record.flags() & response_flag::EXTERNAL != 0 {
            return Verdict::Break;
        }
        let draining = self.draining;
        let Self {
            clients, members, ..
        } = self;
        let Some(client) = clients.find(token) else {
            return Verdict::LeaveOut;
        };
        let is_last = client
            .exchanges
            .back()
            .is_some_and(|last| last.sequence == sequence);
        let Some(exchange) = client
            .exchange(sequence)
            .filter(|exchange| exchange.stage == Stage::With(index))
        else {
            return Verdict::LeaveOut;
        };
        let templates = members
            .get(index)
            .and_then(Option::as_ref)
            .map_or(&[][..], |member| &member.templates);
        let Ok(grants) = exchange.flow.take(record.size()) else {
            return Verdict::Break;
        };
        let outcome = match record.kind() {
            command::RESPOND if !exchange.answer.has_begun() => begin(exchange, templates, record),
            command::INFORM if !exchange.answer.has_begun() => match is_interim(exchange, record) {
                true => Outcome::Fine,
                false => return Verdict::LeaveOut,
            },
            command::DATA | command::END if exchange.answer.is_open() => go_on(exchange, record),
            // The engine would ignore them.
            _ => return Verdict::LeaveOut,
        };
        if outcome == Outcome::Wrong {
            self.cut_off(token, sequence, ended);
            return Verdict::LeaveOut;
        }
        let is_head = record.kind() == command::RESPOND;
        let (mut flags, shortened) = match outcome {
            Outcome::TooLong(bytes) => (record.flags() | response_flag::END, Some(bytes)),
            _ => (record.flags(), None),
        };
        let ends = is_end(record) || shortened.is_some();
        if outcome == Outcome::Last || shortened.is_some() || (draining && is_last && is_head) {
            flags = if is_head {
                closing(flags)
            } else {
                flags | response_flag::CLOSE
            };
        }
        if ends {
            ended.push((token, sequence));
            if exchange.answer.end() == Outcome::Last {
                flags |= response_flag::CLOSE;
            }
        }
        let told = flags & response_flag::ACK != 0;
        if told || (grants.is_some() && !ends) {
            flags |= response_flag::ACK;
            client.expect_ack(Ack {
                sequence,
                member: index,
                told,
                grants: grants.unwrap_or(0),
            });
        }
        if flags & response_flag::CLOSE != 0 && !client.is_closing {
            self.close_behind(token, sequence);
        }
        match shortened {
            // Below a number of 32 bits in the record.
            Some(bytes) => Verdict::Shorten(flags, u32::try_from(bytes).unwrap_or(0)),
            None if flags == record.flags() => Verdict::Apply,
            None => Verdict::ApplyWith(flags),
        }
    }

    /// What a member says contradicts what it said before, or itself: the answer ends here and the connection with it,
    /// behind the answers that are before it.
    fn cut_off(&mut self, token: u32, sequence: u32, ended: &mut Vec<(u32, u32)>) {
        self.disagreements += 1;
        let Some(exchange) = self
            .clients
            .find(token)
            .and_then(|client| client.exchange(sequence))
        else {
            return;
        };
        if exchange.answer.has_begun() {
            exchange.answer.end();
            let flags = response_flag::END | response_flag::CLOSE;
            self.commands.data(token, sequence, flags, b"");
            ended.push((token, sequence));
        } else if let Some(mut exchange) = self.take_exchange(token, sequence) {
            exchange.upload = None;
            if let Stage::With(index) = exchange.stage {
                self.finish_one(index);
            }
            self.refuse(token, &exchange, Refusal::Contradiction);
        }
    }
}

fn begin(exchange: &mut Exchange, templates: &[Template], record: RecordView<'_>) -> Outcome {
    let kept = usize::try_from(record.word(5))
        .ok()
        .and_then(|number| templates.get(number).copied());
    let declared = match kept.unwrap_or_default() {
        Template::Declares(declared) => Some(declared),
        Template::Missing => own_fields(record),
        Template::Refused => None,
    };
    let Some(declared) = declared else {
        return Outcome::Wrong;
    };
    let mut answer = exchange.answer;
    let outcome = answer.begin(
        exchange.facts,
        record.word(4),
        record.flags(),
        record.long(9),
        &declared,
    );
    if outcome == Outcome::Wrong {
        return Outcome::Wrong;
    }
    let body = answer.add(u64::from(record.word(8)));
    exchange.answer = answer;
    if body == Outcome::Fine { outcome } else { body }
}

/// What the head in the record itself declares.
fn own_fields(record: RecordView<'_>) -> Option<FramingFields> {
    let reason = record.bytes(RESPOND_BYTES, record.word(6))?;
    let fields = record.bytes(RESPOND_BYTES + reason.len(), record.word(7))?;
    h1::read_framing(fields).filter(|_| is_field_value(reason))
}

/// `DATA` and `END`.
fn go_on(exchange: &mut Exchange, record: RecordView<'_>) -> Outcome {
    if record.kind() == command::DATA {
        return exchange.answer.add(u64::from(record.word(4)));
    }
    let is_chunked = exchange.answer == crate::framing::Answer::Chunked;
    let trailers = record.bytes(SIZED_BYTES, record.word(4));
    match trailers {
        Some(lines) if !is_chunked || h1::are_trailers(lines) => Outcome::Fine,
        _ => Outcome::Wrong,
    }
}

/// HTTP/1.0 clients know no interim responses (RFC 9110, 15.2).
fn is_interim(exchange: &Exchange, record: RecordView<'_>) -> bool {
    !exchange.facts.is_old
        && record
            .bytes(SIZED_BYTES, record.word(4))
            .is_some_and(h1::is_interim_head)
}
