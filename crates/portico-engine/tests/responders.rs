//! Responders that take their time, and those that look at what the application answers.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use portico_channel::Response;
use portico_channel::layout::{event, response_flag as flag};
use portico_engine::{
    Answer, AnswerFilter, BodyLength, FilteredHead, ListenerOptions, NewAnswer, NewHead, Offer,
    Offered, Responder, Segment,
};
use support::{Server, expect, read_answer, send};

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// A request that waits: token and number.
type Name = (u32, u32);

/// Has requests below `/slow` wait, and says which; `/copied` is for the application, and its answer is copied.
#[derive(Default)]
struct Slow {
    began: Option<Sender<Name>>,
    offered: Rc<RefCell<Vec<u32>>>,
    cancelled: Rc<RefCell<Vec<Name>>>,
    copies: Rc<RefCell<Vec<Copied>>>,
    doubles: bool,
}

impl Responder for Slow {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        self.offered.borrow_mut().push(offer.sequence());
        let target = offer.head().target();
        if target.starts_with(b"/slow") {
            let began = self.began.as_ref().unwrap();
            began.send((offer.token(), offer.sequence())).unwrap();
            Offered::Waits
        } else if target.starts_with(b"/copied") {
            Offered::Filtered(Box::new(Copy {
                copied: Some(Copied::default()),
                all: Rc::clone(&self.copies),
                doubles: self.doubles,
            }))
        } else {
            Offered::Passed
        }
    }

    fn cancelled(&mut self, token: u32, sequence: u32) {
        self.cancelled.borrow_mut().push((token, sequence));
    }
}

/// A copy of an answer, as a cache would take it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Copied {
    status: u16,
    fields: String,
    length: Option<u64>,
    body: Vec<u8>,
    is_whole: bool,
}

/// Copies; with `doubles`, also changes what goes out.
#[derive(Debug)]
struct Copy {
    copied: Option<Copied>,
    all: Rc<RefCell<Vec<Copied>>>,
    doubles: bool,
}

impl AnswerFilter for Copy {
    fn head(&mut self, head: &FilteredHead<'_>) -> NewAnswer {
        let copied = self.copied.as_mut().unwrap();
        copied.status = head.status;
        copied.fields = String::from_utf8(head.fields.to_vec()).unwrap();
        copied.length = head.content_length;
        if !self.doubles {
            return NewAnswer::AsItIs;
        }
        NewAnswer::Changed(NewHead {
            fields: [head.fields, b"X-Doubled: yes\r\n"].concat(),
            length: head
                .content_length
                .map_or(BodyLength::Unknown, |length| BodyLength::Known(2 * length)),
        })
    }

    fn body(&mut self, bytes: &[u8], is_last: bool) -> Option<Vec<u8>> {
        let copied = self.copied.as_mut().unwrap();
        copied.body.extend_from_slice(bytes);
        copied.is_whole |= is_last;
        self.doubles
            .then(|| bytes.iter().flat_map(|byte| [*byte, *byte]).collect())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.all.borrow_mut().extend(self.copied.take());
    }
}

fn answer(text: &str) -> Answer {
    Answer {
        status: 200,
        fields: Vec::new(),
        has_date: false,
        body: vec![Segment::Owned(text.into())],
        keep_alive: true,
    }
}

/// A server with the responder, and where it says which requests wait.
fn with_slow(mut server: Server) -> (Server, Receiver<Name>, Rc<RefCell<Vec<Name>>>) {
    let (began, names) = channel();
    let slow = Slow {
        began: Some(began),
        ..Slow::default()
    };
    let cancelled = Rc::clone(&slow.cancelled);
    server.responder = Some(Box::new(slow));
    (server, names, cancelled)
}

/// A server whose responder copies, and the copies.
fn with_copies(doubles: bool) -> (Server, Rc<RefCell<Vec<Copied>>>) {
    let slow = Slow {
        doubles,
        ..Slow::default()
    };
    let copies = Rc::clone(&slow.copies);
    let mut server = Server::new();
    server.responder = Some(Box::new(slow));
    (server, copies)
}

#[test]
fn a_request_waits_for_an_answer_of_another_thread_and_those_behind_it_for_their_turn() {
    let (mut server, names, cancelled) = with_slow(Server::new());
    let (answers, mailbox) = channel();
    // The other thread answers what it has been told of once it is allowed to.
    let (go, may_go) = channel::<()>();
    let worker = std::thread::spawn(move || {
        let name = names.recv().unwrap();
        may_go.recv().unwrap();
        answers.send((name, "worked out")).unwrap();
    });
    let mut client = server.connect();
    send(&mut client, get("/slow") + &get("/theirs"));
    let events = server.settle();
    assert!(events.is_empty(), "{events:?}");
    go.send(()).unwrap();
    let ((token, sequence), text) = mailbox.recv().unwrap();
    let settled = Offered::Answered(answer(text));
    assert!(server.shard.settle(token, sequence, settled));
    assert!(!server.shard.settle(token, sequence, Offered::Passed));
    let request = server.request();
    assert_eq!((sequence, request.sequence()), (1, 2));
    assert_eq!(read_answer(&mut client).1, b"worked out");
    server.answer(&request, b"theirs");
    assert_eq!(read_answer(&mut client).1, b"theirs");
    worker.join().unwrap();
    assert_eq!(*cancelled.borrow(), []);
}

