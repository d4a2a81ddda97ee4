//! Workers that outlive their host: what is written down of them, and how the next host takes them over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portico_supervisor::{Adopted, Condition, Phase, WorkerId};
use portico_sys::spawn::Process;

use crate::applications::entries::{Applications, Entry};
use crate::applications::life::Life;
use crate::applications::pipes;
use crate::applications::record::{ApplicationRecord, LifeRecord, Record};
use crate::applications::specification::Specification;
use crate::host::Host;

/// How long a worker that was ready may take to register with this host, if the configuration does not say.
const RETURN_WITHIN: Duration = Duration::from_secs(30);
/// How long a worker of an application that is not configured any more may take to end after SIGTERM.
const STOP_WITHIN: Duration = Duration::from_secs(10);

impl Applications {
    /// Takes over the workers that the host before this one at the same socket has left running.
    pub(crate) fn adopt(&mut self, socket: &Path, all: &[Specification], now: Instant) {
        let folder = pipes::folder(socket);
        let record = Record::load(&folder).unwrap_or_else(|error| {
            tracing::error!(
                "what {} says of workers of the host before can't be used: {error}; those that run are not looked after",
                folder.display()
            );
            Record::default()
        });
        let mut kept = BTreeSet::new();
        for (name, record) in record.applications {
            let Some(specification) = all.iter().find(|own| own.name == name) else {
                end_forgotten(&name, &record.workers);
                continue;
            };
            let entry = Entry::adopted(specification, &record, &folder, now);
            kept.extend(entry.lives.values().map(|life| life.identity.clone()));
            self.entries.insert(name, entry);
        }
        pipes::remove_others(&folder, &kept);
        self.has_changed = true;
    }

    /// Begins to read what workers of the host before write.
    pub(crate) fn read_adopted(&mut self) {
        let workers: Vec<_> = self
            .entries
            .iter()
            .flat_map(|(name, entry)| entry.lives.keys().map(move |id| (name.clone(), *id)))
            .collect();
        for (name, worker) in workers {
            if let Err(error) = self.read_output(&name, worker) {
                tracing::error!(application = name, "its output can't be read: {error}");
            }
        }
    }

    /// Nothing is started, replaced or ended until [`Applications::resume`].
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// The host that this one has been started by still has requests.
    pub(crate) fn expect_old_host(&mut self) {
        self.old_host = rustix::process::getppid();
    }

    /// Whether that host has not ended: as long as it lives it is the parent of this process.
    pub(super) fn old_host_lives(&mut self) -> bool {
        if self.old_host != rustix::process::getppid() {
            self.old_host = None;
        }
        self.old_host.is_some()
    }

    /// From now on this host decides about workers.
    pub(crate) fn resume(&mut self) {
        self.is_paused = false;
    }

    /// The next host reads what workers write.
    pub(crate) fn stop_reading(&self) {
        self.stop_reading.send_replace(true);
    }

    /// The next host looks after all workers.
    pub(crate) fn hand_over(&mut self) {
        self.entries.clear();
    }

    /// Writes down what there is, if it has changed.
    pub(crate) fn save_record(&mut self, socket: &Path) {
        if std::mem::take(&mut self.has_changed) {
            self.save_record_now(socket);
        }
    }

    /// The same, also if only what workers have done has changed.
    pub(crate) fn save_record_now(&mut self, socket: &Path) {
        let configured = self.entries.iter().filter(|(_, entry)| entry.is_configured);
        let applications: BTreeMap<_, _> = configured
            .map(|(name, entry)| (name.clone(), entry.record()))
            .collect();
        if applications.is_empty() && !self.has_record {
            return;
        }
        self.has_record = true;
        let folder = pipes::folder(socket);
        if let Err(error) = Record::new(applications).save(&folder) {
            tracing::error!(
                "{} can't be written: {error}; if this host is killed, the next one does not find its workers",
                folder.display()
            );
        }
    }

