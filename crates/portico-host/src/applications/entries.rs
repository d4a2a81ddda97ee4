//! The applications of a host: their state machines, and what is done for them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use portico_supervisor::{Action, Application, Exit, Phase, WorkerId};
use rustix::process::Pid;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::spawn_local;

use crate::applications::ending::OutputEnded;
use crate::applications::life::Life;
use crate::applications::output::{LogTarget, Source, Writer};
use crate::applications::specification::{Output, Specification};
use crate::applications::verdict::Verdict;
use crate::host::Host;

/// How often it is looked whether a worker that is to go has anything in flight.
const DRAIN_STEP: Duration = Duration::from_millis(20);

/// All applications.
#[derive(Debug)]
pub(crate) struct Applications {
    pub(super) entries: BTreeMap<String, Entry>,
    writer: Option<Writer>,
    /// Folder of all logs.
    pub(super) logs: PathBuf,
    /// Tells those who read what workers write to stop.
    pub(super) stop_reading: watch::Sender<bool>,
    /// Numbers of the last connection of a process, and of the last question to one.
    pub(super) last_speaker: u64,
    pub(super) last_question: u64,
    /// The process that this one takes over from: it finishes the requests that it has.
    pub(super) old_host: Option<Pid>,
    /// Another host decides about workers, not yet or not any more this one.
    pub(super) is_paused: bool,
    /// What is written down for the next host is not true any more.
    pub(super) has_changed: bool,
    /// Whether anything has been written down.
    pub(super) has_record: bool,
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
    pub(super) is_configured: bool,
    /// It is forgotten when its last worker has ended.
    pub(super) is_removed: bool,
    /// How a worker ended last that was not asked to.
    pub(super) last_status: Option<ExitStatus>,
    /// The same in words, and when.
    pub(super) last_failure: Option<(String, Instant)>,
    /// How many have ended so, or could not be started.
    pub(super) failures: u64,
}

impl Applications {
    /// None, with the folder of their logs.
    pub(crate) fn new(logs: PathBuf) -> Self {
        let (news, received) = unbounded_channel();
        Self {
            entries: BTreeMap::new(),
            writer: None,
            logs,
            stop_reading: watch::Sender::new(false),
            last_speaker: 0,
            last_question: 0,
            old_host: None,
            is_paused: false,
            has_changed: false,
            has_record: false,
            news,
            received: Some(received),
            verdict: None,
        }
    }

    /// The application of `portico run`.
    pub(crate) fn add(&mut self, specification: Specification, now: Instant) {
        self.insert(specification, false, now);
    }

    pub(super) fn insert(
        &mut self,
        specification: Specification,
        is_configured: bool,
        now: Instant,
    ) {
        self.has_changed = true;
        let mut entry = Entry::new(specification, is_configured);
        entry.machine.start(now);
        self.entries.insert(entry.specification.name.clone(), entry);
    }

    /// What tasks tell of workers. For the main loop, once.
    pub(crate) fn take_news(&mut self) -> Option<UnboundedReceiver<OutputEnded>> {
        self.received.take()
    }

    /// When to be called next.
    pub(crate) fn next_timeout(&self, now: Instant) -> Option<Instant> {
        if self.is_paused {
            return None;
        }
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
    /// One that does not run yet.
    pub(super) fn new(specification: Specification, is_configured: bool) -> Self {
        let policy = specification.policy.clone();
        Self {
            machine: Application::new(policy, specification.instances, WorkerId(0)),
            specification,
            lives: BTreeMap::new(),
            is_configured,
            is_removed: false,
            last_status: None,
            last_failure: None,
            failures: 0,
        }
    }
}

impl Host {
    /// Does what is due for all applications.
    pub(crate) fn tend_applications(&mut self, now: Instant) {
        if self.applications.is_paused {
            return;
        }
        for entry in self.applications.entries.values_mut() {
            if entry.machine.next_timeout().is_some_and(|at| at <= now) {
                entry.machine.handle_timeout(now);
            }
        }
        self.carry_out_all(now);
        // Only behind that have the members of workers that drain left: before it a request could still go to one that
        // had none a moment ago.
        self.notice_drained(now);
        self.carry_out_all(now);
        let is_over = |entry: &Entry| entry.is_removed && entry.lives.is_empty();
        self.applications.entries.retain(|_, entry| !is_over(entry));
        self.applications.save_record(self.place.path());
    }

