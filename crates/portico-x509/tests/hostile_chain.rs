//! What the fuzzer does, with random bytes, on every test run.
#![allow(missing_docs, reason = "tests")]

mod support {
    pub mod certificates;
    pub mod hostile;
    pub mod scene;
}

use proptest::prelude::*;
use support::hostile;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn no_choice_of_bytes_makes_a_verdict_lie(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
        hostile::run(&bytes);
    }
}
