//! Much of everything: connections, bytes, slow peers.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::time::Duration;

use portico_channel::layout::{command, event, response_flag as flag};
use portico_engine::ListenerOptions;
use support::{Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn ten_thousand_connections_come_and_go() {
    let mut server = Server::new();
    for round in 0..100 {
        let mut clients: Vec<_> = (0..100).map(|_| server.connect()).collect();
        for (index, client) in clients.iter_mut().enumerate() {
            // Some say nothing, some half of a request, some all of it.
            send(client, &GET[..GET.len() * (index % 3) / 2]);
        }
        let mut events = server.settle_fast();
        drop(clients);
        loop {
            for event in events.drain(..) {
                if event.kind == event::CLIENT_ERROR || event.kind == event::PEER_END {
                    server
                        .commands
                        .write(0, command::Destroy { token: event.token }, &[]);
                }
            }
            server.submit();
            events = server.settle_fast();
            if events.is_empty() {
                break;
            }
        }
        assert_eq!(server.shard.counters().connections_open, 0, "round {round}");
    }
    assert_eq!(server.shard.counters().connections_accepted, 10_000);
}

#[test]
fn a_huge_upload_takes_no_memory() {
    let total: usize = 200_000_000;
    let mut server = Server::new();
    let mut client = server.connect();
    let sender = std::thread::spawn(move || {
        send(
            &mut client,
            format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {total}\r\n\r\n"),
        );
        let piece = vec![b'u'; 100_000];
        for _ in 0..total / piece.len() {
            client.write_all(&piece).unwrap();
        }
        read_answer(&mut client).1
    });
    let (mut bytes, mut request, before) = (0, None, resident());
    while bytes < total {
        for event in server.turn(Duration::from_millis(100)) {
            match event.kind {
                event::REQUEST => request = Some(event),
                event::BODY => bytes += event.piece().len(),
                _ => {}
            }
        }
    }
    assert!(
        resident() < before + 20_000_000,
        "{} then {}",
        before,
        resident()
    );
    server.answer(&request.unwrap(), b"thanks");
    assert_eq!(sender.join().unwrap(), b"thanks");
}

#[test]
fn a_slow_reader_holds_up_its_own_requests_only() {
    let options = ListenerOptions {
        high_water_mark: 100_000,
        ..ListenerOptions::default()
    };
    let mut server = Server::with(options);
    let (mut slow, mut quick) = (server.connect(), server.connect());
    send(&mut slow, GET.repeat(60));
    let body = vec![b's'; 1_000_000];
    // It asks for much and reads nothing: after some answers its requests are no longer read.
    let mut answered = 0;
    loop {
        let requests: Vec<_> = server
            .settle_fast()
            .into_iter()
            .filter(|event| event.kind == event::REQUEST)
            .collect();
        if requests.is_empty() {
            break;
        }
        for request in &requests {
            server.answer(request, &body);
            answered += 1;
        }
        send(&mut slow, GET.repeat(60));
        assert!(
            answered < 1000,
            "the requests of a peer that reads nothing are still read"
        );
    }
    send(&mut quick, GET);
    let request = server.request();
    server.answer(&request, b"quick");
    assert_eq!(read_answer(&mut quick).1, b"quick");
    // When it reads, everything comes, and the rest of its requests are read.
    let reader = std::thread::spawn(move || {
        for _ in 0..answered {
            assert_eq!(read_answer(&mut slow).1.len(), 1_000_000);
        }
        slow
    });
    let more = server.request();
    while !reader.is_finished() {
        server.turn(Duration::from_millis(5));
    }
    drop(reader.join().unwrap());
    assert_eq!(more.target(), "/a");
}

#[test]
fn acknowledgements_come_as_the_peer_reads() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.chunked_head(&request);
    let piece = vec![b'a'; 500_000];
    for _ in 0..20 {
        server
            .commands
            .data(request.token, request.sequence(), flag::ACK, &piece);
    }
    server.commands.end(
        request.token,
        request.sequence(),
        flag::ACK | flag::CLOSE,
        b"",
    );
    server.submit();
    let told = |events: &[support::Event]| -> u32 {
        events
            .iter()
            .filter(|event| event.kind == event::FLUSHED)
            .map(|event| event.read::<event::Flushed>().count)
            .sum()
    };
    let first = told(&server.settle());
    assert!(first < 21, "the kernel can't have taken all");
    let reader = std::thread::spawn(move || {
        let mut count = 0;
        let mut buffer = vec![0; 65536];
        loop {
            match client.read(&mut buffer).unwrap() {
                0 => return count,
                bytes => count += bytes,
            }
        }
    });
    let events = server.until(|events| events.iter().any(|event| event.kind == event::CLOSED));
    assert_eq!(first + told(&events), 21);
    assert!(reader.join().unwrap() > 10_000_000);
}

#[test]
fn small_event_memory_is_enough() {
    let mut server = Server::with_memory(ListenerOptions::default(), 8 * 1024);
    let mut client = server.connect();
    let head = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nCookie: {}\r\n\r\n",
        "c".repeat(10_000)
    );
    let body = "b".repeat(50_000);
    let post = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    send(&mut client, format!("{head}{post}{GET}"));
    let events = server.until(|events| {
        events
            .iter()
            .filter(|event| event.kind == event::REQUEST)
            .count()
            == 3
    });
    let bytes: usize = events
        .iter()
        .filter(|event| event.kind == event::BODY)
        .map(|event| event.piece().len())
        .sum();
    assert_eq!(bytes, 50_000);
}

#[test]
fn a_million_requests_leave_no_memory_behind() {
    // A fifth of it without optimisation.
    let rounds = if cfg!(debug_assertions) {
        4_000
    } else {
        20_000
    };
    let mut server = Server::new();
    let mut client = server.connect();
    let mut level = 0;
    for round in 0..rounds {
        send(&mut client, GET.repeat(50));
        let requests = server.collect(event::REQUEST, 50);
        for request in &requests {
            server.queue_answer(request, b"x");
        }
        server.submit();
        for _ in 0..50 {
            read_answer_quickly(&mut client);
        }
        if round == 1000 {
            level = resident();
        }
    }
    assert!(
        resident() < level + 2_000_000,
        "{level} then {}",
        resident()
    );
}

/// `HTTP/1.1 200 OK`, one field and one byte.
fn read_answer_quickly(client: &mut std::net::TcpStream) {
    let mut answer = [0; "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".len()];
    client.read_exact(&mut answer).unwrap();
}
