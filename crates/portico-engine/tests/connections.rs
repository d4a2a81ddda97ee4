//! The life and death of connections: ends, resets, limits, timeouts, upgrades.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read;
use std::time::{Duration, Instant};

use portico_channel::layout::response_flag as flag;
use portico_channel::layout::{
    command, destroy_flag, event, open_flag, request_flag, shutdown_flag, timeout_kind,
};
use portico_engine::{CommandError, ListenerOptions};
use portico_http::ParseErrorCode;
use support::{Server, expect, read_answer, read_to_end, send};

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

#[test]
fn a_stale_token_reaches_no_connection() {
    let mut server = Server::new();
    let mut first = server.connect();
    send(&mut first, GET);
    let old = server.request();
    drop(first);
    server.next(event::PEER_END);
    server
        .commands
        .write(0, command::Destroy { token: old.token }, &[]);
    server.submit();
    server.next(event::CLOSED);
    let mut second = server.connect();
    send(&mut second, GET);
    let new = server.request();
    assert_ne!(old.token, new.token);
    server.answer(&old, b"wrong");
    server.answer(&new, b"right");
    assert_eq!(read_answer(&mut second).1, b"right");
}

#[test]
fn answering_twice_or_after_the_end_changes_nothing() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"one");
    server.answer(&request, b"two");
    server
        .commands
        .data(request.token, request.sequence(), 0, b"three");
    server
        .commands
        .end(request.token, request.sequence(), 0, b"");
    server.submit();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"four");
    assert_eq!(read_answer(&mut client).1, b"one");
    assert_eq!(read_answer(&mut client).1, b"four");
}

#[test]
fn malformed_commands_are_named() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let token = server.request().token;
    let word = |value: u32| value.to_le_bytes();
    let respond = |status: u32, reason: u32| {
        let mut bytes = Vec::new();
        for value in [
            44,
            command::RESPOND,
            token,
            1,
            status,
            0,
            reason,
            0,
            0,
            0,
            0,
        ] {
            bytes.extend(word(value));
        }
        bytes
    };
    let cases: [(Vec<u8>, CommandError); 6] = [
        (vec![1, 2, 3], CommandError::Malformed { offset: 0 }),
        (
            [word(16), word(1)].concat(),
            CommandError::Malformed { offset: 0 },
        ),
        (
            [word(12), word(99), word(0)].concat(),
            CommandError::UnknownKind {
                offset: 0,
                kind: 99,
            },
        ),
        (
            respond(99, 0),
            CommandError::OutOfRange {
                offset: 0,
                word: "status",
            },
        ),
        (respond(200, 1), CommandError::Malformed { offset: 0 }),
        (
            respond(200, u32::MAX),
            CommandError::Malformed { offset: 0 },
        ),
    ];
    for (bytes, error) in cases {
        assert_eq!(server.shard.apply(&bytes, None), Err(error));
    }
    server
        .commands
        .write(0, command::Pause { token, sequence: 0 }, &[]);
    let mut bytes = server.commands.as_bytes().to_vec();
    let offset = bytes.len();
    bytes.extend([0xff; 12]);
    assert_eq!(
        server.shard.apply(&bytes, None),
        Err(CommandError::Malformed { offset })
    );
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
fn a_closed_listener_refuses_and_its_connections_live_on() {
    let mut server = Server::new();
    let mut client = server.connect();
    server.turn(Duration::from_millis(100));
    server.shard.close_listener(server.listener);
    assert!(std::net::TcpStream::connect(server.address).is_err());
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    assert_eq!(read_answer(&mut client).1, b"x");
}

#[test]
fn an_adopted_socket_is_a_connection() {
    let mut server = Server::new();
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = std::net::TcpStream::connect(outside.local_addr().unwrap()).unwrap();
    let (socket, _) = outside.accept().unwrap();
    let listener = server.shard.create_listener(ListenerOptions::default());
    server.shard.adopt(listener, socket.into()).unwrap();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    assert_eq!(read_answer(&mut client).1, b"x");
    assert_eq!(server.shard.connection_count(listener), 1);
}

#[test]
fn a_unix_socket_serves_too() {
    let path = std::env::temp_dir().join(format!("portico-engine-{}.sock", std::process::id()));
    let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut server = Server::new();
    server
        .shard
        .listen(socket.into(), 16, ListenerOptions::default())
        .unwrap();
    let mut client = std::os::unix::net::UnixStream::connect(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::io::Write::write_all(&mut client, GET.as_bytes()).unwrap();
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    assert_eq!(
        (events[0].kind, events[0].flags),
        (event::OPEN, open_flag::UNIX)
    );
    let ends = events[0].read::<event::Open>().endpoints;
    assert_eq!((ends.remote_family, ends.local_family), (0, 0));
    server.answer(&events[1], b"x");
    let mut answer = [0; 39];
    client.read_exact(&mut answer).unwrap();
    assert!(answer.ends_with(b"x"));
}

#[test]
fn ipv6_addresses_are_told() {
    let socket = std::net::TcpListener::bind("[::1]:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut server = Server::new();
    server
        .shard
        .listen(socket.into(), 16, ListenerOptions::default())
        .unwrap();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    send(&mut client, GET);
    let open = server.next(event::OPEN);
    let ends = open.read::<event::Open>().endpoints;
    assert_eq!((ends.remote_family, ends.local_family), (6, 6));
    let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
    assert_eq!(
        (ends.remote_address, ends.local_address),
        (loopback, loopback)
    );
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
