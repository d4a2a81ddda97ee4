//! A client of a session, made of bytes.

use portico_http::h2::frame::{
    FRAME_HEADER_BYTES, Frame, FrameHeader, FrameKind, flag, write_settings,
};
use portico_http::h2::hpack::{Decoder, Encoder, OutgoingField};
use portico_http::h2::{
    ConnectionError, ErrorCode, Event, FieldSection, PREFACE, Session, SessionOptions, StreamKey,
};

/// A session, and what is between it and its client.
pub(crate) struct Peer {
    pub(crate) session: Session,
    pub(crate) now_ms: u64,
    /// What the session has sent and the client has not read.
    pub(crate) out: Vec<u8>,
    /// What the session has not consumed.
    input: Vec<u8>,
    encoder: Encoder,
    decoder: Decoder,
}

/// A frame that the session has sent: its header, and its payload without what `Frame` says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) kind: FrameKind,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "https"),
    (":authority", "a.example"),
    (":path", "/"),
];

pub(crate) const POST: [(&str, &str); 4] = [
    (":method", "POST"),
    (":scheme", "https"),
    (":authority", "a.example"),
    (":path", "/"),
];

impl Peer {
    /// A session that has had the preface and SETTINGS, and whose own have been acknowledged.
    pub(crate) fn new(options: &SessionOptions) -> Self {
        let mut peer = Self::silent(options);
        peer.send(PREFACE);
        let mut settings = Vec::new();
        write_settings(&mut settings, &[]);
        peer.send(&settings);
        peer.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]);
        peer.events();
        peer.sent();
        peer
    }

    /// A session that has had nothing.
    pub(crate) fn silent(options: &SessionOptions) -> Self {
        let mut peer = Self {
            session: Session::new(options, 1_000),
            now_ms: 1_000,
            out: Vec::new(),
            input: Vec::new(),
            encoder: Encoder::new(4096),
            decoder: Decoder::new(4096),
        };
        peer.session.start(&mut peer.out);
        peer
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    pub(crate) fn frame(&mut self, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
        let header = FrameHeader {
            length: payload.len() as u32,
            kind,
            flags,
            stream,
        };
        self.input.extend_from_slice(&header.bytes());
        self.input.extend_from_slice(payload);
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

    /// HEADERS in one frame.
    pub(crate) fn headers(&mut self, stream: u32, fields: &[(&str, &str)], is_last: bool) {
        let block = self.block(fields);
        let flags = flag::END_HEADERS | if is_last { flag::END_STREAM } else { 0 };
        self.frame(FrameKind::HEADERS, flags, stream, &block);
    }

    pub(crate) fn data(&mut self, stream: u32, bytes: &[u8], is_last: bool) {
        let flags = if is_last { flag::END_STREAM } else { 0 };
        self.frame(FrameKind::DATA, flags, stream, bytes);
    }

    pub(crate) fn window(&mut self, stream: u32, increment: u32) {
        self.frame(
            FrameKind::WINDOW_UPDATE,
            0,
            stream,
            &increment.to_be_bytes(),
        );
    }

    pub(crate) fn rst(&mut self, stream: u32, code: ErrorCode) {
        self.frame(FrameKind::RST_STREAM, 0, stream, &code.0.to_be_bytes());
    }

    /// What the session makes of all that was sent.
    pub(crate) fn try_events(&mut self) -> Result<Vec<Event>, ConnectionError> {
        let mut events = Vec::new();
        loop {
            let received = self
                .session
                .receive(&self.input, self.now_ms, &mut self.out)?;
            self.input.drain(..received.consumed);
            if received.event == Event::NeedMore {
                return Ok(events);
            }
            events.push(received.event);
        }
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        self.try_events().unwrap()
    }

    /// The code of the error that ends the connection; GOAWAY says the same.
    pub(crate) fn error(&mut self) -> ErrorCode {
        let error = self.try_events().unwrap_err();
        let last = self.sent().pop().unwrap();
        assert_eq!(last.kind, FrameKind::GOAWAY);
        assert_eq!(last.payload[4..8], error.code.0.to_be_bytes());
        assert_eq!(&last.payload[8..], error.reason.as_bytes());
        error.code
    }

    /// A request of which there is nothing more to be said.
    pub(crate) fn request(&mut self, stream: u32, is_last: bool) -> StreamKey {
        self.headers(stream, &GET, is_last);
        match self.events()[..] {
            [Event::Request(key)] => key,
            ref other => panic!("{other:?}"),
        }
    }

    /// The same behind a frame of SETTINGS.
    pub(crate) fn request_after_settings(&mut self, stream: u32) -> StreamKey {
        self.headers(stream, &GET, true);
        match self.events()[..] {
            [Event::PeerSettings { .. }, Event::Request(key)] => key,
            ref other => panic!("{other:?}"),
        }
    }

    /// Frames that the session has sent.
    pub(crate) fn sent(&mut self) -> Vec<Sent> {
        let mut rest = &self.out[..];
        let mut frames = Vec::new();
        while let Some((header, after)) = rest.split_first_chunk::<FRAME_HEADER_BYTES>() {
            let header = FrameHeader::parse(header);
            let (payload, after) = after.split_at(header.length as usize);
            rest = after;
            if header.kind != FrameKind::DATA {
                let frame = Frame::parse(&header, payload);
                assert!(frame.is_ok() && frame != Ok(Frame::Unknown), "{frame:?}");
            }
            frames.push(Sent {
                kind: header.kind,
                flags: header.flags,
                stream: header.stream,
                payload: payload.to_vec(),
            });
        }
        assert!(rest.is_empty());
        self.out.clear();
        frames
    }

    /// Bodies that the session lets through now: by stream, how many bytes, and whether it was all. Body bytes are
    /// zeros.
    pub(crate) fn pump(&mut self) -> Vec<(u32, usize, bool)> {
        let mut sent = Vec::new();
        while let Some(frame) = self.session.next_data(usize::MAX, &mut self.out) {
            let length = self.out.len() + frame.bytes;
            self.out.resize(length, 0);
            sent.push((frame.stream.id, frame.bytes, frame.is_last));
        }
        sent
    }

    /// The fields of a field block that the session has sent.
    pub(crate) fn fields(&mut self, frame: &Sent) -> Vec<(String, String)> {
        assert_ne!(frame.flags & flag::END_HEADERS, 0);
        let mut section = FieldSection::new();
        section.start(1 << 20, 1000);
        self.decoder.decode(&frame.payload, &mut section).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let bytes = section.bytes();
        section
            .fields()
            .iter()
            .map(|field| (text(field.name(bytes)), text(field.value(bytes))))
            .collect()
    }
}

pub(crate) fn rst_code(frame: &Sent) -> ErrorCode {
    assert_eq!(frame.kind, FrameKind::RST_STREAM);
    ErrorCode(u32::from_be_bytes(frame.payload[..].try_into().unwrap()))
}
