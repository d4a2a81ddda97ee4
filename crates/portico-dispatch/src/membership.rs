//! Members are attached, asked to leave, and removed when they die.

use std::collections::HashMap;

use portico_channel::CommandWriter;
use portico_channel::layout::{command, event, reset_code, shutdown_flag};
use portico_engine::Shard;

use crate::answers::{self, Refusal};
use crate::client::{Client, MemberIndex};
use crate::commands::CommandBuffer;
use crate::dispatcher::Dispatcher;
use crate::flow::Flow;
use crate::host_wide::Place;
use crate::member::Member;
use crate::queue::Waiting;
use crate::{LeftBehind, MemberId, QueueId};

/// A request that no member has now: connection and sequence number.
type Name = (u32, u32);

impl Dispatcher {
    /// Takes a new member; requests that waited go to it at once.
    pub(crate) fn attach(&mut self, member: Member, shard: &Shard) -> std::io::Result<()> {
        let queue = member.queue;
        let index = match self.members.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                self.members.push(None);
                self.members.len() - 1
            }
        };
        shard.watch_bell(&member.bell, bell_number(index))?;
        if let Some(place) = self.members.get_mut(index) {
            *place = Some(member);
        }
        let entry = self.queue_mut(queue);
        if entry.members.is_empty() {
            entry.counts.forget_keep_all();
        }
        entry.members.push(index);
        self.update_response_timeouts();
        // What it wrote before we listened.
        self.activate(index);
        self.pump(queue);
        Ok(())
    }

    /// Index of a member.
    pub(crate) fn index_of(&self, id: MemberId) -> Option<MemberIndex> {
        self.members
            .iter()
            .position(|member| member.as_ref().is_some_and(|member| member.id == id))
    }

    /// Nothing new goes to a member. Connections on which it has nothing to do close for it.
    pub(crate) fn leave(&mut self, id: MemberId) {
        let Some(index) = self.index_of(id) else {
            return;
        };
        if let Some(member) = self.member(index) {
            member.leaving = true;
            let queue = member.queue;
            if let Some(queue) = self.queues.get_mut(&queue) {
                queue.members.retain(|other| *other != index);
            }
        }
        self.close_idle(index);
    }

    /// A member is gone. What it wrote before still counts; what it has not taken goes to others; the rest is lost or
    /// tried again.
    pub(crate) fn detach(
        &mut self,
        index: MemberIndex,
        shard: &mut Shard,
        buffer: &mut CommandBuffer,
    ) -> LeftBehind {
        // Until there is no more; a dead process writes nothing new, and one that lives breaks after a bounded time.
        for _ in 0..1024 {
            let before = self.written(index);
            self.serve(index, shard, buffer);
            if self.written(index) == before {
                break;
            }
        }
        let Some(mut member) = self.members.get_mut(index).and_then(Option::take) else {
            return LeftBehind::default();
        };
        member.settle();
        shard.unwatch(&member.bell);
        shard.forget_space(index + 1);
        self.active.retain(|other| *other != index);
        self.to_settle.forget(index);
        if let Some(queue) = self.queues.get_mut(&member.queue) {
            queue.members.retain(|other| *other != index);
        }
        let mut untaken: HashMap<Name, Vec<u8>> = HashMap::new();
        member.backlog.untaken_records(|record, bytes| {
            let name = (record.token(), record.sequence());
            if record.kind() == event::REQUEST {
                untaken.insert(name, bytes.to_vec());
            } else if let Some(records) = untaken.get_mut(&name) {
                records.extend_from_slice(bytes);
            }
        });
        self.let_go_of(index, member.catch_up());
        let (moved, left_behind) = self.orphan(index, untaken);
        self.take_up(member.queue, moved);
        left_behind
    }

    fn written(&self, index: MemberIndex) -> Option<usize> {
        let member = self.members.get(index)?.as_ref()?;
        member.end.commands.available().ok()
    }

    /// Goes through all connections after a member's end. Returns the requests that others can have.
    fn orphan(
        &mut self,
        index: MemberIndex,
        mut untaken: HashMap<Name, Vec<u8>>,
    ) -> (Vec<Name>, LeftBehind) {
        let mut left_behind = LeftBehind::default();
        let mut moved = Vec::new();
        let mut lost = Vec::new();
        let mut closed = Vec::new();
        let Self {
            clients, commands, ..
        } = self;
        for client in clients.iter_mut() {
            if !client.is_known_to(index) {
                continue;
            }
            client.forget(index);
            client.acks.abandon(index);
            if !client.is_used_by(index) {
                continue;
            }
            let theirs = |sequence: &u32| client.receiver_of(*sequence) == Some(index);
            let arriving: Vec<u32> = client.arriving().filter(theirs).collect();
            if client.has_streams {
                reset_begun(client, index, commands);
            }
            let fate = orphan_of(client, index, &mut untaken, &mut moved, &mut lost);
            for sequence in arriving {
                Self::end_pause(client, commands, sequence);
            }
            let token = client.token;
            for sequence in client.drop_trailing_of(index) {
                commands.write(0, command::Discard { token, sequence }, &[]);
            }
            match fate {
                Fate::GoesOn => {}
                Fate::Destroyed => {
                    left_behind.cut += 1;
                    commands.write(
                        0,
                        command::Destroy {
                            token: client.token,
                        },
                        &[],
                    );
                }
                Fate::Refused => closed.push(client.token),
            }
        }
        for token in closed {
            self.commands.raw(token, 0, answers::to_parse_error(0));
            self.commands
                .write(shutdown_flag::CLOSE, command::Shutdown { token }, &[]);
        }
        for (token, sequence) in lost {
            if let Some(exchange) = self.take_exchange(token, sequence) {
                left_behind.lost += 1;
                self.queue_mut(exchange.queue).lost += 1;
                self.refuse(token, &exchange, Refusal::Lost);
            }
        }
        left_behind.moved = moved.len();
        (moved, left_behind)
    }

    /// Puts requests at the front of their queue, in their order, and gives them to others.
    fn take_up(&mut self, id: QueueId, names: Vec<Name>) {
        if names.is_empty() {
            return;
        }
        let now_ms = self.now_ms;
        let queue = self.queue_mut(id);
        let patience = u64::try_from(queue.options.wait.as_millis()).unwrap_or(u64::MAX);
        queue.moved += u64::try_from(names.len()).unwrap_or(0);
        // The queue is in the order of its deadlines.
        let deadline_ms = queue
            .waiting
            .front()
            .map_or(u64::MAX, |first| first.deadline_ms)
            .min(now_ms.saturating_add(patience));
        let Self {
            clients, queues, ..
        } = self;
        let Some(queue) = queues.get_mut(&id) else {
            return;
        };
        for (token, sequence) in names.into_iter().rev() {
            if let Some(exchange) = clients
                .find(token)
                .and_then(|client| client.exchange(sequence))
            {
                let is_upload = exchange.is_receiving();
                queue.counts.claim_anyway(is_upload);
                exchange.take_place(Place::of_claim(&queue.counts, is_upload));
            }
            queue.waiting.push_front(Waiting {
                token,
                sequence,
                deadline_ms,
            });
        }
        if !self.impatient.contains(&id) {
            self.impatient.push(id);
        }
        self.pump(id);
    }
}

