//! Requests and answers over real sockets.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use portico_channel::Response;
use portico_channel::layout::{
    body_flag, command, event, request_flag, response_flag as flag, scheme,
};
use support::{Server, expect, read_answer, read_to_end, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

#[test]
fn a_request_is_told_and_its_answer_is_sent() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "GET /hello?x=1 HTTP/1.1\r\nHost: example.com\r\nX-Own: value\r\n\r\n",
    );
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    assert_eq!(events[0].kind, event::OPEN);
    let ends = events[0].read::<event::Open>().endpoints;
    assert_eq!((ends.remote_family, ends.local_family), (4, 4));
    assert_eq!(ends.local_port, server.address.port());
    assert_eq!(ends.remote_port, client.local_addr().unwrap().port());
    assert_eq!(ends.remote_address[..4], [127, 0, 0, 1]);
    let request = &events[1];
    let words = request.read::<event::Request>();
    assert_eq!((words.major_version, words.minor_version), (1, 1));
    assert_eq!(u32::from(words.scheme), scheme::HTTP);
    assert_eq!(words.bytes(words.authority), b"example.com");
    assert_eq!(request.target(), "/hello?x=1");
    assert_eq!(request.read::<event::Request>().field_count, 2);
    assert_eq!(request.field(0), ("Host".into(), "example.com".into()));
    assert_eq!(request.field(1), ("X-Own".into(), "value".into()));
    let expected = request_flag::KEEP_ALIVE | request_flag::COMPLETE | request_flag::HAS_HOST;
    assert_eq!(request.flags, expected);
    server.answer(request, b"Hello");
    expect(
        &mut client,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello",
    );
}

#[test]
fn a_connection_carries_many_requests() {
    let mut server = Server::new();
    let mut client = server.connect();
    for number in 1..=100 {
        send(&mut client, GET);
        let request = server.request();
        assert_eq!(request.sequence(), number);
        server.answer(&request, b"x");
        assert_eq!(read_answer(&mut client).1, b"x");
    }
    let counters = server.shard.counters();
    assert_eq!(
        (
            counters.requests,
            counters.responses,
            counters.connections_open
        ),
        (100, 100, 1)
    );
}

#[test]
fn a_pipelined_request_waits_for_the_first_response() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        GET.replace("/a", "/1") + &GET.replace("/a", "/2") + &GET.replace("/a", "/3"),
    );
    let requests = server.collect(event::REQUEST, 3);
    server.answer(&requests[2], b"three");
    server.answer(&requests[1], b"two");
    assert_eq!(server.shard.counters().bytes_written, 0);
    server.answer(&requests[0], b"one");
    for body in ["one", "two", "three"] {
        assert_eq!(read_answer(&mut client).1, body.as_bytes());
    }
}

#[test]
fn answers_in_pieces_keep_their_order() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET.repeat(2));
    let requests = server.collect(event::REQUEST, 2);
    for request in requests.iter().rev() {
        server.chunked_head(request);
        server.submit();
    }
    for (request, text) in [(&requests[1], "second"), (&requests[0], "first")] {
        server
            .commands
            .data(request.token, request.sequence(), 0, text.as_bytes());
        server.submit();
    }
    server
        .commands
        .end(requests[1].token, requests[1].sequence(), 0, b"");
    server
        .commands
        .end(requests[0].token, requests[0].sequence(), 0, b"T: 1\r\n");
    server.submit();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(
        &mut client,
        &format!("{head}5\r\nfirst\r\n0\r\nT: 1\r\n\r\n{head}6\r\nsecond\r\n0\r\n\r\n"),
    );
}

#[test]
fn only_so_many_requests_are_in_flight() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET.repeat(1100));
    let events = server.settle();
    let requests: Vec<_> = events
        .into_iter()
        .filter(|event| event.kind == event::REQUEST)
        .collect();
    assert_eq!(requests.len(), 1024);
    for request in &requests {
        server.answer(request, b"x");
    }
    let rest = server.collect(event::REQUEST, 76);
    for request in &rest {
        server.answer(request, b"x");
    }
    for _ in 0..1100 {
        assert_eq!(read_answer(&mut client).1, b"x");
    }
}

#[test]
fn a_sized_body_is_told_with_its_end() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234",
    );
    let events = server.until(|events| events.iter().any(|event| event.kind == event::BODY));
    let request = events
        .iter()
        .find(|event| event.kind == event::REQUEST)
        .unwrap();
    assert_eq!(request.read::<event::Request>().content_length, 10);
    assert_eq!(request.flags & request_flag::COMPLETE, 0);
    let body = events.last().unwrap();
    assert_eq!((body.piece(), body.flags), (&b"01234"[..], 0));
    send(&mut client, "56789GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    assert_eq!(
        (events[0].piece(), events[0].flags),
        (&b"56789"[..], body_flag::LAST)
    );
    assert_eq!(events[1].target(), "/next");
}

