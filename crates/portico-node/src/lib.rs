//! Portico's Node-API add-on: converts between JavaScript and the engine, and drives the engine from the
//! application's event loop. No HTTP is decided here.
//!
//! - `engine`: the object that TypeScript sees (`packages/portico/src/native/binding.ts`)
//! - `options`: option objects and their conversion
//! - `drive`: who turns an engine; `attached`: the drive that is a host's engine; `host`: registering at one
//! - `cache`: the output cache of the process
//! - `instance`: one engine of one environment: memory shared with JavaScript, its place in the event loop, life time
//! - `script`: calls into JavaScript: batches, exceptions
//! - `submission`: the function by which JavaScript hands commands over; `lent`: bodies that stay in its memory
//! - `uv`: the few libuv calls needed
//!
//! The add-on lives in a process that it does not own: it sets no allocator, no signal handler and no panic hook.

#![expect(
    unreachable_pub,
    reason = "napi registers public items; nothing in Rust reaches them"
)]

mod attached;
mod cache;
mod drive;
mod engine;
mod errors;
mod host;
mod instance;
mod lent;
mod options;
mod script;
mod submission;
mod uv;

use napi_derive::napi;

/// Version of the add-on; the TypeScript side refuses another one than its own.
#[napi]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Fingerprint of the records that the add-on was built with; the TypeScript side refuses another one than its own.
#[napi]
pub fn records() -> u32 {
    portico_channel::layout::FINGERPRINT
}
