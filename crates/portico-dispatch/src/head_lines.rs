//! Field lines and interim heads that an application gave as they are: whether they are what they claim to be.
//!
//! The engine writes them without looking. Here is made sure that they end where they say: no line break beyond the
//! structure of lines (RFC 9112, 5; response splitting), and what they declare of the body is understood.

/// What field lines say of the body's framing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    /// `Content-Length`.
    pub(crate) length: Option<u64>,
    /// There is a `Transfer-Encoding`.
    pub(crate) is_coded: bool,
    /// Its last coding is `chunked`.
    pub(crate) is_chunked: bool,
}

/// Reads field lines, each with CR LF. `None` if they are anything else, or two lengths differ.
pub(crate) fn read_fields(mut lines: &[u8]) -> Option<Declared> {
    let mut declared = Declared::default();
    while !lines.is_empty() {
        let (name, value, rest) = split_line(lines)?;
        lines = rest;
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = number(value.trim_ascii())?;
                if declared
                    .length
                    .replace(length)
                    .is_some_and(|other| other != length)
                {
                    return None;
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                declared.is_coded = true;
                let last = value
                    .rsplit(|byte| *byte == b',')
                    .next()
                    .unwrap_or_default();
                declared.is_chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            }
            _ => {}
        }
    }
    Some(declared)
}

/// Whether a reason phrase stays in its line (RFC 9112, 4).
pub(crate) fn is_reason(reason: &[u8]) -> bool {
    reason
        .iter()
        .all(|byte| *byte == b'\t' || *byte >= b' ' && *byte != 0x7f)
}

/// Whether trailer lines are lines, and none that would say something of the framing (RFC 9110, 6.5.1).
pub(crate) fn are_trailers(lines: &[u8]) -> bool {
    read_fields(lines) == Some(Declared::default())
}

/// Whether bytes are exactly one interim head that a client may get at any time: 1xx, but not 101.
pub(crate) fn is_interim(bytes: &[u8]) -> bool {
    let Some((line, rest)) = bytes
        .strip_prefix(b"HTTP/1.1 1")
        .and_then(|rest| line_end(rest).map(|end| rest.split_at(end)))
    else {
        return false;
    };
    let [tens, ones, reason @ ..] = line else {
        return false;
    };
    let is_status =
        tens.is_ascii_digit() && ones.is_ascii_digit() && (*tens, *ones) != (b'0', b'1');
    let is_reason = reason.is_empty() || reason.first() == Some(&b' ') && self::is_reason(reason);
    let fields = rest
        .strip_prefix(b"\r\n")
        .and_then(|rest| rest.strip_suffix(b"\r\n"));
    is_status && is_reason && fields.is_some_and(are_trailers)
}

/// Name, value and what follows the first line.
fn split_line(lines: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let end = line_end(lines)?;
    let (line, rest) = lines.split_at(end);
    let colon = line.iter().position(|byte| !is_token(*byte))?;
    let (name, value) = line.split_at(colon);
    let value = value.strip_prefix(b":")?;
    if name.is_empty() || value.iter().any(|byte| matches!(byte, b'\r' | 0)) {
        return None;
    }
    Some((name, value, rest.get(2..)?))
}

/// Where the first CR LF begins, if no bare LF comes before.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let feed = memchr::memchr(b'\n', bytes)?;
    let end = feed.checked_sub(1)?;
    (bytes.get(end) == Some(&b'\r')).then_some(end)
}

/// RFC 9110, 5.6.2.
const fn is_token(byte: u8) -> bool {
    matches!(byte,
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-'
        | b'.' | b'^' | b'_' | b'`' | b'|' | b'~')
}

/// Digits only (RFC 9110, 8.6).
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_speak_of_the_body_are_understood() {
        let length = |length| Declared {
            length: Some(length),
            ..Declared::default()
        };
        let coded = |is_chunked| Declared {
            length: None,
            is_coded: true,
            is_chunked,
        };
        for (lines, declared) in [
            ("", Declared::default()),
            ("A: b\r\nX-Y:\r\n", Declared::default()),
            ("content-length: 12\r\n", length(12)),
            ("Content-Length:7 \r\nCONTENT-LENGTH: 7\r\n", length(7)),
            ("Transfer-Encoding: chunked\r\n", coded(true)),
            ("Transfer-Encoding: gzip, Chunked\r\n", coded(true)),
            ("Transfer-Encoding: chunked, gzip\r\n", coded(false)),
            ("X: caf\u{e9}\r\n", Declared::default()),
        ] {
            assert_eq!(read_fields(lines.as_bytes()), Some(declared), "{lines:?}");
        }
    }

    #[test]
    fn lines_that_are_none_are_refused() {
        for lines in [
            "A",
            "A: b",
            "A: b\n",
            "A: b\r",
            "\r\n",
            "A: b\r\n\r\n",
            "A: b\rc\r\n",
            "A: b\nC: d\r\n",
            " folded: x\r\n",
            "A: b\r\n c\r\n",
            "A b: c\r\n",
            ": c\r\n",
            "A: \0\r\n",
            "A\r\n",
            "Content-Length: x\r\n",
            "Content-Length: \r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: +1\r\n",
        ] {
            assert_eq!(read_fields(lines.as_bytes()), None, "{lines:?}");
        }
    }

    #[test]
    fn an_interim_response_is_one_head() {
        for fine in [
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
            "HTTP/1.1 102\r\n\r\n",
        ] {
            assert!(is_interim(fine.as_bytes()), "{fine:?}");
        }
        for wrong in [
            "",
            "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n",
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 100 C\r\n\r\nx\r\n",
            "HTTP/1.0 100 C\r\n\r\n",
            "HTTP/1.1 1000 C\r\n\r\n",
            "HTTP/1.1 100 C\nX: y\r\n\r\n",
            "HTTP/1.1 100 C\r\nContent-Length: 1\r\n\r\n",
        ] {
            assert!(!is_interim(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn trailers_say_nothing_of_the_framing() {
        assert!(are_trailers(b"Digest: x\r\n"));
        assert!(!are_trailers(b"Content-Length: 3\r\n"));
        assert!(!are_trailers(b"A: b\r\n\r\nHTTP/1.1 200 OK\r\n"));
    }
}
