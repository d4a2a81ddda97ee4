//! What a session of HTTP/2 allocates: nothing for a request once it is warm, and no more than a bound for a client that
//! means harm.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use portico_http::h2::frame::{FrameHeader, FrameKind, flag, write_settings, write_settings_ack};
use portico_http::h2::hpack::{Encoder, OutgoingField};
use portico_http::h2::{Event, PREFACE, Session, SessionOptions};

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn note(allocations: usize, bytes: isize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as isize);
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note(0, -(layout.size() as isize));
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn push(input: &mut Vec<u8>, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
    let header = FrameHeader {
        length: payload.len() as u32,
        kind,
        flags,
        stream,
    };
    input.extend_from_slice(&header.bytes());
    input.extend_from_slice(payload);
}

fn handshake() -> Vec<u8> {
    let mut input = PREFACE.to_vec();
    write_settings(&mut input, &[]);
    write_settings_ack(&mut input);
    input
}

fn block(encoder: &mut Encoder, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    let pseudo = [
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "www.example.com"),
        (":path", "/"),
    ];
    for (name, value) in pseudo.iter().chain(fields) {
        let field = OutgoingField::new(name.as_bytes(), value.as_bytes());
        encoder.encode(&mut block, &field);
    }
    block
}

#[test]
fn a_request_allocates_nothing_once_the_session_is_warm() {
    let mut session = Session::new(&SessionOptions::default(), 0);
    let (mut out, mut input) = (Vec::new(), handshake());
    let mut encoder = Encoder::new(4096);
    session.start(&mut out);
    let mut allocated = Vec::new();
    for round in 0..300_u32 {
        let value = (round / 2).to_string();
        let fields = [("cookie", "a=b"), ("x-trace", &value), ("cookie", "c=d")];
        let (request, id) = (block(&mut encoder, &fields), round * 2 + 1);
        push(
            &mut input,
            FrameKind::HEADERS,
            flag::END_HEADERS,
            id,
            &request,
        );
        push(&mut input, FrameKind::DATA, flag::END_STREAM, id, &[7; 100]);
        push(
            &mut input,
            FrameKind::WINDOW_UPDATE,
            0,
            0,
            &600_u32.to_be_bytes(),
        );
        let before = ALLOCATIONS.get();
        let mut at = 0;
        loop {
            let received = session.receive(&input[at..], 0, &mut out).unwrap();
            at += received.consumed;
            match received.event {
                Event::NeedMore => break,
                Event::Data { stream, bytes, .. } => {
                    session.release(stream, bytes.len() as u32, &mut out);
                    let fields = [
                        OutgoingField::new(b"Content-Type", b"text/plain"),
                        OutgoingField::new(b"X-Trace", value.as_bytes()),
                    ];
                    session
                        .respond(stream, 200, fields, false, &mut out)
                        .unwrap();
                    session.queue(stream, 600).unwrap();
                    let trailers = [OutgoingField::new(b"Digest", b"x")];
                    session
                        .end_with_trailers(stream, trailers, &mut out)
                        .unwrap();
                }
                _ => {}
            }
        }
        while session.next_data(usize::MAX, &mut out).is_some() {}
        allocated.push(ALLOCATIONS.get() - before);
        input.clear();
        out.clear();
    }
    assert_eq!(session.open_streams(), 0);
    let (first, rest) = allocated.split_at(200);
    assert!(first[0] > 0);
    assert_eq!(rest, [0; 100]);
}

#[test]
fn a_hostile_client_costs_less_than_a_megabyte() {
    let before = BYTES.get();
    let mut session = Session::new(&SessionOptions::default(), 0);
    let (mut out, mut input) = (Vec::with_capacity(1024), handshake());
    let mut encoder = Encoder::new(4096);
    session.start(&mut out);
    let mut most = 0;
    let mut feed = |input: &mut Vec<u8>| {
        let buffers = |out: &Vec<u8>, input: &Vec<u8>| (out.capacity() + input.capacity()) as isize;
        while let Ok(received) = session.receive(input, 0, &mut out) {
            input.drain(..received.consumed);
            most = most.max(BYTES.get() - before - buffers(&out, input));
            if received.event == Event::NeedMore {
                break;
            }
        }
        out.clear();
    };
    // Tables that are full, on as many streams as there may be, of which none is read or let go.
    let long = "x".repeat(3_900);
    for stream in 0..1_000_u32 {
        let value = format!("{stream}{long}");
        let request = block(&mut encoder, &[("x-a", &value), ("cookie", &value)]);
        push(
            &mut input,
            FrameKind::HEADERS,
            flag::END_HEADERS,
            stream * 2 + 1,
            &request,
        );
        let mut early = (stream * 2 + 100_001).to_be_bytes().to_vec();
        early.extend_from_slice(b"u=1");
        push(&mut input, FrameKind::PRIORITY_UPDATE, 0, 0, &early);
        feed(&mut input);
    }
    // Fields as large as may be, and a block in parts up to its limit.
    let many = ["y".repeat(15_000), "z".repeat(15_000)];
    let request = block(&mut encoder, &[("a", &many[0]), ("b", &many[1])]);
    push(&mut input, FrameKind::HEADERS, 0, 9_001, &request[..16_000]);
    push(
        &mut input,
        FrameKind::CONTINUATION,
        flag::END_HEADERS,
        9_001,
        &request[16_000..],
    );
    feed(&mut input);
    push(&mut input, FrameKind::HEADERS, 0, 9_003, &[0; 16_000]);
    for _ in 0..8 {
        push(&mut input, FrameKind::CONTINUATION, 0, 9_003, &[0; 16_000]);
        feed(&mut input);
    }
    assert!(most > 100_000, "{most}");
    assert!(most < 1_000_000, "{most}");
}
