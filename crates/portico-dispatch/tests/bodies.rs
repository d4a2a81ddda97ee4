//! Bodies in both directions, and who waits for whom.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::io::Write;

use portico_channel::layout::{command, event, request_flag};
use portico_dispatch::QueueOptions;
use support::{Host, Req, until};

#[test]
fn a_chunked_body_with_trailers_arrives() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    let request = app.request();
    assert_ne!(request.flags & request_flag::CHUNKED, 0);
    assert_eq!(app.next(event::BODY).piece(), b"hello");
    client.send("6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n");
    assert_eq!(app.next(event::BODY).piece(), b" world");
    assert_eq!(app.next(event::END).read::<event::End>().field_count, 1);
    app.answer(&request, "ok");
    assert_eq!(client.answer().text(), "ok");
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    let request = app.request();
    assert_ne!(request.flags & request_flag::EXPECT_CONTINUE, 0);
    app.commands
        .inform(request.token, request.sequence, 100, b"Continue", b"");
    app.submit();
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    assert_eq!(app.body(), b"abc");
    app.answer(&request, "ok");
    assert_eq!(client.answer().text(), "ok");
}

#[test]
fn a_body_goes_on_behind_the_answer() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    let request = app.request();
    app.answer(&request, "early");
    assert_eq!(client.answer().text(), "early");
    client.send("def");
    assert_eq!(app.body(), b"abcdef");
    client.get("/next");
    let request = app.request();
    app.answer(&request, "next");
    assert_eq!(client.answer().text(), "next");
}

#[test]
fn a_body_that_is_held_holds_up_nothing_behind_itself() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut first, mut second) = (host.app(1), host.app(2));
    let mut client = host.connect();
    client.send("POST /a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabcdef");
    let request = first.request();
    assert_eq!(first.body(), b"abcdef");
    // Its reader falls behind at the last bytes, and never says that it has caught up.
    first.pause(&request);
    client.get("/b/");
    let next = second.request();
    first.answer(&request, "first");
    second.answer(&next, "second");
    assert_eq!(client.answer().text(), "first");
    assert_eq!(client.answer().text(), "second");
}

#[test]
fn a_member_holds_its_own_bodies_only() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut first, mut second) = (host.app(1), host.app(2));
    let mut client = host.connect();
    client.get("/a/");
    let idle = first.request();
    client.send("POST /b/ HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    let request = second.request();
    let theirs = Req {
        sequence: request.sequence,
        ..idle.clone()
    };
    let connection = Req {
        sequence: 0,
        ..idle.clone()
    };
    for other in [&idle, &theirs, &connection] {
        first.pause(other);
    }
    first.answer(&idle, "first");
    assert_eq!(client.answer().text(), "first");
    client.send("def");
    assert_eq!(second.body(), b"abcdef");
    second.answer(&request, "second");
    assert_eq!(client.answer().text(), "second");
}

#[test]
fn what_is_not_wanted_of_a_body_is_dropped() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    let request = app.request();
    app.pause(&request);
    app.answer(&request, "early");
    client.answer();
    app.commands.write(
        0,
        command::Discard {
            token: request.token,
            sequence: request.sequence,
        },
        &[],
    );
    app.submit();
    client.send("def");
    app.next(event::END);
    client.get("/next");
    let request = app.request();
    app.answer(&request, "next");
    assert_eq!(client.answer().text(), "next");
}

/// Sends until the host takes no more for a while, on a thread of its own; returns what was sent when it is all gone.
fn upload(
    host: &Host,
    path: &str,
    bytes: usize,
) -> (std::thread::JoinHandle<()>, std::net::TcpStream) {
    let mut client = host.connect();
    client.send(format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {bytes}\r\n\r\n"
    ));
    let stream = client.stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let piece = vec![7u8; 64 * 1024];
        let mut left = bytes;
        while left > 0 {
            let count = left.min(piece.len());
            client.stream.write_all(&piece[..count]).unwrap();
            left -= count;
        }
    });
    (sender, stream)
}

#[test]
fn a_member_that_does_not_read_stops_its_clients_and_no_others() {
    let mut host = Host::new();
    host.route("/slow/", 1, QueueOptions::default());
    host.route("/fast/", 2, QueueOptions::default());
    let (mut slow, mut fast) = (host.app(1), host.app(2));
    let size = 40 << 20;
    let uploads: Vec<_> = (0..3).map(|_| upload(&host, "/slow/", size)).collect();
    let read = |host: &Host| host.shards[0].stats().counters.bytes_read;
    // Until nothing more is read for a while.
    let mut last = 0;
    until(|| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let now = read(&host);
        let still = now > 0 && now == last;
        last = now;
        still
    });
    assert!(
        last < 8 << 20,
        "{last} bytes were read for a member that doesn't"
    );
    let mut client = host.connect();
    client.get("/fast/");
    let request = fast.request();
    fast.answer(&request, "fast");
    assert_eq!(client.answer().text(), "fast");
    // It goes on when it reads.
    let mut received = 0;
    let mut ended = 0;
    let mut requests = Vec::new();
    while ended < 3 {
        let record = slow.any();
        match record.kind {
            event::REQUEST => requests.push(record.as_request()),
            event::BODY => {
                received += record.piece().len();
                ended += usize::from(record.flags & 1 != 0);
            }
            _ => {}
        }
    }
    assert_eq!(received, 3 * size);
    for request in &requests {
        slow.answer(request, "done");
    }
    for (sender, stream) in uploads {
        sender.join().unwrap();
        drop(stream);
    }
}

#[test]
fn a_program_that_ignores_back_pressure_fills_its_own_memory_only() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut slow = host.connect();
    slow.get("/slow");
    let request = app.request();
    app.chunked_head(&request);
    let piece = vec![3u8; 1 << 20];
    for _ in 0..256 {
        app.data(&request, &piece, 0);
    }
    app.end(&request);
    let written = || host.shards[0].stats().counters.bytes_written;
    let mut other = host.connect();
    for _ in 0..20 {
        other.get("/other");
        let request = app.request();
        app.answer(&request, "other");
        assert_eq!(other.answer().text(), "other");
    }
    // What the kernel's buffers and the window hold, and not 256 MiB.
    assert!(written() < 32 << 20, "{}", written());
    let reader = std::thread::spawn(move || slow.answer().body.len());
    while !reader.is_finished() {
        app.poll(std::time::Duration::from_millis(20));
    }
    assert_eq!(reader.join().unwrap(), 256 << 20);
}

#[test]
fn pipelined_large_answers_in_the_wrong_order_come_in_the_right_one() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/1");
    client.get("/2");
    let (first, second) = (app.request(), app.request());
    let body = |byte: u8| vec![byte; 3 << 20];
    app.answer_with(&second, &body(2), 0);
    app.answer_with(&first, &body(1), 0);
    let reader = std::thread::spawn(move || (client.answer().body, client.answer().body));
    while !reader.is_finished() {
        app.poll(std::time::Duration::from_millis(20));
    }
    let (one, two) = reader.join().unwrap();
    assert!(one == body(1) && two == body(2));
}
