//! Workers that register: which worker a process belongs to, and when it is ready.

use std::time::Instant;

use portico_dispatch::MemberId;
use portico_supervisor::WorkerId;
use portico_sys::Credentials;

use crate::applications::life::Registered;
use crate::host::Host;
use crate::protocol::WorkerRecord;
use crate::{Failure, code};

/// The worker that a registration is of.
#[derive(Clone, Debug)]
pub(crate) struct OfWorker {
    name: String,
    worker: WorkerId,
    is_shared: bool,
}

impl Host {
    /// The worker whose identity a registration shows. `None`: it is of no worker, or of one that has ended.
    ///
    /// # Errors
    /// `EADDRINUSE`: another process of the same worker has the prefix.
    pub(crate) fn worker_of(
        &self,
        peer: &Credentials,
        record: Option<&WorkerRecord>,
        prefix: &str,
    ) -> Result<Option<OfWorker>, Failure> {
        let Some(record) = record else {
            return Ok(None);
        };
        let lives = self.applications.entries.iter().flat_map(|(name, entry)| {
            let lives = entry.lives.iter();
            lives.map(move |(worker, life)| (name, *worker, life))
        });
        let mut same = lives.filter(|(_, _, life)| life.identity == record.id);
        let Some((name, worker, life)) = same.next() else {
            return Ok(None);
        };
        if life.refuses(record, prefix, peer.pid) {
            let text = format!("another process of this worker has {prefix}");
            return Err(Failure::new(code::EADDRINUSE, text));
        }
        Ok(Some(OfWorker {
            name: name.clone(),
            worker,
            is_shared: record.shared,
        }))
    }

    /// The registration was accepted.
    pub(crate) fn joined(&mut self, of: OfWorker, member: MemberId, prefix: String, pid: i32) {
        let now = Instant::now();
        let Some(entry) = self.applications.entries.get_mut(&of.name) else {
            return;
        };
        let Some(life) = entry.lives.get_mut(&of.worker) else {
            return;
        };
        life.registrations.push(Registered {
            member,
            prefix,
            pid,
            is_shared: of.is_shared,
        });
        let mut prefixes: Vec<_> = life
            .registrations
            .iter()
            .map(|entry| &entry.prefix)
            .collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let is_complete = prefixes.len() >= entry.specification.expected_registrations();
        let phase = entry.machine.worker(of.worker);
        if phase.is_none_or(|worker| worker.is_leaving()) {
            self.leave(member);
        } else if is_complete {
            if life.ready_after.is_none() {
                let age = life.age(now);
                life.ready_after = Some(age);
                tracing::info!(
                    application = of.name,
                    pid,
                    "a worker is ready after {:.2} s",
                    age.as_secs_f64()
                );
            }
            entry.machine.handle_ready(now, of.worker);
        }
    }

    /// A registration has ended.
    pub(crate) fn worker_lost(&mut self, member: MemberId) {
        let now = Instant::now();
        let mut emptied = None;
        for (name, entry) in &mut self.applications.entries {
            for (worker, life) in &mut entry.lives {
                let before = life.registrations.len();
                life.registrations.retain(|entry| entry.member != member);
                if life.registrations.is_empty() && before > 0 && life.leader_ended {
                    emptied = Some((name.clone(), *worker));
                }
            }
        }
        if let Some((name, worker)) = emptied {
            self.finish_if_all_ended(&name, worker, now);
        }
    }
}
