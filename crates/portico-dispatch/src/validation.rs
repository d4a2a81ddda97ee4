//! What is done with each of a member's commands.
//!
//! A record that names a connection or request that is not the member's is left out: it may have crossed with the
//! request's end. One that no application of ours would ever write breaks the channel. Records about an answer are in
//! `answer_validation`.

use portico_channel::RecordView;
use portico_channel::layout::{
    command, destroy_flag, response_flag, shutdown_flag, take_over_flag,
};

use crate::BreakReason;
use portico_http::h1;
use portico_http::semantics::field_value::is_field_value;

use crate::answers;
use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::exchange::Exchange;
use crate::flow::Ack;
use crate::limits::{TEMPLATE_BYTES, TEMPLATES};
use crate::member::Template;

/// What is done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Apply,
    /// Apply it with other flags.
    ApplyWith(u32),
    /// Apply it with other flags and only so many bytes of the body.
    Shorten(u32, u32),
    LeaveOut,
    Break,
}

impl Dispatcher {
    #[inline]
    pub(crate) fn validate(
        &mut self,
        index: MemberIndex,
        record: RecordView<'_>,
        ended: &mut Vec<(u32, u32)>,
    ) -> Verdict {
        let token = record.token();
        match record.kind() {
            command::RESPOND | command::DATA | command::END | command::INFORM => {
                self.validate_answer(index, record, ended)
            }
            command::TEMPLATE => self.validate_template(index, record),
            command::CLOSE_IDLE | command::CLOSE_ALL => {
                if let Some(member) = self.member(index) {
                    member.ask_to_close(record.kind() == command::CLOSE_ALL);
                }
                Verdict::LeaveOut
            }
            command::PAUSE | command::RESUME => self.validate_pause(index, record),
            command::RAW => self.validate_raw(index, record),
            command::TAKE_OVER | command::PROCEED => self.validate_upgrade(index, record),
            command::DISCARD => self.validate_discard(index, record),
            command::RESET => {
                let Some(reset) = record.read::<command::Reset>() else {
                    return Verdict::Break;
                };
                let sequence = reset.sequence;
                if !self.has_request(index, token, sequence) {
                    return Verdict::LeaveOut;
                }
                self.expect_no_more(token, sequence);
                ended.push((token, sequence));
                Verdict::Apply
            }
            command::DESTROY if record.flags() & destroy_flag::BAD_REQUEST != 0 => {
                match self.refuse_client(index, token) {
                    true => Verdict::LeaveOut,
                    false => self.validate_end(index, token),
                }
            }
            command::SHUTDOWN | command::DESTROY => self.validate_end(index, token),
            command::SET_TIMEOUT | command::SET_SOCKET => {
                let Some(client) = self.clients.find(token) else {
                    return Verdict::LeaveOut;
                };
                if !client.is_used_by(index) {
                    return Verdict::LeaveOut;
                }
                if record.kind() == command::SET_TIMEOUT {
                    client.note_timeout();
                }
                Verdict::Apply
            }
            // Certificates are the host's business, and what clients have sent is theirs.
            // A wish that came in parts is too large to be one. A session is the host's, which has streams of it with others.
            command::SERVER_NAME
            | command::ALPN
            | command::FEED
            | command::CACHE
            | command::SESSION
            | command::PUSH => Verdict::LeaveOut,
            _ => Verdict::Break,
        }
    }

    /// What a template says of the body is read once. One that is no head costs the answers that name it, for the program
    /// says what is in it.
    fn validate_template(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        let Some(head) = record.read::<command::Template>() else {
            return Verdict::Break;
        };
        let (reason, fields) = (head.reason(), head.fields());
        let declared = h1::read_framing(fields)
            .filter(|_| reason.len() + fields.len() <= TEMPLATE_BYTES && is_field_value(reason));
        let number = usize::try_from(head.number).unwrap_or(usize::MAX);
        if !(1..TEMPLATES).contains(&number) {
            return Verdict::Break;
        }
        let Some(member) = self.member(index) else {
            return Verdict::LeaveOut;
        };
        let template = declared.map_or(Template::Refused, Template::Declares);
        let bytes = u32::try_from(reason.len() + fields.len()).unwrap_or(u32::MAX);
        if !member.keep_template(number, template, bytes) {
            member.break_off(BreakReason::UserMemory);
            return Verdict::Break;
        }
        match declared {
            Some(_) => Verdict::Apply,
            None => Verdict::LeaveOut,
        }
    }

    /// A member has a say in the bytes that are arriving for it, and in nothing else of a connection that it shares. The
    /// engine is told by us, who may want them held as well.
    fn validate_pause(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        let Self {
            clients, commands, ..
        } = self;
        if let Some(client) = clients.find(record.token())
            && client.receiver_of(record.sequence()) == Some(index)
        {
            let pauses = record.kind() == command::PAUSE;
            let sequence = record.sequence();
            Self::set_hold(client, commands, sequence, |hold| hold.by_member = pauses);
        }
        Verdict::LeaveOut
    }

    fn validate_discard(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        let (token, sequence) = (record.token(), record.sequence());
        if !self.owns(index, token, sequence) {
            return Verdict::LeaveOut;
        }
        if let Some(client) = self.clients.find(token) {
            Self::discard(client, sequence);
        }
        Verdict::Apply
    }

