//! The rules that an application's owner sets.

use std::time::Duration;

/// Times and bounds of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a worker may take to be ready. `None`: for ever.
    pub start_timeout: Option<Duration>,
    /// How long a worker may go on with what it has in flight.
    pub drain_timeout: Duration,
    /// How long a worker may take to end after SIGTERM.
    pub stop_timeout: Duration,
    /// Workers that start at a time, at least 1.
    pub max_starting: u32,
    /// Workers that are replaced at a time, at least 1. Where lives do not overlap: workers that are missing because of it.
    pub max_unavailable: u32,
    /// Whether a successor is ready before a worker is told to leave. Otherwise the worker has ended before its successor
    /// starts.
    pub overlapped: bool,
    /// Failures within `failure_window` from which on restarts wait. At least 1.
    pub rapid_failures: u32,
    /// The time in which failures are counted. After so long without a failure restarts are immediate again.
    pub failure_window: Duration,
    /// The first wait, which doubles with each further failure.
    pub first_backoff: Duration,
    /// The longest wait.
    pub longest_backoff: Duration,
    /// Failures in a row, without any worker that was ready in between, after which no more attempts are made. `None`: never.
    pub give_up_after: Option<u32>,
    /// The same as long as no worker has ever been ready.
    pub give_up_at_start_after: Option<u32>,
    /// Whether a worker that ends with success before it is ready is done, and not to be started again.
    pub may_finish: bool,
}

impl Default for Policy {
    /// As WAS has it (IIS): five failures in five minutes.
    fn default() -> Self {
        Self {
            start_timeout: Some(Duration::from_secs(30)),
            drain_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(10),
            max_starting: 4,
            max_unavailable: 1,
            overlapped: true,
            rapid_failures: 5,
            failure_window: Duration::from_secs(300),
            first_backoff: Duration::from_secs(1),
            longest_backoff: Duration::from_secs(60),
            give_up_after: None,
            give_up_at_start_after: None,
            may_finish: false,
        }
    }
}
