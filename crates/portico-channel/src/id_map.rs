//! A map for numbers that Portico itself gives, or that only grow: no peer can choose them so that they collide, and a
//! multiplication is enough of a hash. Saves the default hash's 20 ns for each of the several look-ups of a request.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are Portico's own numbers.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// The hash of an [`IdMap`].
#[derive(Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        // The odd number nearest to 2^64 divided by the golden ratio (Knuth, 6.4).
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The map takes the low bits.
        self.0 = mixed ^ mixed >> 32;
    }
}
