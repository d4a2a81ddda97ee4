//! The session of HTTP/2 against clients that are made of bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod answers;
mod errors;
mod floods;
mod model;
mod peer;
mod requests;
mod sequences;
mod shutdown;
mod windows;
