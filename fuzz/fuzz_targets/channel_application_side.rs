//! Anything, anywhere, at any time in an application's side of a host's channel: the host lives and serves the others.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/portico-dispatch/tests/support/hostile.rs"]
mod hostile;

fuzz_target!(|operations: &[u8]| {
    hostile::run(operations);
});