#[test]
fn a_chunked_body_is_told_with_its_trailers() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    send(
        &mut client,
        "5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\nX-Sum: 12\r\n\r\n",
    );
    let events = server.until(|events| events.iter().any(|event| event.kind == event::END));
    let body: Vec<u8> = events
        .iter()
        .filter(|event| event.kind == event::BODY)
        .flat_map(|event| event.piece().to_vec())
        .collect();
    assert_eq!(body, b"hello, world");
    let end = events.last().unwrap();
    assert_eq!(end.read::<event::End>().field_count, 1);
    assert_eq!(end.trailer(0), ("X-Sum".into(), "12".into()));
}

#[test]
fn requests_may_come_one_byte_at_a_time() {
    let mut server = Server::new();
    let mut client = server.connect();
    let text = "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\n";
    let mut events = Vec::new();
    for byte in text.as_bytes() {
        send(&mut client, [*byte]);
        events.extend(server.turn(std::time::Duration::from_millis(200)));
    }
    let kinds: Vec<u32> = events.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            event::OPEN,
            event::REQUEST,
            event::BODY,
            event::BODY,
            event::BODY,
            event::END
        ]
    );
}

#[test]
fn requests_may_be_split_anywhere() {
    let first = "POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    let second =
        "PUT /two HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n";
    let third = "GET /three HTTP/1.1\r\nHost: x\r\n\r\n";
    let text = format!("{first}{second}{third}");
    let mut server = Server::new();
    for split in 1..text.len() {
        let mut client = server.connect();
        send(&mut client, &text[..split]);
        let mut events = server.turn(std::time::Duration::from_millis(200));
        events.extend(server.turn(std::time::Duration::from_millis(0)));
        send(&mut client, &text[split..]);
        let done = |events: &[support::Event]| {
            events
                .iter()
                .filter(|event| event.kind == event::REQUEST)
                .count()
        };
        let so_far = done(&events);
        events.extend(server.until(|events| so_far + done(events) == 3));
        let targets: Vec<_> = events
            .iter()
            .filter(|event| event.kind == event::REQUEST)
            .map(support::Event::target)
            .collect();
        assert_eq!(targets, ["/one", "/two", "/three"], "split at {split}");
        let body: Vec<u8> = events
            .iter()
            .filter(|event| event.kind == event::BODY)
            .flat_map(|event| event.piece().to_vec())
            .collect();
        assert_eq!(body, b"abcde", "split at {split}");
    }
}

#[test]
fn an_answer_with_close_ends_the_connection() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    let request = server.request();
    assert_eq!(request.flags & request_flag::KEEP_ALIVE, 0);
    server.answer_flags(&request, b"bye", flag::CLOSE | flag::CONNECTION_CLOSE);
    assert!(
        read_to_end(&mut client)
            .unwrap()
            .ends_with(b"Connection: close\r\nContent-Length: 3\r\n\r\nbye")
    );
    let closed = server.next(event::CLOSED);
    assert_eq!(
        (closed.token, closed.read::<event::Closed>().errno),
        (request.token, 0)
    );
}

#[test]
fn closing_does_not_reset_an_answer_while_the_peer_still_sends() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
    );
    let request = server.request();
    send(&mut client, vec![b'x'; 200_000]);
    server.answer_flags(
        &request,
        &vec![b'y'; 100_000],
        flag::CLOSE | flag::CONNECTION_CLOSE,
    );
    server.settle();
    // Sending on would fail if the server had reset the connection.
    send(&mut client, vec![b'x'; 100_000]);
    server.settle();
    send(&mut client, vec![b'x'; 100_000]);
    let answer = read_to_end(&mut client).unwrap();
    assert!(answer.ends_with(&[b'y'; 1000]));
}

#[test]
fn a_template_and_the_framing_fields_make_the_head() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.commands.template(3, b"Fine", b"A: 1\r\nB: 2\r\n");
    let response = Response {
        status: 201,
        template: 3,
        flags: flag::END
            | flag::CONNECTION_KEEP_ALIVE
            | flag::KEEP_ALIVE
            | flag::TRANSFER_ENCODING
            | flag::CHUNKED,
        body: b"abc",
        ..Response::default()
    };
    server
        .commands
        .respond(request.token, request.sequence(), &response);
    server.submit();
    expect(
        &mut client,
        "HTTP/1.1 201 Fine\r\nA: 1\r\nB: 2\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\
         Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
}

