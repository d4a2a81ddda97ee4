//! Response heads and chunk framing, byte for byte and in the order in which node:http writes them.

use super::date::HTTP_DATE_LENGTH;

/// What follows a chunk's data.
pub const CHUNK_END: &[u8; 2] = b"\r\n";

/// A response head to be written. Nothing is checked: the application's side has refused bad names and values.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// Status code, 100 to 999.
    pub status: u16,
    /// Reason phrase, possibly empty.
    pub reason: &'a [u8],
    /// The application's field lines, each with its CRLF.
    pub fields: &'a [u8],
    /// Value of a `Date` field to add, from a [`super::DateCache`].
    pub date: Option<&'a [u8; HTTP_DATE_LENGTH]>,
    /// `Connection` field to add.
    pub connection: ConnectionField,
    /// `Keep-Alive` field to add.
    pub keep_alive: Option<KeepAlive>,
    /// Framing field to add.
    pub framing: BodyFraming,
}

/// A `Connection` field to add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionField {
    /// None.
    #[default]
    None,
    /// `Connection: close`.
    Close,
    /// `Connection: keep-alive`.
    KeepAlive,
}

/// Values of a `Keep-Alive` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Seconds that the connection is kept idle.
    pub timeout_seconds: u32,
    /// Number of requests that it may make, if limited.
    pub max: Option<u32>,
}

/// A framing field to add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyFraming {
    /// None: there is no body, or the application's fields tell.
    #[default]
    None,
    /// `Content-Length`.
    ContentLength(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// Appends a response head, blank line included: the status line, the application's fields, then `Date`,
/// `Connection`, `Keep-Alive`, `Content-Length` or `Transfer-Encoding`. The version is always HTTP/1.1 (RFC 9112,
/// section 2.3), as in Node.
pub fn write_response_head(out: &mut Vec<u8>, head: &ResponseHead<'_>) {
    let _ = (out, head);
}

/// Appends a chunk's header: its size in hexadecimal digits and CRLF. The data and [`CHUNK_END`] follow. A size of 0
/// would end the body: don't.
pub fn write_chunk_size(out: &mut Vec<u8>, size: u64) {
    let _ = (out, size);
}

/// Appends the end of a chunked body: the last chunk, the trailer lines (each with its CRLF), and the blank line.
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: &[u8]) {
    let _ = (out, trailers);
}
