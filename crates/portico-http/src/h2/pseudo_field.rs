//! Pseudo-header fields (RFC 9113, section 8.3; RFC 8441, section 4), and numbers for their names.
//!
//! The numbers lie above those of [`crate::FIELD_NAMES`], so that one number names a field of either kind. They never
//! leave this crate: a [`super::Head`] has places of its own for what these fields say.

use crate::semantics::field_name::{field_name_number, is_equal, is_token};

/// The first of the numbers; it stands for a pseudo-header field that is not known.
pub(super) const FIRST: u16 = 0xff00;
/// `:authority`
pub(super) const AUTHORITY: u16 = FIRST + 1;
/// `:method`
pub(super) const METHOD: u16 = FIRST + 2;
/// `:path`
pub(super) const PATH: u16 = FIRST + 3;
/// `:scheme`
pub(super) const SCHEME: u16 = FIRST + 4;
/// `:status`
pub(super) const STATUS: u16 = FIRST + 5;
/// `:protocol`
pub(super) const PROTOCOL: u16 = FIRST + 6;
/// How many numbers there are.
pub(super) const COUNT: usize = 7;

const NAMES: [&[u8]; COUNT] = [
    b"",
    b":authority",
    b":method",
    b":path",
    b":scheme",
    b":status",
    b":protocol",
];

/// The number of a name that begins with a colon.
pub(super) const fn number(name: &[u8]) -> u16 {
    let mut index = 1;
    while index < COUNT {
        if is_equal(NAMES[index], name) {
            return FIRST + index as u16;
        }
        index += 1;
    }
    FIRST
}

/// The number of a field's name, or `None` for one that HTTP/2 forbids: not a token in lower case, and no pseudo-header
/// field that is known (RFC 9113, sections 8.2.1 and 8.3).
#[inline]
pub(super) fn valid_number(name: &[u8]) -> Option<u16> {
    if name.first() == Some(&b':') {
        return Some(number(name)).filter(|number| *number != FIRST);
    }
    let is_valid = !name.is_empty() && name.iter().all(|&byte| LOWER_CASE[usize::from(byte)]);
    is_valid.then(|| field_name_number(name))
}

/// Bytes of tokens but capitals.
const LOWER_CASE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = is_token(byte as u8) && !(byte as u8).is_ascii_uppercase();
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers_or_are_forbidden() {
        assert_eq!(valid_number(b":method"), Some(METHOD));
        assert_eq!(valid_number(b":protocol"), Some(PROTOCOL));
        assert_eq!(valid_number(b"host"), Some(1));
        assert_eq!(valid_number(b"x-own"), Some(0));
        for name in [
            &b""[..],
            b":",
            b":path ",
            b":version",
            b"Host",
            b"a b",
            b"a:",
            b"a\0",
            b"caf\xe9",
        ] {
            assert_eq!(valid_number(name), None, "{name:?}");
        }
    }
}
