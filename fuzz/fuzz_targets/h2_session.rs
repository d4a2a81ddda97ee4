//! A session as a sequence of operations: a client sends anything, cut anywhere, an application does anything with the
//! streams that it knows, and time passes. A model beside it holds the rules: what may be sent is within the windows
//! that the client has given, every frame is one of an open stream, a stream that has ended says nothing more, and
//! memory has a bound.
//!
//! See `portico-http/tests/h2_session/model` for the operations.

#![no_main]

#[path = "../../crates/portico-http/tests/h2_session/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    model::run(data);
});
