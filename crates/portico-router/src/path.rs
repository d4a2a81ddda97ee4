//! The normal form of paths, the one in which prefixes and requests are compared.
//!
//! A path in normal form begins with a slash; has no empty segment (several slashes count as one) and no dot segment;
//! escapes only what RFC 3986 does not allow in a segment or what has a meaning there, in capital letters. Spellings
//! that a server could take for the same path have the same normal form, so none of them leads past the longest prefix:
//! `//admin/`, `/x/../admin/` and `/%61dmin/` all go where `/admin/` goes. What is left out on purpose: `%2F` is not a
//! slash, and letters differ in case.
//!
//! Paths that programs disagree about are refused (RFC 3986, section 6.2.2, says what is equal; the rest is ours):
//! a bad escape, NUL, a raw backslash, a fragment, and empty segments together with `..` (does `/a//../b` mean `/b`
//! or `/a/b`?). Where one prefix gets all paths of a host, nothing depends on it, and they are not.

use crate::MAX_PATH_BYTES;
use crate::lookup::LookupError;

/// Bytes of a normal form that are kept: one more than the longest prefix has, so that what was cut off matches none.
const KEPT_BYTES: usize = MAX_PATH_BYTES + 1;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Stands for itself: RFC 3986's `pchar` without `%`.
    Plain,
    Slash,
    /// `?`: the query begins.
    End,
    /// `%`.
    Percent,
    /// Visible, not allowed by RFC 3986, but sent by browsers: the same as its escape.
    Escaped,
    Refused,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Refused; 256];
    let mut byte = 0x21;
    while byte < 256 {
        table[byte] = if byte == 0x7f {
            Class::Refused
        } else {
            Class::Escaped
        };
        byte += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            table[byte] = Class::Plain;
        }
        byte += 1;
    }
    let plain = b"-._~!$&'()*+,;=:@";
    let mut at = 0;
    while at < plain.len() {
        table[plain[at] as usize] = Class::Plain;
        at += 1;
    }
    table[b'/' as usize] = Class::Slash;
    table[b'?' as usize] = Class::End;
    table[b'%' as usize] = Class::Percent;
    table[b'\\' as usize] = Class::Refused;
    table[b'#' as usize] = Class::Refused;
    table
};

/// Room for the normal form of one path.
pub(crate) struct Scratch {
    bytes: [u8; KEPT_BYTES],
    length: usize,
    /// Segments that begin beyond `bytes`.
    beyond: usize,
}

/// The normal form of the path at the front of `target`, which begins with a slash; the query is cut off. Longer forms
/// are cut after [`MAX_PATH_BYTES`] + 1 bytes.
///
/// Nearly every request has its path in normal form already, and nothing is copied.
pub(crate) fn normalised<'a>(
    target: &'a [u8],
    scratch: &'a mut Option<Scratch>,
) -> Result<&'a [u8], LookupError> {
    let ordinary = ordinary_bytes(target);
    let mut previous_slash = ordinary > 0 && target.get(ordinary - 1) == Some(&b'/');
    let mut end = target.len();
    let mut normal = true;
    for (at, &byte) in target.iter().enumerate().skip(ordinary) {
        let class = CLASSES[usize::from(byte)];
        if class == Class::Plain {
            // A segment that begins with a dot may be a dot segment: that is looked at closely.
            normal &= !(previous_slash & (byte == b'.'));
            previous_slash = false;
            continue;
        }
        match class {
            Class::Slash => {
                normal &= !previous_slash;
                previous_slash = true;
            }
            Class::End => {
                end = at;
                break;
            }
            Class::Refused => return Err(LookupError::Character),
            Class::Plain | Class::Percent | Class::Escaped => {
                normal = false;
                previous_slash = false;
            }
        }
    }
    let path = target.get(..end).unwrap_or_default();
    if normal {
        return Ok(path);
    }
    let scratch = scratch.insert(Scratch {
        bytes: [0; KEPT_BYTES],
        length: 0,
        beyond: 0,
    });
    scratch.normalise(path)?;
    Ok(scratch.bytes.get(..scratch.length).unwrap_or_default())
}

