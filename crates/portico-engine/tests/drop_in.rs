//! What a drop-in for node:http asks of the engine beyond HTTP.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use portico_channel::layout::{command, event, shutdown_flag, take_over_flag};
use portico_engine::ListenerOptions;
use support::{Server, expect, read_answer, read_to_end, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const TWO_HOSTS: &str = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";

#[test]
fn two_hosts_are_refused_unless_the_listener_accepts_them() {
    let mut strict = Server::new();
    let mut client = strict.connect();
    send(&mut client, TWO_HOSTS);
    strict.next(event::CLIENT_ERROR);

    let mut lenient = Server::with(ListenerOptions {
        strict_host: false,
        ..ListenerOptions::default()
    });
    let mut client = lenient.connect();
    send(&mut client, TWO_HOSTS);
    let request = lenient.request();
    assert_eq!(request.field(0), ("Host".into(), "a".into()));
    assert_eq!(request.field(1), ("Host".into(), "b".into()));
}

#[test]
fn each_packet_after_an_error_is_told_until_the_application_has_spoken() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, "garbage");
    let first = server.next(event::CLIENT_ERROR);
    send(&mut client, GET);
    let second = server.next(event::CLIENT_ERROR);
    let again = second.read::<event::ClientError>();
    assert_eq!(
        (again.code, again.parsed_bytes, second.packet()),
        (first.read::<event::ClientError>().code, 0, GET.as_bytes())
    );
    server.commands.write(
        shutdown_flag::CLOSE,
        command::Shutdown { token: first.token },
        &[],
    );
    server.submit();
    send(&mut client, GET);
    let events = server.settle();
    assert!(events.iter().all(|event| event.kind != event::CLIENT_ERROR));
}

#[test]
fn fed_bytes_are_parsed_behind_those_that_came() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    let (start, rest) = GET.split_at(10);
    for part in [start, rest] {
        let feed = command::Feed {
            token: request.token,
            sequence: 0,
            body_bytes: u32::try_from(part.len()).unwrap(),
        };
        server.commands.write(0, feed, &[part.as_bytes()]);
        server.submit();
    }
    let fed = server.request();
    assert_eq!((fed.sequence(), fed.target()), (2, "/a".into()));
    server.answer(&request, b"1");
    server.answer(&fed, b"2");
    assert_eq!(read_answer(&mut client).1, b"1");
    assert_eq!(read_answer(&mut client).1, b"2");
}

#[test]
fn an_answer_to_an_earlier_request_goes_out_in_a_tunnel() {
    let mut server = Server::new();
    let mut client = server.connect();
    let upgrade = "GET /up HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: t\r\n\r\n";
    send(&mut client, format!("{GET}{upgrade}"));
    let requests = server.collect(event::REQUEST, 2);
    let (earlier, upgrade) = (&requests[0], &requests[1]);
    server.commands.write(
        0,
        command::TakeOver {
            token: upgrade.token,
        },
        &[],
    );
    server.commands.raw(upgrade.token, 0, b"101");
    server.submit();
    expect(&mut client, "101");
    server.answer(earlier, b"late");
    assert_eq!(read_answer(&mut client).1, b"late");
}

const UPGRADE_WITH_BODY: &str = "POST /up HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: t\r\n\
    Transfer-Encoding: chunked\r\n\r\n";

fn take_over_behind_body(server: &mut Server) -> u32 {
    let token = server.request().token;
    let flags = take_over_flag::BEHIND_BODY;
    server
        .commands
        .write(flags, command::TakeOver { token }, &[]);
    server.submit();
    token
}

/// Kinds and bytes, up to and with the first `RAW`.
fn until_raw(server: &mut Server) -> Vec<(u32, Vec<u8>)> {
    let events = server.until(|events| events.iter().any(|event| event.kind == event::RAW));
    events
        .iter()
        .map(|event| match event.kind {
            event::END => (event.kind, Vec::new()),
            _ => (event.kind, event.piece().to_vec()),
        })
        .collect()
}

