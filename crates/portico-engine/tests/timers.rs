//! Every timer of a connection with a peer that reads slowly and one that writes slowly. The guard and the lingering close
//! take minutes and seconds: their tests are beside them, on a clock of their own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use portico_channel::Response;
use portico_channel::layout::{command, event, response_flag as flag, timeout_kind};
use portico_engine::ListenerOptions;
use support::{Event, Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
/// More than the kernel's buffers of both ends take.
const LARGE: usize = 24 << 20;
/// What the timers are set to here.
const SHORT: Duration = Duration::from_millis(250);

fn server(change: impl FnOnce(&mut ListenerOptions)) -> Server {
    let mut options = ListenerOptions {
        keep_alive_timeout_buffer: Duration::ZERO,
        connections_checking_interval: Duration::from_millis(15),
        ..ListenerOptions::default()
    };
    change(&mut options);
    Server::with(options)
}

/// Runs the server for several times as long as the timers are set to. Returns what was told.
fn several_times(server: &mut Server) -> Vec<Event> {
    let start = Instant::now();
    let mut events = Vec::new();
    while start.elapsed() < SHORT * 3 {
        events.extend(server.turn(Duration::from_millis(10)));
    }
    events
}

fn timeouts(events: &[Event]) -> Vec<u32> {
    let of_kind = events.iter().filter(|event| event.kind == event::TIMEOUT);
    of_kind
        .map(|event| event.read::<event::Timeout>().deadline)
        .collect()
}

/// Sends text in pieces, with a part of a timer between them.
fn send_slowly(
    server: &mut Server,
    client: &mut TcpStream,
    text: &str,
    piece: usize,
) -> Vec<Event> {
    let mut events = Vec::new();
    for part in text.as_bytes().chunks(piece) {
        send(client, part);
        let start = Instant::now();
        while start.elapsed() < SHORT / 5 {
            events.extend(server.turn(Duration::from_millis(5)));
        }
    }
    events
}

/// Answers with a large body that the add-on has not copied.
fn answer_large(server: &mut Server, request: &Event) {
    let response = Response {
        status: 200,
        flags: flag::END | flag::CONTENT_LENGTH,
        reason: b"OK",
        content_length: LARGE as u64,
        ..Response::default()
    };
    server
        .commands
        .respond_external(request.token, request.sequence(), &response, LARGE);
    server.submit_with(Some(&vec![b'x'; LARGE]));
}

/// Reads an answer, while the server goes on.
fn read_all(server: &mut Server, mut client: TcpStream) -> (usize, Vec<Event>) {
    let reader = std::thread::spawn(move || {
        let length = read_answer(&mut client).1.len();
        (client, length)
    });
    let mut events = Vec::new();
    while !reader.is_finished() {
        events.extend(server.turn(Duration::from_millis(5)));
    }
    let (_client, length) = reader.join().unwrap();
    events.extend(several_times(server));
    (length, events)
}

#[test]
fn an_answer_that_is_read_slowly_is_not_cut_off_by_the_keep_alive_timeout() {
    let mut server = server(|options| options.keep_alive_timeout = SHORT);
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    answer_large(&mut server, &request);
    assert_eq!(timeouts(&several_times(&mut server)), []);
    let (length, events) = read_all(&mut server, client);
    assert_eq!(length, LARGE);
    // Its time has begun when all was sent.
    assert_eq!(timeouts(&events), [timeout_kind::KEEP_ALIVE]);
}

#[test]
fn the_keep_alive_timeout_counts_from_the_last_byte_of_a_head_that_is_written_slowly() {
    let mut server = server(|options| options.keep_alive_timeout = SHORT);
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    let events = send_slowly(&mut server, &mut client, GET, 5);
    assert_eq!(timeouts(&events), []);
    let last = events
        .iter()
        .rfind(|event| event.kind == event::REQUEST)
        .unwrap();
    server.answer(last, b"y");
    send(&mut client, "GET / HT");
    assert_eq!(
        timeouts(&several_times(&mut server)),
        [timeout_kind::KEEP_ALIVE]
    );
}

#[test]
fn the_keep_alive_timeout_ends_a_connection_whose_answered_request_never_completes() {
    let mut server = server(|options| options.keep_alive_timeout = SHORT);
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
    );
    let request = server.request();
    server.answer(&request, b"early");
    assert_eq!(
        timeouts(&several_times(&mut server)),
        [timeout_kind::KEEP_ALIVE]
    );
}

#[test]
fn inactivity_is_neither_a_slow_reader_nor_a_slow_writer() {
    let mut server = server(|options| {
        options.timeout = SHORT;
        options.keep_alive_timeout = SHORT * 100;
    });
    let mut client = server.connect();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
        20
    );
    let mut events = send_slowly(&mut server, &mut client, &(head + &"b".repeat(20)), 10);
    assert_eq!(timeouts(&events), []);
    let request = events
        .iter()
        .find(|event| event.kind == event::REQUEST)
        .unwrap()
        .clone();
    answer_large(&mut server, &request);
    // Each piece makes room for the next at the kernel's, until the last is there.
    let mut piece = vec![0; 4 << 20];
    events.clear();
    while server.shard.counters().bytes_written < LARGE as u64 {
        let mut filled = 0;
        while filled < piece.len() {
            filled += client.read(&mut piece[filled..]).unwrap();
            events.extend(server.turn(Duration::ZERO));
        }
        let start = Instant::now();
        while start.elapsed() < SHORT / 5 {
            events.extend(server.turn(Duration::from_millis(5)));
        }
    }
    assert_eq!(timeouts(&events), []);
}

#[test]
fn a_peer_that_stops_reading_is_inactive() {
    let mut server = server(|options| {
        options.timeout = SHORT;
        options.keep_alive_timeout = SHORT * 100;
    });
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    answer_large(&mut server, &request);
    assert_eq!(
        timeouts(&several_times(&mut server)),
        [timeout_kind::INACTIVE]
    );
}

#[test]
fn the_times_for_head_and_request_count_however_slowly_a_peer_writes() {
    for text in [
        "GET / HTTP/1.1\r\nX-Long: ",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n",
    ] {
        let mut server = server(|options| {
            options.headers_timeout = SHORT;
            options.request_timeout = SHORT;
        });
        let mut client = server.connect();
        let events = send_slowly(
            &mut server,
            &mut client,
            &(text.to_owned() + &"b".repeat(60)),
            8,
        );
        assert_eq!(timeouts(&events)[0], timeout_kind::REQUEST);
    }
}

#[test]
fn the_times_for_head_and_request_do_not_count_while_a_peer_reads() {
    let mut server = server(|options| {
        options.headers_timeout = SHORT;
        options.request_timeout = SHORT;
        options.high_water_mark = 1000;
    });
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    answer_large(&mut server, &request);
    // The second is handed over, the third waits until the first answer is out.
    send(&mut client, GET);
    let second = server.request();
    send(&mut client, GET);
    assert_eq!(timeouts(&several_times(&mut server)), []);
    let (length, events) = read_all(&mut server, client);
    assert_eq!((length, timeouts(&events)), (LARGE, vec![]));
    server.answer(&second, b"second");
}

#[test]
fn a_body_that_is_held_has_no_more_time_than_others() {
    let mut server = server(|options| options.request_timeout = SHORT);
    let mut client = server.connect();
    send(
        &mut client,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
    );
    let request = server.request();
    server.commands.write(
        0,
        command::Pause {
            token: request.token,
            sequence: request.sequence(),
        },
        &[],
    );
    server.submit();
    assert_eq!(
        timeouts(&several_times(&mut server)),
        [timeout_kind::REQUEST]
    );
}
