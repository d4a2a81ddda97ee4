//! What people ask of applications, and what they are told.

use std::path::Path;
use std::time::{Duration, Instant};

use portico_supervisor::{Application, Condition, Phase, Worker};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::applications::entries::Entry;
use crate::applications::life::Life;
use crate::applications::specification::Output;
use crate::control::Control;
use crate::host::Host;
use crate::protocol::{Answer, ApplicationCommand};
use crate::{Failure, code};

/// How long a command waits for what it asked for.
const PATIENCE: Duration = Duration::from_secs(25);
/// How often it looks.
const STEP: Duration = Duration::from_millis(20);
/// Workers of one application, at most.
pub const MAX_INSTANCES: u32 = 1000;

/// An application, as `portico list` and `describe` show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApplicationStatus {
    /// Its name.
    pub name: String,
    /// `running`, `stopped`, `failed` (too many starts failed in a row) or `finished` (its program has ended by itself).
    pub condition: String,
    /// How many workers it is to have.
    pub instances: u32,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: String,
    /// Folder of its logs, `SLOT.log` and those before it. Absent: its output goes where the host's goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<String>,
    /// Workers that ended without having been asked to, since the host started.
    pub failures: u64,
    /// How the last of them ended, and when: seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<(String, u64)>,
    /// Its workers, by slot and age.
    pub workers: Vec<WorkerStatus>,
}

/// A worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerStatus {
    /// Its slot, from 0.
    pub slot: u32,
    /// The process that was started.
    pub pid: i32,
    /// `starting`, `ready`, `draining`, `stopping` or `killed`.
    pub state: String,
    /// Seconds since its start.
    pub uptime_seconds: u64,
    /// Milliseconds from its start until it was ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_after_ms: Option<u64>,
    /// Requests that it has had.
    pub requests: u64,
    /// Resident memory of its processes that serve, and of the one that was started, in bytes.
    pub memory_bytes: u64,
    /// JavaScript's heap in use, of the process that has most, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap_used_bytes: Option<u64>,
    /// Which part of the last second the busiest event loop was busy, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_loop_percent: Option<u32>,
    /// The last lines that it wrote. Empty where its output goes through no pipe of the host.
    pub last_lines: Vec<String>,
}

impl Control {
    /// Carries a command out, and waits until what was asked for is so.
    pub(crate) async fn command_application(
        &self,
        command: ApplicationCommand,
    ) -> Result<Answer, Failure> {
        let name = match &command {
            ApplicationCommand::List => return Ok(self.host.borrow().list_applications(None)),
            ApplicationCommand::Describe { name } => {
                self.host.borrow().application(name)?;
                return Ok(self.host.borrow().list_applications(Some(name)));
            }
            ApplicationCommand::Start { name }
            | ApplicationCommand::Stop { name }
            | ApplicationCommand::Restart { name }
            | ApplicationCommand::Reload { name }
            | ApplicationCommand::Scale { name, .. } => name.clone(),
        };
        let failures = self.host.borrow().application(&name)?.failures;
        self.host.borrow_mut().begin(&name, &command)?;
        self.attention.notify_one();
        let start = Instant::now();
        loop {
            sleep(STEP).await;
            let host = self.host.borrow();
            let entry = host.application(&name)?;
            if entry.machine.is_settled() {
                return Ok(Answer::said(format!("{name}: {}", done(entry, &command))));
            }
            if entry.failures != failures {
                let how = entry.last_failure.as_ref().map(|(text, _)| text.as_str());
                let text = format!(
                    "{name}: a worker failed ({}); it is tried again, and workers that serve go on",
                    how.unwrap_or("it could not be started")
                );
                return Err(Failure::new(code::APPLICATION, text));
            }
            if start.elapsed() > PATIENCE {
                let text =
                    format!("{name}: it is under way; `portico describe {name}` shows how far");
                return Ok(Answer::said(text));
            }
        }
    }
}

fn done(entry: &Entry, command: &ApplicationCommand) -> String {
    let count = entry.machine.instances();
    let workers = if count == 1 { "worker" } else { "workers" };
    match command {
        ApplicationCommand::Stop { .. } => "stopped".into(),
        ApplicationCommand::Reload { .. } => format!("{count} {workers} replaced"),
        ApplicationCommand::Restart { .. } => format!("restarted, {count} {workers}"),
        _ => format!("{count} {workers} ready"),
    }
}

