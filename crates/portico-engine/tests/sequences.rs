//! Sequences of operations, chosen at random but the same in each run. The fuzzer goes further:
//! `fuzz/fuzz_targets/connection_sequence.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "support/sequence.rs"]
#[allow(unreachable_pub, reason = "the fuzzer includes it too")]
mod sequence;

use portico_channel::layout::event;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u8 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
    }
}

#[test]
fn events_make_sense_whatever_is_done() {
    let mut counts = [0; 19];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for length in 0..3_000usize {
        let operations: Vec<u8> = (0..length % 300).map(|_| random.next()).collect();
        // Names the sequence should it fail.
        let result = std::panic::catch_unwind(|| sequence::run(&operations));
        match result {
            Ok(more) => counts
                .iter_mut()
                .zip(more)
                .for_each(|(count, more)| *count += more),
            Err(panic) => {
                eprintln!("operations: {operations:?}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("events by kind: {counts:?}");
    for kind in [
        event::REQUEST,
        event::BODY,
        event::END,
        event::CLOSED,
        event::FLUSHED,
        event::CLIENT_ERROR,
        event::RAW,
        event::PEER_END,
    ] {
        assert!(
            counts[kind as usize] > 20,
            "too few events of kind {kind} to prove anything"
        );
    }
}
