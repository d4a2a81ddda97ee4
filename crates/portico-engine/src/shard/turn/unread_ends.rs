//! Peers that have ended their side behind requests that are not read for now, on a clock of the tests' own.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use portico_channel::layout::{event, peer_end_flag, response_flag as flag};
use portico_channel::{CommandWriter, EventWriter, Records, Response};

use super::tests::{adopted, pass};
use super::*;
use crate::ListenerOptions;
use crate::limits::{LINGER_BYTES, UNREAD_END_MS};

const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
/// Requests of one connection that are taken up before the first is answered.
const MOST: usize = 8;
/// A time by which it is not told, and twice of it one by which it is.
const HALF_MS: u64 = UNREAD_END_MS / 2 + 1;

struct Peer {
    shard: Shard,
    stream: UnixStream,
    token: u32,
    answered: u32,
}

impl Peer {
    /// Sends its words and ends its side. Returns what is told of it, too.
    fn ended(words: &str) -> (Self, Vec<Event>) {
        let mut peer = Self::connected(words);
        peer.stream.shutdown(Shutdown::Write).unwrap();
        let told = peer.take_events();
        (peer, told)
    }

    /// The same without its end.
    fn begun(words: &str) -> (Self, Vec<Event>) {
        let mut peer = Self::connected(words);
        let told = peer.take_events();
        (peer, told)
    }

    fn connected(words: &str) -> Self {
        let mut shard = Shard::new().unwrap();
        shard.limit_pipelining(MOST);
        let listener = shard.create_listener(ListenerOptions::default());
        let stream = adopted(&mut shard, listener, words);
        Self {
            shard,
            stream,
            token: 0,
            answered: 0,
        }
    }

    /// What the next turns tell.
    fn take_events(&mut self) -> Vec<Event> {
        let mut memory = vec![0; 64 * 1024];
        let mut events = EventWriter::new(&mut memory);
        for _ in 0..4 {
            let outcome = self.shard.turn(None, &mut events);
            assert!(!matches!(outcome, TurnOutcome::NeedSpace(_)));
        }
        let records = Records::new(events.written()).map(Result::unwrap);
        let mut told = Vec::new();
        for record in records {
            self.token = record.token();
            match record.kind() {
                event::OPEN => {}
                event::REQUEST => told.push(Event::Request),
                event::PEER_END if record.flags() & peer_end_flag::UNREAD != 0 => {
                    told.push(Event::UnreadEnd);
                }
                event::PEER_END => told.push(Event::End),
                event::CLOSED => told.push(Event::Closed),
                other => panic!("{other}"),
            }
        }
        told
    }

    /// What is told when so much time has passed.
    fn after(&mut self, ms: u64) -> Vec<Event> {
        pass(&mut self.shard, ms);
        self.take_events()
    }

    /// Answers so many requests, and returns what is told then.
    fn answer(&mut self, count: u32) -> Vec<Event> {
        let mut commands = CommandWriter::new();
        for _ in 0..count {
            self.answered += 1;
            let response = Response {
                status: 204,
                flags: flag::END,
                reason: b"None",
                ..Response::default()
            };
            commands.respond(self.token, self.answered, &response);
        }
        self.shard.apply(commands.as_bytes(), None).unwrap();
        self.take_events()
    }

    /// How many answers have come.
    fn answers(&mut self) -> usize {
        let mut text = Vec::new();
        match self.stream.read_to_end(&mut text) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            _ => {}
        }
        String::from_utf8(text)
            .unwrap()
            .matches("HTTP/1.1 204")
            .count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Request,
    UnreadEnd,
    End,
    Closed,
}

#[test]
fn an_end_behind_requests_that_are_not_read_is_told_when_no_answer_comes_for_a_time() {
    for words in [GET.repeat(20), GET.repeat(3000)] {
        let (mut peer, told) = Peer::ended(&words);
        assert_eq!(told, [Event::Request; MOST]);
        assert_eq!(peer.after(HALF_MS), []);
        // What moves in between counts anew.
        assert_eq!(peer.answer(1), [Event::Request]);
        assert_eq!(peer.after(HALF_MS), []);
        assert_eq!(peer.after(HALF_MS), [Event::UnreadEnd]);
        // The application goes on all the same, and then does not: it is told again.
        assert_eq!(peer.answer(2), [Event::Request; 2]);
        assert_eq!(peer.after(UNREAD_END_MS), [Event::UnreadEnd]);
        assert_eq!(peer.after(UNREAD_END_MS), [Event::UnreadEnd]);
    }
}

#[test]
fn a_peer_that_has_ended_its_side_gets_all_answers_and_its_end_counts_behind_the_last_request() {
    let (mut peer, _) = Peer::ended(&GET.repeat(20));
    assert_eq!(peer.answer(8), [Event::Request; 8]);
    let rest = [
        Event::Request,
        Event::Request,
        Event::Request,
        Event::Request,
        Event::End,
    ];
    assert_eq!(peer.answer(8), rest);
    assert_eq!(peer.after(UNREAD_END_MS), []);
    assert_eq!(peer.answer(4), [Event::Closed]);
    assert_eq!(peer.answers(), 20);
}

#[test]
fn an_end_with_nothing_before_it_is_told_at_once() {
    let (mut peer, told) = Peer::ended(&GET.repeat(MOST));
    assert_eq!(told.len(), MOST + 1);
    assert_eq!(told.last(), Some(&Event::End));
    assert_eq!(peer.after(UNREAD_END_MS), []);
    assert_eq!(peer.answer(8), [Event::Closed]);
}

#[test]
fn an_end_behind_bytes_that_are_not_wanted_is_told() {
    let last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for more in [0, 1, 100_000, LINGER_BYTES, LINGER_BYTES + 100_000] {
        let (mut peer, mut told) = Peer::begun(last);
        let mut left = usize::try_from(more).unwrap();
        while left > 0 {
            let count = peer.stream.write(&vec![b'x'; left.min(30_000)]);
            left -= *count.as_ref().unwrap_or(&0);
            let news = peer.take_events();
            // What is no more read stays in the kernel.
            if news.is_empty() && count.is_err() {
                break;
            }
            told.extend(news);
        }
        peer.stream.shutdown(Shutdown::Write).unwrap();
        told.extend(peer.take_events());
        assert_eq!(told[0], Event::Request);
        if told.len() == 1 {
            told.extend(peer.after(UNREAD_END_MS + 1));
        }
        assert!(
            matches!(told[1..], [Event::End | Event::UnreadEnd]),
            "{more}: {told:?}"
        );
    }
}

#[test]
fn an_end_behind_an_upgrade_that_waits_is_told_after_the_same_time() {
    for words in [format!("{GET}{UPGRADE}"), format!("{GET}{UPGRADE}more")] {
        let (mut peer, told) = Peer::ended(&words);
        assert_eq!(told, [Event::Request; 2]);
        assert_eq!(peer.after(HALF_MS), []);
        assert_eq!(peer.after(HALF_MS), [Event::UnreadEnd]);
    }
    // Alone it waits for the application, which has only to say what it is.
    let (mut peer, told) = Peer::ended(UPGRADE);
    assert_eq!(told, [Event::Request]);
    assert_eq!(peer.after(UNREAD_END_MS), []);
}