impl Host {
    fn application(&self, name: &str) -> Result<&Entry, Failure> {
        self.applications.entries.get(name).ok_or_else(|| {
            let known: Vec<_> = self
                .applications
                .entries
                .keys()
                .map(String::as_str)
                .collect();
            let known = match known.as_slice() {
                [] => "the host runs none".to_owned(),
                names => format!("there are: {}", names.join(", ")),
            };
            let text = format!("there is no application {name:?}; {known}");
            Failure::new(code::APPLICATION, text)
        })
    }

    fn begin(&mut self, name: &str, command: &ApplicationCommand) -> Result<(), Failure> {
        let now = Instant::now();
        let Some(entry) = self.applications.entries.get_mut(name) else {
            return Ok(());
        };
        let machine: &mut Application = &mut entry.machine;
        match command {
            ApplicationCommand::Stop { .. } => machine.stop(now),
            ApplicationCommand::Restart { .. } => machine.restart(now),
            ApplicationCommand::Reload { .. } => machine.recycle(now),
            ApplicationCommand::Scale { instances, .. } => {
                if !(1..=MAX_INSTANCES).contains(instances) {
                    let text =
                        format!("an application has 1 to {MAX_INSTANCES} workers, not {instances}");
                    return Err(Failure::new(code::APPLICATION, text));
                }
                machine.scale(now, *instances);
            }
            _ => machine.start(now),
        }
        self.applications.has_changed = true;
        tracing::info!(application = name, "asked to {}", command.verb());
        Ok(())
    }

    fn list_applications(&self, name: Option<&str>) -> Answer {
        let entries = self.applications.entries.values();
        let wanted =
            entries.filter(|entry| name.is_none_or(|name| entry.specification.name == name));
        let now = Instant::now();
        Answer {
            applications: Some(
                wanted
                    .map(|entry| entry.status(&self.applications.logs, now))
                    .collect(),
            ),
            ..Answer::default()
        }
    }
}

impl Entry {
    fn status(&self, logs: &Path, now: Instant) -> ApplicationStatus {
        let words = self.specification.command.iter();
        let has_logs = matches!(self.specification.output, Output::Logs(_));
        let logs = has_logs.then(|| logs.join(&self.specification.name));
        let mut workers: Vec<_> = self.machine.workers().collect();
        workers.sort_by_key(|worker| (worker.slot, worker.id));
        ApplicationStatus {
            name: self.specification.name.clone(),
            condition: match self.machine.condition() {
                Condition::Running => "running",
                Condition::Stopped => "stopped",
                Condition::Failed => "failed",
                Condition::Finished => "finished",
            }
            .into(),
            instances: self.machine.instances(),
            command: words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            directory: self.specification.directory.display().to_string(),
            logs: logs.map(|folder| folder.display().to_string()),
            failures: self.failures,
            last_failure: self
                .last_failure
                .as_ref()
                .map(|(text, at)| (text.clone(), now.duration_since(*at).as_secs())),
            workers: workers
                .into_iter()
                .map(|worker| self.worker_status(worker, now))
                .collect(),
        }
    }

    fn worker_status(&self, worker: &Worker, now: Instant) -> WorkerStatus {
        let life = self.lives.get(&worker.id);
        let ready_after = life.and_then(|life| life.ready_after);
        let lines = life.map(|life| life.last_lines.borrow().iter().cloned().collect());
        WorkerStatus {
            slot: worker.slot,
            pid: life.map_or(0, |life| life.process.pid()),
            state: match worker.phase {
                Phase::Starting => "starting",
                Phase::Ready => "ready",
                Phase::Draining => "draining",
                Phase::Stopping => "stopping",
                Phase::Killed => "killed",
            }
            .into(),
            uptime_seconds: now.duration_since(worker.started).as_secs(),
            ready_after_ms: ready_after.and_then(|time| u64::try_from(time.as_millis()).ok()),
            requests: life.map_or(0, |life| life.requests),
            memory_bytes: life.map_or(0, Life::memory),
            heap_used_bytes: life.and_then(Life::heap_used),
            event_loop_percent: life.and_then(Life::event_loop_percent),
            last_lines: lines.unwrap_or_default(),
        }
    }
}
