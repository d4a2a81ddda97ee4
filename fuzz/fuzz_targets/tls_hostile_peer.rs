//! A TLS server and a client whose bytes the fuzzer chooses: ClientHello, flights, certificates, records.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/portico-tls/tests/common/mod.rs"]
mod common;
#[path = "../../crates/portico-tls/tests/support/early_client.rs"]
mod early_client;
#[path = "../../crates/portico-tls/tests/support/hostile.rs"]
mod hostile;
#[path = "../../crates/portico-tls/tests/support/peer_keys.rs"]
mod peer_keys;

fuzz_target!(|bytes: &[u8]| {
    hostile::run(bytes);
});
