//! Bytes that are no HTTP, behind requests that wait for their answers.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use portico_channel::layout::event;
use portico_dispatch::QueueOptions;
use support::Host;

const GET: &str = "GET /a/ HTTP/1.1\r\nHost: a\r\n\r\n";
const GARBAGE: &str = "GARBAGE\r\n\r\n";
const BROKEN_BODY: &str =
    "POST /a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nGARBAGE\r\n";

fn host() -> Host {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host
}

#[test]
fn broken_bytes_end_their_connection_when_no_earlier_answer_comes_for_a_time() {
    let mut host = host();
    let mut app = host.app(1);
    let much = format!("{GARBAGE}{}", "x".repeat(1 << 20));
    let clients = [GARBAGE, BROKEN_BODY, &much].map(|broken| {
        let mut client = host.connect();
        client.send_what_fits(&format!("{GET}{broken}"));
        client
    });
    for _ in &clients {
        app.next(event::CLOSED);
    }
    let [garbage, body, _] = clients;
    for mut client in [garbage, body] {
        assert!(client.rest().starts_with(b"HTTP/1.1 400 "));
    }
    host.until(|stats| stats.members[0].in_flight == 0);
}

#[test]
fn an_answer_that_has_begun_and_does_not_move_is_cut_off_then_and_not_added_to() {
    let mut host = host();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(format!("{GET}{GARBAGE}"));
    let request = app.request();
    app.head(&request, 200, 0, "", b"part", 100);
    app.next(event::CLOSED);
    let rest = String::from_utf8(client.rest().to_vec()).unwrap();
    assert!(rest.ends_with("part"), "{rest}");
}

#[test]
fn an_answer_that_is_given_at_once_goes_out_before_that_to_broken_bytes() {
    let mut host = host();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(format!("{GET}{GARBAGE}"));
    let request = app.request();
    app.answer(&request, "given");
    assert_eq!(client.answer().text(), "given");
    assert!(client.rest().starts_with(b"HTTP/1.1 400 "));
}
