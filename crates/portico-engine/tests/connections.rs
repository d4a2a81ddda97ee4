//! How connections end: by their peers, by resets, behind garbage, by the application.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::{command, destroy_flag, event, shutdown_flag};
use portico_engine::ListenerOptions;
use portico_http::ParseErrorCode;
use support::{Server, read_answer, read_to_end, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

fn options(change: impl FnOnce(&mut ListenerOptions)) -> ListenerOptions {
    let mut options = ListenerOptions::default();
    change(&mut options);
    options
}

/// Resets a connection from the client's side.
fn reset(client: std::net::TcpStream) {
    portico_sys::socket::reset_on_close(&client).unwrap();
    drop(client);
}

#[test]
fn a_connection_is_told_at_accept_if_asked_for() {
    let mut server = Server::with(options(|options| options.notify_open = true));
    let client = server.connect();
    let open = server.next(event::OPEN);
    drop(client);
    let closed = server.next(event::CLOSED);
    assert_eq!(closed.token, open.token);
    assert_eq!(server.shard.counters().connections_open, 0);
}

#[test]
fn a_connection_without_a_request_leaves_no_trace() {
    let mut server = Server::new();
    drop(server.connect());
    assert!(server.settle().is_empty());
    assert_eq!(server.shard.counters().connections_accepted, 1);
    assert_eq!(server.shard.connection_count(server.listener), 0);
}

#[test]
fn an_idle_connection_that_ends_is_closed() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    read_answer(&mut client);
    drop(client);
    let closed = server.next(event::CLOSED);
    assert_eq!(closed.read::<event::Closed>().errno, 0);
    let closed = closed.read::<event::Closed>();
    assert_eq!(closed.bytes_read as usize, GET.len());
    assert_eq!(
        closed.bytes_written as usize,
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".len()
    );
}

#[test]
fn a_half_closed_peer_still_gets_its_answer() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let events = server.until(|events| events.iter().any(|event| event.kind == event::PEER_END));
    let request = events
        .iter()
        .find(|event| event.kind == event::REQUEST)
        .unwrap();
    server.answer(request, b"late");
    assert!(read_to_end(&mut client).unwrap().ends_with(b"late"));
    assert_eq!(server.next(event::CLOSED).read::<event::Closed>().errno, 0);
}

#[test]
fn an_end_in_the_middle_of_a_message_is_the_peers_fault() {
    for text in [
        "GET / HT",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
    ] {
        let mut server = Server::new();
        let mut client = server.connect();
        send(&mut client, text);
        client.shutdown(std::net::Shutdown::Write).unwrap();
        let error = server.next(event::CLIENT_ERROR);
        assert_eq!(
            error.read::<event::ClientError>().code,
            u32::from(ParseErrorCode::InvalidEofState.number())
        );
        server
            .commands
            .write(0, command::Destroy { token: error.token }, &[]);
        server.submit();
        server.next(event::CLOSED);
    }
}

#[test]
fn a_reset_is_told_with_its_number() {
    let partial = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc";
    for length in [GET.len(), partial.len()] {
        let text = if length == GET.len() { GET } else { partial };
        let mut server = Server::new();
        let mut client = server.connect();
        send(&mut client, text);
        server.request();
        reset(client);
        let closed = server.next(event::CLOSED);
        assert_eq!(
            closed.read::<event::Closed>().errno,
            portico_sys::Errno::CONNRESET.raw_os_error() as u32
        );
    }
}

/// Held: so many requests wait for answers that the next is not read, an upgrade waits for the application, or a body
/// for its reader.
#[test]
fn a_reset_ends_a_connection_of_which_nothing_more_is_read() {
    let upgrade = "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n";
    let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n";
    for (text, requests) in [
        (GET.repeat(1100), 1024),
        (format!("{GET}{upgrade}more"), 2),
        (format!("{GET}{post}"), 2),
    ] {
        let mut server = Server::new();
        let mut client = server.connect();
        send(&mut client, &text);
        let requests = server.collect(event::REQUEST, requests);
        let last = requests.last().unwrap();
        server.commands.write(
            0,
            command::Pause {
                token: last.token,
                sequence: last.sequence(),
            },
            &[],
        );
        server.submit();
        // More than one read takes: the kernel keeps some of it.
        send(&mut client, vec![b'x'; 100_000]);
        assert!(server.settle().is_empty());
        reset(client);
        let closed = server.next(event::CLOSED);
        assert_eq!(
            closed.read::<event::Closed>().errno,
            portico_sys::Errno::CONNRESET.raw_os_error() as u32
        );
        assert_eq!(server.shard.counters().connections_open, 0);
    }
}

