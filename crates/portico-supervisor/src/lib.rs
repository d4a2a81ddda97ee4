//! When the processes of an application are started, replaced and ended: decisions only.
//!
//! An [`Application`] has slots, and in each slot one **worker** after another: one start of the application's command. What
//! happens is told by `handle_*`, with the time; what is to be done comes out of [`Application::poll_action`]; when to call
//! [`Application::handle_timeout`] next is [`Application::next_timeout`]. No process, no signal, no clock, no thread here:
//! `portico-host` carries the actions out, tests do so on a virtual clock.
//!
//! ```text
//!             ready              a successor is ready,      nothing in flight,
//!                                stop, scale                drain_timeout              stop_timeout
//!  Starting ─────────▶ Ready ──────────────────▶ Draining ──────────────▶ Stopping ──────────────▶ Killed
//!      │ start_timeout, stop                                   ▲ SIGTERM      SIGKILL of the group
//!      └───────────────────────────────────────────────────────┘
//!  from each: exited
//! ```
//!
//! A host that takes the place of another one makes an [`Application`] anew and has it [`Application::adopt`] the workers that
//! run.
#![forbid(unsafe_code)]

mod action;
mod application;
mod failures;
mod policy;
mod slot;
mod worker;

pub use action::{Action, Exit};
pub use application::{Adopted, Application, Condition};
pub use policy::Policy;
pub use worker::{Phase, Worker, WorkerId};
