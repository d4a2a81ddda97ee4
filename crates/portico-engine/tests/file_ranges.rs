//! Answers with ranges of files: by the kernel, over TLS, behind other answers, and where a file or a client goes away.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use portico_channel::layout::event;
use portico_engine::{Answer, FileRange, ListenerOptions, Offer, Offered, Responder, Segment};
use portico_tls::{Context, ContextOptions, Identity};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use support::{Event, Server, expect, memory_file, read_answer, read_to_end, send};

const GET: &str = "GET /own HTTP/1.1\r\nHost: x\r\n\r\n";
const SLOW: &str = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";

/// Answers what is below `/own`.
struct Files(Vec<Segment>);

impl Responder for Files {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        if !offer.head().target().starts_with(b"/own") {
            return Offered::Passed;
        }
        Offered::Answered(Answer {
            status: 200,
            fields: Vec::new(),
            has_date: false,
            body: self.0.clone(),
            keep_alive: true,
        })
    }
}

fn serve(mut server: Server, body: Vec<Segment>) -> Server {
    server.responder = Some(Box::new(Files(body)));
    server
}

fn range(file: &Arc<OwnedFd>, offset: u64, length: u64) -> Segment {
    Segment::File(FileRange::new(Arc::clone(file), offset, length))
}

/// Bytes of which no two neighbourhoods are equal.
fn pattern(length: u32) -> Vec<u8> {
    (0..length).map(|number| (number / 251) as u8).collect()
}

/// Turns until a reader is done, and returns what it has found, and the events.
fn drive<T>(server: &mut Server, reader: std::thread::JoinHandle<T>) -> (T, Vec<Event>) {
    let mut events = Vec::new();
    while !reader.is_finished() {
        events.extend(server.settle_fast());
    }
    (reader.join().unwrap(), events)
}

/// The first event of a kind, among these or to come.
fn first(server: &mut Server, events: &[Event], kind: u32) -> Event {
    let found = events.iter().find(|event| event.kind == kind).cloned();
    found.unwrap_or_else(|| server.next(kind))
}

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A server with TLS, and a client of it that has not begun.
fn secure(body: Vec<Segment>) -> (Server, Tls) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let der = made.cert.der().clone();
    let context = ContextOptions {
        identities: vec![Identity {
            chain: vec![der.to_vec()],
            key: made.signing_key.serialize_der(),
        }],
        ..ContextOptions::default()
    };
    let options = ListenerOptions {
        tls: 1,
        ..ListenerOptions::default()
    };
    let server = Server::with_context(options, Some(Context::new(&context).unwrap()));
    let mut roots = RootCertStore::empty();
    roots.add(der).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots);
    let config = Arc::new(config.with_no_client_auth());
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(config, name).unwrap();
    let tls = StreamOwned::new(client, server.connect());
    (serve(server, body), tls)
}

/// What is read up to `most` bytes, and the error that ended it before.
fn read_up_to(stream: &mut impl Read, most: usize) -> (Vec<u8>, Option<ErrorKind>) {
    let mut all = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    while all.len() < most {
        let room = piece.len().min(most - all.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) => return (all, Some(ErrorKind::UnexpectedEof)),
            Ok(count) => all.extend_from_slice(&piece[..count]),
            Err(error) => return (all, Some(error.kind())),
        }
    }
    (all, None)
}

#[test]
fn ranges_come_between_other_segments_and_every_byte_is_counted() {
    let bytes = pattern(9_000_000);
    let file = memory_file(&bytes);
    let body = vec![
        Segment::Owned(b"<".to_vec()),
        range(&file, 1_000, 8_000_000),
        Segment::Owned(b"|".to_vec()),
        range(&file, 0, 0),
        range(&file, 8_999_990, 10),
        Segment::Shared(std::rc::Rc::new(b">".to_vec())),
    ];
    let mut server = serve(Server::new(), body);
    let mut client = server.connect();
    send(&mut client, GET.repeat(2));
    let reader = std::thread::spawn(move || [(); 2].map(|()| read_answer(&mut client)));
    let (answers, events) = drive(&mut server, reader);
    let tail = &bytes[8_999_990..];
    let wanted = [b"<", &bytes[1_000..8_001_000], b"|", tail, b">"].concat();
    let mut total = 0;
    for (head, body) in answers {
        assert!(body == wanted);
        total += (head.len() + body.len()) as u64;
    }
    let closed = first(&mut server, &events, event::CLOSED);
    assert_eq!(closed.read::<event::Closed>().bytes_written, total);
    assert_eq!(server.shard.counters().bytes_written, total);
    // Two are in the responder.
    assert_eq!(Arc::strong_count(&file), 4);
}

