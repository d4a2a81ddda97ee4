//! Peers slower than `min_bytes_per_second`, and those that only seem so.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::io::Read;
use std::time::Duration;

use portico_channel::layout::{command, event, response_flag as flag};
use portico_engine::ListenerOptions;
use support::{Server, read_answer, send};

/// A rate at which a few milliseconds tell, looked at as often.
fn strict() -> Server {
    with_rate(1_000_000)
}

fn with_rate(min_bytes_per_second: u32) -> Server {
    Server::with(ListenerOptions {
        min_bytes_per_second,
        connections_checking_interval: Duration::from_millis(10),
        ..ListenerOptions::default()
    })
}

/// Until a slow sender that comes now has been closed, twice over: whoever was there before has been looked at.
fn looks(server: &mut Server) {
    for _ in 0..2 {
        let mut slow = server.connect();
        send(
            &mut slow,
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
        );
        let token = server.request().token;
        let before = server.shard.counters().too_slow;
        server.until(|events| {
            events
                .iter()
                .any(|event| event.kind == event::CLOSED && event.token == token)
        });
        assert_eq!(server.shard.counters().too_slow, before + 1);
    }
}

#[test]
fn a_body_that_comes_too_slowly_ends_its_connection() {
    let mut server = strict();
    let mut client = server.connect();
    for head in [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
    ] {
        send(&mut client, head);
        server.next(event::CLOSED);
        assert!(!matches!(client.read(&mut [0; 9]), Ok(1..)));
        client = server.connect();
    }
    assert_eq!(server.shard.counters().too_slow, 2);
}

#[test]
fn an_answer_that_is_not_read_ends_its_connection() {
    let mut server = strict();
    let mut client = server.connect();
    send(&mut client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let request = server.request();
    server.answer(&request, &vec![0; 32 << 20]);
    assert_eq!(server.next(event::CLOSED).token, request.token);
    assert_eq!(server.shard.counters().too_slow, 1);
    // What the kernel had for it is gone too.
    let mut read = Vec::new();
    assert!(client.read_to_end(&mut read).is_err());
}

#[test]
fn who_waits_for_the_application_is_not_too_slow() {
    let mut server = strict();
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n";
    let mut paused = server.connect();
    send(&mut paused, format!("{post}\r\na"));
    let held = server.request();
    let (token, sequence) = (held.token, held.sequence());
    server
        .commands
        .write(0, command::Pause { token, sequence }, &[]);
    server.submit();
    let mut stopped = server.connect();
    send(&mut stopped, format!("{post}\r\na"));
    let stopped_token = server.request().token;
    server.commands.write(
        0,
        command::Pause {
            token: stopped_token,
            sequence: 0,
        },
        &[],
    );
    server.submit();
    let mut asks = server.connect();
    send(&mut asks, format!("{post}Expect: 100-continue\r\n\r\n"));
    let asked = server.request();
    let mut polls = server.connect();
    send(&mut polls, "GET /poll HTTP/1.1\r\nHost: a\r\n\r\n");
    let polled = server.request();
    let mut tunnel = server.connect();
    send(
        &mut tunnel,
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    );
    let taken = server.request();
    server
        .commands
        .write(0, command::TakeOver { token: taken.token }, &[]);
    server.commands.raw(taken.token, 0, &vec![7; 32 << 20]);
    server.submit();
    let mut idle = server.connect();
    send(&mut idle, "GET /idle HTTP/1.1\r\nHost: a\r\n\r\n");
    let request = server.request();
    server.answer(&request, b"idle");
    assert_eq!(read_answer(&mut idle).1, b"idle");

    looks(&mut server);

    server.commands.write(
        0,
        command::Resume {
            token: stopped_token,
            sequence: 0,
        },
        &[],
    );
    server.submit();
    send(&mut stopped, "b");
    assert_eq!(server.next(event::BODY).token, stopped_token);
    send(&mut idle, "GET /again HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(server.request().target(), "/again");
    server.answer(&polled, b"news");
    assert_eq!(read_answer(&mut polls).1, b"news");
    send(&mut paused, "b");
    server
        .commands
        .write(0, command::Resume { token, sequence }, &[]);
    server
        .commands
        .inform(asked.token, asked.sequence(), 100, b"Continue", b"");
    server.submit();
    assert!(read_answer(&mut asks).0.starts_with("HTTP/1.1 100"));
    send(&mut asks, "ab");
    server.collect(event::BODY, 2);
    for (client, request) in [(&mut paused, &held), (&mut asks, &asked)] {
        server.answer(request, b"stored");
        assert_eq!(read_answer(client).1, b"stored");
    }
    let mut bytes = vec![0; 1 << 20];
    let reader = std::thread::spawn(move || {
        for _ in 0..32 {
            tunnel.read_exact(&mut bytes).unwrap();
        }
        bytes
    });
    while !reader.is_finished() {
        server.turn(Duration::from_millis(1));
    }
    assert_eq!(reader.join().unwrap()[0], 7);
}

#[test]
fn a_reader_that_is_fast_enough_gets_all() {
    // Seconds may pass before a reader on a busy machine is too slow.
    let mut server = with_rate(10_000);
    let mut client = server.connect();
    send(&mut client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let request = server.request();
    let size = 24 << 20;
    server.answer_flags(&request, &vec![1; size], flag::ACK);
    let reader = std::thread::spawn(move || read_answer(&mut client).1.len());
    while !reader.is_finished() {
        server.turn(Duration::from_millis(1));
    }
    assert_eq!(reader.join().unwrap(), size);
    assert_eq!(server.shard.counters().too_slow, 0);
}

#[test]
fn without_a_rate_no_connection_is_too_slow() {
    let mut server = with_rate(0);
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na",
    );
    let request = server.request();
    server.settle();
    assert_eq!(server.shard.counters().too_slow, 0);
    // Switched on for connections that are there.
    server.shard.update_listener(
        server.listener,
        ListenerOptions {
            min_bytes_per_second: 1_000_000,
            connections_checking_interval: Duration::from_millis(10),
            ..ListenerOptions::default()
        },
    );
    assert_eq!(server.next(event::CLOSED).token, request.token);
}
