//! `portico host` and `portico check-config`.

use std::io;
use std::path::{Path, PathBuf};

use portico_host::{Ended, Start, configuration};
use tracing::level_filters::LevelFilter;

use crate::arguments::HostArguments;
use crate::{Failed, show};

/// The environment variable with the level of the log: `error`, `warn`, `info` (default), `debug` or `off`.
const LOG_VARIABLE: &str = "PORTICO_LOG";

pub(crate) fn run(arguments: HostArguments, socket: Option<PathBuf>) -> Result<(), Failed> {
    start_log(LevelFilter::INFO);
    let on_demand = arguments.on_demand;
    let start = Start {
        configuration: arguments.config,
        socket,
        state: arguments.state,
        on_demand,
        application: None,
    };
    match portico_host::run(start) {
        // Another application was faster: what was wanted is there.
        Ok(Ended::AnotherRuns { .. }) if on_demand => Ok(()),
        Ok(Ended::AnotherRuns { socket, pid }) => {
            let pid = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
            Err(Failed::new(format!(
                "a host{pid} runs already at {}: `portico status` shows it, `portico stop` ends it; with --socket PATH a \
                 second one can run beside it",
                socket.display()
            )))
        }
        Ok(_) => Ok(()),
        Err(failure) => Err(Failed::new(failure.to_string())),
    }
}

pub(crate) fn check(file: &Path) -> Result<(), Failed> {
    configuration::check(file).map_err(|failure| Failed::new(failure.message))?;
    show::line(&format!("{} is good", file.display()))
}

/// One line for each event that a person needs, to standard error. The journal adds the time itself.
pub(crate) fn start_log(usual: LevelFilter) {
    let wanted = std::env::var(LOG_VARIABLE).ok();
    let level = wanted.as_deref().map(str::parse::<LevelFilter>);
    let is_understood = level.as_ref().is_none_or(Result::is_ok);
    let level = level.and_then(Result::ok).unwrap_or(usual);
    let log = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false);
    // A log that is there already is as good.
    let _ = if std::env::var_os("JOURNAL_STREAM").is_some() {
        tracing::subscriber::set_global_default(log.without_time().finish())
    } else {
        tracing::subscriber::set_global_default(log.finish())
    };
    if !is_understood {
        let wanted = wanted.unwrap_or_default();
        tracing::warn!(
            "{LOG_VARIABLE} must be error, warn, info, debug, trace or off, not {wanted:?}: the level is {usual}"
        );
    }
}
