//! The host's control side: who serves which prefix, on which ports, with which certificates.
//!
//! The data path is `portico-dispatch`'s shards, one thread each; this crate tells them what to do and sees no request.
//! Everything here runs on one thread (tokio's current-thread runtime), in one [`run`].
//!
//! * [`protocol`]: what is said on the control socket. [`client`] asks, `control` answers.
//! * [`registry`]: the rules, without I/O. `admission` and `host` carry out what they allow: ports ([`listeners`]), certificates
//!   ([`certificates`]), channels. `commands`, `reload` and `upgrade` are what people ask for, `report` what
//!   they are told.
//! * [`applications`]: processes that the host starts, watches and replaces itself.
//! * [`place`]: where a host is reached, and that there is one. `run` starts it, `serving` is its life until the end; `watchdog` ends one that
//!   is stuck.
#![forbid(unsafe_code)]

mod admission;
pub mod applications;
mod caching;
pub mod certificates;
pub mod client;
mod commands;
pub mod configuration;
mod control;
mod failure;
mod handover;
mod host;
pub mod lines;
pub mod listeners;
mod log_budget;
pub mod place;
mod port_sockets;
mod ports;
mod process_limits;
pub mod protocol;
pub mod registry;
mod reload;
mod report;
mod rules;
mod run;
mod serving;
pub mod settings;
pub mod state;
pub mod status;
mod succession;
mod systemd;
mod upgrade;
mod user_memories;
pub mod users;
mod visitors;
mod watchdog;
mod worker_signals;

pub use failure::{Failure, code};
pub use host::Start;
pub use portico_supervisor::Policy;
pub use run::{Ended, run};
pub use watchdog::STUCK_EXIT_CODE;
