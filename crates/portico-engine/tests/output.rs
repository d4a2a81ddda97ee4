//! What is held of output that a client does not read: references where the application's memory can be kept, and
//! nothing beyond the bounds.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

use portico_channel::layout::{command, event, response_flag as flag};
use portico_channel::{External, LentBytes, Response};
use portico_engine::ListenerOptions;
use support::{Event, Server, expect, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

/// A body of the application, which knows how often it is kept and can be taken away.
#[derive(Clone, Debug)]
struct Body {
    bytes: Rc<Vec<u8>>,
    detached: Rc<Cell<bool>>,
}

impl Body {
    fn new(length: usize) -> Self {
        let bytes = (0..length).map(|index| (index / 251) as u8).collect();
        Self {
            bytes: Rc::new(bytes),
            detached: Rc::default(),
        }
    }

    /// How many answers keep it.
    fn kept(&self) -> usize {
        Rc::strong_count(&self.bytes) - 1
    }

    /// Answers a request with it, as an application whose memory may be kept.
    fn answer(&self, server: &mut Server, request: &Event, flags: u32) {
        let response = Response {
            status: 200,
            flags: flag::END | flag::CONTENT_LENGTH | flags,
            reason: b"OK",
            content_length: self.bytes.len() as u64,
            ..Response::default()
        };
        let (token, sequence) = (request.token, request.sequence());
        server
            .commands
            .respond_external(token, sequence, &response, self.bytes.len());
        let keep = || Some(Rc::new(self.clone()) as Rc<dyn LentBytes>);
        server.submit_external(External::lent(&self.bytes, &keep));
    }
}

impl LentBytes for Body {
    fn bytes(&self) -> Option<&[u8]> {
        (!self.detached.get()).then_some(&self.bytes[..])
    }
}

#[test]
fn what_the_kernel_does_not_take_is_kept_where_it_is_until_it_has_been_sent() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET.repeat(3));
    let requests = server.collect(event::REQUEST, 3);
    let body = Body::new(9_000_000);
    // The last one first: it waits for its turn.
    body.answer(&mut server, &requests[2], 0);
    body.answer(&mut server, &requests[0], 0);
    server.answer(&requests[1], b"in between");
    assert_eq!(body.kept(), 2);
    let reader = std::thread::spawn(move || [(); 3].map(|()| read_answer(&mut client).1));
    while !reader.is_finished() {
        server.settle_fast();
    }
    let [first, second, third] = reader.join().unwrap();
    assert!(first == *body.bytes && third == *body.bytes);
    assert_eq!(second, b"in between");
    assert_eq!(body.kept(), 0);
}

#[test]
fn a_chunked_body_is_kept_with_its_framing_around_it() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    let body = Body::new(5_000_000);
    server.chunked_head(&request);
    server.submit();
    let (token, sequence) = (request.token, request.sequence());
    for _ in 0..2 {
        let body_bytes = body.bytes.len() as u32;
        let data = command::Data {
            token,
            sequence,
            body_bytes,
        };
        server.commands.write(flag::EXTERNAL, data, &[]);
        let keep = || Some(Rc::new(body.clone()) as Rc<dyn LentBytes>);
        server.submit_external(External::lent(&body.bytes, &keep));
    }
    assert_eq!(body.kept(), 2);
    server.commands.end(token, sequence, flag::CLOSE, b"");
    server.submit();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        all
    });
    while !reader.is_finished() {
        server.settle_fast();
    }
    let chunk = [b"4c4b40\r\n", &body.bytes[..], b"\r\n"].concat();
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let wanted = [&head[..], &chunk, &chunk, b"0\r\n\r\n"].concat();
    assert!(reader.join().unwrap() == wanted);
}

#[test]
fn an_end_of_the_connection_lets_all_bodies_go() {
    let mut server = Server::new();
    let body = Body::new(9_000_000);
    for way in 0..3 {
        let mut client = server.connect();
        send(&mut client, GET.repeat(2));
        let requests = server.collect(event::REQUEST, 2);
        body.answer(&mut server, &requests[1], 0);
        body.answer(&mut server, &requests[0], 0);
        assert_eq!(body.kept(), 2);
        match way {
            0 => drop(client),
            1 => server.commands.write(
                0,
                command::Destroy {
                    token: requests[0].token,
                },
                &[],
            ),
            _ => server.commands.write(
                0,
                command::CloseAll {
                    listener: server.listener.0,
                },
                &[],
            ),
        }
        server.submit();
        server.next(event::CLOSED);
        assert_eq!(body.kept(), 0, "way {way}");
    }
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    body.answer(&mut server, &request, 0);
    assert_eq!(body.kept(), 1);
    drop(server);
    assert_eq!(body.kept(), 0, "an engine that ends");
}

#[test]
fn memory_that_the_application_takes_away_resets_the_connection() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    let body = Body::new(30_000_000);
    body.answer(&mut server, &request, 0);
    body.detached.set(true);
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        client.read_to_end(&mut all)
    });
    let closed = server.next(event::CLOSED);
    assert_ne!(closed.read::<event::Closed>().errno, 0, "an error");
    assert!(reader.join().unwrap().is_err(), "not an orderly end");
    assert_eq!(body.kept(), 0);
}

