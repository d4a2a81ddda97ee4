//! Clients that end their side behind their requests, and those requests wait.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::net::Shutdown;
use std::time::Duration;

use portico_channel::layout::peer_end_flag::UNREAD;
use portico_channel::layout::{event, response_flag as flag};
use portico_dispatch::QueueOptions;
use support::{App, Client, Host, Req};

const TWO: &str = "GET /a/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /a/2 HTTP/1.1\r\nHost: a\r\n\r\n";

/// A host whose queue for `/a/` gives a member one request at a time.
fn host(wait: Duration) -> Host {
    let mut host = Host::new();
    let options = QueueOptions {
        max_in_flight: 1,
        wait,
        ..QueueOptions::default()
    };
    host.route("/a/", 1, options);
    host
}

const LONG: Duration = Duration::from_secs(60);

/// Ends a client's side; the shard has had its turn with that when this returns.
fn end(host: &Host, client: &Client) {
    client.stream.shutdown(Shutdown::Write).unwrap();
    let mut other = host.connect();
    for _ in 0..3 {
        other.get("/nowhere");
        assert_eq!(other.answer().status, 404);
    }
}

/// The next request, and that its client's end stands right behind it.
#[track_caller]
fn ended_request(app: &mut App, target: &str) -> Req {
    let request = app.request();
    assert_eq!(request.target, target);
    let next = app.any();
    assert_eq!((next.kind, next.token), (event::PEER_END, request.token));
    request
}

#[test]
fn a_member_learns_of_the_end_behind_the_request_that_waited() {
    let mut host = host(LONG);
    let mut app = host.app(1);
    let mut first = host.connect();
    first.get("/a/first");
    let in_flight = app.request();
    let mut ended = host.connect();
    ended.get("/a/ended");
    host.until(|stats| stats.queues[0].waiting == 1);
    end(&host, &ended);
    assert!(!app.has(event::PEER_END));
    app.answer(&in_flight, "first");
    assert_eq!(first.answer().text(), "first");
    let request = ended_request(&mut app, "/a/ended");
    app.answer(&request, "all of it");
    assert_eq!(ended.answer().text(), "all of it");
    assert_eq!(ended.rest(), b"");
    first.get("/a/next");
    let next = app.request();
    app.answer(&next, "next");
    assert_eq!(first.answer().text(), "next");
}

#[test]
fn the_end_goes_with_a_request_to_the_next_member() {
    let mut host = host(LONG);
    let dies = host.app(1);
    let mut client = host.connect();
    client.get("/a/moved");
    host.until(|stats| stats.members[0].in_flight == 1);
    end(&host, &client);
    host.kill(dies);
    let mut other = host.app(1);
    let request = ended_request(&mut other, "/a/moved");
    other.answer(&request, "moved");
    assert_eq!(client.answer().text(), "moved");
    assert_eq!(client.rest(), b"");
}

#[test]
fn the_end_behind_pipelined_requests_comes_behind_the_last_of_them() {
    let mut host = host(LONG);
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(TWO);
    let first = app.request();
    host.until(|stats| stats.queues[0].waiting == 1);
    end(&host, &client);
    // Its member would close the connection before the other had an answer.
    assert!(!app.has(event::PEER_END));
    app.answer(&first, "1");
    let second = ended_request(&mut app, "/a/2");
    app.answer(&second, "2");
    assert_eq!(client.answer().text(), "1");
    assert_eq!(client.answer().text(), "2");
    assert_eq!(client.rest(), b"");
}

#[test]
fn the_end_is_told_when_the_request_that_waited_is_refused() {
    let mut host = host(Duration::from_millis(300));
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(TWO);
    let first = app.request();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(app.next(event::PEER_END).token, first.token);
    app.answer(&first, "1");
    assert_eq!(client.answer().text(), "1");
    assert_eq!(client.answer().status, 503);
    assert_eq!(client.rest(), b"");
}

#[test]
fn the_end_is_told_when_an_answer_ends_the_connection_before_the_request_that_waited() {
    let mut host = host(LONG);
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(TWO);
    let first = app.request();
    host.until(|stats| stats.queues[0].waiting == 1);
    end(&host, &client);
    // A stream that goes on until its client leaves.
    let flags = flag::CHUNKED | flag::TRANSFER_ENCODING | flag::CONNECTION_CLOSE | flag::CLOSE;
    app.head(&first, 200, flags, "", b"", 0);
    assert_eq!(app.next(event::PEER_END).token, first.token);
}

#[test]
fn the_end_inside_a_body_that_waits_is_an_error() {
    let mut host = host(LONG);
    let mut app = host.app(1);
    let mut first = host.connect();
    first.get("/a/first");
    let in_flight = app.request();
    let mut cut = host.connect();
    cut.send("POST /a/cut HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello");
    host.until(|stats| stats.queues[0].waiting == 1);
    cut.stream.shutdown(Shutdown::Write).unwrap();
    assert!(cut.rest().starts_with(b"HTTP/1.1 400 "));
    app.answer(&in_flight, "first");
    first.get("/a/next");
    assert_eq!(app.request().target, "/a/next");
    assert!(!app.has(event::PEER_END));
}

/// So many of one connection are given out before the first is answered.
const AT_A_TIME: usize = 8;

#[test]
fn an_end_behind_requests_that_are_not_read_is_told_unless_one_of_those_before_waits() {
    let mut host = host(LONG);
    host.route("/b/", 2, QueueOptions::default());
    let (mut limited, mut free) = (host.app(1), host.app(2));
    let many = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").repeat(20);
    let mut waiting = host.connect();
    waiting.send(many("/a/x"));
    let mut request = limited.request();
    host.until(|stats| {
        let waiting = stats.queues.iter().map(|queue| queue.waiting);
        waiting.sum::<u32>() == AT_A_TIME as u32 - 1
    });
    end(&host, &waiting);
    let mut given = host.connect();
    given.send(many("/b/x"));
    let requests: Vec<_> = (0..AT_A_TIME).map(|_| free.request()).collect();
    end(&host, &given);
    let told = free.next(event::PEER_END);
    assert_eq!((told.token, told.flags), (requests[0].token, UNREAD));
    // The other client's end was known before; its requests keep their places in the queue.
    for number in 1..=20 {
        limited.answer(&request, &number.to_string());
        assert_eq!(waiting.answer().text(), number.to_string());
        if number < 20 {
            request = limited.request();
        }
    }
    assert_eq!(waiting.rest(), b"");
    // A program that answers all the same is not hindered.
    for request in &requests {
        free.answer(request, "b");
        assert_eq!(given.answer().text(), "b");
    }
    assert_eq!(free.request().target, "/b/x");
}
