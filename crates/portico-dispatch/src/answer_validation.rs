//! A member's records about an answer: whether the request is its own, the framing holds, and the window has room.

use portico_channel::RecordView;
use portico_channel::layout::{command, reset_code, response_flag};
use portico_http::h1;
use portico_http::semantics::field_value::is_field_value;

use crate::answers::Refusal;
use crate::client::MemberIndex;
use crate::commands::{closing, is_end};
use crate::dispatcher::Dispatcher;
use crate::exchange::Exchange;
use crate::flow::Ack;
use crate::framing::Outcome;
use crate::limits::ANSWER_RECORD_BYTES;
use crate::member::Template;
use crate::validation::Verdict;

impl Dispatcher {
    pub(crate) fn validate_answer(
        &mut self,
        index: MemberIndex,
        record: RecordView<'_>,
        ended: &mut Vec<(u32, u32)>,
    ) -> Verdict {
        let (token, sequence) = (record.token(), record.sequence());
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
        let is_stream = client.has_streams;
        let is_last = match is_stream {
            // Its connection ends where no other is.
            true => client.exchanges.len() == 1,
            false => client
                .exchanges
                .last()
                .is_some_and(|last| last.sequence == sequence),
        };
        let Some(exchange) = client
            .exchange(sequence)
            .filter(|exchange| exchange.is_with(index))
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
            command::INFORM if !exchange.answer.has_begun() => inform(exchange, record),
            command::DATA | command::END if exchange.answer.is_open() => go_on(exchange, record),
            // The engine would ignore them.
            _ => return Verdict::LeaveOut,
        };
        let outcome = match outcome {
            Some(outcome) => outcome,
            // It says something of itself that is not true: no application of ours writes that.
            None => return Verdict::Break,
        };
        if outcome == Outcome::Nothing {
            return Verdict::LeaveOut;
        }
        if outcome == Outcome::Wrong {
            self.cut_off(token, sequence, ended);
            return Verdict::LeaveOut;
        }
        let is_head = record.kind() == command::RESPOND;
        let ends_short = is_end(record) && exchange.answer.lacks_bytes();
        if is_stream && ends_short && !matches!(outcome, Outcome::TooLong(_)) {
            // The client must not take what it has got for the whole.
            self.cut_off(token, sequence, ended);
            return Verdict::LeaveOut;
        }
        let (mut flags, shortened) = match outcome {
            Outcome::TooLong(bytes) => (record.flags() | response_flag::END, Some(bytes)),
            _ => (record.flags(), None),
        };
        let ends = is_end(record) || shortened.is_some();
        // Frames say where a stream's answer ends, and its connection is others' too.
        let is_misread = !is_stream && (outcome == Outcome::Last || shortened.is_some());
        if is_stream {
            flags &= !response_flag::CLOSE;
        }
        if is_misread || (draining && is_last && is_head) {
            flags = if is_head {
                closing(flags)
            } else {
                flags | response_flag::CLOSE
            };
        }
        if ends {
            ended.push((token, sequence));
            if exchange.answer.end() == Outcome::Last && !is_stream {
                flags |= response_flag::CLOSE;
            }
        }
        let told = flags & response_flag::ACK != 0;
        if told || (grants.is_some() && !ends) {
            flags |= response_flag::ACK;
            client.acks.expect(Ack {
                sequence,
                member: index,
                told,
                grants: grants.unwrap_or(0),
            });
        }
        if flags & response_flag::CLOSE != 0 && !client.is_closing() {
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
        if exchange.answer.has_begun() && exchange.traits.has_stream {
            exchange.end_body();
            self.commands.write(
                0,
                command::Reset {
                    token,
                    sequence,
                    code: reset_code::INTERNAL_ERROR,
                },
                &[],
            );
            ended.push((token, sequence));
        } else if exchange.answer.has_begun() {
            exchange.answer.end();
            let flags = response_flag::END | response_flag::CLOSE;
            self.commands.data(token, sequence, flags, b"");
            ended.push((token, sequence));
        } else if let Some(mut exchange) = self.take_exchange(token, sequence) {
            exchange.release_upload();
            if let Some(index) = exchange.member() {
                self.finish_one(index);
            }
            self.refuse(token, &exchange, Refusal::Contradiction);
        }
    }
}

/// What a head says; `None`: the record is none, or brings more than one may.
fn begin(
    exchange: &mut Exchange,
    templates: &[Template],
    record: RecordView<'_>,
) -> Option<Outcome> {
    let head = record
        .read::<command::Respond>()
        .filter(|head| head.body_bytes <= ANSWER_RECORD_BYTES)?;
    let kept = usize::try_from(head.template)
        .ok()
        .and_then(|number| templates.get(number).copied());
    let declared = match kept.unwrap_or_default() {
        Template::Declares(declared) => Some(declared),
        Template::Missing => {
            h1::read_framing(head.fields()).filter(|_| is_field_value(head.reason()))
        }
        Template::Refused => None,
    };
    let Some(declared) = declared else {
        return Some(Outcome::Wrong);
    };
    let mut answer = exchange.answer;
    let outcome = answer.begin(
        exchange.traits,
        head.status,
        head.flags(),
        head.content_length,
        &declared,
    );
    if outcome == Outcome::Wrong {
        return Some(Outcome::Wrong);
    }
    let body = answer.add(u64::from(head.body_bytes));
    exchange.answer = answer;
    Some(if body == Outcome::Fine { outcome } else { body })
}

/// `DATA` and `END`.
fn go_on(exchange: &mut Exchange, record: RecordView<'_>) -> Option<Outcome> {
    if record.kind() == command::DATA {
        let data = record
            .read::<command::Data>()
            .filter(|data| data.body_bytes <= ANSWER_RECORD_BYTES)?;
        return Some(exchange.answer.add(u64::from(data.body_bytes)));
    }
    let end = record.read::<command::End>()?;
    let is_chunked = exchange.answer == crate::framing::AnswerState::Chunked;
    let has_trailers = is_chunked || exchange.traits.has_stream;
    let are_fine = !has_trailers || h1::are_trailers(end.trailers());
    Some(if are_fine {
        Outcome::Fine
    } else {
        Outcome::Wrong
    })
}

/// An interim response. HTTP/1.0 clients know none (RFC 9110, 15.2).
fn inform(exchange: &Exchange, record: RecordView<'_>) -> Option<Outcome> {
    let inform = record.read::<command::Inform>()?;
    // 101 would make a tunnel of the connection; what says something of a body would be taken for a response's.
    let is_fine = !exchange.traits.is_old
        && (100..=199).contains(&inform.status)
        && inform.status != 101
        && is_field_value(inform.reason())
        && h1::are_trailers(inform.fields());
    Some(if is_fine {
        Outcome::Fine
    } else {
        Outcome::Nothing
    })
}