#[test]
fn ranges_are_read_and_encrypted_over_tls() {
    let bytes = pattern(3_000_000);
    let file = memory_file(&bytes);
    let body = vec![
        range(&file, 5, 2_900_000),
        Segment::Owned(b"|".to_vec()),
        range(&file, 0, 70_000),
    ];
    let (mut server, mut tls) = secure(body);
    let wanted = [&bytes[5..2_900_005], b"|", &bytes[..70_000]].concat();
    let length = wanted.len();
    let reader = std::thread::spawn(move || {
        tls.write_all(GET.as_bytes()).unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            tls.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        read_up_to(&mut tls, length)
    });
    let ((body, error), _) = drive(&mut server, reader);
    assert_eq!(error, None);
    assert!(body == wanted);
}

#[test]
fn an_answer_that_waits_for_its_turn_holds_the_file_and_not_its_bytes() {
    let file = memory_file(&[b'-'; 200_000]);
    let mut server = serve(Server::new(), vec![range(&file, 0, 200_000)]);
    let mut client = server.connect();
    send(&mut client, SLOW.to_owned() + GET + SLOW);
    let requests = server.collect(event::REQUEST, 2);
    server.settle();
    assert_eq!(Arc::strong_count(&file), 3, "the answer is there");
    assert_eq!(rustix::io::pwrite(&file, &pattern(200_000), 0), Ok(200_000));
    server.answer(&requests[0], b"first");
    let reader = std::thread::spawn(move || {
        let bodies = [(); 2].map(|()| read_answer(&mut client).1);
        (client, bodies)
    });
    let ((mut client, bodies), _) = drive(&mut server, reader);
    assert_eq!(bodies[0], b"first");
    assert!(bodies[1] == pattern(200_000));
    server.answer(&requests[1], b"third");
    assert_eq!(read_answer(&mut client).1, b"third");
    assert_eq!(Arc::strong_count(&file), 2);
}

#[test]
fn a_head_request_and_an_empty_range_leave_nothing_in_the_output() {
    let file = memory_file(b"0123456789");
    let mut server = serve(Server::new(), vec![range(&file, 2, 7)]);
    let mut client = server.connect();
    send(&mut client, GET.replace("GET", "HEAD") + GET);
    server.settle();
    let mut both = [0; 4096];
    let count = client.read(&mut both).unwrap();
    let text = String::from_utf8_lossy(&both[..count]);
    assert_eq!(text.matches("Content-Length: 7\r\n\r\n").count(), 2);
    assert!(text.contains("\r\n\r\nHTTP/1.1 200") && text.ends_with("\r\n\r\n2345678"));
    server.responder = Some(Box::new(Files(vec![range(&file, 10, 0)])));
    send(&mut client, GET.repeat(2));
    server.settle();
    for _ in 0..2 {
        let (head, body) = read_answer(&mut client);
        assert!(head.contains("Content-Length: 0\r\n") && body.is_empty());
    }
}

#[test]
fn a_range_may_be_longer_than_four_gigabytes_and_lie_beyond_them() {
    const FAR: u64 = 5 << 30;
    let file = memory_file(b"start");
    assert_eq!(rustix::io::pwrite(&file, b"end", FAR), Ok(3));
    let mut server = serve(Server::new(), vec![range(&file, FAR, 3)]);
    let mut client = server.connect();
    send(&mut client, GET);
    server.settle();
    assert_eq!(read_answer(&mut client).1, b"end");
    server.responder = Some(Box::new(Files(vec![range(&file, 0, FAR + 3)])));
    send(&mut client, GET);
    server.settle();
    let (begin, _) = read_up_to(&mut client, 1000);
    let begin = String::from_utf8_lossy(&begin);
    assert!(begin.contains("Content-Length: 5368709123\r\n"));
    assert!(begin.contains("\r\n\r\nstart\0"));
    // It does not wait until the rest has been sent.
    drop(client);
    let closed = server.next(event::CLOSED);
    assert!(closed.read::<event::Closed>().bytes_written < FAR);
    assert_eq!(Arc::strong_count(&file), 2);
}

