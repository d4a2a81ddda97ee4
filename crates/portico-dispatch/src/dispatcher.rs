//! The dispatcher's state, and what every part of it does to members and connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_channel::layout::command;
use portico_channel::{CommandWriter, EventWriter};

use crate::answers::{self, Refusal};
use crate::client::{Client, Clients, Exchange, MemberIndex, Stage};
use crate::member::Member;
use crate::queue::Queue;
use crate::{Endpoint, MemberId, QueueId, Routes};

/// Bytes that a member may be behind before the connections whose bodies go to it are no longer read.
pub(crate) const BEHIND_BYTES: usize = 1024 * 1024;
/// Bytes at which they are read again.
pub(crate) const CAUGHT_UP_BYTES: usize = 256 * 1024;
/// Bytes of a request that waits in its queue before its connection is no longer read.
pub(crate) const WAITING_BYTES: usize = 64 * 1024;

/// Everything but the shard itself.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    pub(crate) clients: Clients,
    pub(crate) members: Vec<Option<Member>>,
    pub(crate) queues: HashMap<QueueId, Queue>,
    /// Queues in which requests wait.
    pub(crate) impatient: Vec<QueueId>,
    pub(crate) routes: Arc<Routes>,
    /// By listener number.
    pub(crate) endpoints: HashMap<u32, Endpoint>,
    /// Commands of our own for the shard.
    pub(crate) commands: CommandWriter,
    /// Members that were given something in this turn.
    pub(crate) dirty: Vec<MemberIndex>,
    /// Members whose commands are looked for in every turn.
    pub(crate) active: Vec<MemberIndex>,
    /// Members that broke the rules and were dropped.
    pub(crate) broken: Vec<MemberId>,
    pub(crate) draining: bool,
    pub(crate) unrouted: u64,
    started: Instant,
    pub(crate) now_ms: u64,
}

impl Dispatcher {
    /// For a shard whose slots begin at `base`.
    pub(crate) fn new(base: u32) -> Self {
        Self {
            clients: Clients::new(base),
            members: Vec::new(),
            queues: HashMap::new(),
            impatient: Vec::new(),
            routes: Arc::default(),
            endpoints: HashMap::new(),
            commands: CommandWriter::new(),
            dirty: Vec::new(),
            active: Vec::new(),
            broken: Vec::new(),
            draining: false,
            unrouted: 0,
            started: Instant::now(),
            now_ms: 0,
        }
    }

    pub(crate) fn update_clock(&mut self) {
        self.now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// Time until the first waiting request's patience ends; `None` if none waits.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.impatient
            .iter()
            .filter_map(|id| self.queues.get(id)?.waiting.front())
            .map(|waiting| waiting.deadline_ms.saturating_sub(self.now_ms))
            .min()
            .map(Duration::from_millis)
    }

    pub(crate) fn member(&mut self, index: MemberIndex) -> Option<&mut Member> {
        self.members.get_mut(index)?.as_mut()
    }

    /// Sends records to a member; it is woken at the end of the turn.
    pub(crate) fn tell(&mut self, index: MemberIndex, records: &[u8]) {
        let Some(member) = self.members.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        member.tell(records);
        if !member.dirty {
            member.dirty = true;
            self.dirty.push(index);
        }
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
            client.known.retain(|known| *known != index);
        }
        let mut memory = [0u8; 32];
        let mut writer = EventWriter::new(&mut memory);
        // All words but the token are 0: orderly, nothing counted.
        if writer
            .record(portico_channel::layout::event::CLOSED, 0, token, 8, 0)
            .is_ok()
        {
            let record = writer.written().to_vec();
            self.tell(index, &record);
        }
    }

    /// Answers a request ourselves. It has no exchange any more.
    pub(crate) fn refuse(&mut self, token: u32, exchange: &Exchange, refusal: Refusal) {
        if exchange.facts.upgrade {
            self.commands.simple(command::PROCEED, 0, token);
        }
        answers::write(
            &mut self.commands,
            token,
            exchange.sequence,
            exchange.facts,
            exchange.receiving,
            self.draining,
            refusal,
        );
        self.refuse_broken_request(token);
    }

    /// All requests before a broken one are answered: now it gets its answer.
    pub(crate) fn refuse_broken_request(&mut self, token: u32) {
        if let Some(client) = self.clients.find(token)
            && client.exchanges.is_empty()
            && let Some(bytes) = client.refusal.take()
        {
            self.commands.raw(token, 0, bytes);
            self.commands.simple(
                command::SHUTDOWN,
                portico_channel::layout::SHUTDOWN_CLOSE,
                token,
            );
        }
    }

    /// Stops reading from a connection for our own reasons.
    pub(crate) fn hold_back(client: &mut Client, commands: &mut CommandWriter) {
        if !client.paused_by_us {
            client.paused_by_us = true;
            commands.simple(command::PAUSE, 0, client.token);
        }
    }

    /// Reads on, unless the member doesn't want it.
    pub(crate) fn let_go(client: &mut Client, commands: &mut CommandWriter) {
        if client.paused_by_us {
            client.paused_by_us = false;
            if !client.paused_by_member {
                commands.simple(command::RESUME, 0, client.token);
            }
        }
    }

    /// A request is answered completely, or will never be: it counts no longer.
    pub(crate) fn conclude(&mut self, token: u32, sequence: u32) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let Some(place) = client
            .exchanges
            .iter()
            .position(|exchange| exchange.sequence == sequence)
        else {
            return;
        };
        let Some(exchange) = client.exchanges.remove(place) else {
            return;
        };
        if client.paused_by_member && client.tunnel.is_none() {
            client.paused_by_member = false;
            if !client.paused_by_us {
                self.commands.simple(command::RESUME, 0, token);
            }
        }
        if client.timeout_set && client.exchanges.is_empty() {
            client.timeout_set = false;
            self.commands
                .record(command::SET_TIMEOUT, 0, &[token, 0, 0], &[]);
        }
        if let Stage::With(index) = exchange.stage {
            let is_asking = client.is_asking(index);
            let mut leaving = false;
            if let Some(member) = self.member(index) {
                member.finished();
                leaving = member.leaving;
            }
            if leaving && !is_asking {
                self.part(index, token);
            }
        }
        self.refuse_broken_request(token);
        if self
            .queues
            .get(&exchange.queue)
            .is_some_and(|queue| !queue.waiting.is_empty())
        {
            self.pump(exchange.queue);
        }
    }

    /// Members that were given something are woken; those that were behind and have caught up get more.
    pub(crate) fn settle_members(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            if let Some(member) = self.member(index) {
                member.dirty = false;
                member.settle();
                member.wake_if_asleep();
            }
        }
        self.dirty = dirty;
    }

    /// Reads again from connections that were held back because a member was behind.
    pub(crate) fn release_held_back(&mut self, index: MemberIndex) {
        let tokens = match self.member(index) {
            Some(member)
                if !member.held_back.is_empty() && member.backlog.len() < CAUGHT_UP_BYTES =>
            {
                std::mem::take(&mut member.held_back)
            }
            _ => return,
        };
        for token in tokens {
            if let Some(client) = self.clients.find(token) {
                Self::let_go(client, &mut self.commands);
            }
        }
    }
}
