//! Connections that become byte streams.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::io::{Read, Write};

use portico_channel::layout::{
    command, event, request_flag, response_flag as flag, take_over_flag,
};
use portico_dispatch::QueueOptions;
use support::{Client, Host, Req};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
const SWITCHING: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

/// Takes the connection over and lets the client see it.
fn tunnel(app: &mut support::App, client: &mut Client) -> Req {
    client.send(UPGRADE);
    let request = app.request();
    assert_ne!(request.flags & request_flag::UPGRADE, 0);
    app.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    app.raw(request.token, SWITCHING);
    assert!(client.head().starts_with("HTTP/1.1 101"));
    request
}

#[test]
fn bytes_go_both_ways_through_a_tunnel() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    let request = tunnel(&mut app, &mut client);
    for round in 0..3 {
        client.send(format!("ping {round}"));
        assert_eq!(
            app.next(event::RAW).piece(),
            format!("ping {round}").as_bytes()
        );
        app.raw(request.token, b"pong");
        let mut bytes = [0; 4];
        client.stream.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"pong");
    }
    app.command(
        1,
        command::Shutdown {
            token: request.token,
        },
    );
    assert!(client.rest().is_empty());
    app.next(event::CLOSED);
}

#[test]
fn a_tunnel_has_a_window_too() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    let request = tunnel(&mut app, &mut client);
    let piece = vec![5u8; 1 << 20];
    for _ in 0..64 {
        app.raw(request.token, &piece);
    }
    let mut other = host.connect();
    other.get("/");
    let unrelated = app.request();
    app.answer(&unrelated, "x");
    assert_eq!(other.answer().text(), "x");
    assert!(host.shards[0].stats().counters.bytes_written < 32 << 20);
    app.command(
        1,
        command::Shutdown {
            token: request.token,
        },
    );
    let reader = std::thread::spawn(move || client.rest().len());
    while !reader.is_finished() {
        app.poll(std::time::Duration::from_millis(20));
    }
    assert_eq!(reader.join().unwrap(), 64 << 20);
}

#[test]
fn an_upgrade_that_is_not_wanted_is_an_ordinary_request() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(UPGRADE);
    let request = app.request();
    app.commands.write(
        0,
        command::Proceed {
            token: request.token,
        },
        &[],
    );
    app.answer(&request, "no");
    assert_eq!(client.answer().text(), "no");
    // It can't be taken over any more.
    app.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    app.raw(request.token, b"nonsense");
    client.get("/");
    let request = app.request();
    app.answer(&request, "fine");
    assert_eq!(client.answer().text(), "fine");
}

#[test]
fn a_member_gets_the_body_before_its_tunnel() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(UPGRADE.replace("\r\n\r\n", "\r\nContent-Length: 200000\r\n\r\n"));
    let token = app.request().token;
    let flags = take_over_flag::BEHIND_BODY;
    app.commands.write(flags, command::TakeOver { token }, &[]);
    app.raw(token, SWITCHING);
    assert!(client.head().starts_with("HTTP/1.1 101"));
    assert_eq!(app.next(event::RAW).piece(), b"", "nothing has come of it");
    // It has a say in the body as it has in others.
    app.commands
        .write(0, command::Pause { token, sequence: 1 }, &[]);
    app.submit();
    client.send("b".repeat(200_000) + "raw");
    app.commands
        .write(0, command::Resume { token, sequence: 1 }, &[]);
    app.submit();
    let mut body = 0;
    while body < 200_000 {
        body += app.next(event::BODY).piece().len();
    }
    assert_eq!(body, 200_000);
    assert_eq!(app.next(event::RAW).piece(), b"raw");
    app.raw(token, b"pong");
    let mut bytes = [0; 4];
    client.stream.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"pong");
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    app.next(event::PEER_END);
}

#[test]
fn a_body_that_breaks_off_before_a_tunnel_is_told_to_its_member() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(UPGRADE.replace("\r\n\r\n", "\r\nContent-Length: 9\r\n\r\nbody"));
    let token = app.request().token;
    let flags = take_over_flag::BEHIND_BODY;
    app.command(flags, command::TakeOver { token });
    assert_eq!(app.next(event::BODY).piece(), b"body");
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    app.next(event::CLIENT_ERROR);
    app.raw(token, b"last words");
    app.command(1, command::Shutdown { token });
    assert_eq!(client.rest(), b"last words");
}

#[test]
fn an_upgrade_waits_until_earlier_requests_of_others_are_answered() {
    let mut host = Host::new();
    host.route("/ws", 1, QueueOptions::default());
    host.route("/other/", 2, QueueOptions::default());
    let (mut app, mut other) = (host.app(1), host.app(2));
    let mut client = host.connect();
    client.get("/other/");
    client.send(UPGRADE);
    let first = other.request();
    other.head(&first, 200, flag::CONTENT_LENGTH, "", b"half", 8);
    assert!(
        !app.has(event::REQUEST),
        "it may not have the connection yet"
    );
    other.data(&first, b"half", flag::END);
    assert_eq!(client.answer().text(), "halfhalf");
    let request = app.request();
    app.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    app.raw(request.token, SWITCHING);
    assert!(client.head().starts_with("HTTP/1.1 101"));
    // The other one knows the connection and has no say in it.
    other.command(
        0,
        command::Destroy {
            token: request.token,
        },
    );
    other.raw(request.token, b"intruder");
    other.next(event::CLOSED);
    client.send("x");
    assert_eq!(app.next(event::RAW).piece(), b"x");
}

#[test]
fn an_upgrade_that_no_member_serves_is_refused() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    let mut client = host.connect();
    client.send(UPGRADE);
    assert_eq!(client.answer().status, 404);
    client.send("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
    assert_eq!(client.answer().status, 404);
}

#[test]
fn the_end_of_either_side_of_a_tunnel_is_told() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    let request = tunnel(&mut app, &mut client);
    client.stream.write_all(b"last").unwrap();
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(app.next(event::RAW).piece(), b"last");
    app.next(event::PEER_END);
    app.raw(request.token, b"bye");
    app.command(
        0,
        command::Shutdown {
            token: request.token,
        },
    );
    assert_eq!(client.rest(), b"bye");
    app.next(event::CLOSED);
    host.until(|stats| stats.counters.connections_open == 0);
}
