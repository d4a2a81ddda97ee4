//! Nanoseconds for field blocks and for whole exchanges of HTTP/2, beside `loona-hpack` where it does the same.
//!
//! `cargo run --release -p portico-http --example h2_bench`; with a case and a count as arguments it runs that case
//! alone, for counting instructions.

#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use portico_http::h2::frame::{FrameHeader, FrameKind, flag, write_settings, write_settings_ack};
use portico_http::h2::hpack::{Decoder, Encoder, OutgoingField};
use portico_http::h2::{AnswerHead, Event, FieldSection, PREFACE, Session, SessionOptions};

/// What a browser sends with each request.
const BROWSER: [(&str, &str); 15] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "www.example.com"),
    (
        ":path",
        "/articles/2026/11/how-to-count-instructions?page=2",
    ),
    (
        "sec-ch-ua",
        "\"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"",
    ),
    ("sec-ch-ua-mobile", "?0"),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    ),
    (
        "accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    ),
    ("sec-fetch-site", "same-origin"),
    ("sec-fetch-mode", "navigate"),
    ("referer", "https://www.example.com/articles/"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,de;q=0.8"),
    (
        "cookie",
        "session=8f14e45fceea167a5a36dedd4bea2543; theme=dark; consent=1",
    ),
    ("priority", "u=0, i"),
];

const ANSWER: [(&str, &str); 6] = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Cache-Control", "private, max-age=60"),
    ("Vary", "Accept-Encoding"),
    ("X-Powered-By", "Express"),
    ("ETag", "W/\"264-18f2c4b\""),
    ("Date", "Sun, 22 Nov 2026 13:00:00 GMT"),
];

/// A name, and what does it so many times.
type Case = (&'static str, fn(u32));

const CASES: [Case; 7] = [
    ("decode-first", |count| decode(count, false)),
    ("decode-again", |count| decode(count, true)),
    ("loona-first", |count| decode_loona(count, false)),
    ("loona-again", |count| decode_loona(count, true)),
    ("encode", encode),
    ("exchange", |count| exchange(count, false)),
    ("exchange-kept", |count| exchange(count, true)),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, count] = &arguments[..] {
        let case = CASES.into_iter().find(|case| case.0 == name).unwrap();
        return case.1(count.parse().unwrap());
    }
    for (name, run) in CASES {
        println!("{name:<16} {:>8.1}", best(run));
    }
}

/// The browser's fields three times: as they are new to the connection, as they become entries of the table, and as
/// all but those that hold credentials are.
fn blocks() -> [Vec<u8>; 3] {
    let mut encoder = Encoder::new(4096);
    [(); 3].map(|()| {
        let mut block = Vec::new();
        for (name, value) in BROWSER {
            let field = OutgoingField {
                is_sensitive: false,
                ..OutgoingField::new(name.as_bytes(), value.as_bytes())
            };
            encoder.encode(&mut block, &field);
        }
        block
    })
}

fn decode(count: u32, again: bool) {
    let [first, second, third] = blocks();
    let mut decoder = Decoder::new(4096);
    let mut section = FieldSection::new();
    for block in [&first, &second] {
        section.start(65_535, 128);
        decoder.decode(block, &mut section).unwrap();
    }
    let block = if again { third } else { first };
    for _ in 0..count {
        section.start(65_535, 128);
        decoder.decode(black_box(&block), &mut section).unwrap();
        black_box(section.fields());
    }
}

fn decode_loona(count: u32, again: bool) {
    let [first, second, third] = blocks();
    let mut decoder = loona_hpack::Decoder::new();
    for block in [&first, &second] {
        decoder.decode(block).unwrap();
    }
    let block = if again { third } else { first };
    for _ in 0..count {
        black_box(decoder.decode(black_box(&block)).unwrap());
    }
}

fn encode(count: u32) {
    let mut encoder = Encoder::new(4096);
    let mut out = Vec::new();
    for _ in 0..count {
        out.clear();
        encoder.begin(&mut out);
        encoder.status(&mut out, 200);
        for (name, value) in ANSWER {
            let field = OutgoingField::new(name.as_bytes(), black_box(value).as_bytes());
            encoder.encode(&mut out, &field);
        }
        black_box(&out);
    }
}

/// Requests of a browser, all entries but for the first two, that are answered with 612 bytes, by a head that is kept or not.
fn exchange(count: u32, is_kept: bool) {
    let [first, second, block] = blocks();
    let mut session = Session::new(&SessionOptions::default(), 0);
    let (mut input, mut out) = (PREFACE.to_vec(), Vec::new());
    write_settings(&mut input, &[]);
    write_settings_ack(&mut input);
    // A window that is never used up.
    let window = FrameHeader {
        length: 4,
        kind: FrameKind::WINDOW_UPDATE,
        flags: 0,
        stream: 0,
    };
    input.extend_from_slice(&window.bytes());
    input.extend_from_slice(&0x7000_0000_u32.to_be_bytes());
    push_request(&mut input, 1, &first);
    session.start(&mut out);
    let fields = ANSWER.map(|(name, value)| OutgoingField::new(name.as_bytes(), value.as_bytes()));
    let length = [OutgoingField::new(b"content-length", b"612")];
    let head = AnswerHead::new(200, fields);
    let (mut at, mut left) = (0, 0);
    for stream in 1..=count {
        loop {
            let rest = input.get(at..).unwrap_or_default();
            let received = session.receive(black_box(rest), 0, &mut out).unwrap();
            at += received.consumed;
            match received.event {
                Event::Request(key) => {
                    black_box(session.head());
                    let answered = match is_kept {
                        true => session.respond_encoded(key, &head, length, false, &mut out),
                        false => {
                            let fields = fields.into_iter().chain(length);
                            session.respond(key, 200, fields, false, &mut out)
                        }
                    };
                    answered.unwrap();
                    session.queue(key, 612).unwrap();
                    session.end(key, &mut out).unwrap();
                }
                Event::NeedMore => break,
                _ => {}
            }
        }
        while let Some(frame) = session.next_data(usize::MAX, &mut out) {
            left += frame.bytes;
        }
        black_box(&out);
        out.clear();
        input.clear();
        at = 0;
        let block = if stream == 1 { &second } else { &block };
        push_request(&mut input, stream * 2 + 1, block);
    }
    black_box(left);
}

fn push_request(input: &mut Vec<u8>, stream: u32, block: &[u8]) {
    let header = FrameHeader {
        length: block.len() as u32,
        kind: FrameKind::HEADERS,
        flags: flag::END_HEADERS | flag::END_STREAM,
        stream,
    };
    input.extend_from_slice(&header.bytes());
    input.extend_from_slice(block);
}

/// The best of many short runs: what the machine can do when nothing disturbs it.
fn best(run: fn(u32)) -> f64 {
    const COUNT: u32 = 20_000;
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let start = Instant::now();
        run(COUNT);
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64 / f64::from(COUNT)
}