#[test]
fn what_a_client_pipelines_is_handed_over_only_as_far_as_its_answers_are_held_in_bounds() {
    let mut server = Server::new();
    let mut client = server.connect();
    client.set_nonblocking(true).unwrap();
    send(&mut client, GET.repeat(1000));
    let body = Body::new(10_000_000);
    let mut answered = 0;
    for _ in 0..100 {
        let events = server.turn(std::time::Duration::from_millis(1));
        for request in events.iter().filter(|event| event.kind == event::REQUEST) {
            body.answer(&mut server, request, 0);
            answered += 1;
        }
    }
    assert!((1..=130).contains(&answered), "{answered} were handed over");
    // The others are once the client reads.
    client.set_nonblocking(false).unwrap();
    let reader = std::thread::spawn(move || {
        let mut left = vec![0; 1 << 20];
        let mut count = 0;
        while count < 300_000_000 {
            count += client.read(&mut left).unwrap();
        }
    });
    let before = answered;
    while answered < before + 10 {
        for request in server.turn(std::time::Duration::from_millis(1)) {
            if request.kind == event::REQUEST {
                body.answer(&mut server, &request, 0);
                answered += 1;
            }
        }
        if reader.is_finished() {
            break;
        }
    }
    reader.join().unwrap();
}

#[test]
fn a_packet_with_many_requests_is_handed_over_in_turns_and_loses_nothing() {
    let mut server = Server::with(ListenerOptions::default());
    let mut client = server.connect();
    send(&mut client, GET.repeat(200));
    let mut most = 0;
    let mut all = 0;
    while all < 200 {
        let events = server.turn(std::time::Duration::from_millis(20));
        let requests: Vec<_> = events
            .iter()
            .filter(|event| event.kind == event::REQUEST)
            .collect();
        most = most.max(requests.len());
        all += requests.len();
        for request in requests {
            server.queue_answer(request, b"x");
        }
        server.submit();
    }
    assert!(most <= 64, "{most} in one turn");
    for _ in 0..200 {
        assert_eq!(read_answer(&mut client).1, b"x");
    }
}

#[test]
fn a_packet_is_handed_over_only_while_what_waits_of_its_answers_is_within_its_bound() {
    const BODY: usize = 10 * 1024;
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET.repeat(400));
    let mut told = server.until(|events| !events.is_empty());
    told.retain(|event| event.kind == event::REQUEST);
    for request in told.iter().skip(1) {
        server.queue_answer(request, &[b'x'; BODY]);
    }
    server.submit();
    // All but the first are answered, so that nothing goes out.
    let mut waiting = (told.len() - 1) * BODY;
    let mut quiet = 0;
    while quiet < 3 {
        let requests = server.turn(std::time::Duration::from_millis(20));
        quiet = if requests.is_empty() { quiet + 1 } else { 0 };
        for request in requests {
            server.queue_answer(&request, &[b'x'; BODY]);
            waiting += BODY;
            told.push(request);
        }
        server.submit();
    }
    // Ten times the high-water mark is within.
    assert!(
        (1 << 20..2 << 20).contains(&waiting),
        "{waiting} bytes wait"
    );
    let mut other = server.connect();
    send(&mut other, GET);
    let request = server.request();
    assert_ne!(request.token, told[0].token);
    server.answer(&request, b"meanwhile");
    assert_eq!(read_answer(&mut other).1, b"meanwhile");
    server.answer(&told[0], b"at last");
    let reader = std::thread::spawn(move || {
        let first = read_answer(&mut client).1;
        let all = (1..400).all(|_| read_answer(&mut client).1 == [b'x'; BODY]);
        first == b"at last" && all
    });
    while !reader.is_finished() {
        let events = server.turn(std::time::Duration::from_millis(5));
        for request in events.iter().filter(|event| event.kind == event::REQUEST) {
            server.queue_answer(request, &[b'x'; BODY]);
            told.push(request.clone());
        }
        server.submit();
    }
    assert!(reader.join().unwrap());
    assert_eq!(told.len(), 400);
}

#[test]
fn more_pieces_than_one_send_takes_go_out_in_their_order() {
    const ANSWERS: usize = 100;
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET.repeat(ANSWERS));
    let requests = server.collect(event::REQUEST, ANSWERS);
    let bodies: Vec<Body> = (0..ANSWERS).map(|index| Body::new(5000 + index)).collect();
    for (request, body) in requests.iter().zip(&bodies).rev() {
        assert!(bodies.iter().skip(1).all(|body| body.kept() <= 1));
        body.answer(&mut server, request, 0);
    }
    let reader = std::thread::spawn(move || [(); ANSWERS].map(|()| read_answer(&mut client).1));
    while !reader.is_finished() {
        server.settle_fast();
    }
    for (read, body) in reader.join().unwrap().iter().zip(&bodies) {
        assert!(*read == *body.bytes);
        assert_eq!(body.kept(), 0);
    }
}

#[test]
fn a_fast_reader_of_much_output_leaves_others_their_turn() {
    let mut server = Server::new();
    let mut greedy = server.connect();
    send(&mut greedy, GET.repeat(40));
    let requests = server.collect(event::REQUEST, 40);
    let body = Body::new(10_000_000);
    for request in &requests {
        body.answer(&mut server, request, 0);
    }
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        let mut left = 400_000_000_usize;
        while left > 0 {
            left = left.saturating_sub(greedy.read(&mut buffer).unwrap());
        }
    });
    let mut client = server.connect();
    while !reader.is_finished() {
        let before = server.shard.counters().bytes_written;
        server.turn(std::time::Duration::from_millis(1));
        let sent = server.shard.counters().bytes_written - before;
        assert!(sent <= 5_000_000, "{sent} bytes in one turn");
    }
    reader.join().unwrap();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    expect(&mut client, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
}
