//! A server and its clients as a sequence of operations: whatever is done, the events make sense and nothing is left.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/portico-engine/tests/support/sequence.rs"]
mod sequence;

fuzz_target!(|operations: &[u8]| {
    sequence::run(operations);
});
