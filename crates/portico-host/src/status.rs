//! What `portico status` shows, and the rates in it.

use std::collections::HashMap;
use std::time::Instant;

use portico_dispatch::{MemberId, MemberStats, QueueId, QueueStats, RefusalCounts, ShardStats};
use portico_engine::Http2Load;
use serde::{Deserialize, Serialize};

use crate::protocol::{AddressRecord, CacheCounters};

/// A host at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Version of the host's program.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Its control socket.
    pub socket: String,
    /// Its configuration file, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Whether it was started by an application, and ends when it is not needed any more.
    pub on_demand: bool,
    /// `running` or `stopping`.
    pub phase: String,
    /// Seconds since its start.
    pub uptime_seconds: u64,
    /// Threads of the data path.
    pub shards: u32,
    /// Open connections of clients.
    pub connections: u64,
    /// Those of them that speak HTTP/2.
    pub http2_connections: u64,
    /// Streams of these that are not over.
    pub http2_streams: u64,
    /// Requests since the start.
    pub requests: u64,
    /// Requests a second, lately.
    pub requests_per_second: f64,
    /// Requests that no prefix matched (404).
    pub unrouted: u64,
    /// Requests whose target or `Host` is malformed (400).
    pub bad_target: u64,
    /// Requests that are no HTTP, or break its rules (400, 413, 431).
    pub malformed: u64,
    /// Requests for a scheme that the connection does not have, or for a host that demands a client certificate which the
    /// connection was not asked for (421).
    pub misdirected: u64,
    /// Requests for a prefix that is reserved and that no process has registered (503).
    pub unserved: u64,
    /// Bytes received from clients.
    pub bytes_read: u64,
    /// Bytes sent to clients.
    pub bytes_written: u64,
    /// Connections closed because their clients were slower than `min_bytes_per_second`.
    pub too_slow: u64,
    /// What is kept of answers.
    pub cache: CacheCounters,
    /// Ports.
    pub listeners: Vec<ListenerStatus>,
    /// Prefixes with a queue, and reserved ones, in canonical order.
    pub prefixes: Vec<PrefixStatus>,
}

/// A port that is open, or should be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenerStatus {
    /// Port.
    pub port: u16,
    /// `http` or `https`.
    pub scheme: String,
    /// Where it listens.
    pub addresses: Vec<AddressRecord>,
    /// Why it is not open. The host tries again every 5 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A prefix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrefixStatus {
    /// Its canonical form.
    pub prefix: String,
    /// Whether there is a reservation of exactly this prefix.
    pub reserved: bool,
    /// Whether the configuration names it as a site.
    pub site: bool,
    /// What is wrong with its reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Requests that wait for a process.
    pub waiting: u64,
    /// How many may.
    pub queue_length: u32,
    /// Requests that came.
    pub requests: u64,
    /// Requests a second, lately.
    pub requests_per_second: f64,
    /// Requests refused with 503.
    pub refused: u64,
    /// Requests answered 502 because their process died.
    pub lost: u64,
    /// Requests given to another process because the first one died.
    pub moved: u64,
    /// Requests answered 504 because their process let `response_timeout` pass.
    pub timed_out: u64,
    /// The processes that serve it.
    pub processes: Vec<ProcessStatus>,
}

/// A process that serves a prefix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessStatus {
    /// Number of the registration.
    pub member: u32,
    /// Process id.
    pub pid: i32,
    /// Program, as it says.
    pub program: String,
    /// Version of Node, as it says.
    pub node: String,
    /// User's name, or number where it has no name.
    pub user: String,
    /// `serving` or `leaving`.
    pub state: String,
    /// Requests that it has and has not answered.
    pub in_flight: u64,
    /// Those of them that it has not even taken.
    pub untaken: u64,
    /// Seconds for which it has taken nothing of what is there for it: it is stopped, or its event loop is blocked. 0:
    /// it takes what it gets.
    pub takes_nothing_seconds: u64,
    /// Requests given to it.
    pub requests: u64,
    /// Requests a second, lately.
    pub requests_per_second: f64,
}

/// What is in flight, for whoever looks for a request that hangs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requests {
    /// The processes on each shard, and their channels.
    pub processes: Vec<ProcessChannel>,
    /// Requests that are not answered completely, and bodies and byte streams that outlast theirs.
    pub requests: Vec<RequestStatus>,
}

/// The channel between a process and one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessChannel {
    /// Number of the shard, from 0.
    pub shard: usize,
    /// Process id.
    pub pid: i32,
    /// Where it stands, in words.
    pub state: String,
}

/// A request in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestStatus {
    /// Number of the shard, from 0.
    pub shard: usize,
    /// Number of its connection.
    pub connection: u32,
    /// Its number on the connection; 0: a byte stream.
    pub sequence: u32,
    /// Its prefix; empty of a body or a byte stream that outlasts its request.
    pub prefix: String,
    /// The process that has it; 0: none.
    pub pid: i32,
    /// Milliseconds since its process got it, or the last part of its body.
    pub idle_ms: u64,
    /// Where it stands, in words.
    pub state: String,
    /// Where its connection stands, in words.
    pub connection_state: String,
}

