//! TLS for servers over rustls, without I/O: bytes in, plaintext and bytes out. No socket, no thread.
//!
//! Life of a connection: [`Connection::new`] with the listener's [`ServerNames`]; each piece that arrives goes to
//! [`Connection::handle_input`], which appends plaintext and what must be sent to the caller's buffers and says in a
//! [`Status`] what happened; answers go through [`Connection::write`]. A [`Context`] is what Node calls a secure
//! context: keys, certificates, trust anchors, versions, suites, session tickets.
//!
//! This crate alone names rustls: the engine and the add-on see the types below, so that a new rustls changes
//! nothing but these files. It must not know of HTTP, of JavaScript, or of OpenSSL's cipher strings (the JavaScript
//! side translates those to IANA numbers with the tables in [`names`]).

#![forbid(unsafe_code)]

mod alert;
mod choices;
mod client_auth;
mod client_hello;
mod clock;
mod connection;
mod context;
mod der;
mod early_data;
mod error;
mod error_map;
mod handshake;
mod hello_rules;
mod identity;
mod key_log;
mod key_schedule;
mod key_update;
mod keying;
pub mod names;
mod options;
mod pfx;
mod record;
mod record_rules;
mod server_names;
mod session_cache;
mod session_info;
mod sink;
mod suites;
mod summary;
mod tickets;
mod traffic;
mod traffic_keys;
mod verify_error;

pub use choices::{AlpnChoice, ClientHello, Refusal};
pub use client_auth::ClientDemand;
pub use connection::{Connection, Status};
pub use context::Context;
pub use error::{ContextError, TlsError};
pub use keying::Keying;
pub use options::{ContextOptions, Identity, Pfx};
pub use server_names::ServerNames;
pub use session_info::SessionInfo;
pub use sink::Sink;
pub use summary::CertificateSummary;
pub use verify_error::VerifyError;

// The tests inside use the same helpers as those outside.
#[cfg(test)]
extern crate self as portico_tls;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
