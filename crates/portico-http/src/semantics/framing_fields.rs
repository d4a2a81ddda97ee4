//! The fields that say where a message's body ends and what becomes of its connection: what they mean, once, for
//! requests and responses (RFC 9110, sections 7.6.1, 7.8 and 8.6; RFC 9112, section 6).
//!
//! The request parser adds what it refuses, with llhttp's codes and places; whoever judges responses that others made
//! uses [`FramingFields`]. In HTTP/2 and 3 these fields are not allowed at all: [`is_connection_specific`].

use super::field_name::{
    self, CONNECTION, CONTENT_LENGTH, KEEP_ALIVE, PROXY_CONNECTION, TE, TRANSFER_ENCODING, UPGRADE,
};
use super::field_value::{trim, trim_start};

/// What the fields of one message say of its body and its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramingFields {
    /// `Content-Length`.
    pub content_length: Option<u64>,
    /// There is a `Transfer-Encoding`.
    pub has_transfer_encoding: bool,
    /// Its last coding is `chunked`.
    pub is_chunked: bool,
    /// `Connection`.
    pub connection: ConnectionOptions,
    /// There is an `Upgrade` that names a protocol.
    pub has_upgrade: bool,
}

/// Fields that contradict themselves: a length that is none, or two that differ (RFC 9110, section 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

impl FramingFields {
    /// Takes in a field, by its name's number and with the white space around its value removed.
    ///
    /// # Errors
    /// It contradicts itself, or another one.
    pub fn learn(&mut self, number: u16, value: &[u8]) -> Result<(), Contradiction> {
        match number {
            CONTENT_LENGTH => {
                let length = content_length(value).map_err(|_| Contradiction)?;
                if self
                    .content_length
                    .replace(length)
                    .is_some_and(|other| other != length)
                {
                    return Err(Contradiction);
                }
            }
            TRANSFER_ENCODING => {
                self.has_transfer_encoding = true;
                // Several fields are one list: the last one has the last coding.
                self.is_chunked = ends_in_chunked(value, self.is_chunked).unwrap_or(false);
            }
            CONNECTION => self.connection.learn(value),
            UPGRADE => self.has_upgrade |= !value.is_empty(),
            _ => {}
        }
        Ok(())
    }

    /// Whether nothing is said of the body: what must hold of trailers and of interim responses (RFC 9110,
    /// section 6.5.1; RFC 9112, section 6).
    #[must_use]
    pub fn says_nothing_of_the_body(&self) -> bool {
        self.content_length.is_none() && !self.has_transfer_encoding
    }
}

/// `Connection` options (RFC 9110, section 7.6.1) that HTTP/1 gives a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `close`
    pub close: bool,
    /// `keep-alive`
    pub keep_alive: bool,
    /// `upgrade`
    pub upgrade: bool,
}

impl ConnectionOptions {
    /// Takes in a field value. Several fields are one list.
    pub fn learn(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(trim) {
            if option.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if option.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade = true;
            }
        }
    }
}

/// Why a `Content-Length` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthError {
    Empty,
    /// More than 64 bits, from this byte on.
    Overflow(usize),
    /// This byte is no digit.
    NoDigit(usize),
}

/// A `Content-Length`: decimal digits, and white space after them (RFC 9110, section 8.6). No sign, no list.
#[inline]
pub(crate) fn content_length(value: &[u8]) -> Result<u64, LengthError> {
    if value.is_empty() {
        return Err(LengthError::Empty);
    }
    let digits = value
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let mut length: u64 = 0;
    for (at, digit) in value.iter().take(digits).enumerate() {
        length = length
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(u64::from(digit - b'0')))
            .ok_or(LengthError::Overflow(at))?;
    }
    let after = value.get(digits..).unwrap_or_default();
    if let Some(at) = after.iter().position(|byte| !matches!(byte, b' ' | b'\t')) {
        return Err(LengthError::NoDigit(digits + at));
    }
    if digits == 0 {
        return Err(LengthError::Empty);
    }
    Ok(length)
}

