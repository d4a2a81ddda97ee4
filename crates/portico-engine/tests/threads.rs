//! Shards on threads of their own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use portico_channel::layout::{command, event, response_flag as flag};
use portico_channel::token::SLOT_MASK;
use portico_channel::{CommandWriter, EventWriter, External, LentBytes, Response};
use portico_engine::{ListenerId, ListenerOptions, ThreadedEngine, TurnOutcome};
use support::{Event, decode, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

struct Application {
    engine: ThreadedEngine,
    listener: ListenerId,
    address: SocketAddr,
    memory: Vec<u8>,
}

impl Application {
    fn new(threads: usize) -> Self {
        Self::with(threads, ListenerOptions::default())
    }

    fn with(threads: usize, options: ListenerOptions) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let mut engine = ThreadedEngine::new(threads).unwrap();
        let listener = engine.listen(socket.into(), 511, options).unwrap();
        Self {
            engine,
            listener,
            address,
            memory: vec![0; 64 * 1024],
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
    }

    /// What is there now, or within a moment.
    fn take(&mut self) -> Vec<Event> {
        let start = Instant::now();
        loop {
            let mut events = EventWriter::new(&mut self.memory);
            let outcome = self.engine.take(&mut events);
            let found = decode(events.written());
            if let TurnOutcome::NeedSpace(bytes) = outcome
                && bytes > self.memory.len()
            {
                self.memory.resize(bytes, 0);
            }
            if !found.is_empty() || start.elapsed() > Duration::from_millis(20) {
                return found;
            }
            std::thread::yield_now();
        }
    }

    fn collect(&mut self, kind: u32, count: usize) -> Vec<Event> {
        let start = Instant::now();
        let mut found = Vec::new();
        while found.len() < count {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{} of {count} events",
                found.len()
            );
            found.extend(self.take().into_iter().filter(|event| event.kind == kind));
        }
        found
    }

    fn answer(&mut self, requests: &[Event], body: &[u8]) {
        let mut commands = CommandWriter::new();
        for request in requests {
            respond(&mut commands, request, body);
        }
        self.engine.submit(commands.as_bytes(), None).unwrap();
    }
}

fn respond(commands: &mut CommandWriter, request: &Event, body: &[u8]) {
    let response = Response {
        status: 200,
        flags: flag::END | flag::CONTENT_LENGTH,
        reason: b"OK",
        body,
        content_length: body.len() as u64,
        ..Response::default()
    };
    commands.respond(request.token, request.sequence(), &response);
}

#[test]
fn requests_and_answers_cross_threads() {
    let mut application = Application::new(1);
    let mut client = application.connect();
    for _ in 0..200 {
        send(&mut client, GET);
        let requests = application.collect(event::REQUEST, 1);
        application.answer(&requests, b"hello");
        assert_eq!(read_answer(&mut client).1, b"hello");
    }
    assert_eq!(application.engine.counters().requests, 200);
    assert_eq!(application.engine.connection_count(application.listener), 1);
    assert_eq!(application.engine.referenced_connections(), 1);
}

#[test]
fn connections_of_several_threads_have_different_tokens() {
    let mut application = Application::new(3);
    let mut clients: Vec<_> = (0..60).map(|_| application.connect()).collect();
    for round in 0..5 {
        for client in &mut clients {
            send(client, GET);
        }
        let requests = application.collect(event::REQUEST, clients.len());
        let mut tokens: Vec<u32> = requests.iter().map(|request| request.token).collect();
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), clients.len());
        if round == 0 {
            let threads: std::collections::HashSet<u32> = tokens
                .iter()
                .map(|token| (token & SLOT_MASK) >> 18)
                .collect();
            assert!(threads.iter().all(|&thread| thread < 3));
        }
        application.answer(&requests, b"hello");
        for client in &mut clients {
            assert_eq!(read_answer(client).1, b"hello");
        }
    }
    assert_eq!(
        application.engine.connection_count(application.listener),
        60
    );
}

