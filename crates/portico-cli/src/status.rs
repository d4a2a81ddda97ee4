//! `portico status`.

use std::path::Path;
use std::time::Duration;

use portico_host::protocol::Request;
use portico_host::status::{PrefixStatus, ProcessStatus, Requests, Status};

use crate::arguments::StatusArguments;
use crate::ask::ask;
use crate::style::{Style, printable};
use crate::{Failed, show};

const PATIENCE: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_secs(1);
/// From when on a process that takes nothing is called so.
const STUCK_SECONDS: u64 = 2;

pub(crate) fn run(socket: Option<&Path>, arguments: &StatusArguments) -> Result<(), Failed> {
    let style = Style::of_output();
    loop {
        if arguments.requests {
            let answer = ask(socket, &Request::Requests, Some(PATIENCE))?;
            let requests = answer.requests.unwrap_or_default();
            if arguments.json {
                show::json(&requests)?;
            } else {
                let clear = if arguments.watch { style.clear() } else { "" };
                show::line(&format!("{clear}{}", requests_text(&requests, style)))?;
            }
            if !arguments.watch {
                return Ok(());
            }
            std::thread::sleep(EVERY);
            continue;
        }
        let answer = ask(socket, &Request::Status, Some(PATIENCE))?;
        let status = answer.status.unwrap_or_default();
        if arguments.json {
            show::json(&status)?;
        } else if arguments.watch {
            show::line(&format!("{}{}", style.clear(), text(&status, style)))?;
        } else {
            show::line(&text(&status, style))?;
        }
        if !arguments.watch {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
}

/// What of the connections is HTTP/2, if any is.
fn http2(status: &Status) -> String {
    match status.http2_connections {
        0 => String::new(),
        count => format!(" ({count} of HTTP/2 with {} streams)", status.http2_streams),
    }
}

fn text(status: &Status, style: Style) -> String {
    let mut lines = vec![head(status, style)];
    lines.push(format!(
        "{} connections{}, {} requests, {}/s, received {}, sent {}",
        status.connections,
        http2(status),
        status.requests,
        rate(status.requests_per_second),
        bytes(status.bytes_read),
        bytes(status.bytes_written),
    ));
    if status.cache.stored > 0 {
        lines.push(format!(
            "{} answers kept ({}), given {} times",
            status.cache.entries,
            bytes(status.cache.bytes),
            status.cache.hits,
        ));
    }
    for (count, what) in [
        (status.unrouted, "requests that no prefix matched (404)"),
        (
            status.bad_target,
            "requests with a malformed target or Host (400)",
        ),
        (
            status.malformed,
            "requests that break the rules of HTTP (400, 413, 431)",
        ),
        (
            status.misdirected,
            "requests for another host or scheme than their connection's (421)",
        ),
        (
            status.unserved,
            "requests for a reserved prefix that no process has registered (503)",
        ),
        (status.too_slow, "connections were too slow"),
    ] {
        if count > 0 {
            lines.push(style.careful(&format!("{count} {what}")));
        }
    }
    for listener in &status.listeners {
        if let Some(problem) = &listener.problem {
            let text = format!("port {} is not open: {}", listener.port, printable(problem));
            lines.push(style.bad(&text));
            continue;
        }
        let addresses: Vec<_> = listener
            .addresses
            .iter()
            .map(|at| at.address.as_str())
            .collect();
        lines.push(style.dim(&format!(
            "{} on port {} at {}",
            listener.scheme,
            listener.port,
            addresses.join(", ")
        )));
    }
    if status.prefixes.is_empty() {
        lines.push("no prefix is registered".into());
    }
    for prefix in &status.prefixes {
        lines.push(String::new());
        lines.extend(prefix_lines(prefix, style));
    }
    lines.join("\n")
}

fn requests_text(found: &Requests, style: Style) -> String {
    let mut lines = Vec::new();
    for process in &found.processes {
        let name = style.strong(&format!("process {}", process.pid));
        lines.push(format!(
            "{name} on shard {}: {}",
            process.shard, process.state
        ));
    }
    for request in &found.requests {
        let name = format!("{:x}/{}", request.connection, request.sequence);
        lines.push(format!(
            "{} on shard {} of {}, process {}, since {} ms: {}; {}",
            style.strong(&name),
            request.shard,
            printable(&request.prefix),
            request.pid,
            request.idle_ms,
            request.state,
            style.dim(&request.connection_state),
        ));
    }
    if found.requests.is_empty() {
        lines.push("no request is in flight".into());
    }
    lines.join("\n")
}

fn head(status: &Status, style: Style) -> String {
    let phase = match status.phase.as_str() {
        "running" => style.good("running"),
        other => style.careful(other),
    };
    let kind = if status.on_demand {
        ", started on demand"
    } else {
        ""
    };
    format!(
        "{} {}  {phase} for {}{kind}  process {}, {} shards, {}",
        style.strong("portico"),
        status.version,
        duration(status.uptime_seconds),
        status.pid,
        status.shards,
        status.socket
    )
}

fn prefix_lines(prefix: &PrefixStatus, style: Style) -> Vec<String> {
    let mut marks = Vec::new();
    if prefix.reserved {
        marks.push("reserved");
    }
    if prefix.site {
        marks.push("site");
    }
    let marks = if marks.is_empty() {
        String::new()
    } else {
        format!("  ({})", marks.join(", "))
    };
    let mut lines = vec![format!(
        "{}{}",
        style.strong(&prefix.prefix),
        style.dim(&marks)
    )];
    if let Some(problem) = &prefix.problem {
        lines.push(format!("  {}", style.bad(&printable(problem))));
    }
    let waiting = format!("{} of {} waiting", prefix.waiting, prefix.queue_length);
    let waiting = if prefix.waiting > 0 {
        style.careful(&waiting)
    } else {
        waiting
    };
    let mut facts = vec![
        format!("{} requests", prefix.requests),
        format!("{}/s", rate(prefix.requests_per_second)),
        waiting,
    ];
    for (count, what) in [
        (prefix.refused, "refused (503)"),
        (prefix.lost, "lost (502)"),
        (prefix.timed_out, "timed out (504)"),
        (prefix.moved, "given to another process"),
    ] {
        if count > 0 {
            facts.push(style.bad(&format!("{count} {what}")));
        }
    }
    lines.push(format!("  {}", facts.join(", ")));
    if prefix.processes.is_empty() {
        lines.push(format!("  {}", style.careful("no process")));
    }
    lines.extend(
        prefix
            .processes
            .iter()
            .map(|process| process_line(process, style)),
    );
    lines
}

fn process_line(process: &ProcessStatus, style: Style) -> String {
    let state = if process.state == "serving" {
        String::new()
    } else {
        format!("  {}", style.careful(&process.state))
    };
    let stuck = if process.takes_nothing_seconds < STUCK_SECONDS {
        String::new()
    } else {
        let time = duration(process.takes_nothing_seconds);
        format!(
            "  {}",
            style.bad(&format!(
                "takes nothing since {time}, {} untaken",
                process.untaken
            ))
        )
    };
    format!(
        "  {:>8}  {}  {}  {} requests, {}/s, {} in flight{state}{stuck}",
        process.pid,
        printable(&process.program),
        style.dim(&format!(
            "{}, node {}",
            printable(&process.user),
            printable(&process.node)
        )),
        process.requests,
        rate(process.requests_per_second),
        process.in_flight,
    )
}

fn rate(per_second: f64) -> String {
    if per_second >= 100.0 {
        format!("{per_second:.0}")
    } else {
        format!("{per_second:.1}")
    }
}

pub(crate) fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

pub(crate) fn bytes(count: u64) -> String {
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    // Only the leading digits are shown.
    let mut size = count as f64;
    if size < 1000.0 {
        return format!("{count} B");
    }
    let mut unit = "B";
    for next in units {
        if size < 1000.0 {
            break;
        }
        size /= 1000.0;
        unit = next;
    }
    format!("{size:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_short() {
        for (count, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1500, "1.5 kB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(bytes(count), expected);
        }
        for (seconds, expected) in [
            (5, "5 s"),
            (65, "1 min 5 s"),
            (3_700, "1 h 1 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(seconds), expected);
        }
    }

    #[test]
    fn a_status_is_told_in_lines() {
        let status = Status {
            version: "0.1.0".into(),
            phase: "running".into(),
            prefixes: vec![PrefixStatus {
                prefix: "http://*:8080/".into(),
                queue_length: 1000,
                processes: vec![ProcessStatus {
                    pid: 7,
                    program: "a\x1b.js".into(),
                    user: "ann".into(),
                    node: "20".into(),
                    state: "serving".into(),
                    untaken: 3,
                    takes_nothing_seconds: 65,
                    ..ProcessStatus::default()
                }],
                ..PrefixStatus::default()
            }],
            ..Status::default()
        };
        let text = text(&status, Style::plain());
        assert!(
            text.contains("\nhttp://*:8080/\n  0 requests, 0.0/s, 0 of 1000 waiting\n"),
            "{text}"
        );
        assert!(
            text.contains("       7  a\u{fffd}.js  ann, node 20  0 requests"),
            "{text}"
        );
        let stuck = "0 in flight  takes nothing since 1 min 5 s, 3 untaken";
        assert!(text.ends_with(stuck), "{text}");
    }
}
