//! The path of a prefix. Stricter than for a request: what could be read in two ways is refused, not resolved.

use super::error::PrefixErrorKind as Kind;
use super::parse::Fault;
use super::{MAX_PATH_BYTES, MAX_SEGMENTS};
use crate::path::{Escape, dots, escape_at, is_unreserved, needs_no_escape, push_escape};

/// `text` is empty or begins with one of `/ ? # \`.
pub(super) fn parse(text: &str) -> Result<Box<str>, Fault> {
    let mut path = String::from("/");
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut segment_at = 0;
    let mut segments = 0;
    while let Some(&byte) = bytes.get(at) {
        let used = match byte {
            b'/' if at == 0 => {
                segment_at = 1;
                1
            }
            b'/' => {
                check_segment(bytes.get(segment_at..at).unwrap_or_default(), segment_at)?;
                path.push('/');
                segments += 1;
                segment_at = at + 1;
                1
            }
            _ => character(bytes, at, &mut path)?,
        };
        at += used;
        if path.len() > MAX_PATH_BYTES {
            return Err((Kind::PathTooLong, at - 1));
        }
    }
    if segment_at < bytes.len() {
        check_segment(bytes.get(segment_at..).unwrap_or_default(), segment_at)?;
        path.push('/');
        segments += 1;
    }
    if path.len() > MAX_PATH_BYTES {
        return Err((Kind::PathTooLong, bytes.len()));
    }
    if segments > MAX_SEGMENTS {
        return Err((Kind::PathTooDeep, bytes.len()));
    }
    Ok(path.into())
}

/// Writes the byte or escape at `at` in canonical form. Returns how many bytes it took.
fn character(bytes: &[u8], at: usize, path: &mut String) -> Result<usize, Fault> {
    let byte = bytes.get(at).copied().unwrap_or_default();
    match byte {
        b'?' => Err((Kind::Query, at)),
        b'#' => Err((Kind::Fragment, at)),
        b'\\' => Err((Kind::Backslash, at)),
        b' ' => Err((Kind::Space, at)),
        0..=0x1f | 0x7f => Err((Kind::Control, at)),
        b'%' => {
            let value = match escape_at(bytes, at) {
                Escape::Byte(value) => value,
                Escape::Malformed => return Err((Kind::Escape, at)),
            };
            match value {
                0..=0x1f | 0x7f => return Err((Kind::Control, at)),
                b'/' | b'\\' => return Err((Kind::EscapedSlash, at)),
                _ if is_unreserved(value) => path.push(char::from(value)),
                _ => push_escape(value, |byte| path.push(char::from(byte))),
            }
            Ok(3)
        }
        _ if needs_no_escape(byte) => {
            path.push(char::from(byte));
            Ok(1)
        }
        _ => {
            push_escape(byte, |byte| path.push(char::from(byte)));
            Ok(1)
        }
    }
}

fn check_segment(segment: &[u8], at: usize) -> Result<(), Fault> {
    match segment {
        [] => Err((Kind::EmptySegment, at)),
        b"*" | b"+" => Err((Kind::PathWildcard, at)),
        _ if dots(segment).is_some() => Err((Kind::DotSegment, at)),
        _ => Ok(()),
    }
}