#[test]
fn adopted_sockets_are_spread_over_the_threads() {
    let mut application = Application::new(2);
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = application
        .engine
        .create_listener(ListenerOptions::default());
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(TcpStream::connect(outside.local_addr().unwrap()).unwrap());
        let (socket, _) = outside.accept().unwrap();
        application.engine.adopt(listener, socket.into()).unwrap();
    }
    for client in &mut clients {
        send(client, GET);
    }
    let requests = application.collect(event::REQUEST, 4);
    let upper = requests
        .iter()
        .filter(|request| request.token & SLOT_MASK >= 1 << 19)
        .count();
    assert_eq!(upper, 2);
    assert_eq!(application.engine.connection_count(listener), 4);
}

#[test]
fn large_bodies_go_beside_the_ring_in_order() {
    let mut application = Application::new(1);
    let mut client = application.connect();
    send(&mut client, GET.repeat(3));
    let requests = application.collect(event::REQUEST, 3);
    let inside = vec![b'i'; 3_000_000];
    let outside = vec![b'o'; 3_000_000];
    let mut commands = CommandWriter::new();
    respond(&mut commands, &requests[0], b"small");
    respond(&mut commands, &requests[1], &inside);
    let response = Response {
        status: 200,
        flags: flag::END | flag::CONTENT_LENGTH,
        reason: b"OK",
        content_length: outside.len() as u64,
        ..Response::default()
    };
    let last = &requests[2];
    commands.respond_external(last.token, last.sequence(), &response, outside.len());
    application
        .engine
        .submit(commands.as_bytes(), Some(outside.as_slice().into()))
        .unwrap();
    let reader = std::thread::spawn(move || {
        assert_eq!(read_answer(&mut client).1, b"small");
        assert!(read_answer(&mut client).1 == inside);
        assert!(read_answer(&mut client).1 == outside);
    });
    // Pieces of the last body follow as the thread has sent others.
    while !reader.is_finished() {
        application.take();
    }
    reader.join().unwrap();
}

#[test]
fn what_a_client_does_not_read_stays_with_the_application_and_ends_with_the_connection() {
    use std::rc::Rc;
    let mut application = Application::new(1);
    let mut client = application.connect();
    send(&mut client, GET.repeat(3));
    let requests = application.collect(event::REQUEST, 3);
    let body = Rc::new(vec![b'o'; 30_000_000]);
    let keep = || Some(Rc::clone(&body) as Rc<dyn LentBytes>);
    for request in &requests {
        let response = Response {
            status: 200,
            flags: flag::END | flag::CONTENT_LENGTH,
            reason: b"OK",
            content_length: body.len() as u64,
            ..Response::default()
        };
        let mut commands = CommandWriter::new();
        commands.respond_external(request.token, request.sequence(), &response, body.len());
        application
            .engine
            .submit(commands.as_bytes(), Some(External::lent(&body, &keep)))
            .unwrap();
    }
    assert_eq!(
        Rc::strong_count(&body),
        4,
        "all three are kept by reference"
    );
    drop(client);
    application.collect(event::CLOSED, 1);
    // The end was taken, and is told with the next call.
    application.take();
    assert_eq!(
        Rc::strong_count(&body),
        1,
        "none is kept for a connection that has gone"
    );
}

#[test]
fn a_slow_application_stops_the_reading_and_loses_nothing() {
    let mut application = Application::new(1);
    let mut client = application.connect();
    let total = 20_000_000;
    let sender = std::thread::spawn(move || {
        send(
            &mut client,
            format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {total}\r\n\r\n"),
        );
        send(&mut client, vec![b'x'; total]);
        read_answer(&mut client).1
    });
    // Long enough for the ring to fill up.
    std::thread::sleep(Duration::from_millis(200));
    let read = application.engine.counters().bytes_read;
    assert!(read < 3_000_000, "{read} bytes were read ahead");
    let mut bytes = 0;
    let mut request = None;
    while bytes < total {
        for event in application.take() {
            match event.kind {
                event::REQUEST => request = Some(event),
                event::BODY => bytes += event.piece().len(),
                _ => {}
            }
        }
    }
    application.answer(&[request.unwrap()], b"got it");
    assert_eq!(sender.join().unwrap(), b"got it");
}

