//! `portico run`: a host, and the processes of one program.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use portico_host::applications::{Listen, Output, Specification, Verdict, package_folder};
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
/// What Node runs.
const SCRIPTS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];

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
    let command = command(&arguments)?;
    let directory = std::env::current_dir()
        .map_err(|error| Failed::new(format!("the current folder can't be known: {error}")))?;
    let directory = match fs::canonicalize(&arguments.program) {
        Ok(path) if path.is_dir() => path,
        _ => directory,
    };
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

/// What to start: a script by Node, a folder's `package.json`, an executable file, else a command for the shell.
fn command(arguments: &RunArguments) -> Result<Vec<OsString>, Failed> {
    let path = Path::new(&arguments.program);
    let mut command: Vec<OsString> = if path.is_dir() {
        of_folder(path)?
    } else if path.is_file() {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_script = extension.is_some_and(|extension| SCRIPTS.contains(&extension));
        let file = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
        let is_executable =
            fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
        if is_executable && !is_script {
            vec![file.into()]
        } else {
            vec!["node".into(), file.into()]
        }
    } else if path
        .extension()
        .is_some_and(|extension| SCRIPTS.iter().any(|own| extension == *own))
    {
        return Err(Failed::new(format!("there is no file {}", path.display())));
    } else {
        let line = format!("{} \"$@\"", arguments.program);
        vec!["/bin/sh".into(), "-c".into(), line.into(), "sh".into()]
    };
    command.extend(arguments.arguments.iter().cloned());
    Ok(command)
}

fn of_folder(folder: &Path) -> Result<Vec<OsString>, Failed> {
    let file = folder.join("package.json");
    let text = fs::read(&file).map_err(|error| unreadable(&file, &error))?;
    let package: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|error| Failed::new(format!("{} can't be understood: {error}", file.display())))?;
    if package["scripts"]["start"].is_string() {
        return Ok(["npm", "start", "--"].map(OsString::from).to_vec());
    }
    let main = package["main"].as_str().unwrap_or("index.js");
    let main = fs::canonicalize(folder.join(main)).map_err(|_| {
        Failed::new(format!(
            "{} has no script \"start\", and there is no {main} in its folder",
            file.display()
        ))
    })?;
    Ok(vec!["node".into(), main.into()])
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failed {
    Failed::new(format!("{} can't be read: {error}", path.display()))
}
