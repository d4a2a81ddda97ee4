//! Members that do not answer in time, and members that take nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::{body_flag, command, event, response_flag as flag};
use portico_dispatch::QueueOptions;
use support::{App, Host, until};

fn impatient() -> (Host, App) {
    let mut host = Host::new();
    let options = QueueOptions {
        response_timeout: Duration::from_millis(100),
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let app = host.app(1);
    (host, app)
}

#[test]
fn a_member_that_does_not_answer_in_time_costs_its_request_and_no_other() {
    let (host, mut app) = impatient();
    let mut client = host.connect();
    client.get("/never");
    let request = app.request();
    let answer = client.answer();
    assert_eq!(
        (answer.status, answer.field("connection")),
        (504, Some("close"))
    );
    assert!(client.rest().is_empty());
    host.until(|stats| stats.members[0].in_flight == 0 && stats.queues[0].timed_out == 1);
    // What it says now is about nothing.
    app.answer(&request, "too late");
    assert_eq!(app.next(event::CLOSED).token, request.token);
    let mut other = host.connect();
    other.get("/");
    let request = app.request();
    app.answer(&request, "fine");
    assert_eq!(other.answer().text(), "fine");
}

#[test]
fn an_answer_that_has_begun_may_take_its_time() {
    let (host, mut app) = impatient();
    let mut client = host.connect();
    client.get("/slow");
    let request = app.request();
    app.chunked_head(&request);
    assert!(client.head().starts_with("HTTP/1.1 200"));
    let mut late = host.connect();
    late.get("/never");
    // Both have been looked at when this one has gone.
    assert_eq!(late.answer().status, 504);
    app.data(&request, b"body", flag::END);
    let mut body = Vec::new();
    until(|| {
        let mut byte = [0];
        std::io::Read::read_exact(&mut client.stream, &mut byte).unwrap();
        body.push(byte[0]);
        body.ends_with(b"0\r\n\r\n")
    });
    assert_eq!(body, b"4\r\nbody\r\n0\r\n\r\n");
}

#[test]
fn the_time_does_not_run_while_the_client_sends_and_runs_while_it_is_held_back() {
    let (host, mut app) = impatient();
    let mut sends = host.connect();
    sends.send("POST /sends HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
    let sending = app.request();
    let mut held = host.connect();
    held.send("POST /held HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
    let request = app.request();
    app.pause(&request);
    assert_eq!(held.answer().status, 504);
    sends.send("b");
    while app.next(event::BODY).flags & body_flag::LAST == 0 {}
    app.answer(&sending, "stored");
    assert_eq!(sends.answer().text(), "stored");
}

#[test]
fn an_interim_answer_is_no_answer_and_a_tunnel_is_one() {
    let (host, mut app) = impatient();
    let mut tunnel = host.connect();
    tunnel.send("GET /t HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    let taken = app.request();
    app.command(0, command::TakeOver { token: taken.token });
    let mut client = host.connect();
    client.get("/never");
    let request = app.request();
    app.commands
        .inform(request.token, request.sequence, 102, b"Processing", b"");
    app.submit();
    assert!(client.head().starts_with("HTTP/1.1 102"));
    assert_eq!(client.answer().status, 504);
    app.raw(taken.token, b"still here");
    app.command(1, command::Shutdown { token: taken.token });
    assert_eq!(tunnel.rest(), b"still here");
}

#[test]
fn a_member_that_takes_nothing_is_told_by_the_counters() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/");
    host.until(|stats| stats.members[0].stalled_ms > 20);
    let request = app.request();
    host.until(|stats| stats.members[0].stalled_ms == 0);
    app.answer(&request, "x");
    client.answer();
    assert_eq!(host.shards[0].stats().members[0].stalled_ms, 0);
}