    fn validate_raw(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        if record.flags() & response_flag::EXTERNAL != 0 {
            return Verdict::Break;
        }
        let Some(client) = self.clients.find(record.token()) else {
            return Verdict::LeaveOut;
        };
        if client.tunnel() != Some(index) && client.broken.refuser() != Some(index) {
            return Verdict::LeaveOut;
        }
        let Ok(grants) = client.raw.take(record.size()) else {
            return Verdict::Break;
        };
        let told = record.flags() & response_flag::ACK != 0;
        if !told && grants.is_none() {
            return Verdict::Apply;
        }
        client.acks.expect_last(Ack {
            sequence: 0,
            member: index,
            told,
            grants: grants.unwrap_or(0),
        });
        Verdict::ApplyWith(record.flags() | response_flag::ACK)
    }

    fn validate_upgrade(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        let token = record.token();
        let Some(client) = self.clients.find(token) else {
            return Verdict::LeaveOut;
        };
        // No member gets an upgrade before it is the only request: see `Stage::Behind`.
        let Some(exchange) = client
            .exchanges
            .last_mut()
            .filter(|last| last.traits.upgrade && last.is_with(index) && !last.answer.has_begun())
        else {
            return Verdict::LeaveOut;
        };
        if record.kind() == command::PROCEED {
            exchange.traits.upgrade = false;
            return Verdict::Apply;
        }
        let is_behind_body =
            record.flags() & take_over_flag::BEHIND_BODY != 0 && exchange.is_receiving();
        let behind = is_behind_body.then_some(exchange.sequence);
        client.begin_tunnel(index, behind);
        self.finish_one(index);
        if let Some(member) = self.member(index) {
            member.began_tunnel();
        }
        self.hold_back_if_behind(index, token, behind.unwrap_or(0));
        Verdict::Apply
    }

    /// The end of a connection: really, where the member has a say; else only as far as it is concerned.
    fn validate_end(&mut self, index: MemberIndex, token: u32) -> Verdict {
        let Some(client) = self.clients.find(token) else {
            return Verdict::LeaveOut;
        };
        if client.is_used_by(index) && !client.has_streams {
            return Verdict::Apply;
        }
        if client.is_known_to(index) {
            self.give_up_streams(index, token);
            self.part(index, token);
        }
        Verdict::LeaveOut
    }

    /// A member ends a connection for what its client has sent. The client gets our 400 first if the next answer is that
    /// member's, or if only a body is arriving, which is that member's. False: the connection ends without.
    fn refuse_client(&mut self, index: MemberIndex, token: u32) -> bool {
        let Self {
            clients, commands, ..
        } = self;
        let Some(client) = clients.find(token) else {
            return false;
        };
        let is_next = match client.exchanges.first() {
            Some(first) => first.is_with(index) && !first.answer.has_begun(),
            None => client.is_trailing(index),
        };
        if !is_next || client.has_streams || client.is_closing() || client.tunnel().is_some() {
            return false;
        }
        // Once: what the member says from here on is about a connection that ends.
        client.begin_closing();
        commands.raw(token, 0, answers::BAD_REQUEST);
        commands.write(shutdown_flag::CLOSE, command::Shutdown { token }, &[]);
        true
    }

    /// No more of a request's body will be told.
    fn expect_no_more(&mut self, token: u32, sequence: u32) {
        let client = self.clients.find(token).filter(|client| client.has_streams);
        if let Some(exchange) = client.and_then(|client| client.exchange(sequence)) {
            exchange.end_body();
        }
    }

    /// A member wants no more of a connection with streams, which is others' too: its own requests end.
    fn give_up_streams(&mut self, index: MemberIndex, token: u32) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let theirs = |exchange: &&Exchange| exchange.is_with(index);
        let asked = client.exchanges.iter().filter(theirs);
        let asked: Vec<u32> = asked.map(|exchange| exchange.sequence).collect();
        for sequence in client.drop_trailing_of(index) {
            self.commands
                .write(0, command::Discard { token, sequence }, &[]);
        }
        for sequence in asked {
            self.commands.reset(token, sequence);
            self.expect_no_more(token, sequence);
            self.conclude(token, sequence);
        }
    }

    /// Whether a request that is not answered completely is a member's.
    fn has_request(&mut self, index: MemberIndex, token: u32, sequence: u32) -> bool {
        let client = self.clients.find(token);
        client
            .and_then(|client| client.exchange(sequence))
            .is_some_and(|exchange| exchange.is_with(index))
    }

    fn owns(&mut self, index: MemberIndex, token: u32, sequence: u32) -> bool {
        let is_trailing = self
            .clients
            .find(token)
            .is_some_and(|client| client.receiver_of(sequence) == Some(index));
        is_trailing || self.has_request(index, token, sequence)
    }

    /// Connections on which the member has no request close for it; for others they go on.
    pub(crate) fn close_idle(&mut self, index: MemberIndex) {
        let idle: Vec<u32> = self
            .clients
            .iter_mut()
            .filter(|client| client.is_known_to(index) && !client.is_used_by(index))
            .map(|client| client.token)
            .collect();
        for token in idle {
            self.part(index, token);
        }
    }

    pub(crate) fn close_all(&mut self, index: MemberIndex) {
        let asked: Vec<u32> = self
            .clients
            .iter_mut()
            .filter(|client| client.is_asking(index))
            .map(|client| client.token)
            .collect();
        for token in asked {
            let client = self.clients.find(token);
            if client.is_some_and(|client| client.has_streams) {
                self.give_up_streams(index, token);
            } else {
                self.commands.write(0, command::Destroy { token }, &[]);
            }
        }
    }
}
