//! Counters for `portico status`.

use portico_engine::{Counters, Http2Load};

use crate::answers::Refusal;
use crate::{MemberId, QueueId};

/// One shard's counters.
#[derive(Clone, Debug, Default)]
pub struct ShardStats {
    /// Members attached.
    pub members: Vec<MemberStats>,
    /// Queues that have been used.
    pub queues: Vec<QueueStats>,
    /// The engine's counters.
    pub counters: Counters,
    /// Connections of HTTP/2 and their streams.
    pub http2: Http2Load,
    /// Requests that no queue got.
    pub refusals: RefusalCounts,
}

/// Requests that no queue got, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    /// No prefix matched: 404.
    pub unrouted: u64,
    /// The target or `Host` is malformed: 400.
    pub bad_target: u64,
    /// Not HTTP, or against its rules: 400, 413 or 431.
    pub malformed: u64,
    /// For a host or scheme that the connection is not for: 421.
    pub misdirected: u64,
    /// The prefix is reserved, and no process has registered it: 503.
    pub unserved: u64,
}

impl RefusalCounts {
    pub(crate) fn count(&mut self, refusal: Refusal) {
        let counter = match refusal {
            Refusal::NotFound => &mut self.unrouted,
            Refusal::BadTarget => &mut self.bad_target,
            Refusal::Misdirected => &mut self.misdirected,
            Refusal::Unavailable(_) => &mut self.unserved,
            // Said of requests that a queue has got.
            Refusal::Lost | Refusal::Contradiction | Refusal::TimedOut => return,
        };
        *counter += 1;
    }
}

/// Counters of a member on one shard.
#[derive(Clone, Copy, Debug)]
pub struct MemberStats {
    /// The member.
    pub member: MemberId,
    /// Requests that it has and has not answered completely.
    pub in_flight: u32,
    /// Those of them that it has not taken from its channel.
    pub untaken: u32,
    /// Requests dispatched to it since it was attached.
    pub requests: u64,
    /// For how long it has taken nothing of what is there for it, milliseconds; 0: nothing is.
    pub stalled_ms: u64,
}

/// What became of the requests of a member that is gone, on one shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    /// Requests that others have now: it had not taken them, or they are tried again.
    pub moved: usize,
    /// Requests that were answered with 502.
    pub lost: usize,
    /// Connections that ended in the middle of an answer, or were tunnels.
    pub cut: usize,
}

impl std::ops::AddAssign for LeftBehind {
    fn add_assign(&mut self, other: Self) {
        self.moved += other.moved;
        self.lost += other.lost;
        self.cut += other.cut;
    }
}

/// Counters of a queue on one shard.
#[derive(Clone, Copy, Debug)]
pub struct QueueStats {
    /// The queue.
    pub queue: QueueId,
    /// Requests that wait for a member.
    pub waiting: u32,
    /// Requests that came.
    pub requests: u64,
    /// Requests answered 503: the queue was full, or no process came in time.
    pub refused: u64,
    /// Requests answered 502: the process that had taken them died.
    pub lost: u64,
    /// Requests given to another process after the first one died.
    pub moved: u64,
    /// Requests answered 504: their process let `response_timeout` pass.
    pub timed_out: u64,
}
