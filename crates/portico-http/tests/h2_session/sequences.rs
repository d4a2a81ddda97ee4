//! Any operations, beside a model.

use proptest::prelude::*;

use crate::model;

/// xorshift: the same sequence in each run.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

#[test]
fn long_sequences_keep_the_rules() {
    for seed in 0..300 {
        model::run(&bytes(seed, 3000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_the_rules(data in proptest::collection::vec(any::<u8>(), 0..400)) {
        model::run(&data);
    }
}
