//! Writing commands: for applications in Rust and for tests. JavaScript has its own.

use crate::event_writer::to_word;
use crate::layout::{command, reset_code};
use crate::padded;
use crate::schema::{self, Record};

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

/// A record but for its payload of so many bytes, which follows, and padding to four bytes.
#[must_use]
pub fn opening<R: Record>(flags: u32, words: R, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; R::BYTES];
    let size = to_word(R::BYTES + padded(payload));
    schema::encode(size, flags, words, &mut bytes);
    bytes
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

    /// Appends a record: its words, and the pieces of its payload.
    pub fn write<R: Record>(&mut self, flags: u32, words: R, payload: &[&[u8]]) {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let size = R::BYTES + padded(length);
        let start = self.bytes.len();
        self.bytes.reserve(size);
        self.bytes.resize(start + R::BYTES, 0);
        let head = self.bytes.get_mut(start..).unwrap_or_default();
        schema::encode(to_word(size), flags, words, head);
        for part in payload {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.resize(start + size, 0);
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
        let words = command::Respond {
            token,
            sequence,
            status: response.status,
            template: response.template,
            reason_bytes: to_word(response.reason.len()),
            fields_bytes: to_word(response.fields.len()),
            body_bytes: to_word(body_bytes),
            content_length: response.content_length,
        };
        let payload = [response.reason, response.fields, response.body];
        self.write(response.flags, words, &payload);
    }

    /// `DATA`.
    pub fn data(&mut self, token: u32, sequence: u32, flags: u32, bytes: &[u8]) {
        let words = command::Data {
            token,
            sequence,
            body_bytes: to_word(bytes.len()),
        };
        self.write(flags, words, &[bytes]);
    }

    /// `END` with trailer lines.
    pub fn end(&mut self, token: u32, sequence: u32, flags: u32, trailers: &[u8]) {
        let words = command::End {
            token,
            sequence,
            trailers_bytes: to_word(trailers.len()),
        };
        self.write(flags, words, &[trailers]);
    }

    /// `INFORM`, with field lines.
    pub fn inform(&mut self, token: u32, sequence: u32, status: u32, reason: &[u8], fields: &[u8]) {
        let words = command::Inform {
            token,
            sequence,
            status,
            reason_bytes: to_word(reason.len()),
            fields_bytes: to_word(fields.len()),
        };
        self.write(0, words, &[reason, fields]);
    }

    /// `RESET`, because the answer is not wanted any more.
    pub fn reset(&mut self, token: u32, sequence: u32) {
        let words = command::Reset {
            token,
            sequence,
            code: reset_code::CANCEL,
        };
        self.write(0, words, &[]);
    }

    /// `RAW`.
    pub fn raw(&mut self, token: u32, flags: u32, bytes: &[u8]) {
        let words = command::Raw {
            token,
            sequence: 0,
            body_bytes: to_word(bytes.len()),
        };
        self.write(flags, words, &[bytes]);
    }

    /// `TEMPLATE`.
    pub fn template(&mut self, number: u32, reason: &[u8], fields: &[u8]) {
        let words = command::Template {
            number,
            reason_bytes: to_word(reason.len()),
            fields_bytes: to_word(fields.len()),
        };
        self.write(0, words, &[reason, fields]);
    }

    /// Appends a record of any kind, words (the token first) and payload: what no table lists. For marks that do not leave
    /// the process, and for tests of what no application writes.
    pub fn unlisted(&mut self, kind: u32, flags: u32, words: &[u32], payload: &[&[u8]]) {
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let size = schema::HEAD_BYTES + size_of_val(words) + padded(length);
        let end = self.bytes.len() + size;
        let head = schema::head(to_word(size), kind, flags);
        self.bytes.extend_from_slice(&head);
        for word in words {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        for part in payload {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.resize(end, 0);
    }
}
