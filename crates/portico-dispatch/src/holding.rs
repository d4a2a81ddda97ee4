//! Who holds back what is arriving on a connection, and when it is read again.
//!
//! A body or a tunnel is held by the member that gets it (its reader is behind), or by us (the member is behind, or none
//! has the request yet). Both say so in [`Hold`], which lives as long as what is arriving; the engine hears of it in one
//! place. A hold of ours because a member is behind ends in [`Dispatcher::settle_member`], the one place that looks at
//! what a member has taken.

use portico_channel::CommandWriter;
use portico_channel::layout::command;

use crate::client::{Client, Hold, MemberIndex};
use crate::dispatcher::Dispatcher;

impl Dispatcher {
    /// Takes no more of what is arriving under a number, for our own reasons.
    pub(crate) fn hold_back(client: &mut Client, commands: &mut CommandWriter, sequence: u32) {
        Self::set_hold(client, commands, sequence, |hold| hold.by_us = true);
    }

    /// Takes more of it again, unless its member doesn't want any.
    pub(crate) fn let_go(client: &mut Client, commands: &mut CommandWriter, sequence: u32) {
        Self::set_hold(client, commands, sequence, |hold| hold.by_us = false);
    }

    /// The member that wanted no more has no say in it now.
    pub(crate) fn end_pause(client: &mut Client, commands: &mut CommandWriter, sequence: u32) {
        Self::set_hold(client, commands, sequence, |hold| hold.by_member = false);
    }

    /// The member wants no more of a body that is arriving: the engine reads and drops it, and nothing holds it.
    pub(crate) fn discard(client: &mut Client, sequence: u32) {
        if let Some(hold) = client.hold(sequence) {
            *hold = Hold {
                discarded: true,
                ..Hold::default()
            };
        }
    }

    /// The one place that tells the engine who holds what is arriving, if the answer has changed by it.
    pub(crate) fn set_hold(
        client: &mut Client,
        commands: &mut CommandWriter,
        sequence: u32,
        change: impl FnOnce(&mut Hold),
    ) {
        let Some(hold) = client.hold(sequence) else {
            return;
        };
        let before = hold.is_held();
        change(hold);
        let now = hold.is_held();
        if now != before {
            let token = client.token;
            if now {
                commands.write(0, command::Pause { token, sequence }, &[]);
            } else {
                commands.write(0, command::Resume { token, sequence }, &[]);
            }
        }
    }

    /// A member gets more bytes of bodies than it takes: none are read for it until it has caught up.
    pub(crate) fn look_if_behind(&mut self, index: MemberIndex) {
        let Self {
            clients,
            commands,
            members,
            ..
        } = self;
        let Some(member) = members.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        if member.is_behind() || !member.is_far_behind() {
            return;
        }
        member.fall_behind();
        for client in clients.iter_mut() {
            let theirs = |sequence: &u32| client.receiver_of(*sequence) == Some(index);
            let sequences: Vec<u32> = client.arriving().filter(theirs).collect();
            for sequence in sequences {
                if client.hold(sequence).is_some_and(|hold| !hold.by_us) {
                    Self::hold_back(client, commands, sequence);
                    member.hold_back(client.token, sequence);
                }
            }
        }
    }

    /// What is arriving under a number is for a member from now on.
    pub(crate) fn hold_back_if_behind(&mut self, index: MemberIndex, token: u32, sequence: u32) {
        let Self {
            clients,
            commands,
            members,
            ..
        } = self;
        if let Some(member) = members.get_mut(index).and_then(Option::as_mut)
            && member.is_behind()
            && let Some(client) = clients.find(token)
        {
            Self::hold_back(client, commands, sequence);
            member.hold_back(token, sequence);
        }
    }

    /// Members that were given something are woken. One that broke the rules is looked at in the next round.
    pub(crate) fn settle_members(&mut self) {
        let mut members = self.to_settle.take();
        for index in members.drain(..) {
            self.settle_member(index);
            if let Some(member) = self.member(index) {
                member.set_to_settle(false);
                if member.is_broken() {
                    self.activate(index);
                }
            }
        }
        self.to_settle.reuse(members);
    }

    /// Looks at what a member has taken, and sends what waited for room. What follows from either is done here and now,
    /// for a member that has taken everything has no reason to ring once more: it is woken for what was sent, and when
    /// it has caught up, its connections are read again.
    pub(crate) fn settle_member(&mut self, index: MemberIndex) {
        let now_ms = self.now_ms;
        if let Some(member) = self.member(index) {
            let was_full = member.is_full();
            member.settle();
            member.note_progress(now_ms);
            if member.backlog.len() > 0 {
                member.wake_if_asleep();
            }
            let queue = member.queue;
            if was_full && !member.is_full() {
                self.note_room(queue);
            }
            self.release_held_back(index);
        }
    }

    /// Reads again from connections that were held back because a member was behind.
    fn release_held_back(&mut self, index: MemberIndex) {
        let held = match self.member(index) {
            Some(member) if member.is_behind() && member.has_caught_up() => member.catch_up(),
            _ => return,
        };
        self.let_go_of(index, held);
    }

    /// Reads again what arrives under these numbers, as far as it is still for this member: another may have it by now,
    /// and be behind itself.
    pub(crate) fn let_go_of(&mut self, index: MemberIndex, held: Vec<(u32, u32)>) {
        for (token, sequence) in held {
            if let Some(client) = self.clients.find(token)
                && client.receiver_of(sequence) == Some(index)
            {
                Self::let_go(client, &mut self.commands, sequence);
            }
        }
    }
}

#[cfg(test)]
mod tests;