/// The bytes of a tunnel are of use without an answer.
#[test]
fn a_reset_of_a_tunnel_that_is_paused_is_told_behind_what_came_before_it() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n",
    );
    let token = server.request().token;
    server.commands.write(0, command::TakeOver { token }, &[]);
    server
        .commands
        .write(0, command::Pause { token, sequence: 0 }, &[]);
    server.submit();
    send(&mut client, "last words");
    reset(client);
    assert!(server.settle().is_empty());
    server
        .commands
        .write(0, command::Resume { token, sequence: 0 }, &[]);
    server.submit();
    let events = server.until(|events| events.iter().any(|event| event.kind == event::CLOSED));
    assert_eq!(events[0].piece(), b"last words");
}

#[test]
fn a_peer_may_leave_at_each_byte() {
    let mut server = Server::new();
    let text =
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for length in 0..text.len() {
        for hard in [false, true] {
            let mut client = server.connect();
            send(&mut client, &text[..length]);
            let events = server.turn(Duration::from_millis(50));
            if hard {
                reset(client);
            } else {
                drop(client);
            }
            let mut all = events;
            all.extend(server.settle_fast());
            for event in &all {
                if event.kind == event::CLIENT_ERROR || event.kind == event::PEER_END {
                    server
                        .commands
                        .write(0, command::Destroy { token: event.token }, &[]);
                    server.submit();
                }
            }
            server.settle_fast();
            assert_eq!(
                server.shard.counters().connections_open,
                0,
                "after {length} bytes, hard {hard}"
            );
        }
    }
}

#[test]
fn garbage_is_told_with_its_packet() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, "GET / HTTP/1.1\r\nHost : x\r\n\r\n");
    let error = server.next(event::CLIENT_ERROR);
    assert_eq!(error.packet(), b"GET / HTTP/1.1\r\nHost : x\r\n\r\n");
    server.commands.raw(
        error.token,
        0,
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    );
    server.commands.write(
        shutdown_flag::CLOSE,
        command::Shutdown { token: error.token },
        &[],
    );
    server.submit();
    assert!(
        read_to_end(&mut client)
            .unwrap()
            .starts_with(b"HTTP/1.1 400")
    );
    server.next(event::CLOSED);
}

#[test]
fn the_end_of_a_peer_that_sent_garbage_is_told() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, "garbage\r\n\r\n");
    let error = server.next(event::CLIENT_ERROR);
    send(&mut client, "more of it");
    drop(client);
    assert_eq!(server.next(event::PEER_END).token, error.token);
    server
        .commands
        .write(0, command::Destroy { token: error.token }, &[]);
    server.submit();
    server.next(event::CLOSED);
}

#[test]
fn an_earlier_request_is_still_answered_after_garbage() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, format!("{GET}\0\0\0"));
    let events =
        server.until(|events| events.iter().any(|event| event.kind == event::CLIENT_ERROR));
    let request = events
        .iter()
        .find(|event| event.kind == event::REQUEST)
        .unwrap();
    server.answer(request, b"fine");
    assert_eq!(read_answer(&mut client).1, b"fine");
}

#[test]
fn destroying_sends_what_the_kernel_takes() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.commands.raw(request.token, 0, b"last words");
    server.commands.write(
        0,
        command::Destroy {
            token: request.token,
        },
        &[],
    );
    server.submit();
    assert_eq!(read_to_end(&mut client).unwrap(), b"last words");
    assert_eq!(server.next(event::CLOSED).token, request.token);
}

#[test]
fn destroying_with_reset_resets() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.commands.write(
        destroy_flag::RESET,
        command::Destroy {
            token: request.token,
        },
        &[],
    );
    server.submit();
    assert_eq!(
        read_to_end(&mut client).unwrap_err().kind(),
        std::io::ErrorKind::ConnectionReset
    );
}

#[test]
fn destroying_what_has_been_read_ahead_of_the_application_resets() {
    for (body, resets) in [("abc", true), ("ab", false)] {
        let mut server = Server::new();
        let mut client = server.connect();
        send(
            &mut client,
            format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n{body}"),
        );
        let events = server.until(|events| events.iter().any(|event| event.kind == event::BODY));
        let token = events.last().unwrap().token;
        server
            .commands
            .write(destroy_flag::UNREAD, command::Destroy { token }, &[]);
        server.submit();
        assert_eq!(read_to_end(&mut client).is_err(), resets, "{body}");
    }
}
