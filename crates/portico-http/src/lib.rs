//! HTTP without I/O: what bytes mean, and which bytes to send.
//!
//! This crate turns received bytes into request heads and bodies, applies the limits and the framing rules that keep
//! requests from being smuggled, and encodes response heads. It opens no socket, reads no clock, starts no thread and
//! keeps no connection: the engine calls it with bytes and gets offsets back.
//!
//! * [`semantics`]: what all versions of HTTP share: methods, names and values of fields, what they
//!   say of the body, status codes.
//! * [`h1`]: HTTP/1.0 and 1.1 (RFC 9112).
//! * [`h2`]: HTTP/2 (RFC 9113) and HPACK (RFC 7541).
#![forbid(unsafe_code)]

pub mod h1;
pub mod h2;
mod scan;
pub mod semantics;

pub use h1::{ParseError, ParseErrorCode};
pub use semantics::{FIELD_NAMES, Method};
