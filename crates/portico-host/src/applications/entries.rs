//! The applications of a host: their state machines, and what is done for them.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use portico_supervisor::{Action, Application, Condition, Exit, Phase, WorkerId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

use crate::applications::ending::OutputEnded;
use crate::applications::life::Life;
use crate::applications::output::{Source, Writer};
use crate::applications::specification::Specification;
use crate::applications::verdict::Verdict;
use crate::host::Host;

/// How often it is looked whether a worker that is to go has anything in flight.
const DRAIN_STEP: Duration = Duration::from_millis(20);

/// All applications.
#[derive(Debug)]
pub(crate) struct Applications {
    pub(super) entries: BTreeMap<String, Entry>,
    writer: Option<Writer>,
    pub(super) news: UnboundedSender<OutputEnded>,
    received: Option<UnboundedReceiver<OutputEnded>>,
    /// How the only application of `portico run` ended.
    pub(crate) verdict: Option<Verdict>,
}

/// One application.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) specification: Specification,
    pub(super) machine: Application,
    pub(super) lives: BTreeMap<WorkerId, Life>,
    /// Whether the configuration file has it.
    is_configured: bool,
    /// It is forgotten when its last worker has ended.
    is_removed: bool,
    /// How a worker ended last that was not asked to.
    pub(super) last_status: Option<ExitStatus>,
    /// The same in words, and when.
    pub(super) last_failure: Option<(String, Instant)>,
    /// How many have ended so, or could not be started.
    pub(super) failures: u64,
}

impl Default for Applications {
    fn default() -> Self {
        let (news, received) = unbounded_channel();
        Self {
            entries: BTreeMap::new(),
            writer: None,
            news,
            received: Some(received),
            verdict: None,
        }
    }
}

impl Applications {
    /// The application of `portico run`.
    pub(crate) fn add(&mut self, specification: Specification, now: Instant) {
        self.insert(specification, false, now);
    }

    /// These are the applications of the configuration from now on. Those that have not changed are not touched.
    pub(crate) fn configure(&mut self, specifications: &[Specification], now: Instant) {
        let is_named = |name: &str| specifications.iter().any(|own| own.name == name);
        let removed = self.entries.iter_mut();
        for (name, entry) in removed.filter(|(name, entry)| entry.is_configured && !is_named(name))
        {
            if !entry.is_removed {
                tracing::info!(application = name, "is no longer configured; it is stopped");
                entry.is_removed = true;
                entry.machine.stop(now);
            }
        }
        for specification in specifications {
            match self.entries.get_mut(&specification.name) {
                Some(entry) => entry.reconfigure(specification, now),
                None => self.insert(specification.clone(), true, now),
            }
        }
    }

    fn insert(&mut self, specification: Specification, is_configured: bool, now: Instant) {
        let machine = Application::new(
            specification.policy.clone(),
            specification.instances,
            WorkerId(0),
        );
        let mut entry = Entry {
            specification,
            machine,
            lives: BTreeMap::new(),
            is_configured,
            is_removed: false,
            last_status: None,
            last_failure: None,
            failures: 0,
        };
        entry.machine.start(now);
        self.entries.insert(entry.specification.name.clone(), entry);
    }

    /// What tasks tell of workers. For the main loop, once.
    pub(crate) fn take_news(&mut self) -> Option<UnboundedReceiver<OutputEnded>> {
        self.received.take()
    }

    /// When to be called next.
    pub(crate) fn next_timeout(&self, now: Instant) -> Option<Instant> {
        let entries = || self.entries.values();
        let timeouts = entries().filter_map(|entry| entry.machine.next_timeout());
        let mut workers = entries().flat_map(|entry| entry.machine.workers());
        let drains = workers.any(|worker| worker.phase == Phase::Draining);
        timeouts.chain(drains.then(|| now + DRAIN_STEP)).min()
    }

    /// Whether no worker is left.
    pub(crate) fn are_gone(&self) -> bool {
        self.entries.values().all(|entry| entry.lives.is_empty())
    }

    /// Whether there is any application.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Ends all workers.
    pub(crate) fn stop_all(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            entry.machine.stop(now);
        }
    }

    /// Replaces all workers, one after the other.
    pub(crate) fn recycle_all(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            entry.machine.recycle(now);
        }
    }

    /// Kills all workers.
    pub(crate) fn kill_all(&mut self) {
        for life in self
            .entries
            .values_mut()
            .flat_map(|entry| entry.lives.values_mut())
        {
            life.was_killed = true;
            life.process.kill_group();
        }
    }

    /// Sends a signal to the first process of each worker.
    pub(crate) fn pass_on(&self, signal: rustix::process::Signal) {
        let lives = self.entries.values().flat_map(|entry| entry.lives.values());
        lives.for_each(|life| life.process.send(signal));
    }

    /// Whether a process that has ended is the first of a worker: it is reaped with the worker.
    pub(crate) fn is_leader(&self, pid: i32) -> bool {
        let mut lives = self.entries.values().flat_map(|entry| entry.lives.values());
        lives.any(|life| life.process.pid() == pid)
    }

    fn writer(&mut self) -> std::io::Result<Writer> {
        if self.writer.is_none() {
            self.writer = Some(Writer::start()?);
        }
        self.writer
            .clone()
            .ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}

impl Entry {
    /// Puts changed options into force: a worker is replaced only where it would be started in another way now.
    fn reconfigure(&mut self, new: &Specification, now: Instant) {
        if self.specification == *new && !self.is_removed {
            return;
        }
        let before = std::mem::replace(&mut self.specification, new.clone());
        if before.policy != new.policy {
            self.machine.set_policy(now, new.policy.clone());
        }
        // A number that was set by `portico scale` stays until the file has another.
        if before.instances != new.instances || self.is_removed {
            self.machine.scale(now, new.instances);
        }
        let stays_stopped = self.machine.condition() == Condition::Stopped && !self.is_removed;
        if !stays_stopped && (self.is_removed || !before.starts_as(new)) {
            tracing::info!(
                application = new.name,
                "has changed; its workers are replaced"
            );
            self.machine.recycle(now);
        }
        self.is_removed = false;
    }
}

