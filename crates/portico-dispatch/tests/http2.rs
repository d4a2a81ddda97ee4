//! Connections of HTTP/2 that many members share: each stream is one member's, and ends alone.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../portico-engine/tests/h2/client.rs"]
#[expect(dead_code, reason = "this file uses a part")]
mod client;
mod support;

use std::collections::HashMap;
use std::time::Instant;

use client::{Client, Frame, fields};
use portico_channel::Response;
use portico_channel::layout::{command, event, response_flag as flag};
use portico_dispatch::QueueOptions;
use portico_engine::{ListenerOptions, Protocols};
use portico_http::h2::ErrorCode;
use portico_http::h2::frame::FrameKind;
use support::{App, Host, PATIENCE};

/// A host with HTTP/2 in the clear and a queue 1 for `/`, and a client of it.
fn hosted() -> (Host, Client) {
    let mut host = Host::with(
        1,
        ListenerOptions {
            protocols: Protocols {
                http1: true,
                http2: true,
            },
            ..ListenerOptions::default()
        },
    );
    host.route("/", 1, QueueOptions::default());
    let client = Client::new(std::net::TcpStream::connect(host.address).unwrap());
    (host, client)
}

/// Frames until there are `enough`.
#[track_caller]
fn until(client: &mut Client, mut enough: impl FnMut(&[Frame]) -> bool) -> Vec<Frame> {
    let start = Instant::now();
    let mut frames = Vec::new();
    while !enough(&frames) {
        assert!(start.elapsed() < PATIENCE, "{frames:?}");
        frames.extend(client.frames());
    }
    frames
}

fn ended(frames: &[Frame]) -> usize {
    frames.iter().filter(|frame| frame.ends()).count()
}

fn bodies(frames: &[Frame]) -> HashMap<u32, String> {
    let mut bodies = HashMap::<u32, String>::new();
    for frame in frames.iter().filter(|frame| frame.kind == FrameKind::DATA) {
        let text = String::from_utf8_lossy(&frame.payload);
        bodies.entry(frame.stream).or_default().push_str(&text);
    }
    bodies
}

#[test]
fn streams_of_one_connection_go_to_the_member_with_the_least_to_do() {
    let (mut host, mut client) = hosted();
    let mut apps = [host.app(1), host.app(1)];
    for stream in (1..20).step_by(2) {
        client.get(stream, &format!("/{stream}"));
    }
    host.until(|stats| {
        let in_flight = stats.members.iter().map(|member| member.in_flight);
        in_flight.collect::<Vec<_>>() == [5, 5]
    });
    // The later ones first.
    for app in &mut apps {
        let mut requests: Vec<_> = (0..5).map(|_| app.request()).collect();
        requests.reverse();
        for request in requests {
            app.answer(&request, &request.target);
        }
    }
    let frames = until(&mut client, |frames| ended(frames) == 10);
    for (stream, body) in bodies(&frames) {
        assert_eq!(body, format!("/{stream}"));
    }
    host.until(|stats| stats.counters.connections_open == 1);
}

#[test]
fn a_member_that_dies_costs_its_own_streams_and_no_other() {
    let (mut host, mut client) = hosted();
    let mut dies = host.app(1);
    client.get(1, "/half");
    let half = dies.request();
    let head = Response {
        status: 200,
        reason: b"OK",
        body: b"half",
        ..Response::default()
    };
    dies.commands.respond(half.token, half.sequence, &head);
    dies.submit();
    client.get(3, "/taken");
    dies.request();
    until(&mut client, |frames| !bodies(frames).is_empty());
    let mut lives = host.app(1);
    client.get(5, "/lives");
    let request = lives.request();
    host.kill(dies);
    let frames = until(&mut client, |frames| {
        let is_reset = |frame: &Frame| frame.kind == FrameKind::RST_STREAM;
        ended(frames) == 1 && frames.iter().any(is_reset)
    });
    let reset = frames
        .iter()
        .find(|frame| frame.kind == FrameKind::RST_STREAM);
    let reset = reset.unwrap();
    assert_eq!((reset.stream, reset.code()), (1, ErrorCode::INTERNAL_ERROR));
    let head = frames.iter().find(|frame| frame.stream == 3).unwrap();
    assert_eq!(client.fields_of(head)[0].1, "502");
    lives.answer(&request, "whole");
    let frames = until(&mut client, |frames| ended(frames) == 1);
    assert_eq!(bodies(&frames)[&5], "whole");
    // What it had not taken goes to another, on the same connection.
    let dies = host.app(1);
    for stream in [7, 9] {
        client.get(stream, &format!("/{stream}"));
    }
    host.until(|stats| stats.members.iter().all(|member| member.in_flight == 1));
    host.kill(dies);
    for _ in 0..2 {
        let request = lives.request();
        lives.answer(&request, &request.target);
    }
    let frames = until(&mut client, |frames| ended(frames) == 2);
    assert_eq!(bodies(&frames).len(), 2);
}

