//! Workers that register: which worker a process belongs to, and when it is ready.

use std::time::Instant;

use portico_dispatch::MemberId;
use portico_supervisor::{Phase, WorkerId};
use portico_sys::Credentials;

use crate::admission::Held;
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

    /// The registration was accepted. Its member gets requests when the worker is ready.
    pub(crate) fn joined(&mut self, of: OfWorker, held: Held, prefix: String, pid: i32) {
        let now = Instant::now();
        let member = held.member();
        let phase = self.applications.phase(&of.name, of.worker);
        let Some(life) = self.applications.life(&of.name, of.worker) else {
            return self.release_or_tell(held);
        };
        life.registrations.push(Registered {
            member,
            prefix,
            pid,
            is_shared: of.is_shared,
        });
        life.held.push(held);
        if phase == Some(Phase::Starting) {
            self.notice_ready(&of.name, of.worker, now);
            return;
        }
        self.release_held(&of.name, of.worker);
        if phase.is_none_or(|phase| phase > Phase::Ready) {
            self.leave(member);
        }
    }

    /// Looks whether a worker that starts is ready.
    pub(super) fn notice_ready(&mut self, name: &str, worker: WorkerId, now: Instant) {
        let Some(entry) = self.applications.entries.get_mut(name) else {
            return;
        };
        let Some(life) = entry.lives.get_mut(&worker) else {
            return;
        };
        let registered = life.registrations.iter().map(|entry| &entry.prefix);
        let mut prefixes: Vec<_> = registered.collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let is_complete = prefixes.len() >= entry.specification.expected_registrations();
        let waits = entry.specification.wait_ready && !life.said_ready;
        if !waits && is_complete && life.ready_after.is_none() {
            let (age, pid) = (life.age(now), life.process.pid());
            life.ready_after = Some(age);
            self.applications.has_changed = true;
            tracing::info!(
                application = name,
                pid,
                "a worker is ready after {:.2} s",
                age.as_secs_f64()
            );
            entry.machine.handle_ready(now, worker);
        }
        // One prefix need not wait for another.
        if !waits {
            self.release_held(name, worker);
        }
    }

    fn release_held(&mut self, name: &str, worker: WorkerId) {
        let life = self.applications.life(name, worker);
        let held = life.map(|life| std::mem::take(&mut life.held));
        for held in held.into_iter().flatten() {
            self.release_or_tell(held);
        }
    }

    fn release_or_tell(&mut self, held: Held) {
        if let Err(failure) = self.release(held) {
            tracing::error!("{failure}");
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
                life.held.retain(|held| held.member() != member);
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