impl Host {
    /// Does what is due for all applications.
    pub(crate) fn tend_applications(&mut self, now: Instant) {
        if self.applications.is_empty() {
            return;
        }
        self.notice_drained(now);
        for entry in self.applications.entries.values_mut() {
            if entry.machine.next_timeout().is_some_and(|at| at <= now) {
                entry.machine.handle_timeout(now);
            }
        }
        let names: Vec<_> = self.applications.entries.keys().cloned().collect();
        for name in names {
            while let Some(action) = self.next_action(&name) {
                self.carry_out(&name, action, now);
            }
        }
        let is_over = |entry: &Entry| entry.is_removed && entry.lives.is_empty();
        self.applications.entries.retain(|_, entry| !is_over(entry));
    }

    fn next_action(&mut self, name: &str) -> Option<Action> {
        self.applications
            .entries
            .get_mut(name)?
            .machine
            .poll_action()
    }

    fn carry_out(&mut self, name: &str, action: Action, now: Instant) {
        match action {
            Action::Spawn { worker, slot } => self.spawn(name, worker, slot, now),
            Action::Drain(worker) => {
                let life = self.applications.life(name, worker);
                let members: Vec<_> = life
                    .iter()
                    .flat_map(|life| life.registrations.iter().map(|entry| entry.member))
                    .collect();
                for member in members {
                    self.leave(member);
                }
            }
            Action::Terminate(worker) => {
                if let Some(life) = self.applications.life(name, worker) {
                    life.process.terminate();
                }
            }
            Action::Kill(worker) => {
                if let Some(life) = self.applications.life(name, worker) {
                    tracing::warn!(
                        application = name,
                        pid = life.process.pid(),
                        "a worker did not end in time after SIGTERM; it is killed"
                    );
                    life.was_killed = true;
                    life.process.kill_group();
                }
                self.finish_if_all_ended(name, worker, now);
            }
            Action::GiveUp => {
                tracing::error!(
                    application = name,
                    "its workers keep failing; no more are started"
                );
                let entry = self.applications.entries.get(name);
                let status = entry.and_then(|entry| entry.last_status);
                self.applications.verdict = Some(Verdict::failed(status));
            }
            Action::Finished => {
                tracing::info!(application = name, "its program has ended");
                self.applications.verdict = Some(Verdict::Finished);
            }
        }
    }

    fn spawn(&mut self, name: &str, worker: WorkerId, slot: u32, now: Instant) {
        let socket = self.place.path().to_owned();
        let started = self
            .applications
            .start_worker(name, &socket, (worker, slot), now);
        if let Err(error) = started
            && let Some(entry) = self.applications.entries.get_mut(name)
        {
            let command = entry.specification.command.first();
            let command = command
                .map(|word| word.display().to_string())
                .unwrap_or_default();
            tracing::error!(
                application = name,
                "{command} can't be started in {}: {error}",
                entry.specification.directory.display()
            );
            entry.last_status = None;
            entry.last_failure = Some((format!("{command} can't be started: {error}"), now));
            entry.failures += 1;
            entry.machine.handle_exited(now, worker, Exit::Failure);
        }
    }

    fn notice_drained(&mut self, now: Instant) {
        let is_draining = |entry: &Entry| {
            let mut workers = entry.machine.workers();
            workers.any(|worker| worker.phase == Phase::Draining)
        };
        if !self.applications.entries.values().any(is_draining) {
            return;
        }
        // Asked of the shards behind what told them that the members leave: nothing new can come any more.
        let totals = self.totals();
        for entry in self.applications.entries.values_mut() {
            let draining = entry.machine.workers();
            let draining = draining.filter(|worker| worker.phase == Phase::Draining);
            let drained: Vec<_> = draining
                .map(|worker| worker.id)
                .filter(|id| {
                    let life = entry.lives.get(id);
                    let registrations = life.iter().flat_map(|life| &life.registrations);
                    registrations
                        .filter_map(|entry| totals.members.get(&entry.member))
                        .all(|member| member.in_flight == 0)
                })
                .collect();
            for worker in drained {
                entry.machine.handle_drained(now, worker);
            }
        }
    }
}

impl Applications {
    pub(super) fn life(&mut self, name: &str, worker: WorkerId) -> Option<&mut Life> {
        self.entries.get_mut(name)?.lives.get_mut(&worker)
    }

    fn start_worker(
        &mut self,
        name: &str,
        socket: &std::path::Path,
        (worker, slot): (WorkerId, u32),
        now: Instant,
    ) -> std::io::Result<()> {
        let writer = self.writer()?;
        let Some(entry) = self.entries.get_mut(name) else {
            return Ok(());
        };
        let mut life = Life::start(&entry.specification, socket, slot, worker, now)?;
        let pid = life.process.pid();
        tracing::info!(application = name, slot, pid, "a worker starts");
        let (output, error) = life.process.take_output();
        for (pipe, is_error) in [(output, false), (error, true)] {
            let source = Source { slot, is_error };
            let copy = pipe.map(|pipe| writer.clone().copy(pipe, source, life.last_lines.clone()));
            life.copying.extend(copy.map(spawn_local));
        }
        entry.lives.insert(worker, life);
        // One that serves no requests is ready as soon as it runs.
        if entry.specification.expected_registrations() == 0 {
            entry.machine.handle_ready(now, worker);
        }
        Ok(())
    }
}
