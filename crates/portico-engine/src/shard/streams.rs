//! Exchanges of one connection, in any order: a shard whose connections speak the tests' protocol with streams.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod pair;

use std::collections::HashMap;

use portico_channel::Response;
use portico_channel::layout::{command, event, flushed_flag, reset_code, response_flag};

use crate::echo::frames::Kind;
use crate::echo::output::{FRAMED_BYTES, PIECE_BYTES};
use crate::limits::{OFFER_CHECK_MS, OFFER_WAIT_MS};
use crate::{Answer, Offered, Segment};
use pair::{Event, Pair, Slow, ends};

#[test]
fn exchanges_end_in_any_order_and_what_is_said_of_one_that_is_over_finds_nothing() {
    let mut pair = Pair::new();
    for stream in [1, 5, 9] {
        pair.send(stream, Kind::WholeHead, b"/");
    }
    let told = pair.take_events();
    assert_eq!(
        told.iter()
            .map(|(kind, sequence, ..)| (*kind, *sequence))
            .collect::<Vec<_>>(),
        [
            (event::REQUEST, 1),
            (event::REQUEST, 5),
            (event::REQUEST, 9)
        ]
    );
    pair.answer(9, 0, b"ninth");
    pair.answer(1, 0, b"first");
    assert_eq!(ends(&pair.frames()), [9, 1]);
    pair.answer(9, 0, b"again");
    pair.answer(7, 0, b"never was");
    assert_eq!(pair.frames(), []);
    pair.send(11, Kind::WholeHead, b"/");
    assert_eq!(pair.take_events().len(), 1);
    pair.answer(11, 0, b"eleventh");
    pair.answer(5, 0, b"fifth");
    let frames = pair.frames();
    assert_eq!(ends(&frames), [11, 5]);
    assert!(frames.contains(&(5, Kind::Data, b"fifth".to_vec())));
    let counters = pair.shard.counters();
    assert_eq!((counters.requests, counters.responses), (4, 4));
}

#[test]
fn one_that_outlives_a_thousand_others_takes_no_more_than_its_own_place() {
    let mut pair = Pair::new();
    pair.send(1, Kind::WholeHead, b"/slow");
    pair.take_events();
    for stream in 2..1002 {
        pair.send(stream, Kind::WholeHead, b"/");
        assert_eq!(pair.take_events().len(), 1);
        pair.answer(stream, 0, b"quick");
        assert_eq!(ends(&pair.frames()), [stream]);
    }
    pair.answer(1, 0, b"slow");
    assert_eq!(ends(&pair.frames()), [1]);
}

#[test]
fn answers_are_framed_in_turn_and_only_as_far_as_the_output_has_room() {
    let mut pair = Pair::new();
    for stream in [1, 2] {
        pair.send(stream, Kind::WholeHead, b"/");
    }
    pair.take_events();
    let large = vec![b'x'; 4_000_000];
    pair.answer(1, 0, &large);
    pair.answer(2, 0, &[b'y'; 3 * PIECE_BYTES]);
    let mut frames = Vec::new();
    for _ in 0..100_000 {
        if ends(&frames) == [2, 1] {
            break;
        }
        pair.take_events();
        let (_, _, waiting) = output_of(&mut pair);
        assert!(waiting <= FRAMED_BYTES + 2 * PIECE_BYTES, "{waiting}");
        frames.append(&mut pair.frames());
    }
    assert_eq!(
        ends(&frames),
        [2, 1],
        "the short one does not wait for the long one"
    );
    let mut bodies = HashMap::<u32, usize>::new();
    for (stream, kind, payload) in frames {
        if kind == Kind::Data {
            *bodies.entry(stream).or_default() += payload.len();
        }
    }
    assert_eq!((bodies[&1], bodies[&2]), (large.len(), 3 * PIECE_BYTES));
}

/// Bytes read and written, and those that are framed and wait.
fn output_of(pair: &mut Pair) -> (u64, u64, usize) {
    let connection = pair.shard.connections.find(pair.token).unwrap();
    let (read, written) = connection.transport.traffic();
    (read, written, connection.transport.queued())
}

#[test]
fn a_body_that_is_paused_holds_no_other() {
    let mut pair = Pair::new();
    pair.send(1, Kind::Head, b"/a");
    pair.send(2, Kind::Head, b"/b");
    pair.take_events();
    pair.apply(|commands, token| commands.write(0, command::Pause { token, sequence: 1 }, &[]));
    for stream in [1, 2] {
        pair.send(stream, Kind::Data, b"piece");
        pair.send(stream, Kind::End, b"");
    }
    let names = |told: Vec<Event>| -> Vec<(u32, u32)> {
        told.iter()
            .map(|(kind, sequence, ..)| (*kind, *sequence))
            .collect()
    };
    assert_eq!(
        names(pair.take_events()),
        [(event::BODY, 2), (event::END, 2)]
    );
    pair.apply(|commands, token| commands.write(0, command::Resume { token, sequence: 1 }, &[]));
    assert_eq!(
        names(pair.take_events()),
        [(event::BODY, 1), (event::END, 1)]
    );
}

