//! What the host has of one worker.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use portico_dispatch::MemberId;
use portico_supervisor::WorkerId;
use portico_sys::spawn::{Process, spawn};
use tokio::task::JoinHandle;

use crate::applications::environment;
use crate::applications::output::LastLines;
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
    /// Connections on which its processes speak of themselves.
    pub(super) connections: u32,
    /// What it wrote last.
    pub(super) last_lines: LastLines,
    /// What reads its output.
    pub(super) copying: Vec<JoinHandle<()>>,
    /// The process that was started has ended.
    pub(super) end_was_seen: bool,
    /// The process that was started has ended and its output has been read; others of its group may go on.
    pub(super) leader_ended: bool,
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
        if specification.output == Output::Terminal {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let process = spawn(&mut command, specification.isolation.clone())?;
        Ok(Self {
            identity,
            process,
            started: now,
            ready_after: None,
            registrations: Vec::new(),
            connections: 0,
            last_lines: LastLines::default(),
            copying: Vec::new(),
            end_was_seen: false,
            leader_ended: false,
            is_used_up: false,
            was_hung: false,
            was_killed: false,
        })
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
        return "its end was not seen".into();
    };
    match (status.code(), portico_sys::spawn::signal_name(status)) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(name)) => name.into(),
        (None, None) => status.to_string(),
    }
}
