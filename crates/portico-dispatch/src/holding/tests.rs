//! Holds against a model of the engine: what it has been told, and what the member has taken.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use portico_channel::Records;
use portico_channel::layout::event;
use portico_channel::shared::ApplicationEnd;
use portico_engine::Shard;

use super::*;
use crate::commands::CommandBuffer;
use crate::exchange::Exchange;
use crate::host_wide::HostWide;
use crate::limits::{BACKLOG_BYTES_OF_A_USER, BACKLOG_FREE_BYTES};
use crate::request::RequestTraits;
use crate::test_support::{member, record};
use crate::user_memory::UserMemory;
use crate::validation::Verdict;
use crate::{BreakReason, QueueId};

const CLIENTS: u32 = 3;
const PIECE_BYTES: usize = 60_000;

/// What the engine has been told of the body in work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Bytes,
    Nothing,
    End,
}

/// One member with uploads of several clients, and the engine as far as its commands tell.
struct Model {
    dispatcher: Dispatcher,
    application: ApplicationEnd,
    sequences: [u32; CLIENTS as usize],
    wishes: [Wish; CLIENTS as usize],
    /// Rung when the application has something to read.
    bell: portico_sys::Bell,
}

impl Model {
    fn new() -> Self {
        let host_wide = Arc::new(HostWide::default());
        let (member, application, bell) =
            member(1, QueueId(1), &host_wide, UserMemory::unlimited());
        let mut dispatcher =
            Dispatcher::new(0, 0, true, host_wide, crate::caching::Caching::unused());
        dispatcher.members.push(Some(member));
        for token in 0..CLIENTS {
            let words = event::Open {
                token,
                ..event::Open::default()
            };
            let opening = record(words, 0);
            let view = Records::new(&opening).next().unwrap().unwrap();
            let open = view.read().unwrap();
            dispatcher.clients.insert(Client::opened(open, None));
        }
        let mut model = Self {
            dispatcher,
            application,
            sequences: [0; CLIENTS as usize],
            wishes: [Wish::Bytes; CLIENTS as usize],
            bell,
        };
        for token in 0..CLIENTS {
            model.begin(token);
        }
        model
    }

    fn client(&mut self, token: u32) -> &mut Client {
        self.dispatcher.clients.find(token).unwrap()
    }

    /// The next upload of a client.
    fn begin(&mut self, token: u32) {
        self.begin_for(0, token);
    }

    /// The same for a member.
    fn begin_for(&mut self, index: MemberIndex, token: u32) {
        let slot = token as usize;
        self.sequences[slot] += 1;
        self.wishes[slot] = Wish::Bytes;
        let (sequence, traits) = (self.sequences[slot], RequestTraits::default());
        let mut exchange = Exchange::new(sequence, QueueId(1), traits, 0);
        exchange.give_to(index, None, 0);
        let client = self.client(token);
        client.introduce(index);
        client.exchanges.add(exchange);
        let sequence = self.sequences[slot];
        self.dispatcher.hold_back_if_behind(index, token, sequence);
    }

    /// Part of a body, which the engine tells only if it is wanted. Behind the last, the next upload begins.
    fn body(&mut self, token: u32, last: bool) {
        if self.piece(token, last) && last {
            self.begin(token);
        }
    }

    /// The same without another upload. False: it is not wanted.
    fn piece(&mut self, token: u32, last: bool) -> bool {
        let sequence = self.sequences[token as usize];
        let wish = self.wishes[token as usize];
        if self.client(token).arriving().next() != Some(sequence) || wish == Wish::Nothing {
            return false;
        }
        let bytes = match (last, wish) {
            (true, _) => record(
                event::End {
                    token,
                    sequence,
                    field_count: 0,
                },
                0,
            ),
            (false, Wish::Bytes) => record(
                event::Body {
                    token,
                    sequence,
                    ..event::Body::default()
                },
                PIECE_BYTES,
            ),
            (false, _) => return false,
        };
        self.dispatcher.handle_events(&bytes);
        if last {
            self.wishes[token as usize] = Wish::Bytes;
            self.dispatcher.conclude(token, sequence);
        }
        true
    }

    /// A command of the member about the body of a client's request.
    fn command(&mut self, kind: u32, token: u32) {
        let mut commands = CommandWriter::new();
        let sequence = self.sequences[token as usize];
        match kind {
            command::PAUSE => commands.write(0, command::Pause { token, sequence }, &[]),
            command::RESUME => commands.write(0, command::Resume { token, sequence }, &[]),
            _ => commands.write(0, command::Discard { token, sequence }, &[]),
        }
        let record = Records::new(commands.as_bytes()).next().unwrap().unwrap();
        let verdict = self.dispatcher.validate(0, record, &mut Vec::new());
        if verdict == Verdict::Apply {
            assert_eq!(kind, command::DISCARD, "the engine is told of holds by us");
            self.wishes[token as usize] = Wish::End;
        }
    }

    /// The request is answered while its body is still coming.
    fn answer(&mut self, token: u32) {
        let sequence = self.sequences[token as usize];
        self.dispatcher.conclude(token, sequence);
    }

    /// The application takes at most so many bytes, and goes to sleep.
    fn take(&mut self, bytes: usize) {
        let available = self.application.events.available().unwrap();
        self.application.events.take(available.min(bytes)).unwrap();
        self.application.application().fall_asleep();
    }

    fn settle(&mut self) {
        self.dispatcher.settle_members();
        self.apply();
    }

    /// Does what the engine does with our commands.
    fn apply(&mut self) {
        let commands = std::mem::take(&mut self.dispatcher.commands);
        for record in Records::new(commands.as_bytes()).flatten() {
            let slot = record.token() as usize;
            if record.sequence() != self.sequences[slot] || self.wishes[slot] == Wish::End {
                continue;
            }
            match record.kind() {
                command::PAUSE => self.wishes[slot] = Wish::Nothing,
                command::RESUME => self.wishes[slot] = Wish::Bytes,
                _ => {}
            }
        }
    }

