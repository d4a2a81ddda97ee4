//! The engine's events: to whom each of them goes.

use portico_channel::layout::{body_flag, command, event, timeout_kind};
use portico_channel::{EventWriter, RecordView, Records};

use crate::answers;
use crate::client::{Client, Exchange, MemberIndex, Stage};
use crate::dispatcher::{BEHIND_BYTES, Dispatcher, WAITING_BYTES};
use crate::request::Request;

impl Dispatcher {
    /// Handles the events of one turn.
    pub(crate) fn handle_events(&mut self, events: &[u8]) {
        let mut records = Records::new(events);
        loop {
            let offset = records.offset();
            let Some(Ok(record)) = records.next() else {
                return;
            };
            let bytes = events.get(offset..records.offset()).unwrap_or_default();
            self.handle_event(record, bytes);
        }
    }

    fn handle_event(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let token = record.word(2);
        match record.kind() {
            event::REQUEST => self.request(record, bytes),
            event::BODY | event::END => self.body(record, bytes),
            event::OPEN => self.clients.insert(Client::opened(record, bytes)),
            event::SECURE => {
                if let Some(client) = self.clients.find(token) {
                    client.opening.extend_from_slice(bytes);
                }
            }
            event::CLOSED => self.closed(token, bytes),
            event::FLUSHED => self.flushed(token, record.word(3), record.word(4)),
            event::RAW => {
                if let Some(index) = self.clients.find(token).and_then(|client| client.tunnel) {
                    self.tell_body(token, index, bytes);
                }
            }
            event::PEER_END => self.tell_users(token, bytes),
            event::TIMEOUT => self.timed_out(token, record.word(3), bytes),
            event::CLIENT_ERROR => self.client_error(token, record.word(3), bytes),
            // Questions are never asked: the host's listeners have their certificates. The rest is for logs.
            _ => {}
        }
    }

    fn request(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let token = record.word(2);
        let request = Request::new(record);
        let facts = request.facts();
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let (listener, local) = (client.listener, client.local);
        let routed = self.route(listener, local, request);
        let mut exchange = Exchange {
            sequence: request.sequence(),
            queue: crate::QueueId(0),
            facts,
            stage: Stage::Waiting,
            receiving: !facts.complete,
            answered: false,
            records: Vec::new(),
        };
        match routed {
            Err(refusal) => {
                self.unrouted += 1;
                self.refuse(token, &exchange, refusal);
            }
            Ok(queue) => {
                exchange.queue = queue;
                let sequence = exchange.sequence;
                if let Some(client) = self.clients.find(token) {
                    client.exchanges.push_back(exchange);
                }
                self.queues.entry(queue).or_default().requests += 1;
                self.place(token, sequence, queue, bytes);
            }
        }
    }

    /// Part of a body, or its end.
    fn body(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let token = record.word(2);
        let Self {
            clients, commands, ..
        } = self;
        let Some(client) = clients.find(token) else {
            return;
        };
        let Some(exchange) = client.exchange(record.word(3)) else {
            return;
        };
        if record.kind() == event::END || record.flags() & body_flag::LAST != 0 {
            exchange.receiving = false;
        }
        match exchange.stage {
            Stage::With(index) => self.tell_body(token, index, bytes),
            Stage::Waiting => {
                exchange.records.extend_from_slice(bytes);
                if exchange.records.len() > WAITING_BYTES {
                    Self::hold_back(client, commands);
                }
            }
        }
    }

    /// Sends a member bytes of a connection; one that is far behind gets no more of them.
    fn tell_body(&mut self, token: u32, index: MemberIndex, bytes: &[u8]) {
        self.tell(index, bytes);
        let Self {
            clients,
            commands,
            members,
            ..
        } = self;
        let Some(member) = members.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        if member.backlog.len() > BEHIND_BYTES
            && let Some(client) = clients.find(token)
            && !client.paused_by_us
        {
            Self::hold_back(client, commands);
            member.held_back.push(token);
        }
    }

    /// Sends a record to every member that has a say in the connection.
    fn tell_users(&mut self, token: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let users: Vec<MemberIndex> = client
            .known
            .iter()
            .copied()
            .filter(|index| client.is_used_by(*index))
            .collect();
        for index in users {
            self.tell(index, bytes);
        }
    }

    fn closed(&mut self, token: u32, bytes: &[u8]) {
        let Some(client) = self.clients.remove(token) else {
            return;
        };
        if let Some(member) = client.tunnel.and_then(|index| self.member(index)) {
            member.tunnels = member.tunnels.saturating_sub(1);
        }
        for index in &client.known {
            self.tell(*index, bytes);
        }
        let mut queues = Vec::new();
        for exchange in &client.exchanges {
            if let Stage::With(index) = exchange.stage
                && let Some(member) = self.member(index)
            {
                member.finished();
                queues.push(exchange.queue);
            }
        }
        for queue in queues {
            self.pump(queue);
        }
    }

    /// Tells acknowledgements to those who asked for them, in their order.
    fn flushed(&mut self, token: u32, count: u32, queued: u32) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let mut shares: Vec<(MemberIndex, u32)> = Vec::new();
        for _ in 0..count {
            let Some((_, index)) = client.acks.pop_front() else {
                break;
            };
            match shares.last_mut() {
                Some((last, share)) if *last == index => *share += 1,
                _ => shares.push((index, 1)),
            }
        }
        for (index, share) in shares {
            let mut memory = [0u8; 20];
            let mut writer = EventWriter::new(&mut memory);
            if let Ok(mut record) = writer.record(event::FLUSHED, 0, token, 5, 0) {
                record.set(3, share);
                record.set(4, queued);
            }
            let is_known = self
                .clients
                .find(token)
                .is_some_and(|client| client.known.contains(&index));
            if is_known {
                self.tell(index, &memory);
            }
        }
    }

    fn timed_out(&mut self, token: u32, kind: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let is_used = client.known.iter().any(|index| client.is_used_by(*index));
        match kind {
            timeout_kind::REQUEST if !is_used => {
                if client.exchanges.is_empty() {
                    self.commands.raw(token, 0, answers::TIMEOUT);
                    self.commands.simple(
                        command::SHUTDOWN,
                        portico_channel::layout::SHUTDOWN_CLOSE,
                        token,
                    );
                }
            }
            timeout_kind::REQUEST | timeout_kind::INACTIVE if is_used => {
                self.tell_users(token, bytes);
            }
            _ => self.commands.simple(command::DESTROY, 0, token),
        }
    }

    /// Bytes that are no HTTP. Whoever is receiving that request answers; else we do, after earlier answers.
    fn client_error(&mut self, token: u32, number: u32, bytes: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let receiver = client
            .exchanges
            .back()
            .filter(|exchange| exchange.receiving)
            .and_then(|exchange| match exchange.stage {
                Stage::With(index) => Some(index),
                Stage::Waiting => None,
            });
        match receiver {
            Some(index) => {
                client.refuser = Some(index);
                self.tell(index, bytes);
            }
            None => {
                // A request that waits and whose body is broken will never be complete.
                if let Some(broken) = client.exchanges.back()
                    && broken.receiving
                {
                    client.exchanges.pop_back();
                }
                client.refusal = Some(answers::to_parse_error(number));
                self.refuse_broken_request(token);
            }
        }
    }
}