#[test]
fn a_tunnel_begins_behind_the_body_of_its_request() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        format!("{UPGRADE_WITH_BODY}2\r\nab\r\n0\r\n\r\nraw"),
    );
    let token = take_over_behind_body(&mut server);
    assert_eq!(
        until_raw(&mut server),
        [
            (event::BODY, b"ab".to_vec()),
            (event::END, Vec::new()),
            (event::RAW, b"raw".to_vec())
        ]
    );
    send(&mut client, "more");
    assert_eq!(server.next(event::RAW).piece(), b"more");
    server.commands.raw(token, 0, b"101");
    server.submit();
    expect(&mut client, "101");
}

#[test]
fn who_takes_over_behind_a_body_is_told_when_it_knows_what_has_come_of_it() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, format!("{UPGRADE_WITH_BODY}4\r\nab"));
    take_over_behind_body(&mut server);
    let sign = (event::RAW, Vec::new());
    assert_eq!(
        until_raw(&mut server),
        [(event::BODY, b"ab".to_vec()), sign.clone()]
    );
    send(&mut client, "cd\r\n0\r\n\r\n");
    server.next(event::END);
    assert!(server.settle().is_empty(), "it is told once");
    send(&mut client, "raw");
    assert_eq!(server.next(event::RAW).piece(), b"raw");
    client.shutdown(std::net::Shutdown::Write).unwrap();
    server.next(event::PEER_END);

    let mut client = server.connect();
    send(&mut client, UPGRADE_WITH_BODY);
    take_over_behind_body(&mut server);
    assert_eq!(until_raw(&mut server), [sign]);
    // What is no body is told as of other requests, and no tunnel follows.
    send(&mut client, "zz\r\n");
    server.next(event::CLIENT_ERROR);
    send(&mut client, "0\r\n\r\nraw");
    let events = server.settle();
    assert!(events.iter().all(|event| event.kind != event::RAW));
}

#[test]
fn a_request_that_is_never_answered_does_not_keep_a_tunnel_open() {
    let mut server = Server::new();
    let mut client = server.connect();
    let upgrade = "GET /up HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: t\r\n\r\n";
    send(&mut client, format!("{GET}{upgrade}"));
    let token = server.collect(event::REQUEST, 2)[1].token;
    server.commands.write(0, command::TakeOver { token }, &[]);
    server.submit();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    server.next(event::PEER_END);
    server.commands.write(0, command::Shutdown { token }, &[]);
    server.submit();
    assert_eq!(read_to_end(&mut client).unwrap(), b"");
    server.next(event::CLOSED);
}

#[test]
fn a_closed_listener_tells_when_a_connection_that_was_not_announced_has_gone() {
    let mut server = Server::new();
    let client = server.connect();
    assert!(server.settle().is_empty());
    assert_eq!(server.shard.connection_count(server.listener), 1);
    server.shard.close_listener(server.listener);
    drop(client);
    assert_eq!(
        server
            .next(event::DRAINED)
            .read::<event::Drained>()
            .listener,
        server.listener.0
    );
    assert_eq!(server.shard.connection_count(server.listener), 0);
}

#[test]
fn what_has_come_is_handed_over_to_its_end_although_too_much_output_waits() {
    let mut server = Server::with(ListenerOptions {
        high_water_mark: 100,
        ..ListenerOptions::default()
    });
    let mut client = server.connect();
    send(&mut client, GET.repeat(2));
    let mut requests = server.collect(event::REQUEST, 2);
    server.answer(&requests[1], &[b'x'; 200]);
    send(&mut client, GET.repeat(2));
    requests.extend(server.collect(event::REQUEST, 2));
    send(&mut client, GET);
    assert!(server.settle().is_empty(), "the next packet waits");
    server.answer(&requests[0], b"first");
    requests.push(server.request());
    for request in &requests[2..] {
        server.answer(request, b"later");
    }
    for _ in 0..5 {
        read_answer(&mut client);
    }
}