/// Sums over the shards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) members: HashMap<MemberId, MemberTotals>,
    pub(crate) queues: HashMap<QueueId, QueueTotals>,
    pub(crate) all: QueueTotals,
    pub(crate) connections: u64,
    pub(crate) http2: Http2Load,
    pub(crate) refusals: RefusalCounts,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) too_slow: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemberTotals {
    pub(crate) in_flight: u64,
    pub(crate) untaken: u64,
    /// On the shard where it has been longest.
    pub(crate) stalled_ms: u64,
    pub(crate) requests: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueTotals {
    pub(crate) waiting: u64,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) moved: u64,
    pub(crate) timed_out: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, shard: &ShardStats) {
        for member in &shard.members {
            self.members.entry(member.member).or_default().add(member);
        }
        for queue in &shard.queues {
            self.queues.entry(queue.queue).or_default().add(queue);
            self.all.add(queue);
        }
        self.connections += shard.counters.connections_open;
        self.http2.connections += shard.http2.connections;
        self.http2.streams += shard.http2.streams;
        self.refusals.unrouted += shard.refusals.unrouted;
        self.refusals.bad_target += shard.refusals.bad_target;
        self.refusals.malformed += shard.refusals.malformed;
        self.refusals.misdirected += shard.refusals.misdirected;
        self.refusals.unserved += shard.refusals.unserved;
        self.bytes_read += shard.counters.bytes_read;
        self.bytes_written += shard.counters.bytes_written;
        self.too_slow += shard.counters.too_slow;
    }
}

impl MemberTotals {
    fn add(&mut self, stats: &MemberStats) {
        self.in_flight += u64::from(stats.in_flight);
        self.untaken += u64::from(stats.untaken);
        self.stalled_ms = self.stalled_ms.max(stats.stalled_ms);
        self.requests += stats.requests;
    }
}

impl QueueTotals {
    fn add(&mut self, stats: &QueueStats) {
        self.waiting += u64::from(stats.waiting);
        self.requests += stats.requests;
        self.refused += stats.refused;
        self.lost += stats.lost;
        self.moved += stats.moved;
        self.timed_out += stats.timed_out;
    }
}

/// Requests a second, from samples taken about once a second: half of a rate is the last second's, a quarter that of
/// the second before, and so on.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    sampled: Option<Instant>,
    all: Rate,
    members: HashMap<MemberId, Rate>,
    queues: HashMap<QueueId, Rate>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    requests: u64,
    per_second: f64,
}

impl Rate {
    fn sample(self, requests: u64, seconds: f64) -> Self {
        let more = u32::try_from(requests.saturating_sub(self.requests)).unwrap_or(u32::MAX);
        let latest = f64::from(more) / seconds;
        Self {
            requests,
            per_second: f64::midpoint(self.per_second, latest),
        }
    }
}

impl Rates {
    pub(crate) fn sample(&mut self, now: Instant, totals: &Totals) {
        let before = self.sampled.replace(now);
        let Some(before) = before else {
            return;
        };
        let seconds = now.duration_since(before).as_secs_f64().max(0.001);
        self.all = self.all.sample(totals.all.requests, seconds);
        self.members = next(&self.members, &totals.members, seconds, |member| {
            member.requests
        });
        self.queues = next(&self.queues, &totals.queues, seconds, |queue| {
            queue.requests
        });
    }

    pub(crate) fn all(&self) -> f64 {
        rounded(self.all)
    }

    pub(crate) fn member(&self, id: MemberId) -> f64 {
        rounded(self.members.get(&id).copied().unwrap_or_default())
    }

    pub(crate) fn queue(&self, id: QueueId) -> f64 {
        rounded(self.queues.get(&id).copied().unwrap_or_default())
    }
}

fn next<K: Copy + Eq + std::hash::Hash, V>(
    rates: &HashMap<K, Rate>,
    totals: &HashMap<K, V>,
    seconds: f64,
    requests: impl Fn(&V) -> u64,
) -> HashMap<K, Rate> {
    let rate = |key: &K| rates.get(key).copied().unwrap_or_default();
    totals
        .iter()
        .map(|(key, total)| (*key, rate(key).sample(requests(total), seconds)))
        .collect()
}

fn rounded(rate: Rate) -> f64 {
    (rate.per_second * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_rate_follows_what_happens_and_falls_to_zero() {
        let mut rates = Rates::default();
        let start = Instant::now();
        let mut totals = Totals::default();
        let member = MemberId(1);
        for second in 0..10 {
            totals.all.requests += 100;
            totals.members.entry(member).or_default().requests += 100;
            rates.sample(start + Duration::from_secs(second), &totals);
        }
        assert!((99.0..=100.0).contains(&rates.all()), "{}", rates.all());
        assert!((99.0..=100.0).contains(&rates.member(member)));
        for second in 10..30 {
            rates.sample(start + Duration::from_secs(second), &totals);
        }
        assert!(rates.all() < 0.1);
        assert!(rates.queue(QueueId(5)) < 0.1);
    }
}
