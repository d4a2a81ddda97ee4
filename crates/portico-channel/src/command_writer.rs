//! Writing commands: for applications in Rust and for tests. JavaScript has its own.

use crate::event_writer::to_word;
use crate::layout::command;
use crate::padded;

/// Appends command records to a growing buffer.
#[derive(Clone, Debug, Default)]
pub struct CommandWriter {
    bytes: Vec<u8>,
}

/// What a `RESPOND` record says besides its payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response<'a> {
    /// Status code.
    pub status: u32,
    /// Flags: [`crate::layout::response_flag`].
    pub flags: u32,
    /// Template number, 0 for none.
    pub template: u32,
    /// Reason phrase.
    pub reason: &'a [u8],
    /// Field lines, each with CR LF.
    pub fields: &'a [u8],
    /// Body bytes in this record; with the flag `EXTERNAL` use [`CommandWriter::respond_external`].
    pub body: &'a [u8],
    /// Content-Length.
    pub content_length: u64,
}

impl CommandWriter {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What has been written.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets what has been written and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Appends a record of the given words (from word 2 on) and payload.
    pub fn record(&mut self, kind: u32, flags: u32, words: &[u32], payload: &[&[u8]]) {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let size = 8 + words.len() * 4 + padded(length);
        self.bytes.reserve(size);
        self.word(to_word(size));
        self.word(kind | flags << 8);
        for &word in words {
            self.word(word);
        }
        for part in payload {
            self.bytes.extend_from_slice(part);
        }
        self.bytes
            .resize(self.bytes.len() + padded(length) - length, 0);
    }

    /// `RESPOND`.
    pub fn respond(&mut self, token: u32, sequence: u32, response: &Response<'_>) {
        self.respond_sized(token, sequence, response, response.body.len());
    }

    /// `RESPOND` whose body of `body_bytes` bytes travels outside.
    pub fn respond_external(
        &mut self,
        token: u32,
        sequence: u32,
        response: &Response<'_>,
        body_bytes: usize,
    ) {
        let response = Response {
            body: &[],
            flags: response.flags | crate::layout::response_flag::EXTERNAL,
            ..*response
        };
        self.respond_sized(token, sequence, &response, body_bytes);
    }

    fn respond_sized(
        &mut self,
        token: u32,
        sequence: u32,
        response: &Response<'_>,
        body_bytes: usize,
    ) {
        let words = [
            token,
            sequence,
            response.status,
            response.template,
            to_word(response.reason.len()),
            to_word(response.fields.len()),
            to_word(body_bytes),
            (response.content_length & 0xffff_ffff) as u32,
            (response.content_length >> 32) as u32,
        ];
        self.record(
            command::RESPOND,
            response.flags,
            &words,
            &[response.reason, response.fields, response.body],
        );
    }

    /// `DATA`.
    pub fn data(&mut self, token: u32, sequence: u32, flags: u32, bytes: &[u8]) {
        self.sized(command::DATA, flags, token, sequence, bytes);
    }

    /// `END` with trailer lines.
    pub fn end(&mut self, token: u32, sequence: u32, flags: u32, trailers: &[u8]) {
        self.sized(command::END, flags, token, sequence, trailers);
    }

    /// `INFORM`.
    pub fn inform(&mut self, token: u32, sequence: u32, bytes: &[u8]) {
        self.sized(command::INFORM, 0, token, sequence, bytes);
    }

    /// `RAW`.
    pub fn raw(&mut self, token: u32, flags: u32, bytes: &[u8]) {
        self.sized(command::RAW, flags, token, 0, bytes);
    }

    /// A command that is only a kind, flags and a connection.
    pub fn simple(&mut self, kind: u32, flags: u32, token: u32) {
        self.record(kind, flags, &[token, 0], &[]);
    }

    /// `TEMPLATE`.
    pub fn template(&mut self, number: u32, reason: &[u8], fields: &[u8]) {
        let words = [number, to_word(reason.len()), to_word(fields.len())];
        self.record(command::TEMPLATE, 0, &words, &[reason, fields]);
    }

    fn sized(&mut self, kind: u32, flags: u32, token: u32, sequence: u32, bytes: &[u8]) {
        self.record(
            kind,
            flags,
            &[token, sequence, to_word(bytes.len())],
            &[bytes],
        );
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }
}
