//! Whole heads of the ordinary form in one pass: the fast path.
//!
//! Takes what nearly all clients send: the head is all there, the target starts with a slash, spaces are single, no
//! value has tabs or white space after it, and nothing is near a limit. Anything else, right or wrong, is left to the
//! careful parser (`request_line`, `field_lines`), which has the errors and the limits and goes byte by byte where it
//! must. What is taken here must come out the same there: a property test and a fuzzer compare them.
//!
//! With two thirds of the careful parser's instructions: no check of each field against the limits, since a head that
//! is smaller than `max_header_size` can't break it, and no state for heads that come in pieces.

use super::framing_state::FramingState;
use super::progress::RequestLine;
use crate::h1::field::FieldList;
use crate::h1::head::Head;
use crate::h1::limits::HeadLimits;
use crate::scan;
use crate::semantics::Method;
use crate::semantics::field_name::{self, HOST, PROXY_CONNECTION};
use crate::semantics::{Field, Span};

/// Parses the head at the start of `bytes`, or returns `None` for the careful parser to look at it.
#[inline]
pub(super) fn parse(bytes: &[u8], limits: &HeadLimits, fields: &mut FieldList) -> Option<Head> {
    let (request, first_line) = request_line(bytes)?;
    let mut framing = FramingState::default();
    let mut line = first_line;
    let mut count = 0;
    let slots = fields.slots();
    let end = loop {
        let rest = bytes.get(line..)?;
        let block = match rest.first_chunk() {
            Some(block) => *block,
            None if rest == b"\r\n" => break line + 2,
            None => last_block(bytes, rest.len())?,
        };
        let (number, name_length) = name(&block, rest);
        if number == 0 {
            if rest.starts_with(b"\r\n") {
                break line + 2;
            }
            if !is_plain_name(&block, rest, name_length) {
                return None;
            }
        }
        let value = value_start(bytes, line + name_length + 1)?;
        let end = scan::control(bytes, value);
        let line_end = bytes.get(end..)?.first_chunk::<2>()?;
        // White space can only be spaces here.
        if line_end != b"\r\n" || bytes.get(end - 1) == Some(&b' ') {
            return None;
        }
        if number.wrapping_sub(1) < PROXY_CONNECTION {
            learn(&mut framing, number, bytes, value, end)?;
        }
        *slots.get_mut(count)? = Field {
            name_number: number,
            name_length: name_length as u16,
            name_offset: line as u32,
            value_offset: value as u32,
            value_length: (end - value) as u32,
        };
        count += 1;
        line = end + 2;
    };
    let too_many = limits.max_headers_count != 0 && count > limits.max_headers_count as usize;
    if end > limits.max_header_size as usize || too_many {
        return None;
    }
    fields.set_count(count);
    framing.head(&request, end).ok()
}

/// A request line with single spaces, a target that starts with a slash, and HTTP/1.0 or 1.1; and the index after it.
#[inline(always)]
fn request_line(bytes: &[u8]) -> Option<(RequestLine, usize)> {
    let (method, target) = method(bytes.first_chunk()?)?;
    if bytes.get(target) != Some(&b'/') {
        return None;
    }
    let end = scan::visible_end(bytes, target + 1);
    let [http @ .., minor, cr, lf] = bytes.get(end..)?.first_chunk::<11>()?;
    if u64::from_le_bytes(*http) != u64::from_le_bytes(*b" HTTP/1.")
        || u16::from_le_bytes([*cr, *lf]) != u16::from_le_bytes(*b"\r\n")
        || !matches!(minor, b'0' | b'1')
    {
        return None;
    }
    let target = Span {
        offset: target as u32,
        length: (end - target) as u32,
    };
    let request = RequestLine {
        method: Some(method),
        minor_version: minor - b'0',
        start: 0,
        target,
    };
    Some((request, end + 11))
}

