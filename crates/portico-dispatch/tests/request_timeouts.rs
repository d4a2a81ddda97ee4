//! Requests that do not arrive in time, behind others that wait for their answers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::event;
use portico_dispatch::QueueOptions;
use portico_engine::ListenerOptions;
use support::Host;

const GET: &str = "GET /a/ HTTP/1.1\r\nHost: a\r\n\r\n";

fn host() -> Host {
    let options = ListenerOptions {
        headers_timeout: Duration::from_millis(200),
        request_timeout: Duration::from_millis(200),
        connections_checking_interval: Duration::from_millis(10),
        ..ListenerOptions::default()
    };
    let mut host = Host::with(1, options);
    host.route("/a/", 1, QueueOptions::default());
    host
}

#[test]
fn a_request_that_does_not_arrive_ends_its_connection_with_those_before_it() {
    let mut host = host();
    let mut app = host.app(1);
    for late in [
        "GET /a/ HT",
        "POST /a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhello",
    ] {
        let mut client = host.connect();
        client.send(format!("{GET}{late}"));
        let request = app.request();
        assert_eq!(app.next(event::CLOSED).token, request.token);
        assert!(client.rest().starts_with(b"HTTP/1.1 408 "));
        host.until(|stats| stats.members[0].in_flight == 0);
    }
}

#[test]
fn an_answer_that_has_begun_is_cut_off_then_and_not_added_to() {
    let mut host = host();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(format!("{GET}GET /a/ HT"));
    let request = app.request();
    app.head(&request, 200, 0, "", b"part", 100);
    app.next(event::CLOSED);
    let rest = String::from_utf8(client.rest().to_vec()).unwrap();
    assert!(rest.ends_with("part"), "{rest}");
}
