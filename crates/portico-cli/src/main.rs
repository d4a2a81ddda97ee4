//! `portico`: runs the host, and asks one that runs.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no host is running.
#![forbid(unsafe_code)]

mod applications;
mod arguments;
mod ask;
mod cache;
mod host;
mod logs;
mod run;
mod show;
mod status;
mod style;

use std::process::ExitCode;

use clap::Parser;
use portico_host::protocol::ApplicationCommand;

use crate::arguments::{Cli, Command};

/// Why a command failed: its exit code, and what to print.
#[derive(Debug)]
pub(crate) struct Failed {
    code: u8,
    message: String,
}

impl Failed {
    /// The command could not be carried out.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
        }
    }

    /// There is no host.
    pub(crate) fn no_host(message: impl Into<String>) -> Self {
        Self {
            code: 3,
            message: message.into(),
        }
    }
}

fn main() -> ExitCode {
    // Usage errors end the process with 2, help and version with 0.
    let cli = Cli::parse();
    let socket = cli.socket.as_deref();
    let result = match cli.command {
        Command::Run(arguments) => return exit_code(run::run(arguments, cli.socket)),
        Command::Host(arguments) => host::run(arguments, cli.socket),
        Command::Status(arguments) => status::run(socket, &arguments),
        Command::Reserve(command) => ask::reserve(socket, command),
        Command::Cert(command) => ask::certificate(socket, command),
        Command::Cache(command) => cache::run(socket, command),
        Command::List { json } => applications::list(socket, json),
        Command::Describe { name, json } => applications::describe(socket, name, json),
        Command::Logs(arguments) => logs::run(socket, &arguments),
        Command::Start { name } => applications::change(socket, ApplicationCommand::Start { name }),
        Command::Restart { name } => {
            applications::change(socket, ApplicationCommand::Restart { name })
        }
        Command::Scale { name, instances } => {
            applications::change(socket, ApplicationCommand::Scale { name, instances })
        }
        Command::Reload { name: Some(name) } => {
            applications::change(socket, ApplicationCommand::Reload { name })
        }
        Command::Reload { name: None } => ask::reload(socket),
        Command::Stop {
            name: Some(name), ..
        } => applications::change(socket, ApplicationCommand::Stop { name }),
        Command::Stop { name: None, drain } => ask::stop(socket, drain),
        Command::Upgrade { program } => ask::upgrade(socket, program),
        Command::CheckConfig { file } => host::check(&file),
    };
    exit_code(result.map(|()| ExitCode::SUCCESS))
}

/// The code, or what failed, which is printed.
fn exit_code(result: Result<ExitCode, Failed>) -> ExitCode {
    result.unwrap_or_else(|failed| {
        show::error(&failed.message);
        ExitCode::from(failed.code)
    })
}
