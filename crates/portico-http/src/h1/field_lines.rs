//! Field lines that are all there (RFC 9112, section 5): of responses that others made, of trailers, of templates.
//!
//! What a request sends comes in pieces, and its errors have llhttp's codes and places: `parser::field_lines` reads
//! that. A property test holds the two against each other.

use crate::scan;
use crate::semantics::field_name::{self, field_name_number};
use crate::semantics::field_value::trim;
use crate::semantics::framing_fields::FramingFields;

/// A field: its name as it was sent, the name's number, and its value without the white space around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLine<'a> {
    /// The name.
    pub name: &'a [u8],
    /// Its number in [`crate::FIELD_NAMES`], 0 if it is not in the table.
    pub number: u16,
    /// The value.
    pub value: &'a [u8],
}

/// Bytes that are no field line: a name that is no token, a value with a control character, a line that does not end
/// in CR LF, or a folded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFieldLine;

/// The field lines at the start of `bytes`, each with its CR LF, to their end. After an error there is nothing more.
#[derive(Clone, Copy, Debug)]
pub struct FieldLines<'a> {
    rest: &'a [u8],
}

impl<'a> FieldLines<'a> {
    /// Of these bytes and no others: a blank line is no field line.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn split_first(self) -> Option<(FieldLine<'a>, &'a [u8])> {
        let name_length = self
            .rest
            .iter()
            .take_while(|&&byte| field_name::is_token(byte))
            .count();
        let (name, after) = self.rest.split_at_checked(name_length)?;
        let after = after.strip_prefix(b":").filter(|_| !name.is_empty())?;
        let (value, after) = after.split_at_checked(scan::value_end(after, 0))?;
        let rest = after.strip_prefix(b"\r\n")?;
        let line = FieldLine {
            name,
            number: field_name_number(name),
            value: trim(value),
        };
        Some((line, rest))
    }
}

impl<'a> Iterator for FieldLines<'a> {
    type Item = Result<FieldLine<'a>, NoFieldLine>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let split = self.split_first();
        self.rest = split.map_or(&[], |(_, rest)| rest);
        Some(split.map(|(line, _)| line).ok_or(NoFieldLine))
    }
}

/// What field lines say of the body and the connection. `None`: they are no field lines, or contradict each other.
#[must_use]
pub fn read_framing(lines: &[u8]) -> Option<FramingFields> {
    let mut framing = FramingFields::default();
    for line in FieldLines::new(lines) {
        let line = line.ok()?;
        if line.number.wrapping_sub(1) < field_name::UPGRADE {
            framing.learn(line.number, line.value).ok()?;
        }
    }
    Some(framing)
}

/// Whether lines may be trailers: they are field lines, and none says anything of the framing (RFC 9110, section 6.5.1).
#[must_use]
pub fn are_trailers(lines: &[u8]) -> bool {
    read_framing(lines).is_some_and(|framing| framing.says_nothing_of_the_body())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_speak_of_the_body_are_understood() {
        let length = |length| FramingFields {
            content_length: Some(length),
            ..FramingFields::default()
        };
        let coded = |is_chunked| FramingFields {
            has_transfer_encoding: true,
            is_chunked,
            ..FramingFields::default()
        };
        for (lines, framing) in [
            ("", FramingFields::default()),
            ("A: b\r\nX-Y:\r\n", FramingFields::default()),
            ("content-length: 12\r\n", length(12)),
            ("Content-Length:7 \r\nCONTENT-LENGTH: 7\r\n", length(7)),
            ("Transfer-Encoding: chunked\r\n", coded(true)),
            ("Transfer-Encoding: gzip, Chunked\r\n", coded(true)),
            ("Transfer-Encoding: chunked, gzip\r\n", coded(false)),
            ("X: caf\u{e9}\r\n", FramingFields::default()),
        ] {
            assert_eq!(read_framing(lines.as_bytes()), Some(framing), "{lines:?}");
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
            "A: \x7f\r\n",
            "A: \x1b\r\n",
            "A\r\n",
            "Content-Length: x\r\n",
            "Content-Length: \r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: +1\r\n",
        ] {
            assert_eq!(read_framing(lines.as_bytes()), None, "{lines:?}");
        }
    }

    #[test]
    fn trailers_say_nothing_of_the_framing() {
        assert!(are_trailers(b"Digest: x\r\n"));
        assert!(!are_trailers(b"Content-Length: 3\r\n"));
        assert!(!are_trailers(b"A: b\r\n\r\nHTTP/1.1 200 OK\r\n"));
    }
}