#[test]
fn the_application_gives_up_one_exchange_and_the_others_go_on() {
    let mut pair = Pair::new();
    for stream in [1, 2] {
        pair.send(stream, Kind::Head, b"/");
    }
    pair.take_events();
    pair.apply(|commands, token| {
        let begun = Response {
            status: 200,
            body: b"half",
            ..Response::default()
        };
        commands.respond(token, 1, &begun);
    });
    pair.frames();
    pair.apply(|commands, token| {
        let words = command::Reset {
            token,
            sequence: 1,
            code: reset_code::INTERNAL_ERROR,
        };
        commands.write(0, words, &[]);
        commands.data(token, 1, response_flag::END, b"the other half");
    });
    let code = reset_code::INTERNAL_ERROR.to_be_bytes().to_vec();
    assert_eq!(pair.frames(), [(1, Kind::Reset, code)]);
    // What crossed with it is about nothing.
    pair.send(1, Kind::Data, b"more");
    pair.send(1, Kind::Reset, &[0; 4]);
    pair.send(2, Kind::End, b"");
    let told = pair.take_events();
    assert_eq!(told, [(event::END, 2, 0, Vec::new())]);
    pair.answer(2, 0, b"whole");
    assert_eq!(ends(&pair.frames()), [2]);
}

#[test]
fn the_peer_gives_up_one_exchange_and_the_others_go_on() {
    let mut pair = Pair::new();
    for stream in [1, 2] {
        pair.send(stream, Kind::Head, b"/");
    }
    pair.take_events();
    let code = reset_code::CANCEL.to_be_bytes();
    pair.send(1, Kind::Reset, &code);
    pair.send(2, Kind::End, b"");
    let told = pair.take_events();
    assert_eq!(
        told,
        [
            (event::RESET, 1, 0, code.to_vec()),
            (event::END, 2, 0, Vec::new())
        ]
    );
    // The answer crossed with it.
    pair.answer(1, 0, b"too late");
    pair.answer(2, 0, b"whole");
    assert_eq!(ends(&pair.frames()), [2]);
    assert_eq!(pair.shard.counters().connections_open, 1);
}

#[test]
fn acknowledgements_name_their_exchange() {
    let mut pair = Pair::new();
    for stream in [3, 4] {
        pair.send(stream, Kind::WholeHead, b"/");
    }
    pair.take_events();
    pair.answer(4, response_flag::ACK, b"second");
    pair.answer(3, response_flag::ACK, b"first");
    let one = 1u32.to_be_bytes().to_vec();
    assert_eq!(
        pair.take_events(),
        [
            (event::FLUSHED, 4, flushed_flag::NAMED, one.clone()),
            (event::FLUSHED, 3, flushed_flag::NAMED, one)
        ]
    );
}

#[test]
fn the_end_of_the_connection_ends_every_exchange_once() {
    let mut pair = Pair::new();
    for stream in [1, 2] {
        pair.send(stream, Kind::WholeHead, b"/");
    }
    pair.take_events();
    pair.client.shutdown(std::net::Shutdown::Write).unwrap();
    let kinds = |told: Vec<Event>| -> Vec<u32> { told.iter().map(|(kind, ..)| *kind).collect() };
    assert_eq!(kinds(pair.take_events()), [event::PEER_END]);
    pair.answer(2, 0, b"a half-closed client still reads");
    assert_eq!(ends(&pair.frames()), [2]);
    pair.answer(1, 0, b"");
    assert_eq!(kinds(pair.take_events()), [event::CLOSED]);
}

#[test]
fn a_stream_that_waits_for_its_responder_holds_no_other() {
    let mut pair = Pair::new();
    let mut slow = Slow::default();
    for stream in [1, 2] {
        pair.send(stream, Kind::Head, b"/slow");
    }
    pair.send(3, Kind::Head, b"/");
    pair.send(4, Kind::Head, b"/slow");
    for stream in [1, 2, 3] {
        pair.send(stream, Kind::Data, b"body");
        pair.send(stream, Kind::End, b"");
    }
    let names = |told: Vec<Event>| -> Vec<(u32, u32)> {
        told.iter()
            .map(|(kind, sequence, ..)| (*kind, *sequence))
            .collect()
    };
    assert_eq!(
        names(pair.take_events_with(&mut slow)),
        [(event::REQUEST, 3), (event::BODY, 3), (event::END, 3)]
    );
    // One is answered, one passed, and one goes.
    let answer = Answer {
        status: 200,
        fields: Vec::new(),
        has_date: false,
        body: vec![Segment::Owned(b"cached".to_vec())],
        keep_alive: true,
    };
    let token = pair.token;
    assert!(pair.shard.settle(token, 1, Offered::Answered(answer)));
    assert!(pair.shard.settle(token, 2, Offered::Passed));
    assert!(!pair.shard.settle(token, 3, Offered::Passed));
    pair.send(4, Kind::Reset, &[0; 4]);
    assert_eq!(
        names(pair.take_events_with(&mut slow)),
        [(event::REQUEST, 2), (event::BODY, 2), (event::END, 2)]
    );
    assert_eq!(slow.cancelled, [4]);
    assert_eq!(ends(&pair.frames()), [1]);
}

#[test]
fn a_request_that_has_waited_long_enough_is_passed() {
    let mut pair = Pair::new();
    let mut slow = Slow::default();
    pair.send(1, Kind::WholeHead, b"/slow");
    assert_eq!(pair.take_events_with(&mut slow), []);
    let mut waited_ms = 0;
    let told = loop {
        let told = pair.take_events_with(&mut slow);
        if !told.is_empty() {
            break told;
        }
        pair.shard.core.clock.advance(OFFER_CHECK_MS);
        waited_ms += OFFER_CHECK_MS;
        pair.shard.handle_expired();
        assert!(waited_ms <= OFFER_WAIT_MS + 2 * OFFER_CHECK_MS);
    };
    assert_eq!((told[0].0, told[0].1), (event::REQUEST, 1));
    assert!(waited_ms >= OFFER_WAIT_MS);
    assert_eq!(pair.shard.core.waiting_check_ms, 0, "none is looked for");
}
