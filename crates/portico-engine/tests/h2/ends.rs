//! How connections end, and what a client must do in time.

use std::time::Duration;

use portico_channel::layout::{command, event, response_flag, shutdown_flag, timeout_kind};
use portico_http::h2::ErrorCode;
use portico_http::h2::frame::{FrameKind, flag};

use super::*;

/// The code of the GOAWAY that is the last frame.
fn goaway_code(frames: &[Frame]) -> ErrorCode {
    let last = frames.iter().rfind(|frame| frame.kind == FrameKind::GOAWAY);
    last.unwrap().code()
}

#[test]
fn a_broken_rule_ends_the_connection_and_the_application_hears_of_its_end() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/");
    let request = server.request();
    client.data(0, b"on no stream", false);
    let (frames, events) = until(&mut server, &mut client, |frames| !frames.is_empty());
    assert_eq!(goaway_code(&frames), ErrorCode::PROTOCOL_ERROR);
    assert_eq!(events.last().unwrap().kind, event::CLOSED);
    server.answer(&request, b"too late");
    client.frames();
    assert!(client.is_over);
}

#[test]
fn a_listener_that_closes_lets_streams_finish() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/");
    let request = server.request();
    let listener = 0;
    server.shard.close_listener(server.listener);
    server
        .commands
        .write(0, command::CloseIdle { listener }, &[]);
    server.submit();
    // Not known to the client yet.
    client.get(3, "/crossed");
    let (frames, _) = until(&mut server, &mut client, |frames| {
        frames.iter().any(|frame| frame.kind == FrameKind::PING)
    });
    assert_eq!(goaway_code(&frames), ErrorCode::NO_ERROR);
    let last = frames[0].payload.first_chunk().copied().unwrap();
    assert_eq!(u32::from_be_bytes(last), 0x7fff_ffff);
    let ping = frames
        .iter()
        .find(|frame| frame.kind == FrameKind::PING)
        .unwrap();
    client.frame(FrameKind::PING, flag::ACK, 0, &ping.payload.clone());
    let (frames, _) = until(&mut server, &mut client, |frames| !frames.is_empty());
    let last = frames[0].payload.first_chunk().copied().unwrap();
    assert_eq!(u32::from_be_bytes(last), 3);
    server.answer(&request, b"first");
    let token = request.token;
    let crossed = support::Server::queue_answer;
    crossed(&mut server, &request, b"again, of no meaning");
    let second = portico_channel::Response {
        status: 200,
        flags: response_flag::END,
        body: b"second",
        ..portico_channel::Response::default()
    };
    server.commands.respond(token, 3, &second);
    server.submit();
    let frames = until_ended(&mut server, &mut client, 2);
    assert_eq!(body_of(&frames, 3), b"second");
    while !client.is_over {
        server.settle_fast();
        client.frames();
    }
}

#[test]
fn an_application_that_shuts_a_connection_down_has_what_it_answered_sent() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/");
    client.get(3, "/");
    let requests = server.collect(event::REQUEST, 2);
    let token = requests[0].token;
    server.queue_answer(&requests[0], &[b'x'; 100_000]);
    let shutdown = command::Shutdown { token };
    server.commands.write(shutdown_flag::CLOSE, shutdown, &[]);
    server.submit();
    client.window(0, 100_000);
    client.window(1, 100_000);
    let (frames, events) = until(&mut server, &mut client, |frames| {
        frames.iter().any(Frame::ends)
    });
    assert_eq!(events.last().map(|it| it.kind), Some(event::CLOSED));
    assert_eq!(body_of(&frames, 1).len(), 100_000);
    assert_eq!(goaway_code(&frames), ErrorCode::NO_ERROR);
    let given_up = frames.iter().find(|frame| frame.stream == 3).unwrap();
    assert_eq!(given_up.code(), ErrorCode::CANCEL);
}

