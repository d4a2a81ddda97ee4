//! Workers that take nothing of what is there for them: they are stopped, or their event loop does not turn. Seen from
//! outside, since such a process answers no question.

use std::time::Duration;

use crate::host::Host;
use crate::status::Totals;

impl Host {
    /// Kills workers that have taken nothing for too long. What they had not taken goes to others, as at a crash.
    pub(crate) fn end_hung_workers(&mut self, totals: &Totals) {
        for (name, entry) in &mut self.applications.entries {
            let Some(limit) = entry.specification.hang_timeout else {
                continue;
            };
            for life in entry.lives.values_mut().filter(|life| !life.was_killed) {
                let registrations = life.registrations.iter();
                let members = registrations.filter_map(|entry| totals.members.get(&entry.member));
                let stalled = members.map(|member| member.stalled_ms).max().unwrap_or(0);
                if Duration::from_millis(stalled) < limit {
                    continue;
                }
                let (pid, seconds) = (life.process.pid(), stalled / 1000);
                tracing::warn!(
                    application = name,
                    pid,
                    "a worker has taken nothing for {seconds} s; it is killed"
                );
                life.was_hung = true;
                life.was_killed = true;
                life.process.kill_group();
            }
        }
    }
}
