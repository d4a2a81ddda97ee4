//! Connections that speak HTTP/2, on real sockets, with a client that is made of frames.
#![allow(clippy::unwrap_used, reason = "tests")]

mod cache;
mod client;
mod ends;
mod files;
mod requests;
mod sessions;
#[path = "../support/mod.rs"]
mod support;

use portico_engine::{ListenerOptions, Protocols};

use client::{Client, Frame};
use support::{Event, Server};

/// HTTP/1 and HTTP/2, in the clear.
fn options() -> ListenerOptions {
    ListenerOptions {
        protocols: Protocols {
            http1: true,
            http2: true,
        },
        ..ListenerOptions::default()
    }
}

/// A server, and a client of it.
fn pair(options: ListenerOptions) -> (Server, Client) {
    let server = Server::with(options);
    let client = Client::new(server.connect());
    (server, client)
}

/// Drives the server until the client has got what is `enough`.
#[track_caller]
fn until(
    server: &mut Server,
    client: &mut Client,
    mut enough: impl FnMut(&[Frame]) -> bool,
) -> (Vec<Frame>, Vec<Event>) {
    let (mut frames, mut events) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        events.extend(server.settle_fast());
        frames.extend(client.frames());
        if enough(&frames) {
            return (frames, events);
        }
    }
    panic!("{frames:?}");
}

/// Until so many streams have ended.
#[track_caller]
fn until_ended(server: &mut Server, client: &mut Client, count: usize) -> Vec<Frame> {
    let is_end = |frame: &&Frame| frame.ends();
    until(server, client, |frames| {
        frames.iter().filter(is_end).count() >= count
    })
    .0
}

/// The bytes of a stream's DATA.
fn body_of(frames: &[Frame], stream: u32) -> Vec<u8> {
    use portico_http::h2::frame::FrameKind;
    let data = frames.iter();
    let data = data.filter(|frame| frame.stream == stream && frame.kind == FrameKind::DATA);
    data.flat_map(|frame| frame.payload.clone()).collect()
}
