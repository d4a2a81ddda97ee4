//! Requests that are answered without the application.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;

use portico_channel::LentBytes;
use portico_channel::layout::event;
use portico_engine::{Answer, ListenerOptions, Offer, Offered, Responder, Segment};
use portico_http::semantics::{Scheme, Version};
use support::{Server, expect, read_answer, read_to_end, send};

/// Answers what is below `/own`, and writes down what it is offered.
struct Fixed {
    offered: Rc<RefCell<Vec<String>>>,
    body: Vec<Segment>,
    keep_alive: bool,
}

impl Responder for Fixed {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        let head = offer.head();
        let target = String::from_utf8_lossy(head.target()).into_owned();
        self.offered
            .borrow_mut()
            .push(format!("{} {target}", offer.sequence()));
        if !target.starts_with("/own") {
            return Offered::Passed;
        }
        Offered::Answered(Answer {
            status: 200,
            fields: b"X-Own: yes\r\n".to_vec(),
            has_date: false,
            body: self.body.clone(),
            keep_alive: self.keep_alive,
        })
    }
}

/// A server whose responder answers with `body`, and what that is offered.
fn with_responder(
    mut server: Server,
    body: Vec<Segment>,
    keep_alive: bool,
) -> (Server, Rc<RefCell<Vec<String>>>) {
    let offered = Rc::default();
    server.responder = Some(Box::new(Fixed {
        offered: Rc::clone(&offered),
        body,
        keep_alive,
    }));
    (server, offered)
}

fn hello() -> Vec<Segment> {
    vec![
        Segment::Owned(b"Hello, ".to_vec()),
        Segment::Shared(Rc::new(b"world".to_vec())),
    ]
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")
}

#[test]
fn what_is_answered_is_not_told_and_what_is_passed_is() {
    let (mut server, offered) = with_responder(Server::new(), hello(), true);
    let mut client = server.connect();
    send(&mut client, get("/own"));
    let events = server.settle();
    assert!(events.iter().all(|event| event.kind == event::OPEN));
    let (head, body) = read_answer(&mut client);
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nX-Own: yes\r\nDate: "),
        "{head}"
    );
    assert!(head.contains("\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n"));
    assert_eq!(body, b"Hello, world");
    send(&mut client, get("/theirs"));
    let request = server.request();
    assert_eq!(request.sequence(), 2);
    server.answer(&request, b"theirs");
    assert_eq!(read_answer(&mut client).1, b"theirs");
    assert_eq!(*offered.borrow(), ["1 /own", "2 /theirs"]);
    let counters = server.shard.counters();
    assert_eq!((counters.requests, counters.responses), (2, 2));
}

#[test]
fn an_answer_keeps_its_turn_among_pipelined_ones() {
    let (mut server, _) = with_responder(Server::new(), hello(), true);
    let mut client = server.connect();
    send(
        &mut client,
        get("/1") + &get("/own") + &get("/3") + &get("/own") + &get("/5"),
    );
    let requests = server.collect(event::REQUEST, 3);
    let numbers: Vec<u32> = requests.iter().map(|request| request.sequence()).collect();
    assert_eq!(numbers, [1, 3, 5]);
    for index in [2, 0, 1] {
        let body = requests[index].sequence().to_string();
        server.answer(&requests[index], body.as_bytes());
    }
    let bodies: Vec<Vec<u8>> = (0..5).map(|_| read_answer(&mut client).1).collect();
    assert_eq!(
        bodies,
        [&b"1"[..], b"Hello, world", b"3", b"Hello, world", b"5"]
    );
}

#[test]
fn large_shared_bytes_are_sent_from_where_they_lie_and_let_go() {
    let shared: Rc<Vec<u8>> = Rc::new(
        (0..9_000_000_u32)
            .map(|number| (number / 7) as u8)
            .collect(),
    );
    let body = vec![
        Segment::Owned(b"<".to_vec()),
        Segment::Shared(Rc::clone(&shared) as Rc<dyn LentBytes>),
        Segment::Owned(b">".to_vec()),
    ];
    let (mut server, _) = with_responder(Server::new(), body, true);
    let mut client = server.connect();
    send(&mut client, get("/own") + &get("/own"));
    server.settle();
    assert!(Rc::strong_count(&shared) > 2, "the output refers to it");
    let reader =
        std::thread::spawn(move || [read_answer(&mut client).1, read_answer(&mut client).1]);
    while !reader.is_finished() {
        server.settle_fast();
    }
    for body in reader.join().unwrap() {
        assert_eq!(body.len(), shared.len() + 2);
        assert!(body[0] == b'<' && body[1..].starts_with(&shared) && body.ends_with(b">"));
    }
    assert_eq!(Rc::strong_count(&shared), 2);
}

