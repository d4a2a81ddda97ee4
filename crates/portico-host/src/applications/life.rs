//! What the host has of one worker.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use portico_dispatch::MemberId;
use portico_supervisor::WorkerId;
use portico_sys::spawn::{Process, spawn};
use tokio::task::JoinHandle;

use crate::admission::Held;
use crate::applications::environment;
use crate::applications::output::LastLines;
use crate::applications::pipes::{self, WorkerPipe};
use crate::applications::record::LifeRecord;
use crate::applications::speaking::Speaker;
use crate::applications::specification::{Output, Specification};
use crate::protocol::WorkerRecord;

/// One worker, from its start until it has been reaped.
#[derive(Debug)]
pub(super) struct Life {
    /// What its processes show when they register. Not to be guessed by other users.
    pub(super) identity: String,
    pub(super) process: Process,
    pub(super) started: Instant,
    pub(super) ready_after: Option<Duration>,
    pub(super) registrations: Vec<Registered>,
    /// Its processes that speak of themselves.
    pub(super) speakers: Vec<Speaker>,
    /// Members that get no requests until it has said that it is ready.
    pub(super) held: Vec<Held>,
    /// The program has said that it is ready.
    pub(super) said_ready: bool,
    /// How often in a row it had more memory than it may.
    pub(super) times_too_large: u32,
    /// What it wrote last.
    pub(super) last_lines: LastLines,
    /// The pipes that it writes to, where these have names.
    pub(super) pipes: Vec<WorkerPipe>,
    /// Our ends of what it writes to, until they are read; whether each is for its standard error.
    pub(super) unread: Vec<(OwnedFd, bool)>,
    /// What reads its output.
    pub(super) copying: Vec<JoinHandle<()>>,
    /// The process that was started has ended.
    pub(super) end_was_seen: bool,
    /// The process that was started has ended and its output has been read; others of its group may go on.
    pub(super) leader_ended: bool,
    /// Requests that it has had, as far as they have been counted.
    pub(super) requests: u64,
    /// Those of them that hosts before this one have counted.
    pub(super) requests_before: u64,
    /// Until when it has time to register with this host, after that before.
    pub(super) returns_until: Option<Instant>,
    /// It may have requests of the host before this one, which does not tell.
    pub(super) drains_elsewhere: bool,
    /// It has had so many requests that it is being replaced.
    pub(super) is_used_up: bool,
    /// It was killed because it took nothing.
    pub(super) was_hung: bool,
    /// SIGKILL was sent by the host.
    pub(super) was_killed: bool,
}

/// A registration of one of its processes.
#[derive(Clone, Debug)]
pub(super) struct Registered {
    pub(super) member: MemberId,
    pub(super) prefix: String,
    pub(super) pid: i32,
    pub(super) is_shared: bool,
}

impl Life {
    /// Starts the command.
    pub(super) fn start(
        specification: &Specification,
        socket: &Path,
        slot: u32,
        worker: WorkerId,
        now: Instant,
    ) -> std::io::Result<Self> {
        let identity = format!("{slot}.{worker}.{}", random_word()?);
        let [program, arguments @ ..] = specification.command.as_slice() else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&specification.directory)
            .env_clear()
            .envs(environment::of_worker(
                specification,
                socket,
                &identity,
                slot,
            ))
            .stdin(Stdio::null());
        let mut pipes = Vec::new();
        match specification.output {
            Output::Inherited => {}
            Output::Terminal => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
            Output::Logs(_) => {
                let owner = specification.isolation.identity.as_ref();
                let owner = owner.map(|owner| (owner.uid, owner.gid));
                let made = pipes::make(&pipes::folder(socket), &identity, owner)?;
                let [(output, output_end), (error, error_end)] = made;
                command.stdout(output_end).stderr(error_end);
                pipes.extend([output, error]);
            }
        }
        // Before it begins to write: what a pipe holds goes with its last end.
        let unread = pipes.iter().map(|pipe| Ok((pipe.open()?, pipe.is_error)));
        let started = unread.collect::<io::Result<Vec<_>>>().and_then(|unread| {
            let process = spawn(&mut command, specification.isolation.clone())?;
            Ok((unread, process))
        });
        let (mut unread, mut process) = started.inspect_err(|_| {
            pipes.iter().for_each(WorkerPipe::remove);
        })?;
        let (output, error) = process.take_output();
        unread.extend(output.map(|end| (end, false)));
        unread.extend(error.map(|end| (end, true)));
        Ok(Self {
            pipes,
            unread,
            ..Self::new(identity, process, now)
        })
    }

    /// One that another host has started.
    pub(super) fn adopted(
        record: &LifeRecord,
        process: Process,
        folder: &Path,
        started: Instant,
    ) -> Self {
        let pipes: Vec<_> = WorkerPipe::of(folder, &record.identity).collect();
        let unread = pipes.iter().filter_map(|pipe| match pipe.open() {
            Ok(end) => Some((end, pipe.is_error)),
            Err(error) => {
                tracing::error!(pid = record.pid, "a worker's output can't be read: {error}");
                None
            }
        });
        Self {
            unread: unread.collect(),
            pipes,
            ready_after: record.ready_after_ms.map(Duration::from_millis),
            requests: record.requests,
            requests_before: record.requests,
            ..Self::new(record.identity.clone(), process, started)
        }
    }

    fn new(identity: String, process: Process, started: Instant) -> Self {
        Self {
            pipes: Vec::new(),
            unread: Vec::new(),
            identity,
            process,
            started,
            ready_after: None,
            registrations: Vec::new(),
            speakers: Vec::new(),
            held: Vec::new(),
            said_ready: false,
            times_too_large: 0,
            last_lines: LastLines::default(),
            copying: Vec::new(),
            end_was_seen: false,
            leader_ended: false,
            requests: 0,
            requests_before: 0,
            returns_until: None,
            drains_elsewhere: false,
            is_used_up: false,
            was_hung: false,
            was_killed: false,
        }
    }

    /// Why a registration would be one too many: another process of this worker has the prefix, and Node would say that
    /// the port is in use.
    pub(super) fn refuses(&self, record: &WorkerRecord, prefix: &str, pid: i32) -> bool {
        self.registrations.iter().any(|other| {
            let both_shared = other.is_shared && record.shared;
            other.prefix == prefix && other.pid != pid && !both_shared
        })
    }
}

fn random_word() -> std::io::Result<String> {
    let mut bytes = [0; 12];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How a process ended, in words.
pub(super) fn describe(status: Option<ExitStatus>) -> String {
    let Some(status) = status else {
        return "how it ended is not known, since another host had started it".into();
    };
    match (status.code(), portico_sys::spawn::signal_name(status)) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(name)) => name.into(),
        (None, None) => status.to_string(),
    }
}
