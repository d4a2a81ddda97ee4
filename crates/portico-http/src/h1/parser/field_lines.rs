//! Field lines (RFC 9112, section 5), of a head or of a trailer section.

use super::framing_state::Place;
use super::progress::HeadProgress;
use crate::h1::error::{ParseError, ParseErrorCode as Code};
use crate::h1::field::FieldList;
use crate::h1::limits::{ExcessFields, HeadLimits, InvalidHosts};
use crate::scan;
use crate::semantics::Field;
use crate::semantics::field_name::{self, CONTENT_LENGTH, PROXY_CONNECTION};
use crate::semantics::field_value::trim_end;

/// Longest name that [`Field`] can tell.
const MAX_NAME_LENGTH: usize = u16::MAX as usize;

/// Longest start of a special value that is checked before its line is complete.
const MAX_EARLY_CHECK: usize = 32;

/// Looks at the bytes that have come since the line in work was left. False if they can't change anything: they are
/// more of the same name, white space or value. Keeps a client that sends single bytes from costing more than each
/// byte once.
pub(super) fn may_continue(bytes: &[u8], state: &mut HeadProgress, limits: &HeadLimits) -> bool {
    if state.scanned <= state.line {
        return true;
    }
    let from = state.scanned as usize;
    let end = if state.colon == 0 {
        token_end(bytes, from)
    } else if state.value == 0 {
        white_space_end(bytes, from)
    } else {
        scan::value_end(bytes, from)
    };
    let is_early = state.value != 0 && from - (state.value as usize) < MAX_EARLY_CHECK;
    let is_too_large = state.counted_up_to(end) >= u64::from(limits.max_header_size);
    if end < bytes.len() || is_early || is_too_large {
        return true;
    }
    state.scanned = end as u32;
    false
}

/// Parses lines on from `state.line`, and puts the fields into `fields`. Returns the index after the final blank line,
/// or `None` if it is not there yet; `state` is then where to go on.
pub(super) fn parse(
    bytes: &[u8],
    state: &mut HeadProgress,
    limits: &HeadLimits,
    fields: &mut FieldList,
) -> Result<Option<usize>, ParseError> {
    let refuse_from = match (limits.max_headers_count, limits.excess_fields) {
        (0, _) | (_, ExcessFields::Drop) => u32::MAX,
        (count, ExcessFields::Refuse) => count,
    };
    let mut line = state.line as usize;
    let mut counted = state.counted;
    let mut count = state.field_count;
    while let Some(rest) = bytes.get(line..) {
        if rest.first() == Some(&b'\r') {
            save(state, line, counted, count);
            return blank_line(bytes, line);
        }
        let Some((number, name_length)) = name_before_colon(rest) else {
            break;
        };
        let colon = line + name_length;
        if count >= refuse_from {
            return Err(ParseError::at(Code::HeaderOverflow, colon + 1));
        }
        let value = white_space_end(bytes, colon + 1);
        let end = scan::value_end(bytes, value);
        let size = (name_length + (end - value)) as u32;
        if !is_line_end(bytes, end) || size >= limits.max_header_size - counted {
            save(state, line, counted, count);
            return unfinished_line(bytes, state, limits, (number, colon, value, end));
        }
        let raw = bytes.get(value..end).unwrap_or_default();
        let trimmed = trim_end(raw);
        if number.wrapping_sub(1) < PROXY_CONNECTION {
            match state.framing.learn(number, trimmed, raw) {
                Err((code, _))
                    if limits.invalid_hosts == InvalidHosts::Accept && is_about_host(code) => {}
                Err((code, Place::Name)) => return Err(ParseError::at(code, colon)),
                Err((code, Place::Value(at))) => return Err(ParseError::at(code, value + at)),
                Ok(()) => {}
            }
        }
        fields.push(Field {
            name_number: number,
            name_length: name_length as u16,
            name_offset: line as u32,
            value_offset: value as u32,
            value_length: trimmed.len() as u32,
        });
        count += 1;
        counted += size;
        line = end + 2;
    }
    save(state, line, counted, count);
    without_name(bytes, state, limits)
}

fn is_about_host(code: Code) -> bool {
    matches!(code, Code::DuplicateHost | Code::InvalidHost)
}

/// Whether there is a line end, and a byte after it that doesn't fold the line.
fn is_line_end(bytes: &[u8], end: usize) -> bool {
    match bytes.get(end..) {
        Some([b'\r', b'\n', next, ..]) => !matches!(next, b' ' | b'\t'),
        _ => false,
    }
}

/// The blank line after the last field, of which the CR is there.
fn blank_line(bytes: &[u8], line: usize) -> Result<Option<usize>, ParseError> {
    match bytes.get(line + 1) {
        Some(b'\n') => Ok(Some(line + 2)),
        Some(_) => Err(ParseError::at(Code::ExpectedLfAfterHeaders, line + 1)),
        None => Ok(None),
    }
}

/// The number of the name that `rest` begins with, and its length, if a colon follows it.
fn name_before_colon(rest: &[u8]) -> Option<(u16, usize)> {
    let length = token_end(rest, 0);
    let name = rest.get(..length)?;
    let is_name = (1..=MAX_NAME_LENGTH).contains(&length) && rest.get(length) == Some(&b':');
    is_name.then(|| (field_name::field_name_number(name), length))
}

