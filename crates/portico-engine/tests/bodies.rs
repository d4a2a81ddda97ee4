//! Bodies of requests whose readers are behind, or want no more.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::{body_flag, command, event};
use portico_engine::ListenerOptions;
use support::{Event, Server, read_to_end, send};

const GET: &str = "GET /next HTTP/1.1\r\nHost: x\r\n\r\n";

fn post(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n")
}

impl Server {
    /// The next request, when so many bytes of its body are there.
    fn request_with_body(&mut self, bytes: usize) -> Event {
        let events = self.until(|events| body_bytes(events) == bytes);
        let request = events.iter().find(|event| event.kind == event::REQUEST);
        request.unwrap().clone()
    }

    /// A command about the body of a request.
    fn about(&mut self, kind: u32, request: &Event) {
        let (token, sequence) = (request.token, request.sequence());
        let commands = &mut self.commands;
        match kind {
            command::PAUSE => commands.write(0, command::Pause { token, sequence }, &[]),
            command::RESUME => commands.write(0, command::Resume { token, sequence }, &[]),
            _ => commands.write(0, command::Discard { token, sequence }, &[]),
        }
        self.submit();
    }
}

fn body_bytes(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| event.kind == event::BODY)
        .map(|event| event.piece().len())
        .sum()
}

#[test]
fn of_a_body_that_is_held_nothing_comes_until_it_is_wanted_again() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, post(100_000));
    let request = server.request();
    server.about(command::PAUSE, &request);
    send(&mut client, vec![b'x'; 100_000]);
    assert!(server.settle().is_empty());
    server.about(command::RESUME, &request);
    server.until(|events| body_bytes(events) == 100_000);
}

/// As in Node, whose parser hands over the whole of each read: no reader may wait for what is there already.
#[test]
fn what_has_been_read_is_handed_over_though_the_body_is_held() {
    let mut server = Server::with_memory(ListenerOptions::default(), 10_000);
    let mut client = server.connect();
    send(&mut client, post(60_000) + &"x".repeat(60_000));
    send(&mut client, GET);
    let mut received = 0;
    let mut next = false;
    for _ in 0..100 {
        for event in server.turn(Duration::from_millis(1)) {
            match event.kind {
                event::REQUEST if event.sequence() == 1 => server.about(command::PAUSE, &event),
                event::REQUEST => next = true,
                event::BODY => received += event.piece().len(),
                _ => {}
            }
        }
    }
    assert_eq!((received, next), (60_000, true));
}

#[test]
fn a_hold_that_crosses_with_the_end_of_its_body_holds_nothing() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, post(3) + "abc");
    let request = server.request_with_body(3);
    server.about(command::PAUSE, &request);
    send(&mut client, post(3) + "def");
    let next = server.request_with_body(3);
    // Late once more, and about a body that is not the last.
    server.about(command::PAUSE, &request);
    server.answer(&request, b"one");
    server.answer(&next, b"two");
    send(&mut client, GET);
    assert_eq!(server.request().sequence(), 3);
}

#[test]
fn a_hold_ends_with_a_body_that_is_discarded() {
    for chunked in [false, true] {
        let mut server = Server::new();
        let mut client = server.connect();
        if chunked {
            send(
                &mut client,
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            );
        } else {
            send(&mut client, post(100_000));
        }
        let request = server.request();
        server.about(command::PAUSE, &request);
        server.about(command::DISCARD, &request);
        // Too late: it is not wanted back.
        server.about(command::PAUSE, &request);
        server.answer(&request, b"done");
        if chunked {
            send(&mut client, "186a0\r\n");
        }
        send(&mut client, vec![b'x'; 100_000]);
        if chunked {
            send(&mut client, "\r\n0\r\n\r\n");
        }
        send(&mut client, GET);
        let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
        let kinds: Vec<u32> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [event::END, event::REQUEST]);
    }
}

#[test]
fn what_is_pipelined_behind_a_held_body_waits_for_it() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, post(200_000));
    let request = server.request();
    server.about(command::PAUSE, &request);
    send(&mut client, vec![b'x'; 200_000]);
    send(&mut client, GET);
    assert!(server.settle().is_empty());
    server.about(command::RESUME, &request);
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    assert_eq!(body_bytes(&events), 200_000);
    assert_eq!(events.last().unwrap().sequence(), 2);
}

#[test]
fn a_hold_from_before_an_upgrade_is_refused_holds_its_body() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: y\r\nContent-Length: 3\r\n\r\n",
    );
    let request = server.request();
    server.about(command::PAUSE, &request);
    server.commands.write(
        0,
        command::Proceed {
            token: request.token,
        },
        &[],
    );
    server.submit();
    send(&mut client, "abc");
    assert!(server.settle().is_empty());
    server.about(command::RESUME, &request);
    assert_eq!(server.next(event::BODY).piece(), b"abc");
}

/// As in Node, where the program has ended the socket: nothing is answered, and the body is still read.
#[test]
fn a_body_goes_on_behind_the_end_of_our_side() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, post(6) + "abc");
    let request = server.request_with_body(3);
    server.chunked_head(&request);
    server.commands.write(
        0,
        command::Shutdown {
            token: request.token,
        },
        &[],
    );
    // Too late.
    server
        .commands
        .data(request.token, request.sequence(), 0, b"more");
    server.submit();
    let received = read_to_end(&mut client).unwrap();
    assert!(received.ends_with(b"chunked\r\n\r\n"), "{received:?}");
    send(&mut client, "def");
    server.until(|events| body_bytes(events) == 3);
    server.answer(&request, b"never");
    drop(client);
    // Both sides have ended: what is not answered is of no use any more.
    assert_eq!(server.next(event::CLOSED).read::<event::Closed>().errno, 0);
}

/// Its parts are read to where their events lie, the last no further than the body goes.
#[test]
fn behind_a_large_body_comes_the_next_request() {
    let mut server = Server::new();
    let mut client = server.connect();
    let body: Vec<u8> = (0..300_000u32).map(|at| (at / 3) as u8).collect();
    send(&mut client, post(body.len()));
    server.request();
    let sender = std::thread::spawn(move || {
        send(&mut client, &body);
        send(&mut client, GET);
        (client, body)
    });
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let (_client, body) = sender.join().unwrap();
    let parts: Vec<&Event> = events
        .iter()
        .filter(|event| event.kind == event::BODY)
        .collect();
    let bytes: Vec<u8> = parts
        .iter()
        .flat_map(|part| part.piece())
        .copied()
        .collect();
    assert!(bytes == body, "{} bytes", bytes.len());
    let (last, others) = parts.split_last().unwrap();
    assert_eq!(last.flags, body_flag::LAST);
    assert!(others.iter().all(|part| part.flags == 0));
    assert_eq!(events.last().unwrap().target(), "/next");
}

/// A reader would have to put it together again.
#[test]
fn what_a_tunnel_brings_at_once_is_not_torn_at_the_end_of_event_memory() {
    let mut server = Server::new();
    let mut clients: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for client in &mut clients {
        send(
            client,
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n",
        );
        let request = server.request();
        server.commands.write(
            0,
            command::TakeOver {
                token: request.token,
            },
            &[],
        );
        server.submit();
    }
    // From the first message the engine learns what the connection brings.
    for round in 0..3 {
        for client in &mut clients {
            send(client, vec![b'x'; 10_000]);
        }
        let mut told = 0;
        let events = server.until(|events| {
            told = events.iter().map(|event| event.piece().len()).sum();
            told == 100_000
        });
        if round > 0 {
            assert_eq!(events.len(), 10, "{told} bytes");
        }
    }
}
