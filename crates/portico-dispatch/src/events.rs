//! The engine's events: to whom each of them goes.

use portico_channel::layout::{
    body_flag, command, event, flushed_flag, peer_end_flag, timeout_kind,
};
use portico_channel::schema::Record;
use portico_channel::{EventWriter, RecordView, Records};
use portico_http::ParseErrorCode;

use crate::answers;
use crate::client::{Client, MemberIndex};
use crate::dispatcher::Dispatcher;
use crate::exchange::{Exchange, Stage};
use crate::limits::WAITING_BYTES;
use crate::listening::Listening;
use crate::request::Request;

impl Dispatcher {
    /// Handles the events of one turn.
    pub(crate) fn handle_events(&mut self, events: &[u8]) {
        let mut records = Records::new(events);
        loop {
            let offset = records.offset();
            let Some(Ok(record)) = records.next() else {
                break;
            };
            let bytes = events.get(offset..records.offset()).unwrap_or_default();
            self.handle_event(record, bytes);
        }
        self.routed.clear();
    }

    fn handle_event(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let token = record.token();
        match record.kind() {
            event::REQUEST => self.request(record, bytes),
            event::BODY | event::END => self.body(record, bytes),
            event::OPEN => {
                if let Some(open) = record.read::<event::Open>() {
                    let listening = self.listeners.get(&open.listener);
                    let admission = listening.and_then(Listening::admission);
                    self.clients.insert(Client::opened(open, admission));
                }
            }
            event::SECURE => self.secured(record, bytes),
            event::CLOSED => self.closed(token, bytes),
            event::RESET => self.peer_reset(token, record.sequence(), bytes),
            event::FLUSHED => {
                if let Some(flushed) = record.read::<event::Flushed>() {
                    self.flushed(flushed.flags(), *flushed);
                }
            }
            event::RAW => {
                if let Some(index) = self.clients.find(token).and_then(|client| client.tunnel()) {
                    self.tell_body(index, bytes);
                }
            }
            event::PEER_END if record.flags() & peer_end_flag::UNREAD != 0 => {
                self.unread_end(token, bytes);
            }
            event::PEER_END => self.peer_ended(token),
            event::TIMEOUT => {
                if let Some(timeout) = record.read::<event::Timeout>() {
                    self.timed_out(token, timeout.deadline, bytes);
                }
            }
            event::CLIENT_ERROR => {
                if let Some(error) = record.read::<event::ClientError>() {
                    self.client_error(token, error.code, bytes);
                }
            }
            // Questions are never asked: the host's listeners have their certificates. The rest is for logs.
            _ => {}
        }
    }

    fn secured(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let Some(client) = self.clients.find(record.token()) else {
            return;
        };
        let done = record.read::<event::Secure>();
        client.secured(bytes, done.map(|done| done.bytes(done.server_name)));
    }

    fn request(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let token = record.token();
        let Some(request) = Request::read(record) else {
            return;
        };
        let traits = request.traits();
        let Some(client) = self.clients.find(token) else {
            return;
        };
        if client.broken.refuser().is_some() || client.is_closing() {
            // What is about to be answered is the end of the connection.
            return;
        }
        let sequence = request.sequence();
        let Some(queue) = self.take_routed(token, sequence) else {
            return;
        };
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let waits = traits.upgrade && !client.exchanges.is_empty();
        client.has_streams = traits.has_stream;
        let exchange = Exchange::new(sequence, queue, traits, self.now_ms);
        client.exchanges.add(match waits {
            true => exchange.behind_others(bytes),
            false => exchange,
        });
        if waits {
            return;
        }
        self.queue_mut(queue).requests += 1;
        if traits.complete || self.admit_upload(token, sequence, queue) {
            self.place(token, sequence, queue, bytes);
        }
    }

    /// Part of a body, or its end.
    fn body(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let token = record.token();
        let Self {
            clients, commands, ..
        } = self;
        let Some(client) = clients.find(token) else {
            return;
        };
        let is_end = record.kind() == event::END || record.flags() & body_flag::LAST != 0;
        let sequence = record.sequence();
        let Some(exchange) = client.exchange(sequence) else {
            if let Some(index) = client.receiver_of(sequence) {
                self.tell_body(index, bytes);
                if is_end {
                    self.end_trailing(token, sequence);
                }
            }
            return;
        };
        exchange.note_body(self.now_ms);
        if is_end {
            exchange.end_body();
        }
        match exchange.stage() {
            Stage::With(index) => self.tell_body(index, bytes),
            Stage::Waiting => {
                let kept = exchange.append_record(bytes);
                if kept > WAITING_BYTES && exchange.is_receiving() {
                    Self::hold_back(client, commands, sequence);
                }
            }
            // The engine reads no body before it knows what becomes of the upgrade.
            Stage::Behind => {}
        }
    }

    /// Sends a member bytes of a connection; one that is far behind gets no more of them.
    fn tell_body(&mut self, index: MemberIndex, bytes: &[u8]) {
        self.tell(index, bytes);
        self.look_if_behind(index);
    }

    /// Sends a record to every member that has a say in the connection.
    pub(crate) fn tell_users(&mut self, token: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let users: Vec<MemberIndex> = client
            .known()
            .iter()
            .copied()
            .filter(|index| client.is_used_by(*index))
            .collect();
        for index in users {
            self.tell(index, bytes);
        }
    }

