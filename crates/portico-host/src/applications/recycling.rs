//! Workers that are replaced because of what they have done.

use std::time::Instant;

use crate::host::Host;
use crate::status::Totals;

impl Host {
    /// Replaces workers that have had as many requests as they may.
    pub(crate) fn replace_used_workers(&mut self, totals: &Totals, now: Instant) {
        for (name, entry) in &mut self.applications.entries {
            for (worker, life) in &mut entry.lives {
                let registrations = life.registrations.iter();
                let members = registrations.filter_map(|entry| totals.members.get(&entry.member));
                let requests: u64 = members.map(|member| member.requests).sum();
                let requests = life.requests_before + requests;
                life.requests = life.requests.max(requests);
                let limit = entry.specification.max_requests;
                if life.is_used_up || limit.is_none_or(|limit| requests < limit) {
                    continue;
                }
                life.is_used_up = true;
                let pid = life.process.pid();
                tracing::info!(
                    application = name,
                    pid,
                    "a worker has had {requests} requests; it is replaced"
                );
                entry.machine.recycle_worker(now, *worker);
            }
        }
    }
}
