//! Answers that are given up while they wait for their turn.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use portico_channel::layout::event;
use support::{Event, Server, read_to_end, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

impl Server {
    fn give_up(&mut self, request: &Event) {
        self.commands.reset(request.token, request.sequence());
        self.submit();
    }
}

#[test]
fn the_connection_ends_when_the_turn_of_an_answer_comes_that_was_given_up() {
    // Before its head, in the middle, and when it is complete.
    for parts in 0..3 {
        let mut server = Server::new();
        let mut client = server.connect();
        send(&mut client, GET.repeat(3));
        let requests = server.collect(event::REQUEST, 3);
        match parts {
            0 => {}
            1 => server.chunked_head(&requests[1]),
            _ => server.queue_answer(&requests[1], b"never"),
        }
        server.submit();
        server.give_up(&requests[1]);
        server.answer(&requests[2], b"third");
        // What is said of it later is about nothing.
        server
            .commands
            .data(requests[1].token, requests[1].sequence(), 0, b"more");
        server.submit();
        assert!(server.settle().is_empty());
        server.answer(&requests[0], b"first");
        assert_eq!(server.next(event::CLOSED).read::<event::Closed>().errno, 0);
        let received = read_to_end(&mut client).unwrap();
        assert_eq!(String::from_utf8(received).unwrap(), format!("{HEAD}first"));
    }
}

#[test]
fn what_has_been_sent_of_an_answer_that_is_given_up_in_its_turn_stays_sent() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET.repeat(2));
    let requests = server.collect(event::REQUEST, 2);
    server.chunked_head(&requests[0]);
    server.submit();
    server.give_up(&requests[0]);
    server.next(event::CLOSED);
    let received = read_to_end(&mut client).unwrap();
    assert!(received.ends_with(b"chunked\r\n\r\n"), "{received:?}");
}