/// What becomes of a connection whose member is gone.
enum Fate {
    GoesOn,
    /// Part of an answer is out, or it was a tunnel: the end must not look like a complete answer.
    Destroyed,
    /// Its request was broken, and now no member will answer it.
    Refused,
}

/// Streams whose answers have begun end alone.
fn reset_begun(client: &mut Client, index: MemberIndex, commands: &mut CommandWriter) {
    let token = client.token;
    client.exchanges.retain(|exchange| {
        let is_begun = exchange.is_with(index) && exchange.answer.has_begun();
        if is_begun {
            let words = command::Reset {
                token,
                sequence: exchange.sequence,
                code: reset_code::INTERNAL_ERROR,
            };
            commands.write(0, words, &[]);
        }
        !is_begun
    });
}

/// Sorts the requests of a connection into those that others can have and those that are lost.
fn orphan_of(
    client: &mut Client,
    index: MemberIndex,
    untaken: &mut HashMap<Name, Vec<u8>>,
    moved: &mut Vec<Name>,
    lost: &mut Vec<Name>,
) -> Fate {
    if client.tunnel() == Some(index) {
        client.abandon_tunnel();
        return Fate::Destroyed;
    }
    if client
        .exchanges
        .iter()
        .any(|exchange| exchange.is_with(index) && exchange.answer.has_begun())
    {
        // Its number may soon be another member's.
        client.exchanges.drop_of(index);
        return Fate::Destroyed;
    }
    if client.broken.refuser() == Some(index) {
        client.exchanges.drop_of(index);
        return if client.raw == Flow::default() {
            Fate::Refused
        } else {
            Fate::Destroyed
        };
    }
    for exchange in client.exchanges.iter_mut() {
        if !exchange.is_with(index) {
            continue;
        }
        let name = (client.token, exchange.sequence);
        match exchange.take_back(untaken.remove(&name)) {
            true => moved.push(name),
            false => lost.push(name),
        }
    }
    Fate::GoesOn
}

/// Number under which a member's bell rings.
pub(crate) fn bell_number(index: MemberIndex) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX - 1) + 1
}
