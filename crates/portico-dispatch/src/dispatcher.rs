//! The dispatcher's state, and what every part of it does to members and connections.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_channel::layout::{command, event, shutdown_flag};
use portico_channel::schema::Record;
use portico_channel::{CommandWriter, EventWriter, IdMap};

use crate::answers::Refusal;
use crate::broken_requests::BrokenClient;
use crate::caching::Caching;
use crate::client::{Clients, MemberIndex};
use crate::exchange::{Exchange, Stage};
use crate::flow::Flow;
use crate::host_wide::HostWide;
use crate::listening::Listening;
use crate::member::Member;
use crate::queue::Queue;
use crate::response_timeouts::ResponseTimeouts;
use crate::room::{RoomCall, UntakenCheck};
use crate::routing::Routed;
use crate::stats::RefusalCounts;
use crate::to_settle::ToSettle;
use crate::{BrokenMember, QueueId, Routes};

/// Everything but the shard itself.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) clients: Clients,
    pub(crate) members: Vec<Option<Member>>,
    pub(crate) queues: IdMap<QueueId, Queue>,
    /// Queues in which requests wait.
    pub(crate) impatient: Vec<QueueId>,
    /// Queues that may have room for requests that wait, here or on other shards.
    pub(crate) roomy: Vec<QueueId>,
    /// Shards that are to look for room in a queue.
    pub(crate) calls: Vec<RoomCall>,
    /// Number of this shard.
    pub(crate) shard: u32,
    /// What all shards of the host count together.
    host_wide: Arc<HostWide>,
    /// Whether it is the only shard.
    pub(crate) is_alone: bool,
    pub(crate) untaken_check: UntakenCheck,
    pub(crate) response_timeouts: ResponseTimeouts,
    pub(crate) routes: Arc<Routes>,
    /// By number. A closed one stays while it has connections.
    pub(crate) listeners: IdMap<u32, Listening>,
    /// Commands of our own for the shard.
    pub(crate) commands: CommandWriter,
    /// Members that were given something in this turn.
    pub(crate) to_settle: ToSettle,
    /// Members whose commands are looked for in every turn.
    pub(crate) active: Vec<MemberIndex>,
    /// Members that broke the rules and were dropped.
    pub(crate) broken: Vec<BrokenMember>,
    /// Members that may have an unfinished record.
    pub(crate) unfinished: Vec<MemberIndex>,
    /// Connections whose broken bytes are answered behind earlier requests, the first to be looked at first.
    pub(crate) broken_clients: VecDeque<BrokenClient>,
    pub(crate) draining: bool,
    /// Requests of this turn that have been routed, in the order of their events.
    pub(crate) routed: VecDeque<Routed>,
    /// Requests that no queue got.
    pub(crate) refusals: RefusalCounts,
    /// Answers that contradicted themselves.
    pub(crate) disagreements: u64,
    pub(crate) caching: Caching,
    started: Instant,
    pub(crate) now_ms: u64,
}

impl Dispatcher {
    /// For the shard of this number, whose slots begin at `base`.
    pub(crate) fn new(
        base: u32,
        shard: u32,
        is_alone: bool,
        host_wide: Arc<HostWide>,
        caching: Caching,
    ) -> Self {
        Self {
            clients: Clients::new(base),
            members: Vec::new(),
            queues: IdMap::default(),
            impatient: Vec::new(),
            roomy: Vec::new(),
            calls: Vec::new(),
            shard,
            host_wide,
            is_alone,
            untaken_check: UntakenCheck::default(),
            response_timeouts: ResponseTimeouts::default(),
            routes: Arc::default(),
            listeners: IdMap::default(),
            commands: CommandWriter::new(),
            to_settle: ToSettle::default(),
            active: Vec::new(),
            broken: Vec::new(),
            unfinished: Vec::new(),
            broken_clients: VecDeque::new(),
            draining: false,
            routed: VecDeque::new(),
            refusals: RefusalCounts::default(),
            disagreements: 0,
            caching,
            started: Instant::now(),
            now_ms: 0,
        }
    }

    pub(crate) fn update_clock(&mut self) {
        self.now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// Time until something must be looked at though nothing happens: a waiting request's patience ends, an answer is
    /// late, a record unfinished for too long, or a broken connection to be ended. `None`: never.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let waiting = self
            .impatient
            .iter()
            .filter_map(|id| self.queues.get(id)?.waiting.front())
            .map(|waiting| waiting.deadline_ms.saturating_sub(self.now_ms))
            .min()
            .map(Duration::from_millis);
        let others = [
            self.until_response_check(),
            self.until_unfinished_ends(),
            self.until_untaken_check(),
            self.until_broken_check(),
        ];
        waiting
            .into_iter()
            .chain(others.into_iter().flatten())
            .min()
    }

    /// A queue, made if this shard did not have it.
    pub(crate) fn queue_mut(&mut self, id: QueueId) -> &mut Queue {
        let Self {
            queues,
            routes,
            host_wide,
            shard,
            ..
        } = self;
        queues.entry(id).or_insert_with(|| {
            let options = routes.queues.get(&id).cloned().unwrap_or_default();
            Queue::new(options, host_wide.queue(id), *shard)
        })
    }

    pub(crate) fn member(&mut self, index: MemberIndex) -> Option<&mut Member> {
        self.members.get_mut(index)?.as_mut()
    }

