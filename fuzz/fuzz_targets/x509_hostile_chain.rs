//! A store and a chain that the fuzzer composes, with bytes changed after they were signed.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/portico-x509/tests/support/certificates.rs"]
mod certificates;
#[path = "../../crates/portico-x509/tests/support/hostile.rs"]
mod hostile;
#[path = "../../crates/portico-x509/tests/support/scene.rs"]
mod scene;

fuzz_target!(|bytes: &[u8]| {
    hostile::run(bytes);
});
