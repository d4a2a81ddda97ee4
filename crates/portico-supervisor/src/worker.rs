//! One start of the application's command.

use std::fmt;
use std::time::Instant;

/// Number of a worker: each start has a larger one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

impl fmt::Display for WorkerId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Where a worker is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It was started and has not said that it is ready.
    Starting,
    /// It gets requests.
    Ready,
    /// It gets nothing new, and finishes what it has.
    Draining,
    /// It was asked to end.
    Stopping,
    /// It was killed; its end has not been seen yet.
    Killed,
}

/// A worker.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its number.
    pub id: WorkerId,
    /// Its slot.
    pub slot: u32,
    /// Where it is in its life.
    pub phase: Phase,
    /// When it was started.
    pub started: Instant,
    /// When its phase ends, if it does by itself.
    pub(crate) until: Option<Instant>,
}

impl Worker {
    /// Whether it has been told to go, or killed.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.phase > Phase::Ready
    }
}