#[test]
fn a_file_that_ends_before_its_range_ends_the_connection_and_nothing_takes_its_place() {
    let file = memory_file(&pattern(1_000_000));
    let body = vec![range(&file, 0, 1_000_001), Segment::Owned(b"tail".to_vec())];
    let mut server = serve(Server::new(), body.clone());
    let mut client = server.connect();
    send(&mut client, GET.repeat(2));
    let reader = std::thread::spawn(move || read_to_end(&mut client));
    let (read, events) = drive(&mut server, reader);
    assert_eq!(read.unwrap_err().kind(), ErrorKind::ConnectionReset);
    let closed = first(&mut server, &events, event::CLOSED);
    let words = closed.read::<event::Closed>();
    assert_eq!(
        words.errno,
        rustix::io::Errno::CANCELED.raw_os_error() as u32
    );
    assert!((1_000_000..1_001_000).contains(&words.bytes_written));

    let (mut server, mut tls) = secure(body);
    let reader = std::thread::spawn(move || {
        tls.write_all(GET.repeat(2).as_bytes()).unwrap();
        read_up_to(&mut tls, usize::MAX)
    });
    let ((got, error), _) = drive(&mut server, reader);
    // No close_notify either: rustls says UnexpectedEof where the reset has not come before.
    assert!(error.is_some() && got.len() < 1_001_000);
    assert!(!got.ends_with(b"tail"));
}

#[test]
fn a_file_that_is_cut_while_it_is_sent_ends_the_connection() {
    let file = memory_file(&pattern(20_000_000));
    let mut server = serve(Server::new(), vec![range(&file, 0, 20_000_000)]);
    let mut client = server.connect();
    send(&mut client, GET);
    server.settle();
    rustix::fs::ftruncate(&file, 0).unwrap();
    let reader = std::thread::spawn(move || read_to_end(&mut client));
    let (read, events) = drive(&mut server, reader);
    read.unwrap_err();
    first(&mut server, &events, event::CLOSED);
    assert_eq!(Arc::strong_count(&file), 2);
}

#[test]
fn a_descriptor_that_cannot_be_read_ends_the_connection() {
    let folder = std::fs::File::open("/").unwrap();
    let folder = Arc::new(OwnedFd::from(folder));
    let mut server = serve(Server::new(), vec![range(&folder, 0, 10)]);
    let mut client = server.connect();
    send(&mut client, GET);
    server.next(event::CLOSED);
    assert!(read_to_end(&mut client).is_err());
    let mut client = server.connect();
    send(&mut client, SLOW);
    let request = server.request();
    server.answer(&request, b"others");
    expect(
        &mut client,
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nothers",
    );
}

#[test]
fn a_client_that_leaves_in_the_middle_lets_the_file_go() {
    let file = memory_file(&pattern(20_000_000));
    let mut server = serve(Server::new(), vec![range(&file, 0, 20_000_000)]);
    let mut client = server.connect();
    send(&mut client, GET);
    server.settle();
    assert_eq!(Arc::strong_count(&file), 3, "the output holds it");
    let (got, _) = read_up_to(&mut client, 100_000);
    drop(client);
    let closed = server.next(event::CLOSED);
    let written = closed.read::<event::Closed>().bytes_written;
    assert!(
        written >= got.len() as u64 && written < 20_000_000,
        "{written}"
    );
    assert_eq!(written, server.shard.counters().bytes_written);
    assert_eq!(Arc::strong_count(&file), 2);
    server.responder = None;
    let file = Arc::try_unwrap(file);
    assert!(file.is_ok(), "no other holds the descriptor");
}

#[test]
fn a_fast_reader_of_a_long_file_leaves_others_their_turn() {
    let file = memory_file(b"");
    rustix::fs::ftruncate(&file, 1 << 30).unwrap();
    let mut server = serve(Server::new(), vec![range(&file, 0, 200_000_000)]);
    let mut greedy = server.connect();
    send(&mut greedy, GET);
    let reader = std::thread::spawn(move || {
        let (mut left, mut piece) = (200_000_000_usize, vec![0; 1 << 20]);
        while left > 0 {
            left = left.saturating_sub(greedy.read(&mut piece).unwrap());
        }
    });
    while !reader.is_finished() {
        let before = server.shard.counters().bytes_written;
        server.turn(Duration::from_millis(1));
        let sent = server.shard.counters().bytes_written - before;
        assert!(sent <= 3 << 20, "{sent} bytes in one turn");
    }
    reader.join().unwrap();
}

#[test]
fn a_record_holds_the_bytes_of_a_range_and_becomes_a_reset_where_they_are_missing() {
    let file = memory_file(b"0123456789");
    let mut server = Server::new();
    for (length, is_there) in [(8, true), (9, false)] {
        let mut client = server.connect();
        send(&mut client, GET);
        let request = server.request();
        let answer = Answer {
            status: 200,
            fields: Vec::new(),
            has_date: true,
            body: vec![range(&file, 2, length)],
            keep_alive: true,
        };
        let (token, sequence) = (request.token, request.sequence());
        answer.write(&mut server.commands, token, sequence, false);
        server.submit();
        if is_there {
            assert_eq!(read_answer(&mut client).1, b"23456789");
        } else {
            server.next(event::CLOSED);
            assert_eq!(read_to_end(&mut client).unwrap_or_default(), b"");
        }
    }
}