#[test]
fn a_client_that_ends_its_side_is_gone() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/");
    server.request();
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    server.next(event::CLOSED);
    assert_eq!(server.shard.counters().connections_open, 0);
}

#[test]
fn an_idle_connection_has_its_time_and_a_busy_one_has_not() {
    let mut options = options();
    options.keep_alive_timeout = Duration::from_millis(30);
    options.keep_alive_timeout_buffer = Duration::ZERO;
    let (mut server, mut client) = pair(options);
    client.get(1, "/");
    let request = server.request();
    for _ in 0..10 {
        let events = server.turn(Duration::from_millis(10));
        assert!(events.is_empty(), "{events:?}");
    }
    server.answer(&request, b"");
    let timeout = server.next(event::TIMEOUT);
    let words = timeout.read::<event::Timeout>();
    assert_eq!(words.deadline, timeout_kind::KEEP_ALIVE);
    let destroy = command::Destroy { token: words.token };
    server.commands.write(0, destroy, &[]);
    server.submit();
    let (frames, _) = until(&mut server, &mut client, |frames| {
        frames.iter().any(|frame| frame.kind == FrameKind::GOAWAY)
    });
    assert_eq!(goaway_code(&frames), ErrorCode::NO_ERROR);
}

#[test]
fn a_head_that_is_not_finished_in_time_ends_its_connection_and_a_late_body_its_stream() {
    let mut options = options();
    options.connections_checking_interval = Duration::from_millis(10);
    options.headers_timeout = Duration::from_millis(40);
    options.request_timeout = Duration::from_millis(80);
    let (mut server, mut client) = pair(options.clone());
    client.post(1, "/");
    client.get(3, "/");
    client.data(1, b"begins", false);
    let reset = server.next(event::RESET);
    assert_eq!(reset.sequence(), 1);
    let (frames, _) = until(&mut server, &mut client, |frames| !frames.is_empty());
    assert_eq!((frames[0].stream, frames[0].code()), (1, ErrorCode::CANCEL));
    assert_eq!(server.shard.counters().connections_open, 1);
    let (mut server, mut client) = pair(options);
    let block = client.block(&super::client::fields("GET", "/"));
    client.frame(FrameKind::HEADERS, flag::END_STREAM, 1, &block);
    let (frames, _) = until(&mut server, &mut client, |frames| !frames.is_empty());
    assert_eq!(goaway_code(&frames), ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn settings_that_are_not_acknowledged_in_time_end_the_connection() {
    let mut options = options();
    options.http2.limits.settings_timeout_ms = 50;
    let mut server = Server::with(options);
    let mut client = Client::silent(server.connect());
    client.send(portico_http::h2::PREFACE);
    client.frame(FrameKind::SETTINGS, 0, 0, &[]);
    let (frames, _) = until(&mut server, &mut client, |frames| !frames.is_empty());
    assert_eq!(goaway_code(&frames), ErrorCode::SETTINGS_TIMEOUT);
}

#[test]
fn a_client_that_makes_us_speak_and_does_not_listen_is_read_no_more() {
    let mut options = options();
    // Not the flood's limit is meant, but what is queued within it.
    options.http2.limits.pings.burst = u32::MAX;
    let (mut server, client) = pair(options);
    let mut stream = client.stream;
    stream.set_nonblocking(true).unwrap();
    let mut ping = vec![0, 0, 8, 6, 0, 0, 0, 0, 0];
    ping.extend([7; 8]);
    let pings = ping.repeat(1000);
    let mut sent = 0;
    let mut stuck = 0;
    while stuck < 20 {
        match std::io::Write::write(&mut stream, &pings) {
            Ok(count) => sent += count,
            Err(_) => stuck += 1,
        }
        server.settle_fast();
        assert!(
            sent < 64 << 20,
            "what is not read fills the kernel's buffers in the end"
        );
    }
    assert_eq!(server.shard.counters().connections_open, 1);
}