    /// All workers have ended, and so does the host.
    pub(crate) fn remove_record(&mut self, socket: &Path) {
        if self.has_record {
            let folder = pipes::folder(socket);
            // There may be nothing left to remove.
            let _ = Record::default().save(&folder);
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Host {
    /// Looks after workers that other hosts have started: no signal tells of their ends.
    pub(crate) fn look_after_adopted(&mut self, now: Instant) {
        let entries = self.applications.entries.values();
        let mut lives = entries.flat_map(|entry| entry.lives.values());
        if lives.all(|life| life.process.is_child()) || self.applications.is_paused {
            return;
        }
        self.notice_ends();
        for (name, entry) in &mut self.applications.entries {
            let expected = entry.specification.expected_registrations();
            for (worker, life) in &mut entry.lives {
                let is_due = life.returns_until.is_some_and(|until| until <= now);
                if life.registrations.len() >= expected {
                    life.returns_until = None;
                } else if is_due {
                    life.returns_until = None;
                    tracing::warn!(
                        application = name,
                        pid = life.process.pid(),
                        "a worker of the host before has not registered with this one; it is replaced"
                    );
                    entry.machine.recycle_worker(now, *worker);
                }
            }
        }
    }
}

impl Entry {
    fn adopted(
        specification: &Specification,
        record: &ApplicationRecord,
        folder: &Path,
        now: Instant,
    ) -> Self {
        let mut entry = Self::new(specification.clone(), true);
        entry.failures = record.failures;
        let (instances, configured) = record.instances;
        if configured == specification.instances {
            entry.machine.scale(now, instances);
        }
        for worker in &record.workers {
            let slot = worker.slot;
            let Ok(process) = Process::adopt(worker.pid, worker.start_time) else {
                tracing::warn!(
                    application = specification.name,
                    slot,
                    pid = worker.pid,
                    "a worker has ended while there was no host"
                );
                entry.failures += 1;
                continue;
            };
            let phase = Phase::from(worker.state);
            let started = now.checked_sub(age(worker)).unwrap_or(now);
            let mut life = Life::adopted(worker, process, folder, started);
            let expects = specification.expected_registrations() > 0;
            if phase == Phase::Ready && expects {
                let within = specification.policy.start_timeout.unwrap_or(RETURN_WITHIN);
                life.returns_until = Some(now + within);
            }
            life.drains_elsewhere = true;
            tracing::info!(
                application = specification.name,
                slot,
                pid = worker.pid,
                "a worker of the host before is taken over"
            );
            let id = WorkerId(worker.worker);
            let adopted = Adopted {
                id,
                slot,
                phase,
                started,
                is_outdated: worker.is_outdated,
            };
            entry.machine.adopt(now, adopted);
            entry.lives.insert(id, life);
        }
        if !record.is_stopped {
            entry.machine.start(now);
            if record.start != specification.start_number() {
                entry.machine.recycle(now);
            }
        }
        entry
    }

    fn record(&self) -> ApplicationRecord {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let workers = self.machine.workers().filter_map(|worker| {
            let life = self.lives.get(&worker.id)?;
            let since = SystemTime::now().checked_sub(life.started.elapsed());
            let since = since.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            Some(LifeRecord {
                worker: worker.id.0,
                slot: worker.slot,
                identity: life.identity.clone(),
                pid: life.process.pid(),
                start_time: life.process.start_time(),
                started: milliseconds(since.unwrap_or_default()),
                ready_after_ms: life.ready_after.map(milliseconds),
                state: worker.phase.into(),
                is_outdated: self.machine.is_outdated(worker.id),
                requests: life.requests,
            })
        });
        ApplicationRecord {
            start: self.specification.start_number(),
            is_stopped: self.machine.condition() == Condition::Stopped,
            instances: (self.machine.instances(), self.specification.instances),
            failures: self.failures,
            workers: workers.collect(),
        }
    }
}

fn age(worker: &LifeRecord) -> Duration {
    let started = UNIX_EPOCH + Duration::from_millis(worker.started);
    SystemTime::now()
        .duration_since(started)
        .unwrap_or_default()
}

/// Ends workers of an application that the configuration does not have any more.
fn end_forgotten(name: &str, workers: &[LifeRecord]) {
    for worker in workers {
        let Ok(process) = Process::adopt(worker.pid, worker.start_time) else {
            continue;
        };
        let pid = worker.pid;
        tracing::warn!(
            application = name,
            pid,
            "a worker of the host before is of no application of the configuration; it is ended"
        );
        process.terminate();
        let ending = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(STOP_WITHIN);
            process.kill_group();
        });
        if let Err(error) = ending {
            tracing::error!(pid, "it can't be waited for: {error}");
        }
    }
}