    /// Sends records to a member; it is woken at the end of the turn.
    pub(crate) fn tell(&mut self, index: MemberIndex, records: &[u8]) {
        let Some(member) = self.members.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        member.tell(records, self.now_ms);
        self.to_settle.add(index, member);
    }

    /// Has a member's commands looked for in every turn.
    pub(crate) fn activate(&mut self, index: MemberIndex) {
        if let Some(member) = self.members.get_mut(index).and_then(Option::as_mut)
            && !member.active
        {
            member.active = true;
            member.end.host().wake_up();
            self.active.push(index);
        }
    }

    /// A member knows a connection no longer: for it, the connection has closed.
    pub(crate) fn part(&mut self, index: MemberIndex, token: u32) {
        if let Some(client) = self.clients.find(token) {
            client.forget(index);
        }
        let mut memory = [0u8; event::Closed::BYTES];
        let mut writer = EventWriter::new(&mut memory);
        // Orderly, and nothing counted.
        let words = event::Closed {
            token,
            ..event::Closed::default()
        };
        if writer.tell(0, words).is_ok() {
            self.tell(index, writer.written());
        }
    }

    /// Answers a request ourselves. It has no exchange any more.
    pub(crate) fn refuse(&mut self, token: u32, exchange: &Exchange, refusal: Refusal) {
        if exchange.traits.upgrade {
            self.commands.write(0, command::Proceed { token }, &[]);
        }
        let client = self.clients.find(token);
        let is_last = client.is_none_or(|client| client.exchanges.is_empty());
        let is_stream = exchange.traits.has_stream;
        // A stream ends alone. What still comes of its body is dropped.
        let ends = !is_stream && (exchange.is_receiving() || refusal.ends_connection());
        let keep =
            (is_stream || exchange.traits.keep_alive) && !ends && !(self.draining && is_last);
        if is_stream && exchange.is_receiving() {
            let sequence = exchange.sequence;
            self.commands
                .write(0, command::Discard { token, sequence }, &[]);
        }
        self.keep_no_answer(token, exchange);
        let answer = refusal.answer(keep);
        let is_head = exchange.traits.head;
        answer.write(&mut self.commands, token, exchange.sequence, is_head);
        if !keep {
            self.close_behind(token, exchange.sequence);
        }
        self.next_turn(token);
    }

    /// The connection ends behind an answer: no request behind it is given to a member any more.
    pub(crate) fn close_behind(&mut self, token: u32, sequence: u32) {
        let Some(client) = self.clients.find(token).filter(|it| !it.has_streams) else {
            return;
        };
        client.begin_closing();
        client.exchanges.retain(|exchange| {
            let is_before = exchange.sequence.wrapping_sub(sequence) > u32::MAX / 2;
            is_before || exchange.sequence == sequence || exchange.member().is_some()
        });
        self.tell_peer_end(token);
    }

    /// A request has gone from its connection: the next one may have waited for that.
    pub(crate) fn next_turn(&mut self, token: u32) {
        self.tell_peer_end(token);
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let Some(first) = client.exchanges.first_mut() else {
            if let Some(bytes) = client.broken.take_refusal() {
                self.commands.raw(token, 0, bytes);
                self.commands
                    .write(shutdown_flag::CLOSE, command::Shutdown { token }, &[]);
            }
            return;
        };
        match first.stage() {
            Stage::Behind => {
                let (sequence, queue) = (first.sequence, first.queue);
                let is_whole = first.traits.complete;
                let records = first.come_forward();
                if is_whole || self.admit_upload(token, sequence, queue) {
                    self.place(token, sequence, queue, &records);
                }
            }
            Stage::With(index) if first.is_receiving() && client.broken.has_error() => {
                client.broken.hand_to(index);
                let error = client.broken.take_error();
                self.tell(index, &error);
            }
            Stage::With(_) | Stage::Waiting => {}
        }
    }

    /// A request is answered completely, or will never be: it counts no longer.
    pub(crate) fn conclude(&mut self, token: u32, sequence: u32) {
        let Self {
            clients, commands, ..
        } = self;
        let Some(client) = clients.find(token) else {
            return;
        };
        let Some(mut exchange) = client.exchanges.take(sequence) else {
            return;
        };
        exchange.release_upload();
        let owner = exchange.member();
        if let Some(owner) = owner.filter(|_| exchange.is_receiving()) {
            client.trail(sequence, owner, exchange.hold());
        }
        if client.broken.refuser() == owner && client.raw == Flow::default() {
            client.broken.forget_refuser();
        }
        if client.take_timeout() {
            let words = command::SetTimeout {
                token,
                milliseconds: 0,
            };
            commands.write(0, words, &[]);
        }
        if let Some(index) = owner {
            self.finish_one(index);
            self.part_if_leaving(index, token);
        }
        self.next_turn(token);
    }

    /// The rest of a body whose request has been answered is there.
    pub(crate) fn end_trailing(&mut self, token: u32, sequence: u32) {
        let client = self.clients.find(token);
        if let Some(index) = client.and_then(|client| client.take_trailing(sequence)) {
            self.part_if_leaving(index, token);
        }
    }

    /// A member that leaves, and has nothing to do on a connection any more, knows it no longer.
    pub(crate) fn part_if_leaving(&mut self, index: MemberIndex, token: u32) {
        let client = self.clients.find(token);
        let is_used = client.is_some_and(|client| client.is_used_by(index));
        if !is_used && self.member(index).is_some_and(|member| member.leaving) {
            self.part(index, token);
        }
    }
}
