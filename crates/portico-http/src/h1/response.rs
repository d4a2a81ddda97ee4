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
    // One check of the room; what follows only copies.
    out.reserve(MAX_ADDED_BYTES + head.reason.len() + head.fields.len());
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(&three_digits(head.status));
    out.push(b' ');
    out.extend_from_slice(head.reason);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(head.fields);
    if let Some(date) = head.date {
        out.extend_from_slice(b"Date: ");
        out.extend_from_slice(date);
        out.extend_from_slice(b"\r\n");
    }
    match head.connection {
        ConnectionField::None => {}
        ConnectionField::Close => out.extend_from_slice(b"Connection: close\r\n"),
        ConnectionField::KeepAlive => out.extend_from_slice(b"Connection: keep-alive\r\n"),
    }
    if let Some(keep_alive) = head.keep_alive {
        out.extend_from_slice(b"Keep-Alive: timeout=");
        write_decimal(out, keep_alive.timeout_seconds.into());
        if let Some(max) = keep_alive.max {
            out.extend_from_slice(b", max=");
            write_decimal(out, max.into());
        }
        out.extend_from_slice(b"\r\n");
    }
    match head.framing {
        BodyFraming::None => {}
        BodyFraming::ContentLength(length) => {
            out.extend_from_slice(b"Content-Length: ");
            write_decimal(out, length);
            out.extend_from_slice(b"\r\n");
        }
        BodyFraming::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a chunk's header: its size in hexadecimal digits and CRLF. The data and [`CHUNK_END`] follow. A size of 0
/// would end the body: don't.
pub fn write_chunk_size(out: &mut Vec<u8>, size: u64) {
    let mut digits = [0; MAX_DIGITS];
    let start = fill_digits(&mut digits, size, 16);
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a chunked body: the last chunk, the trailer lines (each with its CRLF), and the blank line.
pub fn write_last_chunk(out: &mut Vec<u8>, trailers: &[u8]) {
    out.extend_from_slice(b"0\r\n");
    out.extend_from_slice(trailers);
    out.extend_from_slice(b"\r\n");
}

/// Bytes that a head can have beyond its reason and the application's fields.
pub const MAX_ADDED_BYTES: usize = 256;

/// Digits of the longest number.
const MAX_DIGITS: usize = 20;

fn write_decimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; MAX_DIGITS];
    let start = fill_digits(&mut digits, number, 10);
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// Writes a number to the end of the array. Returns the index of its first digit.
#[inline]
fn fill_digits(digits: &mut [u8; MAX_DIGITS], number: u64, base: u64) -> usize {
    let mut rest = number;
    let mut start = MAX_DIGITS;
    for (index, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b"0123456789abcdef"[(rest % base % 16) as usize];
        start = index;
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    start
}

fn three_digits(status: u16) -> [u8; 3] {
    let digit = |number: u16| b'0' + (number % 10) as u8;
    [digit(status / 100), digit(status / 10), digit(status)]
}

#[cfg(test)]
mod tests {
    use super::{
        BodyFraming, ConnectionField, KeepAlive, MAX_ADDED_BYTES, ResponseHead, write_chunk_size,
        write_last_chunk, write_response_head,
    };

    fn written(head: &ResponseHead<'_>) -> String {
        let mut out = Vec::new();
        write_response_head(&mut out, head);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn fields_come_in_the_order_of_node() {
        let head = ResponseHead {
            status: 200,
            reason: b"OK",
            fields: b"Content-Type: text/plain\r\n",
            date: Some(b"Sun, 06 Nov 1994 08:49:37 GMT"),
            connection: ConnectionField::KeepAlive,
            keep_alive: Some(KeepAlive {
                timeout_seconds: 5,
                max: Some(1000),
            }),
            framing: BodyFraming::ContentLength(13),
        };
        assert_eq!(
            written(&head),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Connection: keep-alive\r\nKeep-Alive: timeout=5, max=1000\r\nContent-Length: 13\r\n\r\n"
        );
    }

    #[test]
    fn what_is_not_asked_for_is_not_written() {
        let head = ResponseHead {
            status: 599,
            reason: b"",
            fields: b"",
            date: None,
            connection: ConnectionField::None,
            keep_alive: None,
            framing: BodyFraming::None,
        };
        assert_eq!(written(&head), "HTTP/1.1 599 \r\n\r\n");
        let head = ResponseHead {
            connection: ConnectionField::Close,
            framing: BodyFraming::Chunked,
            ..head
        };
        assert_eq!(
            written(&head),
            "HTTP/1.1 599 \r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
    }

    #[test]
    fn the_longest_addition_fits_the_room_that_is_reserved() {
        let head = ResponseHead {
            status: 999,
            reason: b"",
            fields: b"",
            date: Some(b"Sun, 06 Nov 1994 08:49:37 GMT"),
            connection: ConnectionField::KeepAlive,
            keep_alive: Some(KeepAlive {
                timeout_seconds: u32::MAX,
                max: Some(u32::MAX),
            }),
            framing: BodyFraming::ContentLength(u64::MAX),
        };
        let text = written(&head);
        assert!(text.len() <= MAX_ADDED_BYTES, "{}", text.len());
        assert!(text.contains("Content-Length: 18446744073709551615\r\n"));
    }

    #[test]
    fn chunk_sizes_are_hexadecimal() {
        for (size, text) in [
            (1, "1\r\n"),
            (15, "f\r\n"),
            (4096, "1000\r\n"),
            (u64::MAX, "ffffffffffffffff\r\n"),
        ] {
            let mut out = Vec::new();
            write_chunk_size(&mut out, size);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn the_last_chunk_carries_the_trailers() {
        let mut out = Vec::new();
        write_last_chunk(&mut out, b"");
        assert_eq!(out, b"0\r\n\r\n");
        out.clear();
        write_last_chunk(&mut out, b"a: b\r\n");
        assert_eq!(out, b"0\r\na: b\r\n\r\n");
    }
}
