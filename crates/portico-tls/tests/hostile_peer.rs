//! What the fuzzer does, with random bytes, on every test run.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "support/early_client.rs"]
mod early_client;
#[path = "support/hostile.rs"]
#[allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests"
)]
mod hostile;
#[path = "support/peer_keys.rs"]
#[allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests"
)]
mod peer_keys;

use proptest::prelude::*;

#[test]
fn no_choice_of_bytes_makes_a_connection_panic_or_lie() {
    proptest!(ProptestConfig::with_cases(1_500), |(bytes in prop::collection::vec(any::<u8>(), 0..300))| {
        hostile::run(&bytes);
    });
}

#[test]
fn open_connections_keep_to_what_was_sent() {
    let step = prop_oneof![
        (
            0u8..=1,
            prop::collection::vec(any::<u8>(), 0..20),
            any::<u8>()
        )
            .prop_map(|(op, content, padding)| {
                [&[op, content.len() as u8][..], &content, &[padding]].concat()
            }),
        any::<[u8; 3]>().prop_map(|[a, b, c]| vec![2, a, b, c]),
        any::<u8>().prop_map(|how| vec![3, how]),
        any::<[u8; 3]>().prop_map(|[a, b, c]| vec![4, a, b, c]),
    ];
    proptest!(ProptestConfig::with_cases(300), |(flags: u8, steps in prop::collection::vec(step, 0..60))| {
        hostile::run(&[&[3, flags][..], &steps.concat()].concat());
    });
}
