//! The commands for the applications that a host runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use portico_host::applications::{ApplicationStatus, WorkerStatus};
use portico_host::protocol::{ApplicationCommand, Request};

use crate::ask::{ask, ask_and_say};
use crate::status::duration;
use crate::style::{Style, printable};
use crate::{Failed, show};

/// More than the host waits for what was asked for.
const PATIENCE: Duration = Duration::from_secs(40);

/// A command that says in a sentence what was done.
pub(crate) fn change(socket: Option<&Path>, command: ApplicationCommand) -> Result<(), Failed> {
    ask_and_say(socket, &Request::Application(command), Some(PATIENCE))
}

pub(crate) fn list(socket: Option<&Path>, json: bool) -> Result<(), Failed> {
    let all = asked(socket, ApplicationCommand::List)?;
    if json {
        return show::json(&all);
    }
    if all.is_empty() {
        return show::line("the host runs no application");
    }
    let style = Style::of_output();
    all.iter().try_for_each(|own| show::line(&line(own, style)))
}

pub(crate) fn describe(socket: Option<&Path>, name: String, json: bool) -> Result<(), Failed> {
    let found = asked(socket, ApplicationCommand::Describe { name })?;
    let Some(own) = found.first() else {
        return Err(Failed::new("the host did not answer what was asked"));
    };
    if json {
        return show::json(own);
    }
    show::line(&description(own, Style::of_output()))
}

/// Where an application's logs lie.
pub(crate) fn log_folder(socket: Option<&Path>, name: &str) -> Result<PathBuf, Failed> {
    let command = ApplicationCommand::Describe {
        name: name.to_owned(),
    };
    let found = asked(socket, command)?;
    let folder = found.into_iter().next().and_then(|own| own.logs);
    folder.map(PathBuf::from).ok_or_else(|| {
        Failed::new(format!(
            "{name} has no logs: what it writes goes where `portico run` was started"
        ))
    })
}

fn asked(
    socket: Option<&Path>,
    command: ApplicationCommand,
) -> Result<Vec<ApplicationStatus>, Failed> {
    let answer = ask(socket, &Request::Application(command), Some(PATIENCE))?;
    Ok(answer.applications.unwrap_or_default())
}

fn line(own: &ApplicationStatus, style: Style) -> String {
    let condition = match own.condition.as_str() {
        "running" => style.good("running"),
        "failed" => style.bad("failed"),
        other => style.careful(other),
    };
    let ready = own.workers.iter().filter(|worker| worker.state == "ready");
    let mut text = format!(
        "{}  {condition}  {} of {} ready",
        style.strong(&printable(&own.name)),
        ready.count(),
        own.instances
    );
    if own.failures > 0 {
        text.push_str(&style.careful(&format!("  {} failed", own.failures)));
    }
    text
}

fn description(own: &ApplicationStatus, style: Style) -> String {
    let mut lines = vec![line(own, style)];
    lines.push(format!("  command  {}", printable(&own.command.join(" "))));
    lines.push(format!("  folder   {}", printable(&own.directory)));
    if let Some(folder) = &own.logs {
        lines.push(format!("  logs     {}", printable(folder)));
    }
    if let Some((how, seconds)) = &own.last_failure {
        let how: Vec<_> = how.lines().map(printable).collect();
        lines.push(format!(
            "  failed {} ago: {}",
            duration(*seconds),
            style.bad(&how.join("\n  "))
        ));
    }
    for worker in &own.workers {
        lines.push(worker_line(worker));
        let last = worker.last_lines.iter();
        lines.extend(last.map(|text| format!("    {}", style.dim(&printable(text)))));
    }
    lines.join("\n")
}

fn worker_line(worker: &WorkerStatus) -> String {
    let ready = worker
        .ready_after_ms
        .map_or_else(String::new, |time| format!(", ready after {time} ms"));
    let heap = worker
        .heap_used_bytes
        .map_or_else(String::new, |bytes| format!(", heap {} MiB", bytes >> 20));
    let busy = worker
        .event_loop_percent
        .map_or_else(String::new, |percent| format!(", event loop {percent} %"));
    format!(
        "  {:>8}  slot {}  {} for {}{ready}, {} requests, {} MiB{heap}{busy}",
        worker.pid,
        worker.slot,
        worker.state,
        duration(worker.uptime_seconds),
        worker.requests,
        worker.memory_bytes >> 20
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_told_in_lines_and_steers_no_terminal() {
        let own = ApplicationStatus {
            name: "app".into(),
            condition: "running".into(),
            instances: 2,
            command: vec!["node".into(), "a\x1b.js".into()],
            directory: "/srv".into(),
            logs: Some("/var/log/portico/app".into()),
            failures: 1,
            last_failure: Some(("exit code 3".into(), 65)),
            workers: vec![WorkerStatus {
                pid: 7,
                state: "ready".into(),
                ready_after_ms: Some(80),
                requests: 9,
                memory_bytes: 50 << 20,
                heap_used_bytes: Some(20 << 20),
                event_loop_percent: Some(7),
                last_lines: vec!["listening".into()],
                ..WorkerStatus::default()
            }],
        };
        let expected = "app  running  1 of 2 ready  1 failed\n  command  node a\u{fffd}.js\n  folder   /srv\n  logs     /var/log/portico/app\n  failed 1 min 5 s ago: \
                        exit code 3\n         7  slot 0  ready for 0 s, ready after 80 ms, 9 requests, 50 MiB, heap 20 MiB, event loop 7 %\n    listening";
        assert_eq!(description(&own, Style::plain()), expected);
    }
}