    /// What must be true after each turn.
    fn check(&mut self, history: &[String]) {
        let is_behind = self.dispatcher.member(0).unwrap().is_behind();
        for token in 0..CLIENTS {
            let wish = self.wishes[token as usize];
            let client = self.client(token);
            let arriving = client.arriving().next();
            let hold = arriving.and_then(|sequence| client.hold(sequence).copied());
            let hold = hold.unwrap_or_default();
            assert_eq!(
                hold.is_held(),
                wish == Wish::Nothing,
                "the engine knows otherwise: {hold:?} {wish:?} {history:?}"
            );
            assert!(
                !hold.by_us || is_behind || wish == Wish::End,
                "held for a member that has caught up: {history:?}"
            );
        }
    }
}

/// Numbers that a seed determines.
fn random(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn no_hold_outlives_its_reason() {
    for run in 0..300 {
        let mut seed = run;
        let mut model = Model::new();
        let mut history = Vec::new();
        for _ in 0..80 {
            let token = u32::try_from(random(&mut seed) % u64::from(CLIENTS)).unwrap();
            let step = random(&mut seed) % 16;
            history.push(format!("{step} {token}"));
            match step {
                0..6 => model.body(token, false),
                6 => model.body(token, true),
                7 | 8 => model.command(command::PAUSE, token),
                9 | 10 => model.command(command::RESUME, token),
                11 => model.command(command::DISCARD, token),
                12 => model.answer(token),
                13 => model.take(PIECE_BYTES),
                _ => model.take(usize::MAX),
            }
            model.apply();
            model.settle();
            model.check(&history);
        }
        // A member that reads everything and wants everything gets everything, though it says nothing more.
        for token in 0..CLIENTS {
            model.command(command::RESUME, token);
        }
        for _ in 0..CLIENTS * 64 {
            model.take(usize::MAX);
            model.dispatcher.settle_member(0);
            model.apply();
        }
        model.check(&history);
        assert!(
            !model.dispatcher.member(0).unwrap().is_behind(),
            "{history:?}"
        );
        assert!(
            model.wishes.iter().all(|wish| *wish != Wish::Nothing),
            "{:?} {history:?}",
            model.wishes
        );
    }
}

#[test]
fn a_member_is_woken_for_what_found_room_when_it_rang() {
    let mut model = Model::new();
    for _ in 0..8 {
        model.body(0, false);
    }
    model.settle();
    model.take(usize::MAX);
    model.bell.clear();
    // The rest fits now. The application sleeps, and nothing else will happen.
    model.dispatcher.settle_member(0);
    assert_ne!(model.application.events.available().unwrap(), 0);
    assert!(
        !model.application.application().must_be_woken(),
        "it has been woken already"
    );
}

#[test]
fn nothing_holds_a_discarded_body() {
    let mut model = Model::new();
    model.command(command::PAUSE, 0);
    model.apply();
    assert_eq!(model.wishes[0], Wish::Nothing);
    model.command(command::DISCARD, 0);
    model.command(command::PAUSE, 0);
    model.answer(0);
    let sequence = model.sequences[0];
    assert!(!model.client(0).hold(sequence).unwrap().is_held());
    model.body(0, true);
    let next = model.sequences[0];
    assert_eq!(model.client(0).hold(sequence), None);
    assert_eq!(model.client(0).hold(next), Some(&mut Hold::default()));
}

#[test]
fn the_end_of_a_member_lets_go_of_no_body_that_another_one_holds() {
    let mut model = Model::new();
    let mut shard = Shard::with_slots(0, 16).unwrap();
    let host_wide = HostWide::default();
    let (other, _application, _bell) = member(2, QueueId(1), &host_wide, UserMemory::unlimited());
    model.dispatcher.attach(other, &shard).unwrap();
    // The first member is behind, and wants no more of a body that is held for it.
    while !model.dispatcher.member(0).unwrap().is_behind() {
        model.body(1, false);
    }
    model.apply();
    model.command(command::DISCARD, 0);
    assert!(model.piece(0, true));
    // What that client sends next is for the other one, which is behind, too.
    model.dispatcher.member(1).unwrap().fall_behind();
    model.begin_for(1, 0);
    model.apply();
    assert_eq!(model.wishes[..2], [Wish::Nothing, Wish::Nothing]);
    let mut buffer = CommandBuffer::default();
    model.dispatcher.detach(0, &mut shard, &mut buffer);
    model.apply();
    assert_eq!(model.wishes[0], Wish::Nothing, "it is the other one's");
    assert_eq!(model.client(0).receiver(), Some(1));
}

#[test]
fn a_member_that_is_told_ever_more_is_dropped_when_its_user_has_twice_the_memory() {
    let host_wide = HostWide::default();
    let user = UserMemory::limited();
    let (mut member, ..) = member(1, QueueId(1), &host_wide, Arc::clone(&user));
    let piece = record(event::Body::default(), 8000);
    let mut others = user.for_backlog();
    others.set(2 * BACKLOG_BYTES_OF_A_USER);
    while member.backlog.len() <= BACKLOG_FREE_BYTES {
        assert!(!member.is_full() && !member.is_far_behind());
        member.tell(&piece, 0);
    }
    assert!(member.is_full() && member.is_far_behind() && !member.has_caught_up());
    assert!(!member.is_broken());
    member.tell(&piece, 0);
    assert!(member.is_broken());
    assert_eq!(member.break_reason(), BreakReason::UserMemory);
    // What it had is its user's no more.
    drop(member);
    assert!(!others.is_over(2));
}
