//! Workers that take nothing of what is there for them: they are stopped, or their event loop does not turn. Seen from
//! outside, since such a process answers no question.

use std::time::{Duration, Instant};

use portico_supervisor::Phase;

use crate::host::Host;
use crate::status::Totals;

impl Host {
    /// Kills workers that have taken nothing for too long. What they had not taken goes to others, as at a crash.
    pub(crate) fn end_hung_workers(&mut self, totals: &Totals, now: Instant) {
        for (name, entry) in &mut self.applications.entries {
            let Some(limit) = entry.specification.hang_timeout else {
                continue;
            };
            for (worker, life) in &mut entry.lives {
                if life.was_killed {
                    continue;
                }
                let registrations = life.registrations.iter();
                let members = registrations.filter_map(|entry| totals.members.get(&entry.member));
                let stalled = members.map(|member| member.stalled_ms).max().unwrap_or(0);
                let stalled = Duration::from_millis(stalled);
                // A program that starts may have much to load.
                let phase = entry.machine.worker(*worker).map(|worker| worker.phase);
                let unanswered = match phase {
                    Some(Phase::Ready | Phase::Draining) => life.unanswered(now),
                    _ => Duration::ZERO,
                };
                let (pid, time, what) = match stalled >= unanswered {
                    true => (life.process.pid(), stalled, "has taken nothing"),
                    false => (
                        life.process.pid(),
                        unanswered,
                        "has not turned its event loop",
                    ),
                };
                if time < limit {
                    continue;
                }
                tracing::warn!(
                    application = name,
                    pid,
                    "a worker {what} for {} s; it is killed",
                    time.as_secs()
                );
                life.was_hung = true;
                life.was_killed = true;
                life.process.kill_group();
            }
        }
    }
}
