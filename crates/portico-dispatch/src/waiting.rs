//! Requests that wait in their queues: until a member has room, their patience ends, or their client goes.

use portico_channel::Records;

use crate::answers::Refusal;
use crate::dispatcher::Dispatcher;
use crate::exchange::Exchange;
use crate::queue::Waiting;
use crate::request::Request;
use crate::routing::RESERVED_RETRY_SECONDS;
use crate::{Affinity, QueueId};

impl Dispatcher {
    /// Gives waiting requests to members as far as there is room.
    pub(crate) fn pump(&mut self, id: QueueId) {
        let mut at = 0;
        while let Some((waiting, has_affinity)) = self.queues.get(&id).and_then(|queue| {
            let has_affinity = queue.options.affinity != Affinity::None;
            Some((queue.waiting.get(at)?, has_affinity))
        }) {
            let records = self
                .clients
                .find(waiting.token)
                .and_then(|client| client.exchange(waiting.sequence))
                .filter(|exchange| exchange.is_waiting())
                .map(|exchange| {
                    let records = exchange.take_records();
                    (records, exchange.is_upload())
                });
            let mut chosen = None;
            if let Some((records, is_upload)) = records {
                if let Some(Ok(record)) = Records::new(&records).next() {
                    chosen = Request::read(record)
                        .and_then(|request| self.choose(id, request, is_upload));
                }
                let Some(index) = chosen else {
                    self.keep(waiting, records);
                    if !has_affinity {
                        return;
                    }
                    at += 1;
                    continue;
                };
                self.dispatch(waiting.token, waiting.sequence, index, &records, false);
                // Only now that it is counted as untaken.
                self.release_place(waiting);
            }
            if let Some(queue) = self.queues.get_mut(&id) {
                queue.waiting.remove(at);
            }
        }
    }

    fn release_place(&mut self, waiting: Waiting) {
        if let Some(exchange) = self
            .clients
            .find(waiting.token)
            .and_then(|client| client.exchange(waiting.sequence))
        {
            exchange.release_place();
        }
    }

    fn keep(&mut self, waiting: Waiting, records: Vec<u8>) {
        if let Some(exchange) = self
            .clients
            .find(waiting.token)
            .and_then(|client| client.exchange(waiting.sequence))
        {
            exchange.keep_records(records);
        }
    }

    /// Takes those out of all queues that have gone with their clients.
    pub(crate) fn forget_all_gone(&mut self) {
        for id in self.impatient.clone() {
            self.forget_gone(id);
        }
    }

    /// Takes those out of a queue that have gone with their clients.
    pub(crate) fn forget_gone(&mut self, id: QueueId) {
        let Self {
            clients, queues, ..
        } = self;
        if let Some(queue) = queues.get_mut(&id) {
            queue.waiting.retain(|waiting| {
                clients
                    .find(waiting.token)
                    .and_then(|client| client.exchange(waiting.sequence))
                    .is_some_and(|exchange| exchange.is_waiting())
            });
        }
    }

    /// Refuses requests whose patience is over.
    pub(crate) fn expire(&mut self) {
        let now_ms = self.now_ms;
        let mut expired = Vec::new();
        let Self {
            impatient, queues, ..
        } = self;
        impatient.retain(|id| {
            let Some(queue) = queues.get_mut(id) else {
                return false;
            };
            while queue
                .waiting
                .front()
                .is_some_and(|waiting| waiting.deadline_ms <= now_ms)
            {
                expired.extend(queue.waiting.remove(0));
            }
            !queue.waiting.is_empty()
        });
        for waiting in expired {
            let is_waiting = self
                .clients
                .find(waiting.token)
                .and_then(|client| client.exchange(waiting.sequence))
                .is_some_and(|exchange| exchange.is_waiting());
            if is_waiting {
                self.turn_away(waiting.token, waiting.sequence);
            }
        }
    }

    /// 503 with `Retry-After`.
    pub(crate) fn turn_away(&mut self, token: u32, sequence: u32) {
        let Some(exchange) = self.take_exchange(token, sequence) else {
            return;
        };
        let seconds = match self.queues.get_mut(&exchange.queue) {
            Some(queue) => {
                queue.refused += 1;
                queue.options.retry_after_seconds
            }
            None => RESERVED_RETRY_SECONDS,
        };
        self.refuse(token, &exchange, Refusal::Unavailable(seconds));
    }

    /// Takes a request that no member has away from its connection, and reads on.
    pub(crate) fn take_exchange(&mut self, token: u32, sequence: u32) -> Option<Exchange> {
        let client = self.clients.find(token)?;
        client.exchanges.find(sequence)?;
        Self::let_go(client, &mut self.commands, sequence);
        client.exchanges.take(sequence)
    }
}