/// How many bytes at the front are in normal form for certain and no query: a multiple of 16, found 16 at a time
/// (the compiler makes vector instructions of it). What is rare in paths is left to the careful look.
fn ordinary_bytes(target: &[u8]) -> usize {
    let mut at = 0;
    // One more, as a slash is judged by what follows.
    while let Some(window) = target.get(at..).and_then(|rest| rest.first_chunk::<17>()) {
        let mut special = false;
        for place in 0..16 {
            let (byte, next) = (window[place], window[place + 1]);
            // Everything outside, and `! " # $ %`, `< = > ?`, `[ \ ] ^`, '`', `{ | } ~`.
            special |= (byte < b'&')
                | (byte.wrapping_sub(b'<') < 4)
                | (byte.wrapping_sub(b'[') < 4)
                | (byte == b'`')
                | (byte > b'z')
                | ((byte == b'/') & ((next == b'/') | (next == b'.')));
        }
        if special {
            break;
        }
        at += 16;
    }
    at
}

impl Scratch {
    fn normalise(&mut self, path: &[u8]) -> Result<(), LookupError> {
        self.push(b'/');
        let mut merged = false;
        let mut climbed = false;
        let mut segments = path.strip_prefix(b"/").unwrap_or(path).split(is_slash);
        let mut next = segments.next();
        while let Some(segment) = next {
            next = segments.next();
            match dots(segment) {
                Some(Dots::Here) => {}
                Some(Dots::Up) => {
                    climbed = true;
                    self.pop();
                }
                None if segment.is_empty() => merged |= next.is_some(),
                None => self.push_segment(segment, next.is_some())?,
            }
        }
        if merged && climbed {
            return Err(LookupError::Ambiguous);
        }
        Ok(())
    }

    /// Every segment before this one is complete, with its slash.
    fn push_segment(&mut self, segment: &[u8], complete: bool) -> Result<(), LookupError> {
        let begins_beyond = self.length == KEPT_BYTES;
        let mut at = 0;
        while let Some(&byte) = segment.get(at) {
            match CLASSES[usize::from(byte)] {
                Class::Percent => {
                    let Escape::Byte(value) = escape_at(segment, at) else {
                        return Err(LookupError::Escape);
                    };
                    match value {
                        0 => return Err(LookupError::Nul),
                        _ if is_unreserved(value) => self.push(value),
                        _ => push_escape(value, |byte| self.push(byte)),
                    }
                    at += 3;
                    continue;
                }
                Class::Escaped => push_escape(byte, |byte| self.push(byte)),
                _ => self.push(byte),
            }
            at += 1;
        }
        if complete {
            self.push(b'/');
            self.beyond += usize::from(begins_beyond);
        }
        Ok(())
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// Takes the last segment away; at the root nothing happens (RFC 3986, section 5.2.4).
    fn pop(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let without_last_byte = self
            .bytes
            .get(..self.length.saturating_sub(1))
            .unwrap_or_default();
        if let Some(slash) = without_last_byte.iter().rposition(is_slash) {
            self.length = slash + 1;
        }
    }
}

fn is_slash(byte: &u8) -> bool {
    *byte == b'/'
}

/// A dot segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dots {
    /// `.`
    Here,
    /// `..`
    Up,
}

/// Whether a segment is a dot segment, escaped or not.
pub(crate) fn dots(segment: &[u8]) -> Option<Dots> {
    match after_dot(segment)? {
        [] => Some(Dots::Here),
        rest => match after_dot(rest)? {
            [] => Some(Dots::Up),
            _ => None,
        },
    }
}

fn after_dot(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// What follows a `%`.
pub(crate) enum Escape {
    /// Two hexadecimal digits.
    Byte(u8),
    /// Something else.
    Malformed,
}

/// The escape whose `%` is at `at`.
pub(crate) fn escape_at(bytes: &[u8], at: usize) -> Escape {
    let digit = |offset: usize| {
        bytes
            .get(at + offset)
            .and_then(|&byte| char::from(byte).to_digit(16))
    };
    match (digit(1), digit(2)) {
        (Some(high), Some(low)) => {
            u8::try_from(high * 16 + low).map_or(Escape::Malformed, Escape::Byte)
        }
        _ => Escape::Malformed,
    }
}

/// Gives the three bytes of an escape.
pub(crate) fn push_escape(value: u8, mut push: impl FnMut(u8)) {
    const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
    push(b'%');
    push(DIGITS[usize::from(value >> 4)]);
    push(DIGITS[usize::from(value & 15)]);
}

/// RFC 3986, section 2.3: an escape of these means the character itself.
pub(crate) const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether a byte stands for itself in a segment.
pub(crate) fn needs_no_escape(byte: u8) -> bool {
    CLASSES[usize::from(byte)] == Class::Plain
}
