//! A client of HTTP/2 that says what it is told to, frame by frame.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use portico_http::h2::frame::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, flag, write_settings};
use portico_http::h2::hpack::{Decoder, Encoder, OutgoingField};
use portico_http::h2::{ErrorCode, FieldSection, PREFACE};

/// A frame that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: FrameKind,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    pub(crate) fn ends(&self) -> bool {
        self.flags & flag::END_STREAM != 0
    }

    /// The code of RST_STREAM or GOAWAY.
    pub(crate) fn code(&self) -> ErrorCode {
        let at = match self.kind {
            FrameKind::GOAWAY => 4,
            FrameKind::RST_STREAM => 0,
            other => panic!("{other:?} has no code"),
        };
        ErrorCode(u32::from_be_bytes(
            self.payload[at..at + 4].try_into().unwrap(),
        ))
    }
}

/// The client.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    received: Vec<u8>,
    encoder: Encoder,
    decoder: Decoder,
    /// The peer has ended.
    pub(crate) is_over: bool,
}

pub(crate) fn fields<'a>(method: &'a str, path: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        (":method", method),
        (":scheme", "http"),
        (":authority", "a.example"),
        (":path", path),
    ]
}

impl Client {
    /// Sends the preface and SETTINGS, with the acknowledgement of the server's.
    pub(crate) fn new(stream: TcpStream) -> Self {
        let mut client = Self::silent(stream);
        client.stream.write_all(PREFACE).unwrap();
        let mut settings = Vec::new();
        write_settings(&mut settings, &[]);
        client.stream.write_all(&settings).unwrap();
        client.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]);
        client
    }

    /// Sends nothing.
    pub(crate) fn silent(stream: TcpStream) -> Self {
        stream
            .set_read_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        Self {
            stream,
            received: Vec::new(),
            encoder: Encoder::new(4096),
            decoder: Decoder::new(4096),
            is_over: false,
        }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn frame(&mut self, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
        let header = FrameHeader {
            length: u32::try_from(payload.len()).unwrap(),
            kind,
            flags,
            stream,
        };
        let mut bytes = header.bytes().to_vec();
        bytes.extend_from_slice(payload);
        self.send(&bytes);
    }

    pub(crate) fn block(&mut self, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            let field = OutgoingField::new(name.as_bytes(), value.as_bytes());
            self.encoder.encode(&mut block, &field);
        }
        block
    }

    pub(crate) fn headers(&mut self, stream: u32, fields: &[(&str, &str)], is_last: bool) {
        let block = self.block(fields);
        let flags = flag::END_HEADERS | if is_last { flag::END_STREAM } else { 0 };
        self.frame(FrameKind::HEADERS, flags, stream, &block);
    }

    pub(crate) fn get(&mut self, stream: u32, path: &str) {
        self.headers(stream, &fields("GET", path), true);
    }

    pub(crate) fn post(&mut self, stream: u32, path: &str) {
        self.headers(stream, &fields("POST", path), false);
    }

    pub(crate) fn data(&mut self, stream: u32, bytes: &[u8], is_last: bool) {
        let flags = if is_last { flag::END_STREAM } else { 0 };
        self.frame(FrameKind::DATA, flags, stream, bytes);
    }

    pub(crate) fn rst(&mut self, stream: u32, code: ErrorCode) {
        self.frame(FrameKind::RST_STREAM, 0, stream, &code.0.to_be_bytes());
    }

    pub(crate) fn window(&mut self, stream: u32, increment: u32) {
        let payload = increment.to_be_bytes();
        self.frame(FrameKind::WINDOW_UPDATE, 0, stream, &payload);
    }

    /// Frames that have come, but for SETTINGS, acknowledgements and WINDOW_UPDATE.
    pub(crate) fn frames(&mut self) -> Vec<Frame> {
        let mut frames = self.all_frames();
        frames.retain(|frame| {
            frame.kind != FrameKind::SETTINGS && frame.kind != FrameKind::WINDOW_UPDATE
        });
        frames
    }

    /// All of them.
    pub(crate) fn all_frames(&mut self) -> Vec<Frame> {
        let mut buffer = [0; 65536];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.is_over = true;
                    break;
                }
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.is_over = true;
                    break;
                }
            }
        }
        let mut frames = Vec::new();
        while let Some(head) = self.received.first_chunk::<FRAME_HEADER_BYTES>() {
            let header = FrameHeader::parse(head);
            let end = FRAME_HEADER_BYTES + header.length as usize;
            if self.received.len() < end {
                break;
            }
            let payload = self.received[FRAME_HEADER_BYTES..end].to_vec();
            self.received.drain(..end);
            frames.push(Frame {
                kind: header.kind,
                flags: header.flags,
                stream: header.stream,
                payload,
            });
        }
        frames
    }

    /// The fields of a HEADERS frame. Each must be asked for, in their order.
    pub(crate) fn fields_of(&mut self, frame: &Frame) -> Vec<(String, String)> {
        assert_eq!(frame.kind, FrameKind::HEADERS);
        let mut section = FieldSection::new();
        section.start(1 << 20, 1000);
        self.decoder.decode(&frame.payload, &mut section).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let fields = section.fields().iter();
        fields
            .map(|field| {
                (
                    text(field.name(section.bytes())),
                    text(field.value(section.bytes())),
                )
            })
            .collect()
    }
}
