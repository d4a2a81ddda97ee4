//! Times that pass: idle connections, slow heads and requests, inactivity. Slow readers and writers are in `timers.rs`.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read;
use std::time::{Duration, Instant};

use portico_channel::layout::{command, event, timeout_kind};
use portico_engine::ListenerOptions;
use support::{Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

fn options(change: impl FnOnce(&mut ListenerOptions)) -> ListenerOptions {
    let mut options = ListenerOptions::default();
    change(&mut options);
    options
}

#[test]
fn an_idle_connection_is_told_and_a_silent_one_closed() {
    let mut server = Server::with(options(|options| {
        options.keep_alive_timeout = Duration::from_millis(60);
        options.keep_alive_timeout_buffer = Duration::from_millis(20);
    }));
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    let start = Instant::now();
    let timeout = server.next(event::TIMEOUT);
    assert_eq!(
        timeout.read::<event::Timeout>().deadline,
        timeout_kind::KEEP_ALIVE
    );
    assert!(
        start.elapsed() >= Duration::from_millis(79),
        "{:?}",
        start.elapsed()
    );
    server.commands.write(
        0,
        command::Destroy {
            token: timeout.token,
        },
        &[],
    );
    server.submit();
    read_answer(&mut client);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_busy_connection_is_not_idle() {
    let mut server = Server::with(options(|options| {
        options.keep_alive_timeout = Duration::from_millis(30);
        options.keep_alive_timeout_buffer = Duration::ZERO;
    }));
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    send(&mut client, GET);
    let request = server.request();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        assert!(server.turn(Duration::from_millis(20)).is_empty());
    }
    server.answer(&request, b"y");
    server.next(event::TIMEOUT);
}

#[test]
fn a_slow_head_and_a_slow_request_are_told_once() {
    for text in [
        "GET / HTTP/1.1\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
    ] {
        let mut server = Server::with(options(|options| {
            options.headers_timeout = Duration::from_millis(40);
            options.request_timeout = Duration::from_millis(60);
            options.connections_checking_interval = Duration::from_millis(15);
        }));
        let mut client = server.connect();
        send(&mut client, text);
        let timeout = server.next(event::TIMEOUT);
        assert_eq!(
            timeout.read::<event::Timeout>().deadline,
            timeout_kind::REQUEST
        );
        assert!(
            server
                .settle()
                .iter()
                .all(|event| event.kind != event::TIMEOUT)
        );
    }
}

#[test]
fn inactivity_is_told_after_the_time_that_was_set() {
    let mut server = Server::with(options(|options| {
        options.timeout = Duration::from_millis(5_000)
    }));
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.commands.write(
        0,
        command::SetTimeout {
            token: request.token,
            milliseconds: 50,
        },
        &[],
    );
    server.submit();
    let start = Instant::now();
    let timeout = server.next(event::TIMEOUT);
    assert_eq!(
        timeout.read::<event::Timeout>().deadline,
        timeout_kind::INACTIVE
    );
    assert!(start.elapsed() >= Duration::from_millis(49));
    assert!(server.settle().is_empty());
    // Activity starts the clock anew.
    server
        .commands
        .inform(request.token, request.sequence(), 102, b"Processing", b"");
    server.submit();
    assert_eq!(
        server
            .next(event::TIMEOUT)
            .read::<event::Timeout>()
            .deadline,
        timeout_kind::INACTIVE
    );
}
