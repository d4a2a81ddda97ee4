//! `portico`: runs the host, and asks one that runs.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no host is running.
#![forbid(unsafe_code)]

mod arguments;
mod ask;
mod cache;
mod host;
mod show;
mod status;
mod style;

use std::process::ExitCode;

use clap::Parser;

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
        Command::Host(arguments) => host::run(arguments, cli.socket),
        Command::Status(arguments) => status::run(socket, &arguments),
        Command::Reserve(command) => ask::reserve(socket, command),
        Command::Cert(command) => ask::certificate(socket, command),
        Command::Cache(command) => cache::run(socket, command),
        Command::Reload => ask::reload(socket),
        Command::Stop { drain } => ask::stop(socket, drain),
        Command::Upgrade { program } => ask::upgrade(socket, program),
        Command::CheckConfig { file } => host::check(&file),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            show::error(&failed.message);
            ExitCode::from(failed.code)
        }
    }
}
