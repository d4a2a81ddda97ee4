//! The hash of segments and names: quick for short keys, and seeded for each table.
//!
//! Requests look keys up but never insert any, so only who may register prefixes could make a bucket long; the seed
//! keeps them from knowing how. The multiply-and-fold step is the one of wyhash and its relatives.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xc2b2_ae3d_27d4_eb4f;

/// Makes hashers with one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn random() -> Self {
        Self(RandomState::new().hash_one(FIRST))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

/// One key's hash in the making.
pub(crate) struct Folding(u64);

impl Folding {
    fn fold(&mut self, low: u64, high: u64) {
        let product = u128::from(low ^ self.0) * u128::from(high ^ FIRST);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "both halves are used, one after the other"
        )]
        let folded = product as u64 ^ (product >> 64) as u64;
        self.0 = folded;
    }
}

impl Hasher for Folding {
    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let value = u128::from_le_bytes(*pair);
            #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
            self.fold(value as u64, (value >> 64) as u64 ^ SECOND);
        }
        let (low, high) = last_bytes(rest);
        // Keys of different lengths may have the same words.
        self.0 = self
            .0
            .wrapping_add((bytes.len() as u64).wrapping_mul(SECOND));
        self.fold(low, high);
    }

    fn write_u8(&mut self, value: u8) {
        self.fold(u64::from(value), SECOND);
    }

    fn write_u16(&mut self, value: u16) {
        self.fold(u64::from(value), SECOND);
    }

    fn write_u32(&mut self, value: u32) {
        self.fold(u64::from(value), SECOND);
    }

    fn write_u64(&mut self, value: u64) {
        self.fold(value, SECOND);
    }

    fn write_usize(&mut self, _length: usize) {
        // Comes before the bytes of a slice, whose length `write` takes in.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Up to 15 bytes in two words: all of them, the middle ones perhaps twice.
fn last_bytes(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (
            u64::from(u32::from_le_bytes(*first)),
            u64::from(u32::from_le_bytes(*last)),
        )
    } else {
        let byte = |at: usize| bytes.get(at).copied().map_or(0, u64::from);
        (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_in_one_byte_or_in_length_hash_differently() {
        let hasher = Seeded::random();
        let mut seen = std::collections::HashSet::new();
        for length in 0..40 {
            let zeros = vec![0u8; length];
            assert!(seen.insert(hasher.hash_one(&zeros[..])), "{length}");
            for at in 0..length {
                let mut key = zeros.clone();
                key[at] = 1;
                assert!(seen.insert(hasher.hash_one(&key[..])), "{length} {at}");
            }
        }
    }
}
