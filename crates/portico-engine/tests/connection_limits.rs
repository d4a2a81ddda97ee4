//! How many connections there are, how many requests each has, and which of them are closed as idle.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read;

use portico_channel::layout::response_flag as flag;
use portico_channel::layout::{command, event, request_flag};
use portico_engine::ListenerOptions;
use support::{Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

fn options(change: impl FnOnce(&mut ListenerOptions)) -> ListenerOptions {
    let mut options = ListenerOptions::default();
    change(&mut options);
    options
}

#[test]
fn connections_beyond_the_limit_are_dropped_and_told() {
    let mut server = Server::with(options(|options| options.max_connections = Some(1)));
    let mut first = server.connect();
    send(&mut first, GET);
    let request = server.request();
    let mut second = server.connect();
    let dropped = server.next(event::DROPPED);
    assert_eq!(
        dropped.read::<event::Dropped>().endpoints.remote_port,
        second.local_addr().unwrap().port()
    );
    assert_eq!(second.read(&mut [0]).unwrap_or(0), 0);
    server.answer(&request, b"still here");
    assert_eq!(read_answer(&mut first).1, b"still here");
}

#[test]
fn the_last_allowed_request_is_flagged() {
    let mut server = Server::with(options(|options| options.max_requests_per_socket = 2));
    let mut client = server.connect();
    send(&mut client, GET.repeat(3));
    let requests = server.collect(event::REQUEST, 3);
    let limits = request_flag::LAST_ALLOWED | request_flag::OVER_LIMIT;
    let flags: Vec<u32> = requests
        .iter()
        .map(|request| request.flags & limits)
        .collect();
    assert_eq!(
        flags,
        [0, request_flag::LAST_ALLOWED, request_flag::OVER_LIMIT]
    );
    server.answer_flags(&requests[0], b"", flag::KEEP_ALIVE);
    assert!(
        read_answer(&mut client)
            .0
            .contains("Keep-Alive: timeout=5, max=2\r\n")
    );
}

#[test]
fn closing_idle_connections_spares_busy_ones() {
    let mut server = Server::new();
    let mut busy = server.connect();
    let mut idle = server.connect();
    send(&mut idle, GET);
    let request = server.request();
    server.answer(&request, b"x");
    read_answer(&mut idle);
    send(&mut busy, GET);
    let request = server.request();
    server.commands.write(
        0,
        command::CloseIdle {
            listener: server.listener.0,
        },
        &[],
    );
    server.submit();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    server.answer(&request, b"y");
    assert_eq!(read_answer(&mut busy).1, b"y");
    server.commands.write(
        0,
        command::CloseAll {
            listener: server.listener.0,
        },
        &[],
    );
    server.submit();
    assert_eq!(busy.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.shard.counters().connections_open, 0);
}

#[test]
fn references_are_counted() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    assert_eq!(server.shard.referenced_connections(), 1);
    server.shard.set_connection_ref(request.token, false);
    assert_eq!(server.shard.referenced_connections(), 0);
    server.commands.write(
        0,
        command::Destroy {
            token: request.token,
        },
        &[],
    );
    server.submit();
    assert_eq!(server.shard.referenced_connections(), 0);
}