#[test]
fn many_small_answers_find_room_in_the_end() {
    let mut application = Application::new(1);
    let mut client = application.connect();
    send(&mut client, GET);
    let request = application.collect(event::REQUEST, 1).remove(0);
    let mut commands = CommandWriter::new();
    let head = Response {
        status: 200,
        reason: b"OK",
        flags: flag::CHUNKED,
        ..Response::default()
    };
    commands.respond(request.token, request.sequence(), &head);
    let piece = vec![b'p'; 40_000];
    for _ in 0..200 {
        commands.data(request.token, request.sequence(), 0, &piece);
    }
    commands.end(request.token, request.sequence(), flag::CLOSE, b"");
    application
        .engine
        .submit(commands.as_bytes(), None)
        .unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        client.read_to_end(&mut all).unwrap();
        all.iter().filter(|&&byte| byte == b'p').count()
    });
    let closed = application.collect(event::CLOSED, 1);
    assert_eq!(closed[0].token, request.token);
    assert_eq!(reader.join().unwrap(), 200 * 40_000);
}

#[test]
fn a_bad_record_is_told_with_a_later_submission() {
    let mut application = Application::new(1);
    assert!(application.engine.submit(&[1, 2, 3], None).is_err());
    let mut commands = CommandWriter::new();
    commands.unlisted(99, 0, &[0], &[]);
    let start = Instant::now();
    // The thread may be so quick that the same submission tells.
    let mut result = application.engine.submit(commands.as_bytes(), None);
    while result.is_ok() {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::yield_now();
        result = application.engine.submit(&[], None);
    }
}

#[test]
fn an_engine_ends_with_work_in_flight() {
    for _ in 0..20 {
        let mut application = Application::new(2);
        let mut clients: Vec<_> = (0..4).map(|_| application.connect()).collect();
        for client in &mut clients {
            send(client, GET);
        }
        application.collect(event::REQUEST, 2);
        drop(application);
        for client in &mut clients {
            assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
        }
    }
}

#[test]
fn closing_all_connections_reaches_every_thread() {
    let mut application = Application::new(2);
    let mut clients: Vec<_> = (0..8).map(|_| application.connect()).collect();
    for client in &mut clients {
        send(client, GET);
    }
    application.collect(event::REQUEST, 8);
    let mut commands = CommandWriter::new();
    commands.write(
        0,
        command::CloseAll {
            listener: application.listener.0,
        },
        &[],
    );
    application
        .engine
        .submit(commands.as_bytes(), None)
        .unwrap();
    application.collect(event::CLOSED, 8);
    assert_eq!(application.engine.connection_count(application.listener), 0);
}

#[test]
fn threads_together_keep_to_the_number_of_connections() {
    const MOST: usize = 5;
    let mut application = Application::with(
        4,
        ListenerOptions {
            max_connections: Some(5),
            notify_open: true,
            ..ListenerOptions::default()
        },
    );
    for _ in 0..20 {
        let clients: Vec<TcpStream> = (0..40).map(|_| application.connect()).collect();
        let (mut opened, mut dropped, mut closed) = (0, 0, 0);
        while opened + dropped < clients.len() {
            for found in application.take() {
                match found.kind {
                    event::OPEN => opened += 1,
                    event::DROPPED => dropped += 1,
                    _ => {}
                }
            }
        }
        assert_eq!(opened, MOST);
        drop(clients);
        while closed < opened {
            closed += application
                .take()
                .iter()
                .filter(|found| found.kind == event::CLOSED)
                .count();
        }
        assert_eq!(application.engine.connection_count(application.listener), 0);
    }
}

#[test]
fn an_engine_has_no_more_threads_than_its_bound_and_all_of_them_work() {
    const MOST: usize = 64;
    let mut application = Application::new(1000);
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener = application
        .engine
        .create_listener(ListenerOptions::default());
    let mut clients = Vec::new();
    for _ in 0..3 * MOST {
        clients.push(TcpStream::connect(outside.local_addr().unwrap()).unwrap());
        let (socket, _) = outside.accept().unwrap();
        application.engine.adopt(listener, socket.into()).unwrap();
    }
    for client in &mut clients {
        send(client, GET);
    }
    let requests = application.collect(event::REQUEST, 3 * MOST);
    // The thread's index stands in the six highest bits of the slot.
    let mut connections = [0; MOST];
    for request in &requests {
        connections[((request.token & SLOT_MASK) >> 14) as usize] += 1;
    }
    assert_eq!(connections, [3; MOST]);
    application.answer(&requests, b"hello");
    for client in &mut clients {
        assert_eq!(read_answer(client).1, b"hello");
    }
}

