//! `portico run`: a host, and the processes of one program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use portico_host::applications::{
    Listen, Node, Output, Resolved, Specification, Verdict, package_folder, resolve,
};
use portico_host::{Ended, Policy, Start};
use portico_locate::host_location;
use portico_sys::spawn::Isolation;
use tracing::level_filters::LevelFilter;

use crate::arguments::RunArguments;
use crate::{Failed, host};

/// How long a process may take to end after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// After so many failures in a row the program is beyond hope.
const GIVE_UP_AFTER: u32 = 15;

pub(crate) fn run(arguments: RunArguments, socket: Option<PathBuf>) -> Result<ExitCode, Failed> {
    host::start_log(LevelFilter::WARN);
    let specification = specification(arguments)?;
    let start = |socket: Option<PathBuf>| Start {
        // What was added at run time is for the host that serves all applications.
        state: Some(
            host_location(socket.as_deref(), true)
                .path
                .with_file_name("run"),
        ),
        socket,
        application: Some(specification.clone()),
        ..Start::default()
    };
    let mut ended = portico_host::run(start(socket.clone()));
    if socket.is_none() && matches!(ended, Ok(Ended::AnotherRuns { .. })) {
        ended = portico_host::run(start(Some(own_socket())));
    }
    match ended {
        Ok(Ended::WithApplication(Verdict::Failed(code))) => Ok(ExitCode::from(code)),
        Ok(Ended::AnotherRuns { socket, .. }) => Err(Failed::new(format!(
            "a host runs already at {}: name another socket with --socket",
            socket.display()
        ))),
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(failure) => Err(Failed::new(failure.to_string())),
    }
}

/// Beside the host that runs at the user's place.
fn own_socket() -> PathBuf {
    let usual = host_location(None, true).path;
    let name = format!("run-{}/host.sock", std::process::id());
    usual.with_file_name(name)
}

fn specification(arguments: RunArguments) -> Result<Specification, Failed> {
    let here = std::env::current_dir()
        .map_err(|error| Failed::new(format!("the current folder can't be known: {error}")))?;
    let (program, given) = (&arguments.program, &arguments.arguments);
    let Resolved { command, directory } =
        resolve(program, given, &here, &Node::default()).map_err(Failed::new)?;
    let package = package_folder(&directory).ok_or_else(|| {
        Failed::new(
            "the npm package `portico` was not found, which the program is run with: install it in the program's folder \
             (npm install portico), or name its folder with PORTICO_PACKAGE",
        )
    })?;
    let output = match arguments.instances {
        1 => Output::Inherited,
        _ => Output::Terminal,
    };
    Ok(Specification {
        name: name(&arguments.program),
        command,
        directory,
        listen: Listen::AnyPort,
        environment: Vec::new(),
        inherits_environment: true,
        package,
        isolation: Isolation {
            ends_with_starter: true,
            ..Isolation::default()
        },
        instances: arguments.instances,
        output,
        // 0: no limit.
        hang_timeout: arguments.hang_timeout.filter(|time| !time.is_zero()),
        max_memory: None,
        max_heap: None,
        max_age: None,
        wait_ready: false,
        shutdown_message: false,
        max_requests: arguments.max_requests.filter(|count| *count > 0),
        policy: Policy {
            // A program that serves nothing has nothing to be ready for.
            start_timeout: None,
            max_starting: u32::MAX,
            stop_timeout: STOP_TIMEOUT,
            give_up_after: Some(GIVE_UP_AFTER),
            give_up_at_start_after: Some(1),
            may_finish: true,
            ..Policy::default()
        },
    })
}

/// The file's name without its extension, or the first word of a command.
fn name(program: &str) -> String {
    let path = fs::canonicalize(program).ok();
    let stem = path.as_deref().and_then(Path::file_stem);
    let first = || program.split_whitespace().next().unwrap_or("program");
    stem.map_or_else(
        || first().to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
