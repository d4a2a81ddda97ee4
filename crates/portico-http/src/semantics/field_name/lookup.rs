//! The number of a name: one look into a table without collisions, and one comparison of words.

use super::{FIELD_NAME_COUNT, FIELD_NAMES};

/// Number of a field name, compared without regard to ASCII case; 0 if it is not in the table.
#[must_use]
pub fn field_name_number(name: &[u8]) -> u16 {
    let Some(block) = name.first_chunk::<BLOCK>() else {
        return candidate(short_halves(name), name.len());
    };
    let number = candidate(halves(block), name.len());
    let Some((known, tail)) = KEYS
        .get(usize::from(number))
        .zip(name.last_chunk::<BLOCK>())
    else {
        return 0;
    };
    let (low, high) = halves(tail);
    let differs = (low | case_bits(known.tail.0)) ^ known.tail.0
        | (high | case_bits(known.tail.1)) ^ known.tail.1;
    if differs != 0 || (name.len() > 2 * BLOCK && !middle_is_equal(name, number)) {
        return 0;
    }
    number
}

/// What lies between the first and the last block of the few names that are longer than two.
#[cold]
fn middle_is_equal(name: &[u8], number: u16) -> bool {
    FIELD_NAMES
        .get(usize::from(number))
        .is_some_and(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// Number of the name that is the first `length` bytes of a block, at most all of them; what follows is ignored.
#[must_use]
#[inline]
pub(crate) fn number_in_block(block: &[u8; BLOCK], length: usize) -> u16 {
    let (low, high) = halves(block);
    let (low_mask, high_mask) = MASKS[length % MASKS.len()];
    candidate((low & low_mask, high & high_mask), length)
}

/// Bytes of a name that are compared as two words.
pub(crate) const BLOCK: usize = 16;

#[inline]
fn halves(block: &[u8; BLOCK]) -> (u64, u64) {
    let block = u128::from_le_bytes(*block);
    (block as u64, (block >> 64) as u64)
}

/// The words of a name shorter than a block, with zeros after it. Read as two overlapping parts.
#[inline]
fn short_halves(name: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        let shift = 8 * (BLOCK - name.len()) as u32;
        let high = u64::from_le_bytes(*last).checked_shr(shift).unwrap_or(0);
        return (u64::from_le_bytes(*first), high);
    }
    if let (Some(first), Some(last)) = (name.first_chunk(), name.last_chunk()) {
        let high = u64::from(u32::from_le_bytes(*last)) << (8 * (name.len() - 4));
        return (u64::from(u32::from_le_bytes(*first)) | high, 0);
    }
    (
        name.iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
        0,
    )
}

/// Number of the name with this length whose first 16 bytes are these words (zeros after a shorter name), or 0.
#[inline]
fn candidate((low, high): (u64, u64), length: usize) -> u16 {
    let number = SLOTS[slot(low, high, length)];
    let Some(known) = KEYS.get(usize::from(number)) else {
        return 0;
    };
    let differs = (low | case_bits(known.low)) ^ known.low
        | (high | case_bits(known.high)) ^ known.high
        | length as u64 ^ known.length;
    if differs == 0 { number.into() } else { 0 }
}

/// For each letter of a lower-case name the bit that an upper-case letter lacks. Other bytes must be equal.
#[inline]
const fn case_bits(known: u64) -> u64 {
    (known & 0x4040_4040_4040_4040) >> 1
}

/// Masks for the two halves of a block that keep as many bytes as the index says.
const MASKS: [(u64, u64); 32] = {
    let mut masks = [(u64::MAX, u64::MAX); 32];
    let mut length = 0;
    while length < BLOCK {
        let mask = (1_u128 << (8 * length)) - 1;
        masks[length] = (mask as u64, (mask >> 64) as u64);
        length += 1;
    }
    masks
};

/// A name of the table as words, so that it is compared without a call.
#[derive(Clone, Copy)]
struct Key {
    low: u64,
    high: u64,
    length: u64,
    /// The last block of a name that has more than one.
    tail: (u64, u64),
}

const KEYS: [Key; FIELD_NAME_COUNT] = {
    // Number 0 equals nothing: no name is that long.
    let mut keys = [Key {
        low: 0,
        high: 0,
        length: u64::MAX,
        tail: (0, 0),
    }; FIELD_NAME_COUNT];
    let mut number = 1;
    while number < FIELD_NAME_COUNT {
        let name = FIELD_NAMES[number].as_bytes();
        let length = name.len();
        let width = if length < BLOCK { length } else { BLOCK };
        let (low, high) = words(name, 0, width);
        keys[number] = Key {
            low,
            high,
            length: length as u64,
            tail: words(name, length - width, width),
        };
        number += 1;
    }
    keys
};

/// At most 16 bytes as two words, with zeros after them.
const fn words(name: &[u8], from: usize, width: usize) -> (u64, u64) {
    let mut block: u128 = 0;
    let mut at = width;
    while at > 0 {
        at -= 1;
        block = block << 8 | name[from + at] as u128;
    }
    (block as u64, (block >> 64) as u64)
}

const SLOT_BITS: u32 = 10;

/// A hash without collisions between the names of the table. The factors were found by trying; when the table changes
/// and they fail, the crate doesn't compile, and others must be tried (one pair of odd numbers in some thousand fits).
#[inline]
const fn slot(low: u64, high: u64, length: usize) -> usize {
    const LOWER: u64 = 0x2020_2020_2020_2020;
    let sum = (low | LOWER)
        .wrapping_mul(0x3ccf_7d60_8c94_d9f3)
        .wrapping_add((high | LOWER).wrapping_mul(0xbce0_7c2c_fce7_db05))
        .wrapping_add((length as u64) << 56);
    (sum >> (u64::BITS - SLOT_BITS)) as usize
}

const SLOTS: [u8; 1 << SLOT_BITS] = {
    let mut slots = [0; 1 << SLOT_BITS];
    let mut number = 1;
    while number < FIELD_NAME_COUNT {
        let key = KEYS[number];
        let slot = slot(key.low, key.high, key.length as usize);
        assert!(
            slots[slot] == 0,
            "two names share a slot: find other factors"
        );
        slots[slot] = number as u8;
        number += 1;
    }
    slots
};

#[cfg(test)]
mod tests {
    use super::super::FIELD_NAMES;
    use super::field_name_number;

    #[test]
    fn every_name_of_the_table_is_found_in_any_case() {
        for (number, name) in FIELD_NAMES.into_iter().enumerate().skip(1) {
            assert_eq!(
                usize::from(field_name_number(name.as_bytes())),
                number,
                "{name}"
            );
            let upper = name.to_ascii_uppercase();
            assert_eq!(
                usize::from(field_name_number(upper.as_bytes())),
                number,
                "{upper}"
            );
        }
    }

    #[test]
    fn a_name_that_differs_in_one_bit_is_not_found() {
        for name in FIELD_NAMES.into_iter().skip(1) {
            for at in 0..name.len() {
                for bit in 0..8 {
                    let mut other = name.as_bytes().to_vec();
                    other[at] ^= 1 << bit;
                    let number = usize::from(field_name_number(&other));
                    let same = FIELD_NAMES[number].as_bytes().eq_ignore_ascii_case(&other);
                    assert!(number == 0 || same, "{name}: {other:?} taken for {number}");
                }
            }
        }
        assert_eq!(field_name_number(b""), 0);
        assert_eq!(field_name_number(b"x"), 0);
        assert_eq!(field_name_number(&[b'a'; 300]), 0);
        assert_eq!(field_name_number(&[255; 255]), 0);
    }
}