/// An application that takes heads of any size that an engine takes.
fn with_long_heads() -> Application {
    Application::with(
        1,
        ListenerOptions {
            max_header_size: 16 << 20,
            max_headers_count: 0,
            ..ListenerOptions::default()
        },
    )
}

#[test]
fn with_threads_a_head_larger_than_a_ring_arrives_whole_and_in_its_order() {
    let mut application = with_long_heads();
    let mut client = application.connect();
    let long = |letter: &str, bytes: usize| format!("Long: {}\r\n", letter.repeat(bytes));
    // Below and above half a ring, above a ring, and as many fields as a head may have.
    let heads = [
        String::new(),
        long("a", 100 << 10),
        long("b", 1200 << 10),
        String::new(),
        long("c", 3 << 20),
        long("d", 7 << 20),
        "e:\r\n".repeat(65_000),
        String::new(),
    ];
    let mut sending = client.try_clone().unwrap();
    let all: Vec<_> = heads
        .iter()
        .map(|fields| format!("GET / HTTP/1.1\r\nHost: x\r\n{fields}\r\n"))
        .collect();
    let sender = std::thread::spawn(move || send(&mut sending, all.concat()));
    let requests = application.collect(event::REQUEST, heads.len());
    for (request, head) in requests.iter().zip(&heads) {
        let count = request.read::<event::Request>().field_count as usize;
        assert_eq!(count, 1 + head.matches("\r\n").count());
        if let Some(value) = head.strip_prefix("Long: ") {
            assert!(request.field(1).1 == value.trim_end());
        }
    }
    application.answer(&requests, b"hello");
    for _ in heads {
        assert_eq!(read_answer(&mut client).1, b"hello");
    }
    sender.join().unwrap();
}

#[test]
fn with_threads_large_heads_wait_while_the_application_takes_nothing() {
    let mut application = with_long_heads();
    let value = "v".repeat(2 << 20);
    let mut clients: Vec<_> = (0..6).map(|_| application.connect()).collect();
    let senders: Vec<_> = clients
        .iter()
        .map(|client| {
            let mut sending = client.try_clone().unwrap();
            let head = format!("GET / HTTP/1.1\r\nHost: x\r\nLong: {value}\r\n\r\n");
            std::thread::spawn(move || send(&mut sending, head))
        })
        .collect();
    let whole = (clients.len() * value.len()) as u64;
    let start = Instant::now();
    // The first event is on its way; of the others the engine reads no more than what it had begun.
    while application.engine.counters().bytes_read < value.len() as u64 {
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    let requests = application.collect(event::REQUEST, clients.len());
    assert!(application.engine.counters().bytes_read >= whole);
    for request in &requests {
        assert_eq!(request.field(1).1.len(), value.len());
    }
    application.answer(&requests, b"hello");
    for client in &mut clients {
        assert_eq!(read_answer(client).1, b"hello");
    }
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn with_threads_a_head_beyond_the_engines_bound_is_refused_whatever_the_listener_allows() {
    const MOST: usize = 8 << 20;
    let mut application = with_long_heads();
    let mut beyond = application.connect();
    let head = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nLong: {}\r\n\r\n",
        "v".repeat(MOST)
    );
    let sender = std::thread::spawn(move || {
        // The connection may end before all of it is read.
        let _ = beyond.write_all(head.as_bytes());
    });
    let error = application.collect(event::CLIENT_ERROR, 1).remove(0);
    let code = portico_http::ParseErrorCode::HeaderOverflow.number();
    assert_eq!(error.read::<event::ClientError>().code, u32::from(code));
    let mut commands = CommandWriter::new();
    commands.write(0, command::Destroy { token: error.token }, &[]);
    application
        .engine
        .submit(commands.as_bytes(), None)
        .unwrap();
    sender.join().unwrap();
}