    fn closed(&mut self, token: u32, bytes: &[u8]) {
        let Some(mut client) = self.clients.remove(token) else {
            return;
        };
        if let Some(member) = client.tunnel().and_then(|index| self.member(index)) {
            member.ended_tunnel();
        }
        for index in client.known() {
            self.tell(*index, bytes);
        }
        for exchange in client.exchanges.iter_mut() {
            exchange.release_upload();
            if let Some(index) = exchange.member() {
                self.finish_one(index);
            }
        }
        for exchange in client.exchanges.iter() {
            self.pump(exchange.queue);
        }
    }

    /// The client has given up one request; its connection goes on. For us it is over: whoever has it is told.
    fn peer_reset(&mut self, token: u32, sequence: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        if let Some(index) = client.take_trailing(sequence) {
            self.tell(index, bytes);
            return self.part_if_leaving(index, token);
        }
        let Some(exchange) = client.exchange(sequence) else {
            return;
        };
        exchange.end_body();
        let (owner, queue) = (exchange.member(), exchange.queue);
        if let Some(index) = owner {
            self.tell(index, bytes);
        }
        self.conclude(token, sequence);
        self.pump(queue);
    }

    /// Tells acknowledgements to those who asked for them, in their order; those that we asked for move windows.
    fn flushed(&mut self, flags: u32, flushed: event::Flushed) {
        let event::Flushed {
            token,
            count,
            queued_bytes: queued,
            sequence: named,
        } = flushed;
        let is_named = flags & flushed_flag::NAMED != 0;
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let mut shares: Vec<(MemberIndex, u32, u32)> = Vec::new();
        let mut credits: Vec<(MemberIndex, u32, u64)> = Vec::new();
        for _ in 0..count {
            let Some(ack) = client.acks.take(is_named.then_some(named)) else {
                break;
            };
            if ack.told {
                match shares.last_mut() {
                    Some((member, sequence, share))
                        if (*member, *sequence) == (ack.member, ack.sequence) =>
                    {
                        *share += 1;
                    }
                    _ => shares.push((ack.member, ack.sequence, 1)),
                }
            }
            if ack.grants > 0 && client.grant(ack) {
                credits.push((ack.member, ack.sequence, ack.grants));
            }
        }
        for (index, sequence, share) in shares {
            let words = event::Flushed {
                token,
                count: share,
                queued_bytes: queued,
                sequence,
            };
            self.tell_known(index, flushed_flag::NAMED, token, words);
        }
        for (index, sequence, granted_bytes) in credits {
            let words = event::Credit {
                token,
                sequence,
                granted_bytes,
            };
            self.tell_known(index, 0, token, words);
        }
    }

    /// Sends a record of words only to a member if it knows the connection.
    fn tell_known<R: Record>(&mut self, index: MemberIndex, flags: u32, token: u32, words: R) {
        let is_known = self
            .clients
            .find(token)
            .is_some_and(|client| client.is_known_to(index));
        let mut memory = [0u8; 64];
        let mut writer = EventWriter::new(&mut memory);
        if is_known && writer.tell(flags, words).is_ok() {
            self.tell(index, writer.written());
        }
    }

    fn timed_out(&mut self, token: u32, kind: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        match kind {
            timeout_kind::REQUEST => {
                let is_alone = client.exchanges.len() == 1 || client.tunnel().is_some();
                match client.receiver() {
                    Some(index) if is_alone => {
                        client.broken.hand_to(index);
                        self.tell(index, bytes);
                    }
                    // As node:http: no earlier answer waits for it.
                    _ => self.end_with_all(token, answers::TIMEOUT),
                }
            }
            timeout_kind::INACTIVE
                if client.known().iter().any(|index| client.is_used_by(*index)) =>
            {
                self.tell_users(token, bytes);
            }
            _ => self.commands.write(0, command::Destroy { token }, &[]),
        }
    }

    /// Bytes that are no HTTP. Whoever is receiving that request answers when its turn comes; else we do, after earlier
    /// answers.
    fn client_error(&mut self, token: u32, number: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let trailing = client.end_arriving();
        // Told again for each packet that follows; and a client that only breaks off breaks no rule.
        let is_told = client.broken.is_known();
        let is_broken_off = number == u32::from(ParseErrorCode::InvalidEofState.number());
        if !is_told && !is_broken_off {
            self.refusals.malformed += 1;
        }
        if let Some(index) = client.tunnel() {
            // The body of the request that the tunnel begins behind.
            self.tell(index, bytes);
            return;
        }
        let is_first = client.exchanges.len() == 1;
        match client.exchanges.last() {
            Some(last) if last.is_receiving() => match last.stage() {
                Stage::With(index) if is_first => {
                    client.broken.hand_to(index);
                    self.tell(index, bytes);
                    return;
                }
                Stage::With(_) => {
                    client.broken.keep_error(bytes);
                    if !is_told {
                        self.watch_broken(token);
                    }
                    return;
                }
                // It will never be complete.
                Stage::Waiting | Stage::Behind => {
                    client.exchanges.take_last();
                }
            },
            _ => {}
        }
        if let Some(owner) = trailing
            && is_broken_off
            && client.exchanges.is_empty()
        {
            // Whether node:http would have read that far is for whoever has answered the request to say.
            client.broken.hand_to(owner);
            self.tell(owner, bytes);
            return;
        }
        client
            .broken
            .refuse_in_turn(answers::to_parse_error(number));
        if !is_told {
            self.watch_broken(token);
        }
        self.next_turn(token);
    }
}
