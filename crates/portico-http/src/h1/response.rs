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
    // One growth at most; what follows copies, constant lengths together where they meet.
    out.reserve(MAX_ADDED_BYTES + head.reason.len() + head.fields.len());
    let [a, b, c] = three_digits(head.status);
    out.extend_from_slice(&[
        b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1', b' ', a, b, c, b' ',
    ]);
    out.extend_from_slice(head.reason);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(head.fields);
    if let Some(date) = head.date {
        let mut line = *b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
        line[6..6 + HTTP_DATE_LENGTH].copy_from_slice(date);
        out.extend_from_slice(&line);
    }
    match (head.connection, head.keep_alive) {
        (ConnectionField::KeepAlive, Some(keep_alive)) => {
            out.extend_from_slice(b"Connection: keep-alive\r\nKeep-Alive: timeout=");
            write_keep_alive(out, keep_alive);
        }
        (connection, keep_alive) => {
            out.extend_from_slice(match connection {
                ConnectionField::None => b"",
                ConnectionField::Close => b"Connection: close\r\n",
                ConnectionField::KeepAlive => b"Connection: keep-alive\r\n",
            });
            if let Some(keep_alive) = keep_alive {
                out.extend_from_slice(b"Keep-Alive: timeout=");
                write_keep_alive(out, keep_alive);
            }
        }
    }
    match head.framing {
        BodyFraming::None => out.extend_from_slice(b"\r\n"),
        BodyFraming::ContentLength(length) => {
            out.extend_from_slice(b"Content-Length: ");
            write_number::<10>(out, length);
            out.extend_from_slice(b"\r\n\r\n");
        }
        BodyFraming::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n"),
    }
}

/// The values of a `Keep-Alive` field, and its line end.
fn write_keep_alive(out: &mut Vec<u8>, keep_alive: KeepAlive) {
    write_number::<10>(out, keep_alive.timeout_seconds.into());
    if let Some(max) = keep_alive.max {
        out.extend_from_slice(b", max=");
        write_number::<10>(out, max.into());
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a chunk's header: its size in hexadecimal digits and CRLF. The data and [`CHUNK_END`] follow. A size of 0
/// would end the body: don't.
pub fn write_chunk_size(out: &mut Vec<u8>, size: u64) {
    write_number::<16>(out, size);
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

/// Appends a number in the digits of a base of at most 16.
#[inline]
fn write_number<const BASE: u64>(out: &mut Vec<u8>, number: u64) {
    if number < BASE {
        out.push(digit::<BASE>(number));
        return;
    }
    let mut digits = [0; MAX_DIGITS];
    let mut rest = number;
    let mut start = MAX_DIGITS;
    for slot in digits.iter_mut().rev() {
        *slot = digit::<BASE>(rest);
        start -= 1;
        rest /= BASE;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// The last digit of a number.
const fn digit<const BASE: u64>(number: u64) -> u8 {
    b"0123456789abcdef"[(number % BASE % 16) as usize]
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