#[test]
fn a_head_request_gets_the_length_and_no_body() {
    let (mut server, _) = with_responder(Server::new(), hello(), true);
    let mut client = server.connect();
    send(&mut client, "HEAD /own HTTP/1.1\r\nHost: x\r\n\r\n");
    send(&mut client, get("/theirs"));
    let request = server.request();
    server.answer_flags(&request, b"", portico_channel::layout::response_flag::CLOSE);
    let all = String::from_utf8(read_to_end(&mut client).unwrap()).unwrap();
    assert!(
        all.contains("Content-Length: 12\r\n\r\nHTTP/1.1 200 OK\r\n"),
        "{all}"
    );
}

#[test]
fn a_body_is_not_read_and_ends_the_connection_without_a_reset() {
    let (mut server, _) = with_responder(Server::new(), hello(), true);
    for framing in ["Content-Length: 200000", "Transfer-Encoding: chunked"] {
        let mut client = server.connect();
        let head = format!("POST /own HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n");
        send(&mut client, head);
        send(&mut client, vec![b'x'; 100_000]);
        let events = server.settle();
        let told: Vec<u32> = events.iter().map(|event| event.kind).collect();
        assert_eq!(told, [event::OPEN, event::CLOSED]);
        let all = String::from_utf8(read_to_end(&mut client).unwrap()).unwrap();
        assert!(all.contains("\r\nConnection: close\r\n") && all.ends_with("Hello, world"));
    }
}

#[test]
fn nothing_is_handed_over_behind_an_answer_that_ends_the_connection() {
    let (mut server, offered) = with_responder(Server::new(), hello(), false);
    let mut client = server.connect();
    send(&mut client, get("/1") + &get("/own") + &get("/3"));
    let request = server.request();
    server.settle();
    assert_eq!(*offered.borrow(), ["1 /1", "2 /own"]);
    server.answer(&request, b"first");
    expect(
        &mut client,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst",
    );
    let all = String::from_utf8(read_to_end(&mut client).unwrap()).unwrap();
    assert!(all.contains("\r\nConnection: close\r\n") && all.ends_with("Hello, world"));
}

#[test]
fn an_upgrade_that_is_answered_is_an_ordinary_request() {
    let (mut server, _) = with_responder(Server::new(), hello(), true);
    let mut client = server.connect();
    send(
        &mut client,
        "GET /own HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
    );
    send(&mut client, get("/theirs"));
    let request = server.request();
    assert_eq!(
        (request.sequence(), request.target()),
        (2, "/theirs".into())
    );
    assert_eq!(read_answer(&mut client).1, b"Hello, world");
}

#[test]
fn a_request_that_could_not_be_told_is_offered_again_under_its_number() {
    let small = Server::with_memory(ListenerOptions::default(), 4096);
    let (mut server, offered) = with_responder(small, hello(), true);
    let mut client = server.connect();
    let long = "x".repeat(3000);
    send(
        &mut client,
        get(&format!("/1{long}")) + &get(&format!("/2{long}")),
    );
    let requests = server.collect(event::REQUEST, 2);
    assert_eq!((requests[0].sequence(), requests[1].sequence()), (1, 2));
    let numbers: Vec<String> = offered
        .borrow()
        .iter()
        .map(|line| line[..4].to_owned())
        .collect();
    assert_eq!(numbers, ["1 /1", "2 /2", "2 /2"]);
}

#[test]
fn an_offer_says_by_which_connection_it_came() {
    /// Passes everything, and looks.
    struct Looker(std::net::SocketAddr, u32);
    impl Responder for Looker {
        fn offer(&mut self, offer: &Offer<'_>) -> Offered {
            let head = offer.head();
            assert_eq!(offer.local_address(), self.0.into());
            assert_eq!(offer.listener().0, self.1);
            assert_eq!((offer.server_name(), head.scheme), (None, Scheme::Http));
            assert_eq!(head.version, Version::Http10);
            assert_eq!(head.authority(), Ok(Some(&b"example.com"[..])));
            Offered::Passed
        }
    }
    let mut server = Server::new();
    server.responder = Some(Box::new(Looker(server.address, server.listener.0)));
    let mut client = server.connect();
    send(&mut client, "GET / HTTP/1.0\r\nHost: example.com\r\n\r\n");
    assert_eq!(server.request().sequence(), 1);
}
