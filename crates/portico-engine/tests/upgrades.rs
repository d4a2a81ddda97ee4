//! Upgrades: tunnels, and requests that become ordinary ones.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::response_flag as flag;
use portico_channel::layout::{command, event, request_flag};
use portico_engine::ListenerOptions;
use support::{Server, expect, read_answer, read_to_end, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

fn options(change: impl FnOnce(&mut ListenerOptions)) -> ListenerOptions {
    let mut options = ListenerOptions::default();
    change(&mut options);
    options
}

#[test]
fn an_upgrade_becomes_a_tunnel() {
    let mut server = Server::with(options(|options| {
        options.keep_alive_timeout = Duration::from_millis(5);
        options.keep_alive_timeout_buffer = Duration::ZERO;
    }));
    let mut client = server.connect();
    send(
        &mut client,
        "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\nfirst",
    );
    let request = server.request();
    assert_ne!(request.flags & request_flag::UPGRADE, 0);
    let words = request.read::<event::Request>();
    assert_eq!(words.bytes(words.rest), b"first");
    send(&mut client, "second");
    assert!(server.settle().is_empty());
    server.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    server.commands.raw(
        request.token,
        0,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    );
    server.submit();
    expect(&mut client, "HTTP/1.1 101 Switching Protocols\r\n\r\n");
    assert_eq!(server.next(event::RAW).piece(), b"second");
    // Between two messages of a tunnel there is no keep-alive timeout.
    assert!(server.settle().is_empty());
    client.shutdown(std::net::Shutdown::Write).unwrap();
    server.next(event::PEER_END);
    server.commands.raw(request.token, flag::ACK, b"bye");
    server.commands.write(
        0,
        command::Shutdown {
            token: request.token,
        },
        &[],
    );
    server.submit();
    assert_eq!(read_to_end(&mut client).unwrap(), b"bye");
    let events = server.settle();
    let kinds: Vec<u32> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds.last(), Some(&event::CLOSED));
}

#[test]
fn an_upgrade_that_is_not_wanted_is_an_ordinary_request() {
    let mut server = Server::new();
    let mut client = server.connect();
    let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\n";
    send(&mut client, format!("{head}body{GET}"));
    let request = server.request();
    server.commands.write(
        0,
        command::Proceed {
            token: request.token,
        },
        &[],
    );
    server.submit();
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    assert_eq!(events[0].piece(), b"body");
    server.answer(&request, b"1");
    server.answer(&events[1], b"2");
    assert_eq!(read_answer(&mut client).1, b"1");
    assert_eq!(read_answer(&mut client).1, b"2");
}