/// A method of at most seven bytes, and the index after its space.
#[inline(always)]
fn method(bytes: &[u8; 8]) -> Option<(Method, usize)> {
    const GET: u64 = u64::from_le_bytes(*b"GET \0\0\0\0");
    const POST: u64 = u64::from_le_bytes(*b"POST \0\0\0");
    let word = u64::from_le_bytes(*bytes);
    if word & 0xffff_ffff == GET {
        return Some((Method::Get, 4));
    }
    if word & 0xff_ffff_ffff == POST {
        return Some((Method::Post, 5));
    }
    other_method(bytes)
}

#[inline(never)]
fn other_method(bytes: &[u8; 8]) -> Option<(Method, usize)> {
    let length = bytes.iter().position(|&byte| byte == b' ')?;
    Some((Method::from_bytes(bytes.get(..length)?)?, length + 1))
}

/// The number of the name that `rest`, or its first block, begins with, and its length up to the colon.
#[inline(always)]
fn name(block: &[u8; field_name::BLOCK], rest: &[u8]) -> (u16, usize) {
    let colons = scan::colons(block);
    if colons == 0 {
        return long_name(rest);
    }
    let length = colons.trailing_zeros() as usize;
    (field_name::number_in_block(block, length), length)
}

/// The same for names whose colon is in the second block. (0, 0) for longer ones.
#[inline(never)]
fn long_name(rest: &[u8]) -> (u16, usize) {
    let second = rest
        .get(field_name::BLOCK..)
        .and_then(|rest| rest.first_chunk());
    match second.map(scan::colons) {
        None | Some(0) => (0, 0),
        Some(colons) => {
            let length = field_name::BLOCK + colons.trailing_zeros() as usize;
            (
                field_name::field_name_number(rest.get(..length).unwrap_or_default()),
                length,
            )
        }
    }
}

/// Whether a name that is not in the table is one, and of letters, digits, hyphens and underscores only.
#[inline(always)]
fn is_plain_name(block: &[u8; field_name::BLOCK], rest: &[u8], length: usize) -> bool {
    let plain = scan::plain_start(block);
    if length <= field_name::BLOCK {
        return length != 0 && plain >= length;
    }
    let second = rest
        .get(field_name::BLOCK..)
        .and_then(|rest| rest.first_chunk());
    plain == field_name::BLOCK
        && second.is_some_and(|second| scan::plain_start(second) >= length - field_name::BLOCK)
}

/// Index of the first byte of a value before which there is one space at most.
#[inline(always)]
fn value_start(bytes: &[u8], after_colon: usize) -> Option<usize> {
    match bytes.get(after_colon..)?.first_chunk()? {
        [b' ', second] if *second > b' ' => Some(after_colon + 1),
        other => unusual_value_start(*other, after_colon),
    }
}

#[inline(never)]
fn unusual_value_start(start: [u8; 2], after_colon: usize) -> Option<usize> {
    match start {
        [b' ', b' ' | b'\t'] | [b'\t', _] => None,
        [b' ', _] => Some(after_colon + 1),
        _ => Some(after_colon),
    }
}

/// Takes in one of the fields that matter.
#[inline(always)]
fn learn(
    framing: &mut FramingState,
    number: u16,
    bytes: &[u8],
    value: usize,
    end: usize,
) -> Option<()> {
    if number == HOST
        && scan::ends_in_plain_host(bytes.get(..end)?, end - value)
        && framing.learn_plain_host()
    {
        return Some(());
    }
    let value = bytes.get(value..end)?;
    framing.learn(number, value, value).ok()
}

/// The last `length` bytes of all, at most 16, with zeros after them.
#[inline(never)]
fn last_block(bytes: &[u8], length: usize) -> Option<[u8; field_name::BLOCK]> {
    let last = u128::from_le_bytes(*bytes.last_chunk()?);
    let shift = (field_name::BLOCK.checked_sub(length)? * 8) as u32;
    Some(last.checked_shr(shift)?.to_le_bytes())
}