    /// Does what the applications' states ask for, until they ask for no more.
    fn carry_out_all(&mut self, now: Instant) {
        let names: Vec<_> = self.applications.entries.keys().cloned().collect();
        for name in names {
            while let Some(action) = self.next_action(&name) {
                self.carry_out(&name, action, now);
            }
        }
    }

    fn next_action(&mut self, name: &str) -> Option<Action> {
        self.applications
            .entries
            .get_mut(name)?
            .machine
            .poll_action()
    }

    fn carry_out(&mut self, name: &str, action: Action, now: Instant) {
        self.applications.has_changed = true;
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
                let by_message = self.applications.ends_by_message(name);
                if let Some(life) = self.applications.life(name, worker)
                    && !(by_message && life.say_shutdown())
                {
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
        let old_host_lives = self.applications.old_host_lives();
        // Asked of the shards behind what told them that the members leave: nothing new can come any more.
        let totals = self.totals();
        for entry in self.applications.entries.values_mut() {
            let draining = entry.machine.workers();
            let draining = draining.filter(|worker| worker.phase == Phase::Draining);
            let drained: Vec<_> = draining
                .map(|worker| worker.id)
                .filter(|id| {
                    let life = entry.lives.get(id);
                    if old_host_lives && life.is_some_and(|life| life.drains_elsewhere) {
                        return false;
                    }
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

    /// Where a worker is in its life.
    pub(super) fn phase(&self, name: &str, worker: WorkerId) -> Option<Phase> {
        let entry = self.entries.get(name)?;
        Some(entry.machine.worker(worker)?.phase)
    }

    fn ends_by_message(&self, name: &str) -> bool {
        let entry = self.entries.get(name);
        entry.is_some_and(|entry| entry.specification.shutdown_message)
    }

    fn start_worker(
        &mut self,
        name: &str,
        socket: &std::path::Path,
        (worker, slot): (WorkerId, u32),
        now: Instant,
    ) -> std::io::Result<()> {
        let Some(entry) = self.entries.get_mut(name) else {
            return Ok(());
        };
        let life = Life::start(&entry.specification, socket, slot, worker, now)?;
        let pid = life.process.pid();
        tracing::info!(application = name, slot, pid, "a worker starts");
        entry.lives.insert(worker, life);
        // One that serves no requests is ready as soon as it runs.
        let specification = &entry.specification;
        if specification.expected_registrations() == 0 && !specification.wait_ready {
            entry.machine.handle_ready(now, worker);
        }
        self.read_output(name, worker)
    }

    /// Begins to read what a worker writes.
    pub(super) fn read_output(&mut self, name: &str, worker: WorkerId) -> std::io::Result<()> {
        let writer = self.writer()?;
        let folder = self.logs.join(name);
        let stop = self.stop_reading.subscribe();
        let Some(entry) = self.entries.get_mut(name) else {
            return Ok(());
        };
        let slot = entry.machine.worker(worker).map_or(0, |worker| worker.slot);
        let Some(life) = entry.lives.get_mut(&worker) else {
            return Ok(());
        };
        for (pipe, is_error) in std::mem::take(&mut life.unread) {
            let log = match entry.specification.output {
                Output::Logs(limits) => Some(LogTarget {
                    folder: folder.clone(),
                    limits,
                    worker: format!(
                        "{slot}:{} {}",
                        life.process.pid(),
                        if is_error { "err" } else { "out" }
                    ),
                }),
                Output::Inherited | Output::Terminal => None,
            };
            let source = Source {
                slot,
                is_error,
                log,
            };
            let copy = writer
                .clone()
                .copy(pipe, source, life.last_lines.clone(), stop.clone());
            life.copying.push(spawn_local(copy));
        }
        Ok(())
    }

    /// Waits until what workers wrote, and has been read, is written.
    pub(crate) fn flush_output(&self) -> impl Future<Output = ()> + use<> {
        let writer = self.writer.clone();
        async move {
            if let Some(writer) = writer {
                writer.flush().await;
            }
        }
    }
}
