//! What the host tells of itself: counters, and `portico status`.

use std::time::Instant;

use portico_dispatch::MemberId;

use crate::host::{Host, Phase};
use crate::registry::Queue;
use crate::status::{
    ListenerStatus, PrefixStatus, ProcessChannel, ProcessStatus, RequestStatus, Requests, Status,
    Totals,
};
use crate::users::UserNames;

impl Host {
    /// The counters of all shards.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.shards {
            totals.add(&shard.stats());
        }
        totals
    }

    /// `portico status`. May block on the user database.
    pub(crate) fn status(&self) -> Status {
        let totals = self.totals();
        let listeners = self
            .listeners
            .open_ports()
            .map(|(port, scheme)| ListenerStatus {
                port,
                scheme: scheme.to_string(),
                addresses: self.listeners.addresses(port),
                problem: None,
            });
        let unopened = self.unopened.iter().map(|(port, failure)| ListenerStatus {
            port: *port,
            problem: Some(failure.message.clone()),
            ..ListenerStatus::default()
        });
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            socket: self.place.path().display().to_string(),
            configuration: self
                .start
                .configuration
                .as_ref()
                .map(|path| path.display().to_string()),
            on_demand: self.start.on_demand,
            phase: match self.phase {
                Phase::Running | Phase::HandingOver => "running".into(),
                Phase::Draining(_) | Phase::Ending => "stopping".into(),
            },
            uptime_seconds: Instant::now().duration_since(self.started).as_secs(),
            shards: u32::try_from(self.shards.len()).unwrap_or(0),
            connections: totals.connections,
            http2_connections: totals.http2.connections,
            http2_streams: totals.http2.streams,
            requests: totals.all.requests,
            requests_per_second: self.rates.all(),
            unrouted: totals.refusals.unrouted,
            bad_target: totals.refusals.bad_target,
            malformed: totals.refusals.malformed,
            misdirected: totals.refusals.misdirected,
            unserved: totals.refusals.unserved,
            bytes_read: totals.bytes_read,
            bytes_written: totals.bytes_written,
            too_slow: totals.too_slow,
            cache: self.cache_counters(),
            listeners: listeners.chain(unopened).collect(),
            prefixes: self.prefixes(&totals),
        }
    }

    /// `portico status --requests`.
    pub(crate) fn requests(&self) -> Requests {
        let pid_of = |id: &MemberId| {
            let member = self.registry.members().get(id);
            member.map_or(0, |member| member.process.pid)
        };
        let mut found = Requests::default();
        for (shard, thread) in self.shards.iter().enumerate() {
            let inspection = thread.inspect();
            found
                .processes
                .extend(inspection.members.into_iter().map(|member| ProcessChannel {
                    shard,
                    pid: pid_of(&member.member),
                    state: member.state,
                }));
            found
                .requests
                .extend(inspection.requests.into_iter().map(|request| {
                    RequestStatus {
                        shard,
                        connection: request.connection,
                        sequence: request.sequence,
                        prefix: request
                            .queue
                            .and_then(|id| self.registry.queues().get(&id))
                            .map_or_else(String::new, |queue| queue.prefix.to_string()),
                        pid: request.member.as_ref().map_or(0, pid_of),
                        idle_ms: request.idle_ms,
                        state: request.state,
                        connection_state: request.connection_state,
                    }
                }));
        }
        found
    }

    fn prefixes(&self, totals: &Totals) -> Vec<PrefixStatus> {
        let reservations = &self.registry.rules().reservations;
        let problems = &self.registry.rules().problems;
        let names = UserNames::default();
        let mut rows: Vec<_> = self
            .registry
            .queues()
            .iter()
            .map(|(id, queue)| {
                let counted = totals.queues.get(id).copied().unwrap_or_default();
                let row = PrefixStatus {
                    prefix: queue.prefix.to_string(),
                    reserved: reservations.get(&queue.prefix).is_some(),
                    problem: problems.get(&queue.prefix).cloned(),
                    site: self.registry.rules().sites.contains_key(&queue.prefix),
                    waiting: counted.waiting,
                    queue_length: queue.options.length,
                    requests: counted.requests,
                    requests_per_second: self.rates.queue(*id),
                    refused: counted.refused,
                    lost: counted.lost,
                    moved: counted.moved,
                    timed_out: counted.timed_out,
                    processes: self.processes(queue, *id, totals, &names),
                };
                (queue.prefix.clone(), row)
            })
            .collect();
        let unserved = |prefix: &portico_router::UrlPrefix| self.registry.queue(prefix).is_none();
        let reserved = reservations.iter().map(|reservation| &reservation.prefix);
        rows.extend(reserved.filter(|prefix| unserved(prefix)).map(|prefix| {
            let row = PrefixStatus {
                prefix: prefix.to_string(),
                reserved: true,
                problem: problems.get(prefix).cloned(),
                ..PrefixStatus::default()
            };
            (prefix.clone(), row)
        }));
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn processes(
        &self,
        queue: &Queue,
        id: portico_dispatch::QueueId,
        totals: &Totals,
        names: &UserNames,
    ) -> Vec<ProcessStatus> {
        // Those that leave are no longer in the queue's list, but still have requests.
        let leaving = self.registry.members().iter();
        let leaving = leaving.filter(|(_, member)| member.queue == id && member.leaving);
        let members = queue
            .members
            .iter()
            .chain(leaving.map(|(member, _)| member));
        let rows = members.filter_map(|id| {
            let member = self.registry.members().get(id)?;
            let counted = totals.members.get(id).copied().unwrap_or_default();
            Some(ProcessStatus {
                member: id.0,
                pid: member.process.pid,
                program: member.process.program.clone(),
                node: member.process.node.clone(),
                user: names.of(member.owner.uid),
                state: if member.leaving { "leaving" } else { "serving" }.into(),
                in_flight: counted.in_flight,
                untaken: counted.untaken,
                takes_nothing_seconds: counted.stalled_ms / 1000,
                requests: counted.requests,
                requests_per_second: self.rates.member(*id),
            })
        });
        rows.collect()
    }
}