fn save(state: &mut HeadProgress, line: usize, counted: u32, count: u32) {
    state.line = line as u32;
    state.counted = counted;
    state.field_count = count;
    state.colon = 0;
    state.value = 0;
    state.scanned = state.line;
}

/// A line without a name and colon: incomplete, or wrong.
fn without_name(
    bytes: &[u8],
    state: &mut HeadProgress,
    limits: &HeadLimits,
) -> Result<Option<usize>, ParseError> {
    let line = state.line as usize;
    let end = token_end(bytes, line);
    check_size(state, end, bytes, limits)?;
    let Some(&byte) = bytes.get(end) else {
        state.scanned = end as u32;
        return Ok(None);
    };
    let name = bytes.get(line..end).unwrap_or_default();
    let code = if byte == b':' && !name.is_empty() {
        Code::HeaderOverflow
    } else if name.is_empty()
        && state.field_count == 0
        && byte == b' '
        && !state.framing.in_trailers()
    {
        Code::UnexpectedSpaceAfterStartLine
    } else if byte == b'\n' && name.is_empty() || byte == b' ' && is_special_in_llhttp(name) {
        Code::InvalidHeaderFieldCharacter
    } else {
        Code::InvalidHeaderToken
    };
    Err(ParseError::at(code, end))
}

/// llhttp has its own words for a space after the names that it evaluates.
fn is_special_in_llhttp(name: &[u8]) -> bool {
    matches!(
        field_name::field_name_number(name),
        2..=5 | PROXY_CONNECTION
    )
}

/// A line that doesn't end as it should: incomplete, folded, too long, or with a byte that can't be.
/// `line` is the name's number, and the indices of the colon, the value, and the byte after the value.
fn unfinished_line(
    bytes: &[u8],
    state: &mut HeadProgress,
    limits: &HeadLimits,
    line: (u16, usize, usize, usize),
) -> Result<Option<usize>, ParseError> {
    let (number, colon, value, end) = line;
    state.colon = colon as u32;
    check_size(state, colon, bytes, limits)?;
    state
        .framing
        .check_name(number)
        .map_err(|code| ParseError::at(code, colon))?;
    if value < bytes.len() {
        state.value = value as u32;
    }
    state.scanned = end as u32;
    let start = bytes.get(value..end).unwrap_or_default();
    let checked = if end < bytes.len() {
        start
    } else {
        start.get(..MAX_EARLY_CHECK).unwrap_or(start)
    };
    // A line end before the value has begun says nothing about it.
    let has_begun = !start.is_empty() || !matches!(bytes.get(end), None | Some(b'\r' | b'\n'));
    let checked = if has_begun {
        state.framing.check_start(number, checked)
    } else {
        Ok(())
    };
    let refusal = match (checked, bytes.get(end)) {
        (Err(refusal), _) => Some(refusal),
        // A bad byte in Content-Length is called so, whatever it is.
        (Ok(()), Some(byte)) if number == CONTENT_LENGTH && !matches!(byte, b'\r' | b'\n') => {
            Some((Code::InvalidContentLength, end - value))
        }
        _ => None,
    };
    if let Some((code, at)) = refusal {
        check_size(state, value + at, bytes, limits)?;
        return Err(ParseError::at(code, value + at));
    }
    check_size(state, end, bytes, limits)?;
    line_end(bytes, state, value, end)
}

/// What is wrong with the end of a value, if anything.
fn line_end(
    bytes: &[u8],
    state: &mut HeadProgress,
    value: usize,
    end: usize,
) -> Result<Option<usize>, ParseError> {
    let empty = value == end;
    let (code, offset) = match bytes.get(end..).unwrap_or_default() {
        [] | [b'\r'] | [b'\r', b'\n'] => {
            // Look again as soon as there is one more byte.
            state.scanned = if end < bytes.len() {
                end as u32
            } else {
                state.scanned
            };
            return Ok(None);
        }
        // Only folded lines and sizes bring a whole line end here; sizes have been checked.
        [b'\r', b'\n', ..] if empty => (Code::InvalidHeaderValueCharacter, end + 3),
        [b'\n', ..] if empty => (Code::InvalidHeaderValueCharacter, end + 1),
        [b'\r', b'\n', ..] => (Code::UnexpectedWhitespaceAfterValue, end + 2),
        [b'\r', ..] if empty => (Code::ExpectedLfAfterEmptyValue, end + 1),
        [b'\r', ..] => (Code::ExpectedLfAfterValue, end + 1),
        [b'\n', ..] => (Code::ExpectedCrAfterValue, end),
        _ => (Code::InvalidHeaderValueCharacter, end),
    };
    Err(ParseError::at(code, offset))
}

/// Refuses what has reached `max_header_size` with the bytes before `end`.
fn check_size(
    state: &HeadProgress,
    end: usize,
    bytes: &[u8],
    limits: &HeadLimits,
) -> Result<(), ParseError> {
    if state.counted_up_to(end) >= u64::from(limits.max_header_size) {
        // llhttp counts the byte that ends a name or value, if it is there.
        let offset = end + usize::from(end < bytes.len());
        return Err(ParseError::at(Code::HeaderOverflow, offset));
    }
    Ok(())
}

fn white_space_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// Index of the first byte at or after `from` that can't stand in a field name (RFC 9110, section 5.6.2).
fn token_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest
        .iter()
        .take_while(|&&byte| field_name::is_token(byte))
        .count()
}
