//! The program `portico` with real sockets and processes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod application;
mod causes;
mod certificates;
mod commands;
mod configured;
mod harness;
mod hostile_members;
mod life;
mod load;
mod other_builds;
mod outliving;
mod ports;
mod registrations;
mod replacing;
mod reservations;
mod restarting;
mod running;
mod service_manager;
mod standing_in;
mod stuck;
mod upgrading;

/// Not a test: what `application::Process` starts.
#[test]
fn application_process() {
    application::process_main();
}

/// Not a test: what `running::Run` starts.
#[test]
fn worker_process() {
    running::process_main();
}

/// Not a test: what `standing_in::StandIn` starts.
#[test]
fn stand_in_process() {
    standing_in::process_main();
}