#[test]
fn a_host_that_drains_tells_its_clients_and_finishes_their_streams() {
    let (mut host, mut client) = hosted();
    let mut app = host.app(1);
    client.get(1, "/");
    let request = app.request();
    host.shards[0].drain();
    let frames = until(&mut client, |frames| {
        frames.iter().any(|frame| frame.kind == FrameKind::PING)
    });
    let goaway = frames.iter().find(|frame| frame.kind == FrameKind::GOAWAY);
    assert_eq!(goaway.unwrap().code(), ErrorCode::NO_ERROR);
    // It crossed with that.
    client.get(3, "/crossed");
    let crossed = app.request();
    let ping = frames
        .iter()
        .find(|frame| frame.kind == FrameKind::PING)
        .unwrap();
    client.frame(FrameKind::PING, 1, 0, &ping.payload.clone());
    app.answer(&crossed, "crossed");
    app.answer(&request, "first");
    let frames = until(&mut client, |frames| ended(frames) == 2);
    assert_eq!(bodies(&frames)[&3], "crossed");
    let start = Instant::now();
    while !client.is_over {
        client.frames();
        assert!(start.elapsed() < PATIENCE);
    }
    host.until(|stats| stats.counters.connections_open == 0);
}

#[test]
fn uploads_and_answers_go_through_with_their_trailers_however_large_they_are() {
    let (mut host, mut client) = hosted();
    let mut app = host.app(1);
    client.post(1, "/upload");
    let mut request = None;
    let (mut window, mut sent, mut got) = (60_000i64, 0usize, Vec::new());
    let upload: Vec<u8> = (0..400_000usize).map(|at| (at * 13 % 251) as u8).collect();
    let start = Instant::now();
    while got.len() < upload.len() {
        assert!(start.elapsed() < PATIENCE);
        while window > 16_000 && sent < upload.len() {
            let end = (sent + 16_000).min(upload.len());
            client.data(1, &upload[sent..end], false);
            window -= (end - sent) as i64;
            sent = end;
        }
        for frame in client.all_frames() {
            if frame.kind == FrameKind::WINDOW_UPDATE && frame.stream == 1 {
                let increment = frame.payload[..].try_into().unwrap();
                window += i64::from(u32::from_be_bytes(increment));
            }
        }
        app.take();
        while app.has(event::REQUEST) || app.has(event::BODY) {
            if app.has(event::REQUEST) {
                request = Some(app.request());
            } else {
                got.extend_from_slice(app.next(event::BODY).piece());
            }
        }
    }
    client.headers(1, &[("x-sum", "1")], true);
    let end = app.next(event::END);
    assert_eq!(end.read::<event::End>().field_count, 1);
    assert_eq!(got, upload);
    let request = request.unwrap();
    let head = Response {
        status: 200,
        // Of no meaning here, and harmless.
        flags: flag::CHUNKED | flag::TRANSFER_ENCODING,
        reason: b"OK",
        fields: b"Connection: close\r\n",
        ..Response::default()
    };
    app.commands.respond(request.token, 1, &head);
    for piece in upload.chunks(50_000) {
        app.commands.data(request.token, 1, 0, piece);
    }
    app.commands.end(request.token, 1, 0, b"X-Sum: 2\r\n");
    app.submit();
    client.window(0, 1 << 20);
    client.window(1, 1 << 20);
    let start = Instant::now();
    let mut frames: Vec<Frame> = Vec::new();
    while ended(&frames) == 0 {
        assert!(start.elapsed() < PATIENCE);
        app.take();
        app.submit();
        frames.extend(client.frames());
    }
    let heads: Vec<Frame> = frames
        .iter()
        .filter(|it| it.kind == FrameKind::HEADERS)
        .cloned()
        .collect();
    assert_eq!(client.fields_of(&heads[0]).len(), 1);
    assert_eq!(client.fields_of(&heads[1])[0].1, "2");
    let data = frames.iter().filter(|frame| frame.kind == FrameKind::DATA);
    let bytes: Vec<u8> = data.flat_map(|frame| frame.payload.clone()).collect();
    assert_eq!(bytes, upload);
}

#[test]
fn what_belongs_to_no_prefix_is_refused_and_the_connection_goes_on() {
    let (mut host, mut client) = hosted();
    host.reserve("/kept/");
    client.get(1, "/kept/a");
    client.headers(
        3,
        &[fields("POST", "/kept/b"), vec![("content-length", "5")]].concat(),
        false,
    );
    client.data(3, b"hello", true);
    let frames = until(&mut client, |frames| ended(frames) == 2);
    let heads: Vec<Frame> = frames
        .iter()
        .filter(|it| it.kind == FrameKind::HEADERS)
        .cloned()
        .collect();
    for head in &heads {
        assert_eq!(client.fields_of(head)[0].1, "503");
    }
    let mut app: App = host.app(1);
    client.get(5, "/");
    let request = app.request();
    app.commands.write(
        0,
        command::Shutdown {
            token: request.token,
        },
        &[],
    );
    app.answer(&request, "it");
    client.get(7, "/");
    let request = app.request();
    app.answer(&request, "it");
    let frames = until(&mut client, |frames| !bodies(frames).is_empty());
    assert!(frames.iter().all(|frame| frame.kind != FrameKind::GOAWAY));
}

#[test]
fn a_connection_has_so_many_streams_and_no_more() {
    let (mut host, mut client) = hosted();
    let mut app = host.app(1);
    let streams: Vec<u32> = (0..33).map(|index| 2 * index + 1).collect();
    for stream in &streams {
        client.get(*stream, "/");
    }
    let frames = until(&mut client, |frames| !frames.is_empty());
    let refused = frames.last().unwrap();
    assert_eq!(
        (refused.stream, refused.code()),
        (65, ErrorCode::REFUSED_STREAM)
    );
    host.until(|stats| stats.members[0].in_flight == 32);
    for _ in 0..32 {
        let request = app.request();
        app.answer(&request, "it");
    }
    until(&mut client, |frames| ended(frames) == 32);
}
