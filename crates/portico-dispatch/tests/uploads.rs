//! Requests whose body has not arrived: they take nothing from other clients.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::net::{IpAddr, Ipv4Addr};

use portico_channel::layout::{command, event};
use portico_dispatch::QueueOptions;
use support::{App, Client, Host};

/// One that begins a body and does not go on.
fn begin(host: &Host, from: IpAddr) -> Client {
    let mut client = Client::connect_from(from, host.address);
    client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx");
    client
}

fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, 3, last))
}

#[track_caller]
fn serves(client: &mut Client, app: &mut App) {
    client.get("/get");
    let request = next_get(app);
    app.answer(&request, "got");
    assert_eq!(client.answer().text(), "got");
}

#[track_caller]
fn next_get(app: &mut App) -> support::Req {
    let mut request = app.request();
    while request.target != "/get" {
        request = app.request();
    }
    request
}

#[test]
fn bodies_that_do_not_come_use_up_no_place_of_other_requests() {
    let mut host = Host::new();
    let options = QueueOptions {
        length: 2,
        max_in_flight: 2,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut app = host.app(1);
    let _uploads: Vec<_> = (0..20).map(|_| begin(&host, address(1))).collect();
    host.until(|stats| stats.members[0].in_flight == 20);
    let mut client = host.connect();
    serves(&mut client, &mut app);
    // Nor of other uploads.
    client.send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na");
    let request = app.request();
    client.send("bc");
    assert_eq!(app.body(), b"abc");
    app.answer(&request, "stored");
    assert_eq!(client.answer().text(), "stored");
}

#[test]
fn a_body_that_is_complete_counts_like_any_other_request() {
    let mut host = Host::new();
    let options = QueueOptions {
        length: 1,
        max_in_flight: 1,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut app = host.app(1);
    let mut first = host.connect();
    first.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
    let request = app.request();
    first.send("b");
    assert_eq!(app.body(), b"ab");
    let mut waits = host.connect();
    waits.get("/get");
    host.until(|stats| stats.queues[0].waiting == 1);
    let mut refused = host.connect();
    refused.get("/get");
    assert_eq!(refused.answer().status, 503);
    app.answer(&request, "done");
    assert_eq!(first.answer().text(), "done");
    let request = next_get(&mut app);
    app.answer(&request, "then");
    assert_eq!(waits.answer().text(), "then");
}

#[test]
fn one_address_leaves_uploads_to_others() {
    let mut host = Host::new();
    let options = QueueOptions {
        max_uploads: 32,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut app = host.app(1);
    let mut greedy: Vec<_> = (0..16).map(|_| begin(&host, address(1))).collect();
    host.until(|stats| stats.members[0].in_flight == 16);
    greedy.push(begin(&host, address(1)));
    let refused = greedy.last_mut().unwrap().answer();
    assert_eq!(refused.status, 503);
    assert!(refused.field("retry-after").is_some());
    let mut other = begin(&host, address(2));
    host.until(|stats| stats.members[0].in_flight == 17);
    // What has gone leaves its place to others.
    greedy.clear();
    for _ in 0..16 {
        let token = app.next(event::CLIENT_ERROR).token;
        app.command(0, command::Destroy { token });
    }
    host.until(|stats| stats.members[0].in_flight == 1);
    let _again: Vec<_> = (0..15).map(|_| begin(&host, address(1))).collect();
    host.until(|stats| stats.members[0].in_flight == 16);
    other.send("x".repeat(999));
    host.until(|stats| stats.queues[0].refused == 1);
}

#[test]
fn without_a_process_uploads_wait_in_a_line_of_their_own() {
    let mut host = Host::new();
    let options = QueueOptions {
        length: 3,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let _uploads: Vec<_> = (0..3).map(|_| begin(&host, address(1))).collect();
    host.until(|stats| stats.queues.iter().any(|queue| queue.waiting == 3));
    let mut one_more = begin(&host, address(2));
    assert_eq!(one_more.answer().status, 503);
    let mut client = host.connect();
    client.get("/get");
    host.until(|stats| stats.queues[0].waiting == 4);
    let mut app = host.app(1);
    let request = next_get(&mut app);
    app.answer(&request, "got");
    assert_eq!(client.answer().text(), "got");
}

#[test]
fn a_member_that_has_taken_none_of_them_still_gets_other_requests() {
    let mut host = Host::new();
    let options = QueueOptions {
        length: 4,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    // It takes nothing before it is asked to.
    let mut app = host.app(1);
    let _uploads: Vec<_> = (0..10).map(|_| begin(&host, address(1))).collect();
    host.until(|stats| stats.members[0].untaken == 10);
    let mut client = host.connect();
    serves(&mut client, &mut app);
}
