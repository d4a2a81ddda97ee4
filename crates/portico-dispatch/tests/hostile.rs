//! A hostile member beside a good one: sequences of a simple generator. The fuzz target tries many more.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "support/hostile.rs"]
mod hostile;

#[test]
fn whatever_a_member_writes_others_are_served() {
    play(0x9e37_79b9_7f4a_7c15, |count| count < 300);
}

/// `PORTICO_HOSTILE_SECONDS=600 cargo test -p portico-dispatch --test hostile -- --ignored`.
#[test]
#[ignore = "for hours without a fuzzer"]
fn whatever_a_member_writes_for_a_long_time_others_are_served() {
    let seconds = std::env::var("PORTICO_HOSTILE_SECONDS").map_or(60, |text| text.parse().unwrap());
    let start = std::time::Instant::now();
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    println!("seed {seed}");
    let count = play(seed | 1, |_| start.elapsed().as_secs() < seconds);
    println!("{count} sequences");
}

fn play(mut state: u64, goes_on: impl Fn(u32) -> bool) -> u32 {
    let mut count = 0;
    while goes_on(count) {
        let operations: Vec<u8> = (0..400)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        hostile::run(&operations);
        count += 1;
    }
    count
}

#[test]
fn a_sequence_that_makes_sense_is_played() {
    // Requests, taken and answered in several ways, an upgrade, a departure.
    hostile::run(&[
        0, 0, 0, 1, 2, 2, 10, 12, 0, 2, 0, 0, 0, 12, 1, 1, 12, 2, 4, 0, 0, 5, 1, 3, 14, 0, 0, 10, 5,
    ]);
}
