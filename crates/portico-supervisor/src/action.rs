//! What is to be done, and how a worker ended.

use crate::worker::WorkerId;

/// To be carried out by the caller, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the command. What comes of it is told by `handle_ready` and `handle_exited`, also where it could not be started.
    Spawn {
        /// The new worker.
        worker: WorkerId,
        /// Its slot, from 0.
        slot: u32,
    },
    /// Give it no new requests, and call `handle_drained` when it has none in flight.
    Drain(WorkerId),
    /// Ask it to end (SIGTERM).
    Terminate(WorkerId),
    /// End it and all that it started (SIGKILL of the process group).
    Kill(WorkerId),
    /// No further attempt is made until `start`: too many starts have failed in a row.
    GiveUp,
    /// Every worker has ended by itself, as a program that is done: see `Policy::may_finish`.
    Finished,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With exit code 0.
    Success,
    /// With another code, by a signal, or it could not be started.
    Failure,
}
