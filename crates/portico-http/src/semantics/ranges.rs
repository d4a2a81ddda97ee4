//! Requests for parts of a representation (RFC 9110, section 14).

use core::ops::Range;

use super::field_value;

/// The most parts that one answer has. A request for more gets the whole: so many parts cost more than they spare
/// (section 14.2 leaves it to the server).
pub const MAX_PARTS: usize = 16;

/// What a `Range` field comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The whole: there is no `Range`, or it is in a unit that is not known, or can't be read, or asks for too much.
    Whole,
    /// These parts, in the order they were asked for; those that overlapped or touched are one. At least one, none empty.
    Parts(Vec<Range<u64>>),
    /// Nothing of what is there: 416.
    Nothing,
}

/// Reads a `Range` field's value for a representation of `length` bytes.
#[must_use]
pub fn requested(value: &[u8], length: u64) -> Requested {
    let Some((unit, set)) = split_once(value, b'=') else {
        return Requested::Whole;
    };
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return Requested::Whole;
    }
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut is_empty = true;
    for element in field_value::list(set) {
        is_empty = false;
        match part(element, length) {
            None => return Requested::Whole,
            Some(range) if range.is_empty() => {}
            Some(range) => merge(&mut parts, range),
        }
        if parts.len() > MAX_PARTS {
            return Requested::Whole;
        }
    }
    if is_empty {
        return Requested::Whole;
    }
    if parts.is_empty() {
        return Requested::Nothing;
    }
    Requested::Parts(parts)
}

/// A part, empty if nothing of it is there; `None`: it can't be read.
fn part(element: &[u8], length: u64) -> Option<Range<u64>> {
    let (first, last) = split_once(element, b'-')?;
    if first.is_empty() {
        let suffix = number(last)?;
        return Some(length - suffix.min(length)..length);
    }
    let first = number(first)?;
    let end = if last.is_empty() {
        length
    } else {
        let last = number(last)?;
        (first <= last).then_some(())?;
        last.saturating_add(1).min(length)
    };
    Some(first.min(end)..end)
}

/// Puts a part to the others, joined with those that it overlaps or touches.
fn merge(parts: &mut Vec<Range<u64>>, mut range: Range<u64>) {
    let mut place = None;
    let mut index = 0;
    while let Some(other) = parts.get(index) {
        if other.start <= range.end && range.start <= other.end {
            range = range.start.min(other.start)..range.end.max(other.end);
            parts.remove(index);
            place = Some(place.unwrap_or(index));
        } else {
            index += 1;
        }
    }
    let place = place.unwrap_or(parts.len());
    parts.insert(place, range);
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let index = bytes.iter().position(|&byte| byte == at)?;
    Some((bytes.get(..index)?, bytes.get(index + 1..)?))
}

/// A number; one that does not fit counts as the largest.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First and last byte of each part; `None`: the whole.
    fn parts(value: &str) -> Option<Vec<(u64, u64)>> {
        match requested(value.as_bytes(), 10) {
            Requested::Parts(parts) => Some(
                parts
                    .iter()
                    .map(|part| (part.start, part.end - 1))
                    .collect(),
            ),
            Requested::Whole => None,
            Requested::Nothing => Some(Vec::new()),
        }
    }

    #[test]
    fn parts_are_within_what_is_there() {
        let cases: [(&str, &[(u64, u64)]); 13] = [
            ("bytes=0-1", &[(0, 1)]),
            ("bytes=1-", &[(1, 9)]),
            ("bytes=-1", &[(9, 9)]),
            ("bytes=-99", &[(0, 9)]),
            ("bytes=8-99", &[(8, 9)]),
            ("BYTES=0-0", &[(0, 0)]),
            ("bytes=8-9, 0-1", &[(8, 9), (0, 1)]),
            ("bytes=0-3,2-5,7-7", &[(0, 5), (7, 7)]),
            ("bytes=4-5,0-1,2-3", &[(0, 5)]),
            ("bytes=0-99999999999999999999999", &[(0, 9)]),
            ("bytes=10-", &[]),
            ("bytes=-0", &[]),
            ("bytes=99-100,0-0", &[(0, 0)]),
        ];
        for (value, expected) in cases {
            assert_eq!(parts(value).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(requested(b"bytes=0-", 0), Requested::Nothing);
    }

    #[test]
    fn what_cannot_be_read_or_is_too_much_asks_for_the_whole() {
        let many: Vec<String> = (0..20).map(|i| format!("{}-{}", i * 2, i * 2)).collect();
        let many = format!("bytes={}", many.join(","));
        assert_eq!(requested(many.as_bytes(), 100), Requested::Whole);
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "lines=0-1",
            "bytes=a-b",
            "bytes=1-0",
            "bytes=-",
            "bytes=0-1,x",
            "bytes=+1-2",
            "bytes=0-1-2",
        ] {
            assert_eq!(parts(value), None, "{value}");
        }
    }
}
