//! A store's budget against what the process takes: a test of its own, so that nothing else allocates beside it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use portico_cache::store::{Store, StoreLimits};
use portico_http::semantics::FieldsBuffer;
use support::{NOW, entry};

/// Memory that the process has touched and not given back, in bytes.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Small entries cost the most beside their bytes. Each is replaced several times over, in sizes that differ.
#[test]
fn a_full_store_takes_its_budget_and_hardly_more() {
    const BUDGET: usize = 32 << 20;
    let before = resident_bytes();
    let store = Store::new(StoreLimits {
        budget_bytes: BUDGET,
        ..StoreLimits::default()
    });
    for round in 0..3_usize {
        for number in 0..60_000_usize {
            let size = 100 + (number * 7 + round * 13) % 900;
            let mut new = entry(&format!("/page/{round}/{number}"), &vec![b'x'; size]);
            new.fields = FieldsBuffer::from("Content-Type: text/html\nETag: \"0123456789abcdef\"");
            new.fields.shrink();
            store.insert(new, store.ticket(), NOW).unwrap();
        }
    }
    let stats = store.stats();
    let taken = resident_bytes() - before;
    println!(
        "{} entries, {} bytes of the budget, {taken} of memory",
        stats.entries, stats.used_bytes
    );
    assert!(stats.used_bytes <= BUDGET && stats.used_bytes > BUDGET / 100 * 95);
    assert!(
        taken <= BUDGET / 100 * 105,
        "{taken} bytes for a budget of {BUDGET}"
    );
}