/// Goes through the codings of a `Transfer-Encoding` in the order they were applied; several fields are one list
/// (RFC 9112, section 6.1). Returns whether the last one is `chunked`, or the place from which on something follows it:
/// nothing may, in a request, and in a response the body then has no end of its own.
///
/// As llhttp we take the list apart at commas, quoted strings or not, and let only spaces trail `chunked`: what looks
/// different to anyone else is then not taken for `chunked`.
pub(crate) fn ends_in_chunked(value: &[u8], is_chunked_before: bool) -> Result<bool, usize> {
    if is_chunked_before {
        return Err(0);
    }
    let mut offset = 0;
    let mut is_chunked = false;
    for (index, coding) in value.split(|&byte| byte == b',').enumerate() {
        if is_chunked {
            return Err(offset - 1);
        }
        // White space before the first coding is not part of the value.
        let trimmed = if index == 0 {
            coding
        } else {
            trim_start(coding)
        };
        let (token, after) = trimmed.split_at_checked(7).unwrap_or((&[], trimmed));
        is_chunked = token.eq_ignore_ascii_case(b"chunked") && after.iter().all(|&b| b == b' ');
        offset += coding.len() + 1;
    }
    Ok(is_chunked)
}

/// Whether a field is about one connection and has no place in a message of HTTP/2 or 3 (RFC 9113, section 8.2.2), by
/// its name's number. `TE` has one, with the value `trailers` alone. What `Connection` names is about the connection
/// too, whoever translates from HTTP/1 has to look there.
#[must_use]
pub fn is_connection_specific(number: u16, value: &[u8]) -> bool {
    match number {
        CONNECTION | PROXY_CONNECTION | KEEP_ALIVE | TRANSFER_ENCODING | UPGRADE => true,
        TE => !trim(value).eq_ignore_ascii_case(b"trailers"),
        _ => false,
    }
}

/// Whether bytes are a token (RFC 9110, section 5.6.2): a field name, a method, a coding.
#[must_use]
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| field_name::is_token(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(fields: &[(u16, &str)]) -> Result<FramingFields, Contradiction> {
        let mut framing = FramingFields::default();
        for (number, value) in fields {
            framing.learn(*number, value.as_bytes())?;
        }
        Ok(framing)
    }

    #[test]
    fn lengths_are_digits_and_agree() {
        assert_eq!(
            learnt(&[(CONTENT_LENGTH, "7"), (CONTENT_LENGTH, "7")]).map(|f| f.content_length),
            Ok(Some(7))
        );
        for wrong in ["", " ", "+1", "1, 1", "1 1", "0x1", "18446744073709551616"] {
            assert_eq!(
                learnt(&[(CONTENT_LENGTH, wrong)]),
                Err(Contradiction),
                "{wrong:?}"
            );
        }
        assert!(learnt(&[(CONTENT_LENGTH, "1"), (CONTENT_LENGTH, "2")]).is_err());
        assert_eq!(content_length(b"18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn only_the_last_coding_can_end_a_body() {
        for (fields, is_chunked) in [
            (&["chunked"][..], true),
            (&["gzip, Chunked"], true),
            (&["gzip", "chunked"], true),
            (&["chunked, gzip"], false),
            (&["chunked", "gzip"], false),
            (&["chunked, chunked"], false),
            (&["xchunked"], false),
            (&["chunked;a=b"], false),
            (&[""], false),
        ] {
            let fields: Vec<_> = fields
                .iter()
                .map(|value| (TRANSFER_ENCODING, *value))
                .collect();
            let framing = learnt(&fields).unwrap_or_default();
            assert_eq!(
                (framing.has_transfer_encoding, framing.is_chunked),
                (true, is_chunked),
                "{fields:?}"
            );
        }
    }

    #[test]
    fn options_are_a_list() {
        let framing = learnt(&[(CONNECTION, "Keep-Alive, Upgrade"), (CONNECTION, "close")]);
        let all = ConnectionOptions {
            close: true,
            keep_alive: true,
            upgrade: true,
        };
        assert_eq!(framing.map(|framing| framing.connection), Ok(all));
        let none = learnt(&[(CONNECTION, "closed, x-close")]).unwrap_or_default();
        assert_eq!(none.connection, ConnectionOptions::default());
    }

    #[test]
    fn fields_of_one_connection_have_no_place_in_http_2() {
        let number = |name: &str| field_name::field_name_number(name.as_bytes());
        for name in [
            "connection",
            "proxy-connection",
            "keep-alive",
            "transfer-encoding",
            "upgrade",
        ] {
            assert!(is_connection_specific(number(name), b"x"), "{name}");
        }
        assert!(is_connection_specific(number("te"), b"gzip"));
        assert!(!is_connection_specific(number("te"), b"trailers"));
        assert!(!is_connection_specific(number("content-length"), b"1"));
        assert!(!is_connection_specific(0, b""));
    }

    #[test]
    fn a_token_has_no_blanks() {
        assert!(is_token(b"a-b") && !is_token(b"") && !is_token(b"a b"));
    }
}
