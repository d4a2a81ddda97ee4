//! Workers that are replaced because of what they have done.

use std::time::Instant;

use crate::host::Host;
use crate::status::Totals;

impl Host {
    /// Replaces workers that have had as many requests as they may.
    pub(crate) fn replace_used_workers(&mut self, totals: &Totals, now: Instant) {
        for (name, entry) in &mut self.applications.entries {
            let Some(limit) = entry.specification.max_requests else {
                continue;
            };
            for (worker, life) in entry.lives.iter_mut().filter(|(_, life)| !life.is_used_up) {
                let registrations = life.registrations.iter();
                let members = registrations.filter_map(|entry| totals.members.get(&entry.member));
                let requests: u64 = members.map(|member| member.requests).sum();
                if requests < limit {
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
