//! A session as a sequence of operations, and a model that knows what it may say.
//!
//! Bytes choose the operations: a client sends frames, right and wrong, in pieces; an application does anything with the
//! streams it has been told of; time passes. What the session sends is read as a client reads it: field blocks decode,
//! bodies stay within the windows and are what the application has queued, a stream that has ended says nothing more.

mod application;
mod client;
mod output;

use std::collections::HashMap;

use portico_http::h2::frame::{FrameKind, flag};
use portico_http::h2::hpack::{Decoder, Encoder};
use portico_http::h2::{Event, LocalSettings, PREFACE, Session, SessionOptions, StreamKey};

/// Runs the operations that these bytes choose. Panics where the session breaks a rule.
pub(crate) fn run(data: &[u8]) {
    let mut choices = Choices { rest: data };
    let mut model = Model::new(choices.next());
    while !choices.rest.is_empty() {
        model.step(&mut choices);
        model.read_output();
        assert!(model.session.open_streams() <= MAX_STREAMS as usize + MAX_PUSHED);
        if model.has_failed {
            model = Model::new(choices.next());
        }
    }
}

const MAX_STREAMS: u32 = 10;
const MAX_PUSHED: usize = 100;

/// The bytes that choose.
struct Choices<'a> {
    rest: &'a [u8],
}

impl Choices<'_> {
    fn next(&mut self) -> u8 {
        let (first, rest) = self.rest.split_first().unwrap_or((&0, &[]));
        self.rest = rest;
        *first
    }

    /// Often small, sometimes large.
    fn size(&mut self) -> u32 {
        let byte = u32::from(self.next());
        match byte % 4 {
            0 => byte,
            1 => byte << 6,
            2 => byte << 14,
            _ => byte / 4 % 3,
        }
    }

    fn flag(&mut self) -> bool {
        self.next() % 2 == 1
    }
}

/// What is known of a stream.
#[derive(Default)]
struct Known {
    /// What the client lets it send.
    window: i64,
    queued: u64,
    sent: u64,
    /// The application has ended it.
    ends: bool,
    has_head: bool,
    /// The session has ended it, or reset it.
    is_over: bool,
    was_reset: bool,
}

struct Model {
    session: Session,
    now_ms: u64,
    input: Vec<u8>,
    out: Vec<u8>,
    encoder: Encoder,
    decoder: Decoder,
    keys: Vec<StreamKey>,
    streams: HashMap<u32, Known>,
    last_id: u32,
    last_request: u32,
    window: i64,
    initial_window: i64,
    /// Settings that the client has sent: the window, and the table's size.
    unacknowledged: Vec<(Option<u32>, Option<u32>)>,
    /// Bytes that no one knows have been sent: windows are not known any more.
    is_wild: bool,
    has_failed: bool,
}

impl Model {
    fn new(choice: u8) -> Self {
        let options = SessionOptions {
            settings: LocalSettings {
                max_concurrent_streams: MAX_STREAMS,
                initial_window_size: if choice.is_multiple_of(2) {
                    65_535
                } else {
                    300
                },
                max_header_list_size: 2_000,
                enable_connect_protocol: choice.is_multiple_of(3),
                ..LocalSettings::default()
            },
            ..SessionOptions::default()
        };
        let mut model = Self {
            session: Session::new(&options, 0),
            now_ms: 0,
            input: Vec::new(),
            out: Vec::new(),
            encoder: Encoder::new(4096),
            decoder: Decoder::new(4096),
            keys: Vec::new(),
            streams: HashMap::new(),
            last_id: 0,
            last_request: 0,
            window: 65_535,
            initial_window: 65_535,
            unacknowledged: Vec::new(),
            is_wild: false,
            has_failed: false,
        };
        model.session.start(&mut model.out);
        if choice < 250 {
            model.input.extend_from_slice(PREFACE);
            model.settings(&[]);
            model.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]);
        }
        model
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let choice = choices.next();
        if choice < 128 {
            self.client(choice, choices);
            if !choice.is_multiple_of(5) {
                let input = std::mem::take(&mut self.input);
                self.give(&input, choices);
            }
        } else {
            self.application(choice, choices);
        }
    }

    /// Gives the session bytes, in one piece or two.
    fn give(&mut self, bytes: &[u8], choices: &mut Choices<'_>) {
        let cut = match choices.next() {
            byte @ 0..64 => bytes.len().min(usize::from(byte)),
            _ => bytes.len(),
        };
        let mut at = 0;
        for end in [cut, bytes.len()] {
            at += self.receive(&bytes[at..end]);
        }
        let mut input = bytes[at..].to_vec();
        input.append(&mut self.input);
        self.input = input;
    }

    /// All events of some bytes; how many were consumed.
    fn receive(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let Ok(received) = self.session.receive(rest, self.now_ms, &mut self.out) else {
                assert!(!self.has_failed, "an error twice");
                self.has_failed = true;
                return bytes.len();
            };
            assert!(received.consumed <= rest.len());
            at += received.consumed;
            match received.event {
                Event::NeedMore => return at,
                _ if self.has_failed => panic!("{:?} behind an error", received.event),
                Event::Request(key) => {
                    assert!(key.id > self.last_request && key.id % 2 == 1);
                    self.last_request = key.id;
                    self.keys.push(key);
                    let section = self.session.section();
                    let head = self.session.head().unwrap();
                    assert!(head.authority.is_some() && head.fields(section).len() < 128);
                }
                Event::Data { stream, bytes, .. } => {
                    assert!(self.keys.contains(&stream) && bytes.end <= rest.len());
                }
                Event::Trailers(key) => assert!(self.keys.contains(&key)),
                Event::Reset { stream, .. } => {
                    assert!(self.keys.contains(&stream));
                    let known = self.known(stream.id);
                    assert!(!known.was_reset, "a reset is told twice");
                    known.was_reset = true;
                }
                _ => {}
            }
        }
    }

    fn known(&mut self, id: u32) -> &mut Known {
        let window = self.initial_window;
        self.streams.entry(id).or_insert_with(|| Known {
            window,
            ..Known::default()
        })
    }
}