#[test]
fn an_outside_body_follows_its_head() {
    for size in [10, 5_000, 3_000_000] {
        let mut server = Server::new();
        let mut client = server.connect();
        send(&mut client, GET);
        let request = server.request();
        let body = vec![b'z'; size];
        let response = Response {
            status: 200,
            flags: flag::END | flag::CONTENT_LENGTH,
            reason: b"OK",
            content_length: size as u64,
            ..Response::default()
        };
        server
            .commands
            .respond_external(request.token, request.sequence(), &response, size);
        server.submit_with(Some(&body));
        let reader = std::thread::spawn(move || read_answer(&mut client).1);
        while !reader.is_finished() {
            server.turn(std::time::Duration::from_millis(5));
        }
        assert_eq!(reader.join().unwrap(), body);
    }
}

#[test]
fn a_paused_connection_delivers_nothing_until_resumed() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
    );
    let request = server.request();
    server.commands.write(
        0,
        command::Pause {
            token: request.token,
            sequence: 0,
        },
        &[],
    );
    server.submit();
    send(&mut client, vec![b'x'; 100_000]);
    assert!(server.settle().is_empty());
    server.commands.write(
        0,
        command::Resume {
            token: request.token,
            sequence: 0,
        },
        &[],
    );
    server.submit();
    let mut bytes = 0;
    server.until(|events| {
        bytes = events
            .iter()
            .filter(|event| event.kind == event::BODY)
            .map(|event| event.piece().len())
            .sum();
        bytes == 100_000
    });
}

#[test]
fn of_a_discarded_body_only_the_end_is_told() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
    );
    let request = server.request();
    server.answer(&request, b"done");
    server.commands.write(
        0,
        command::Discard {
            token: request.token,
            sequence: request.sequence(),
        },
        &[],
    );
    server.submit();
    send(&mut client, vec![b'x'; 100_000]);
    send(&mut client, GET);
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let kinds: Vec<u32> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [event::END, event::REQUEST]);
    let end = events[0].read::<event::End>();
    assert_eq!((end.sequence, end.field_count), (1, 0));
    assert_eq!(events[1].sequence(), 2);
}

#[test]
fn of_a_discarded_chunked_body_the_trailers_are_told() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    let request = server.request();
    // Nothing is read while paused, unless it is dropped.
    server.commands.write(
        0,
        command::Pause {
            token: request.token,
            sequence: 0,
        },
        &[],
    );
    server.commands.write(
        0,
        command::Discard {
            token: request.token,
            sequence: request.sequence(),
        },
        &[],
    );
    server.submit();
    send(&mut client, "5\r\nhello\r\n0\r\nname: value\r\n\r\n");
    let events = server.until(|events| events.iter().any(|event| event.kind == event::END));
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].trailer(0), ("name".into(), "value".into()));
}

#[test]
fn a_discarded_body_that_ends_too_soon_is_an_error() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhello",
    );
    let request = server.request();
    server.commands.write(
        0,
        command::Discard {
            token: request.token,
            sequence: request.sequence(),
        },
        &[],
    );
    server.submit();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    server.next(event::CLIENT_ERROR);
}

#[test]
fn a_request_names_the_authority_that_it_is_for() {
    for (line, fields, authority) in [
        ("GET / HTTP/1.1", "Host: a:80\r\n", "a:80"),
        ("GET / HTTP/1.1", "X: y\r\nHost: b\r\n", "b"),
        ("GET / HTTP/1.0", "", ""),
        ("GET / HTTP/1.1", "Host:\r\n", ""),
        ("OPTIONS * HTTP/1.1", "Host: a\r\n", "a"),
        ("GET http://b:1/c?d HTTP/1.1", "Host: a\r\n", "b:1"),
        ("GET http://b?c HTTP/1.1", "Host: a\r\n", "b"),
        ("GET /://b HTTP/1.1", "Host: a\r\n", "a"),
        ("CONNECT c:443 HTTP/1.1", "Host: a\r\n", "c:443"),
    ] {
        let mut server = Server::new();
        let mut client = server.connect();
        send(&mut client, format!("{line}\r\n{fields}\r\n"));
        let request = server.request();
        let words = request.read::<event::Request>();
        let found = String::from_utf8_lossy(words.bytes(words.authority));
        assert_eq!(found, authority, "{line} {fields}");
    }
}
