//! The static table (RFC 7541, appendix A), with the number of each name.

use crate::h2::pseudo_field as pseudo;
use crate::semantics::FIELD_NAMES;
use crate::semantics::field_name::number_of;

/// An entry of the static table.
#[derive(Clone, Copy, Debug)]
pub(super) struct StaticEntry {
    /// Name and value, one behind the other.
    pub(super) bytes: &'static [u8],
    /// Number of bytes of the name.
    pub(super) name_length: u16,
    /// The name's number: of [`FIELD_NAMES`] or of a pseudo-header field.
    pub(super) name_number: u16,
}

impl StaticEntry {
    /// The name.
    pub(super) fn name(&self) -> &'static [u8] {
        self.bytes.split_at(usize::from(self.name_length)).0
    }

    /// The value.
    pub(super) fn value(&self) -> &'static [u8] {
        self.bytes.split_at(usize::from(self.name_length)).1
    }
}

/// Number of entries. Indices count from 1; those of the dynamic table follow.
pub(super) const STATIC_COUNT: u32 = 61;

/// The entry with this index.
#[inline]
pub(super) fn entry(index: u32) -> Option<&'static StaticEntry> {
    ENTRIES.get((index as usize).wrapping_sub(1))
}

/// Index of the first entry with the name that has this number, 0 if there is none.
#[inline]
pub(super) fn index_of_name(name_number: u16) -> u32 {
    let index = if name_number >= pseudo::FIRST {
        PSEUDO_INDICES.get(usize::from(name_number - pseudo::FIRST))
    } else {
        NAME_INDICES.get(usize::from(name_number))
    };
    index.copied().unwrap_or(0).into()
}

/// Index of the entry with this name and value, 0 if there is none.
#[inline]
pub(super) fn index_of_field(name_number: u16, value: &[u8]) -> u32 {
    let first = index_of_name(name_number);
    if first == 0 || value.is_empty() || first > LAST_WITH_VALUE {
        return 0;
    }
    let mut index = first;
    while let Some(entry) = entry(index).filter(|entry| entry.name_number == name_number) {
        if entry.value() == value {
            return index;
        }
        index += 1;
    }
    0
}

/// The last entry that has a value.
const LAST_WITH_VALUE: u32 = 16;

macro_rules! entries {
    ($($name:literal $value:literal,)*) => {
        [$(StaticEntry {
            bytes: concat!($name, $value).as_bytes(),
            name_length: $name.len() as u16,
            name_number: number($name),
        },)*]
    };
}

const ENTRIES: [StaticEntry; STATIC_COUNT as usize] = entries! [
    ":authority" "",
    ":method" "GET",
    ":method" "POST",
    ":path" "/",
    ":path" "/index.html",
    ":scheme" "http",
    ":scheme" "https",
    ":status" "200",
    ":status" "204",
    ":status" "206",
    ":status" "304",
    ":status" "400",
    ":status" "404",
    ":status" "500",
    "accept-charset" "",
    "accept-encoding" "gzip, deflate",
    "accept-language" "",
    "accept-ranges" "",
    "accept" "",
    "access-control-allow-origin" "",
    "age" "",
    "allow" "",
    "authorization" "",
    "cache-control" "",
    "content-disposition" "",
    "content-encoding" "",
    "content-language" "",
    "content-length" "",
    "content-location" "",
    "content-range" "",
    "content-type" "",
    "cookie" "",
    "date" "",
    "etag" "",
    "expect" "",
    "expires" "",
    "from" "",
    "host" "",
    "if-match" "",
    "if-modified-since" "",
    "if-none-match" "",
    "if-range" "",
    "if-unmodified-since" "",
    "last-modified" "",
    "link" "",
    "location" "",
    "max-forwards" "",
    "proxy-authenticate" "",
    "proxy-authorization" "",
    "range" "",
    "referer" "",
    "refresh" "",
    "retry-after" "",
    "server" "",
    "set-cookie" "",
    "strict-transport-security" "",
    "transfer-encoding" "",
    "user-agent" "",
    "vary" "",
    "via" "",
    "www-authenticate" "",
];

/// The number of a name, found when this is compiled.
const fn number(name: &str) -> u16 {
    if name.as_bytes()[0] == b':' {
        pseudo::number(name.as_bytes())
    } else {
        number_of(name)
    }
}

/// Index of the first entry with each known name.
static NAME_INDICES: [u8; FIELD_NAMES.len()] = first_indices(0);

/// The same for pseudo-header fields.
static PSEUDO_INDICES: [u8; pseudo::COUNT] = first_indices(pseudo::FIRST);

const fn first_indices<const COUNT: usize>(base: u16) -> [u8; COUNT] {
    let mut indices = [0; COUNT];
    let mut index = STATIC_COUNT as usize;
    while index > 0 {
        let number = ENTRIES[index - 1].name_number.wrapping_sub(base) as usize;
        if number < COUNT {
            indices[number] = index as u8;
        }
        index -= 1;
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_by_name_and_value() {
        for index in 1..=STATIC_COUNT {
            let entry = entry(index).unwrap();
            let (name, value) = (entry.name(), entry.value());
            assert_eq!(
                pseudo::valid_number(name).unwrap(),
                entry.name_number,
                "{index}"
            );
            assert_ne!(entry.name_number, 0);
            let expected = if value.is_empty() { 0 } else { index };
            assert_eq!(index_of_field(entry.name_number, value), expected);
            let first = ENTRIES[index_of_name(entry.name_number) as usize - 1];
            assert_eq!(first.name(), name);
        }
        assert!(entry(0).is_none() && entry(STATIC_COUNT + 1).is_none());
        assert_eq!(index_of_name(0), 0);
        assert_eq!(index_of_name(pseudo::FIRST), 0);
        assert_eq!(index_of_field(pseudo::STATUS, b"302"), 0);
    }
}