#[test]
fn a_request_that_waited_can_be_the_applications_with_its_body_and_its_number() {
    let (mut server, names, _) = with_slow(Server::new());
    let mut client = server.connect();
    let post = "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n";
    send(&mut client, post);
    let writer = std::thread::spawn(move || {
        send(&mut client, vec![b'x'; 200_000]);
        client
    });
    server.settle();
    let (token, sequence) = names.recv().unwrap();
    assert!(
        server.settle_fast().is_empty(),
        "nothing of the body is told"
    );
    assert!(server.shard.settle(token, sequence, Offered::Passed));
    let mut bytes = 0;
    let events = server.until(|events| {
        let bodies = events.iter().filter(|event| event.kind == event::BODY);
        bytes = bodies.map(|event| event.piece().len()).sum();
        bytes == 200_000
    });
    let request = events.iter().find(|event| event.kind == event::REQUEST);
    let request = request.unwrap().clone();
    assert_eq!((request.sequence(), request.target()), (1, "/slow".into()));
    let mut client = writer.join().unwrap();
    server.answer(&request, b"taken");
    assert_eq!(read_answer(&mut client).1, b"taken");
    assert!(names.try_recv().is_err(), "it is offered once");
}

#[test]
fn a_settled_request_that_could_not_be_told_is_not_offered_again() {
    let small = Server::with_memory(ListenerOptions::default(), 4096);
    let (mut server, names, _) = with_slow(small);
    let mut clients = Vec::new();
    for _ in 0..2 {
        let mut client = server.connect();
        send(&mut client, get(&format!("/slow{}", "x".repeat(3000))));
        clients.push(client);
    }
    server.settle();
    for _ in 0..2 {
        let (token, sequence) = names.recv().unwrap();
        assert!(server.shard.settle(token, sequence, Offered::Passed));
    }
    assert_eq!(server.collect(event::REQUEST, 2).len(), 2);
    assert!(names.try_recv().is_err());
}

#[test]
fn the_responder_learns_of_a_client_that_has_gone_and_not_of_one_that_ends_its_side() {
    let (mut server, names, cancelled) = with_slow(Server::new());
    let mut client = server.connect();
    send(&mut client, get("/slow"));
    server.settle();
    let name = names.recv().unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    server.settle();
    assert_eq!(*cancelled.borrow(), [], "it may still read");
    portico_sys::socket::reset_on_close(&client).unwrap();
    drop(client);
    server.settle();
    assert_eq!(*cancelled.borrow(), [name]);
    let settled = Offered::Answered(answer("too late"));
    assert!(!server.shard.settle(name.0, name.1, settled));
    assert_eq!(server.shard.counters().connections_open, 0);
}

#[test]
fn an_answer_is_copied_whole_and_goes_out_as_it_is() {
    let (mut server, copies) = with_copies(false);
    let mut client = server.connect();
    send(&mut client, get("/copied") + &get("/other"));
    let requests = server.collect(event::REQUEST, 2);
    server.commands.template(3, b"OK", b"X-Kept: yes\r\n");
    let head = Response {
        status: 200,
        flags: flag::CONTENT_LENGTH,
        content_length: 100_008,
        template: 3,
        body: b"one ",
        ..Response::default()
    };
    let (token, sequence) = (requests[0].token, requests[0].sequence());
    server.commands.respond(token, sequence, &head);
    server.commands.data(token, sequence, 0, b"two ");
    server.submit();
    server.commands.data(token, sequence, 0, &[b'3'; 100_000]);
    server.commands.end(token, sequence, 0, b"");
    server.submit();
    server.answer(&requests[1], b"not copied");
    server.settle();
    let (head, body) = read_answer(&mut client);
    assert!(head.contains("X-Kept: yes"), "{head}");
    assert!(body.starts_with(b"one two 333") && body.len() == 100_008);
    assert_eq!(read_answer(&mut client).1, b"not copied");
    let copied = Copied {
        status: 200,
        fields: "X-Kept: yes\r\n".into(),
        length: Some(100_008),
        body,
        is_whole: true,
    };
    assert_eq!(*copies.borrow(), [copied]);
}

#[test]
fn what_a_filter_puts_in_its_place_goes_out_in_the_framing_that_it_says() {
    let (mut server, copies) = with_copies(true);
    let mut client = server.connect();
    send(&mut client, get("/copied/sized") + &get("/copied/chunked"));
    let requests = server.collect(event::REQUEST, 2);
    server.answer(&requests[0], b"abc");
    server.chunked_head(&requests[1]);
    let (token, sequence) = (requests[1].token, requests[1].sequence());
    server.commands.data(token, sequence, 0, b"de");
    server.commands.end(token, sequence, 0, b"");
    server.submit();
    let (head, body) = read_answer(&mut client);
    assert!(head.contains("X-Doubled: yes\r\n") && head.contains("Content-Length: 6\r\n"));
    assert_eq!(body, b"aabbcc");
    let (head, _) = read_answer(&mut client);
    assert!(head.contains("Transfer-Encoding: chunked\r\n"), "{head}");
    expect(&mut client, "4\r\nddee\r\n0\r\n\r\n");
    assert!(copies.borrow().iter().all(|copied| copied.is_whole));
}

#[test]
fn a_copy_of_an_answer_that_is_given_up_is_not_whole() {
    let (mut server, copies) = with_copies(false);
    for ends_with_reset in [true, false] {
        let mut client = server.connect();
        send(&mut client, get("/copied"));
        let request = server.request();
        server.chunked_head(&request);
        let (token, sequence) = (request.token, request.sequence());
        server.commands.data(token, sequence, 0, b"half");
        if ends_with_reset {
            server.commands.reset(token, sequence);
        }
        server.submit();
        drop(client);
        server.next(event::CLOSED);
        let copied = copies.borrow_mut().pop().unwrap();
        assert_eq!((&copied.body[..], copied.is_whole), (&b"half"[..], false));
    }
}
