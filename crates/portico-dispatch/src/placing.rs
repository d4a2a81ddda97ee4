//! A request to a member: at once where one has room, else into its queue.

use std::sync::Arc;

use portico_channel::Records;
use portico_channel::layout::request_flag;

use crate::affinity;
use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::host_wide::Place;
use crate::queue::Waiting;
use crate::request::Request;
use crate::{Affinity, QueueId};

/// How often a member is chosen anew when another shard has taken its last place.
const CHOICES: usize = 4;

impl Dispatcher {
    /// Gives a new request to a member, or has it wait, or refuses it. `records` is its head.
    pub(crate) fn place(&mut self, token: u32, sequence: u32, queue: QueueId, records: &[u8]) {
        let now_ms = self.now_ms;
        let Some(Ok(record)) = Records::new(records).next() else {
            return;
        };
        let is_upload = record.flags() & request_flag::COMPLETE == 0;
        let has_place = self.claim_place(queue, is_upload);
        let behind = self
            .queues
            .get(&queue)
            .is_some_and(|queue| !queue.waiting.is_empty());
        let has_affinity = self
            .queues
            .get(&queue)
            .is_some_and(|queue| queue.options.affinity != Affinity::None);
        if !has_place {
            return self.turn_away(token, sequence);
        }
        let chosen = if behind && !has_affinity {
            None
        } else {
            Request::read(record).and_then(|request| self.choose(queue, request, is_upload))
        };
        if let Some(index) = chosen {
            if is_upload {
                // What a member has of them is bounded as uploads are.
                self.queue_mut(queue).counts.release(true);
            }
            return self.dispatch(token, sequence, index, records, !is_upload);
        }
        let counts = Arc::clone(&self.queue_mut(queue).counts);
        let place = Place::of_claim(&counts, is_upload);
        if let Some(exchange) = self
            .clients
            .find(token)
            .and_then(|client| client.exchange(sequence))
        {
            exchange.keep_records(records.to_vec());
            exchange.take_place(place);
        }
        let entry = self.queue_mut(queue);
        let is_crowded = entry.waiting.is_crowded();
        let patience = u64::try_from(entry.options.wait.as_millis()).unwrap_or(u64::MAX);
        let is_first = entry.waiting.push_back(Waiting {
            token,
            sequence,
            deadline_ms: now_ms.saturating_add(patience),
        });
        if is_crowded {
            self.forget_gone(queue);
        }
        if !self.impatient.contains(&queue) {
            self.impatient.push(queue);
        }
        if is_first {
            self.note_room(queue);
        }
    }

    /// Gives a request whose body has not arrived its place among them. False: it has been refused.
    pub(crate) fn admit_upload(&mut self, token: u32, sequence: u32, id: QueueId) -> bool {
        let Some(client) = self.clients.find(token) else {
            return false;
        };
        let source = client.source;
        let queue = self.queue_mut(id);
        let place = queue.counts.uploads.admit(source, queue.upload_limit());
        let is_admitted = place.is_some();
        if let Some(exchange) = self
            .clients
            .find(token)
            .and_then(|client| client.exchange(sequence))
        {
            exchange.take_upload(place);
        }
        if !is_admitted {
            self.turn_away(token, sequence);
        }
        is_admitted
    }

    /// Takes a place among the requests that no member has taken, if the queue may have another: of those with their body,
    /// or of those without, whose number while they are with members has its own bound.
    fn claim_place(&mut self, id: QueueId, is_upload: bool) -> bool {
        let queue = self.queue_mut(id);
        let limit = queue.options.length;
        if queue.counts.claim(is_upload, limit) {
            return true;
        }
        // Look more closely: members may have taken some.
        let counts = Arc::clone(&queue.counts);
        for index in queue.members.clone() {
            self.settle_member(index);
        }
        counts.claim(is_upload, limit)
    }

    /// The member that gets a request, with a place there; `None` if there is none with room. A request that is bound to
    /// a member waits for that one.
    pub(crate) fn choose(
        &mut self,
        id: QueueId,
        request: Request<'_>,
        is_upload: bool,
    ) -> Option<MemberIndex> {
        // Other shards may take the last place of a member that has been chosen.
        for _ in 0..CHOICES {
            let index = self.best_member(id, request)?;
            let limit = self.queue_mut(id).options.max_in_flight;
            let member = self.member(index)?;
            if member.load.claim(limit, is_upload) {
                return Some(index);
            }
        }
        None
    }

    /// The member with room that a request is bound to, or the one that has the least to do.
    fn best_member(&mut self, id: QueueId, request: Request<'_>) -> Option<MemberIndex> {
        let queue = self.queues.get_mut(&id)?;
        let count = queue.members.len();
        let limit = queue.options.max_in_flight;
        let value = affinity::value_of(&queue.options.affinity, request);
        let start = queue.next;
        let mut best: Option<(MemberIndex, usize, u64)> = None;
        for step in 0..count {
            let place = (start + step) % count;
            let Some(&index) = queue.members.get(place) else {
                continue;
            };
            let Some(Some(member)) = self.members.get_mut(index) else {
                continue;
            };
            if member.backlog.untaken() > 0 && (count > 1 || member.is_full()) {
                // It may have taken them since: whoever waits for that is seen to at the end of the turn.
                member.settle();
                self.to_settle.add(index, member);
            }
            if member.is_broken() || (value.is_none() && !member.has_room(limit)) {
                continue;
            }
            let cost = match value {
                Some(value) => u64::MAX - affinity::weight(value, member.id.0),
                // What a member has not even taken tells of a busy event loop; it counts double.
                None => u64::from(member.load.in_flight()) + u64::from(member.backlog.untaken()),
            };
            if best.is_none_or(|(.., least)| cost < least) {
                best = Some((index, place, cost));
            }
        }
        let (index, place, _) = best?;
        if value.is_none() {
            queue.next = place + 1;
            return Some(index);
        }
        self.member(index)
            .is_some_and(|member| member.has_room(limit))
            .then_some(index)
    }

    /// Gives a request's records to the member that was chosen. `has_place`: among those that no member has taken.
    pub(crate) fn dispatch(
        &mut self,
        token: u32,
        sequence: u32,
        index: MemberIndex,
        records: &[u8],
        has_place: bool,
    ) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let opening = client.introduce(index);
        let Some(exchange) = client.exchange(sequence) else {
            return;
        };
        let member = self.members.get(index).and_then(Option::as_ref);
        exchange.give_to(index, member.map(|member| &member.load), self.now_ms);
        let (traits, queue) = (exchange.traits, exchange.queue);
        if traits.safe
            && traits.complete
            && self
                .queues
                .get(&queue)
                .is_some_and(|queue| queue.options.retry_safe)
        {
            exchange.keep_records(records.to_vec());
        }
        let receiving = exchange.is_receiving();
        if receiving {
            Self::let_go(client, &mut self.commands, sequence);
            self.hold_back_if_behind(index, token, sequence);
        }
        if let Some(opening) = opening {
            self.tell(index, &opening);
        }
        if let Some(member) = self.member(index) {
            member.began();
            if has_place {
                member.take_over_place();
            }
        }
        self.tell(index, records);
        self.peer_end_is_due(token);
        self.activate(index);
    }
}
