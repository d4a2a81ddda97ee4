#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use portico_channel::layout::{command, event, response_flag as flag};
use portico_channel::{CommandWriter, EventWriter, Records, Response};

use super::*;
use crate::limits::CLIENT_ERROR_MS;
use crate::{ListenerId, ListenerOptions};

pub(super) fn adopted(shard: &mut Shard, listener: ListenerId, words: &str) -> UnixStream {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    ours.write_all(words.as_bytes()).unwrap();
    shard.adopt(listener, theirs.into()).unwrap();
    ours
}

/// Kinds and tokens of what two turns tell.
fn take_events(shard: &mut Shard) -> Vec<(u32, u32)> {
    let mut memory = vec![0; 64 * 1024];
    let mut events = EventWriter::new(&mut memory);
    for _ in 0..2 {
        assert!(!matches!(
            shard.turn(None, &mut events),
            TurnOutcome::NeedSpace(_)
        ));
    }
    let records = Records::new(events.written()).map(Result::unwrap);
    let told = records.map(|record| (record.kind(), record.token()));
    told.filter(|(kind, _)| *kind != event::OPEN).collect()
}

/// Moves the time on by so much, and has what is due done.
pub(super) fn pass(shard: &mut Shard, by_ms: u64) {
    shard.core.clock.advance(by_ms);
    shard.handle_expired();
}

#[test]
fn an_application_that_says_nothing_about_an_error_loses_the_connection_and_no_other() {
    let mut shard = Shard::new().unwrap();
    let listener = shard.create_listener(ListenerOptions::default());
    let mut wrong = adopted(&mut shard, listener, "no request\r\n\r\n");
    let error = take_events(&mut shard);
    let mut right = adopted(&mut shard, listener, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let request = take_events(&mut shard);
    let [(event::CLIENT_ERROR, bad)] = error[..] else {
        panic!("{error:?}");
    };
    let [(event::REQUEST, good)] = request[..] else {
        panic!("{request:?}");
    };
    pass(&mut shard, CLIENT_ERROR_MS / 2);
    assert_eq!(take_events(&mut shard), []);
    assert!(wrong.read(&mut [0]).is_err(), "it is open");
    pass(&mut shard, CLIENT_ERROR_MS / 2);
    assert_eq!(take_events(&mut shard), [(event::CLOSED, bad)]);
    assert_eq!(wrong.read(&mut [0]).unwrap(), 0);
    // A request has all the time that its application takes.
    let mut commands = CommandWriter::new();
    let response = Response {
        status: 204,
        flags: flag::END,
        reason: b"None",
        ..Response::default()
    };
    commands.respond(good, 1, &response);
    // What is said too late about the connection that has gone reaches no other.
    commands.write(0, command::Destroy { token: bad }, &[]);
    shard.apply(commands.as_bytes(), None).unwrap();
    let mut answer = [0; 64];
    let length = right.read(&mut answer).unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 204 None\r\n"));
    assert_eq!(shard.counters().connections_open, 1);
}
