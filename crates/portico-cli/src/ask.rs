//! The commands that ask a host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use portico_host::client::{self, AskError};
use portico_host::protocol::{
    Answer, Certificate, CertificateRecord, Request, ReservationRecord, Reserve,
};
use portico_locate::ConnectError;

use crate::arguments::{self, CertArguments, ReserveArguments};
use crate::style::{Style, printable};
use crate::{Failed, show};

/// How long a host may take for a short answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take until a new program has taken over: more than the host gives it.
const UPGRADE_PATIENCE: Duration = Duration::from_secs(90);
const SECONDS_A_DAY: i64 = 86_400;
/// A certificate that ends within so many days is shown as one to look after.
const SOON_DAYS: i64 = 21;

/// Asks, and says what came of it in words for people.
pub(crate) fn ask(
    socket: Option<&Path>,
    request: &Request,
    patience: Option<Duration>,
) -> Result<Answer, Failed> {
    let (location, stream) = portico_locate::find(socket, PATIENCE);
    let path = location.path.display();
    let stream = stream.map_err(|error| match error {
        ConnectError::Absent { .. } => Failed::no_host(format!(
            "no host is running at {path}: start one with `portico host` (or by systemd), or name another socket with \
             --socket or PORTICO_HOST"
        )),
        error => Failed::new(error.to_string()),
    })?;
    let peer = portico_sys::peer_credentials(&stream).ok();
    let process = peer.map(|peer| peer.pid).filter(|pid| *pid > 1);
    client::ask(&stream, request, patience).map_err(|error| match error {
        AskError::Refused(failure) => Failed::new(failure.to_string()),
        AskError::Broken(error) if has_ended(&error) => Failed::new(format!(
            "the host at {path} ended before it answered: its log says why"
        )),
        AskError::Broken(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            Failed::new(format!(
                "the host at {path}{} does not answer: it is stuck or overloaded, and its log says more{}",
                process.map_or_else(String::new, |pid| format!(" (process {pid})")),
                process.map_or_else(String::new, |pid| format!("; `kill {pid}` ends it")),
            ))
        }
        AskError::Broken(error) => {
            Failed::new(format!("the host at {path} gave no answer: {error}"))
        }
        _ => Failed::new("the host can't be asked"),
    })
}

fn has_ended(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

pub(crate) fn ask_and_say(
    socket: Option<&Path>,
    request: &Request,
    patience: Option<Duration>,
) -> Result<(), Failed> {
    let answer = ask(socket, request, patience)?;
    show::line(&answer.message.unwrap_or_else(|| "done".into()))
}

pub(crate) fn reload(socket: Option<&Path>) -> Result<(), Failed> {
    ask_and_say(socket, &Request::Reload, Some(PATIENCE))
}

pub(crate) fn stop(socket: Option<&Path>, drain: Option<Duration>) -> Result<(), Failed> {
    let drain_ms = drain.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    // The end may take as long as connections do; a host that answers nothing at all is not waited for.
    ask(socket, &Request::Status, Some(PATIENCE))?;
    ask_and_say(socket, &Request::Stop { drain_ms }, None)
}

pub(crate) fn upgrade(socket: Option<&Path>, program: Option<PathBuf>) -> Result<(), Failed> {
    let program = program.as_deref().map(absolute).transpose()?;
    ask_and_say(
        socket,
        &Request::Upgrade { program },
        Some(UPGRADE_PATIENCE),
    )
}

pub(crate) fn reserve(socket: Option<&Path>, command: arguments::Reserve) -> Result<(), Failed> {
    let (request, json) = match command {
        arguments::Reserve::Add(ReserveArguments {
            prefix,
            user,
            group,
            everyone,
            delegate,
        }) => {
            let record = ReservationRecord {
                prefix,
                users: user,
                groups: group,
                everyone,
                delegate,
                ..ReservationRecord::default()
            };
            (Reserve::Add(record), None)
        }
        arguments::Reserve::Remove { prefix } => (Reserve::Remove { prefix }, None),
        arguments::Reserve::List { json } => (Reserve::List, Some(json)),
    };
    let Some(json) = json else {
        return ask_and_say(socket, &Request::Reserve(request), Some(PATIENCE));
    };
    let answer = ask(socket, &Request::Reserve(request), Some(PATIENCE))?;
    let list = answer.reservations.unwrap_or_default();
    if json {
        return show::json(&list);
    }
    if list.is_empty() {
        return show::line("no reservations");
    }
    list.iter()
        .try_for_each(|record| show::line(&reservation_line(record, Style::of_output())))
}

fn reservation_line(record: &ReservationRecord, style: Style) -> String {
    let mut whom = Vec::new();
    if record.everyone {
        whom.push("everyone".to_owned());
    }
    whom.extend(record.users.iter().map(|name| printable(name)));
    whom.extend(
        record
            .groups
            .iter()
            .map(|name| format!("group {}", printable(name))),
    );
    let mut line = format!("{}  for {}", style.strong(&record.prefix), whom.join(", "));
    if record.delegate {
        line.push_str(", who may reserve below it");
    }
    if record.configured {
        line.push_str(&style.dim("  (configuration file)"));
    }
    if let Some(problem) = &record.problem {
        line.push_str("\n  ");
        line.push_str(&style.bad(&printable(problem)));
    }
    line
}

pub(crate) fn certificate(socket: Option<&Path>, command: arguments::Cert) -> Result<(), Failed> {
    let (request, json) = match command {
        arguments::Cert::Add(arguments) => (Certificate::Add(record(arguments)?), None),
        arguments::Cert::Remove { certificate, port } => {
            let certificate = absolute(&certificate)?;
            (Certificate::Remove { certificate, port }, None)
        }
        arguments::Cert::List { json } => (Certificate::List, Some(json)),
    };
    let Some(json) = json else {
        return ask_and_say(socket, &Request::Certificate(request), Some(PATIENCE));
    };
    let answer = ask(socket, &Request::Certificate(request), Some(PATIENCE))?;
    let list = answer.certificates.unwrap_or_default();
    if json {
        return show::json(&list);
    }
    if list.is_empty() {
        return show::line("no certificates");
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now
        .ok()
        .and_then(|now| i64::try_from(now.as_secs()).ok())
        .unwrap_or(0);
    list.iter()
        .try_for_each(|record| show::line(&certificate_line(record, now, Style::of_output())))
}

fn record(arguments: CertArguments) -> Result<CertificateRecord, Failed> {
    Ok(CertificateRecord {
        certificate: absolute(&arguments.cert)?,
        key: absolute(&arguments.key)?,
        port: arguments.port,
        names: arguments.name,
        request_client_certificate: arguments.client_ca.is_some(),
        client_ca: arguments.client_ca.as_deref().map(absolute).transpose()?,
        require_client_certificate: arguments.require_client_certificate,
        ..CertificateRecord::default()
    })
}

/// The host reads files in its own folder: it must be told whole paths. Links stay, since they are what is switched
/// when a certificate is renewed.
fn absolute(path: &Path) -> Result<String, Failed> {
    let whole = std::path::absolute(path)
        .map_err(|error| Failed::new(format!("{} is no path: {error}", path.display())))?;
    let text = whole.to_str().map(str::to_owned);
    text.ok_or_else(|| Failed::new(format!("the path {} is not UTF-8", whole.display())))
}

fn certificate_line(record: &CertificateRecord, now: i64, style: Style) -> String {
    let port = record.port.map_or_else(
        || "all https ports".to_owned(),
        |port| format!("port {port}"),
    );
    let names: Vec<_> = record.names.iter().map(|name| printable(name)).collect();
    let names = if names.is_empty() {
        "no name".to_owned()
    } else {
        names.join(", ")
    };
    let mut line = format!(
        "{}  {port}  {names}",
        style.strong(&printable(&record.certificate))
    );
    let days = (record.not_after - now).div_euclid(SECONDS_A_DAY);
    match days {
        _ if record.not_after == 0 => {}
        ..0 => line.push_str(&style.bad("  expired")),
        0..SOON_DAYS => line.push_str(&style.careful(&format!("  ends in {days} days"))),
        _ => line.push_str(&style.dim(&format!("  ends in {days} days"))),
    }
    if record.configured {
        line.push_str(&style.dim("  (configuration file)"));
    }
    if let Some(problem) = &record.problem {
        line.push_str("\n  ");
        line.push_str(&style.bad(&printable(problem)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_shown_with_what_needs_care() {
        let record = CertificateRecord {
            certificate: "/a.pem".into(),
            port: Some(8443),
            names: vec!["a.test".into()],
            not_after: 10 * SECONDS_A_DAY,
            problem: Some("bad \x1b[31mfile".into()),
            ..CertificateRecord::default()
        };
        assert_eq!(
            certificate_line(&record, 0, Style::plain()),
            "/a.pem  port 8443  a.test  ends in 10 days\n  bad \u{fffd}[31mfile"
        );
        assert!(certificate_line(&record, 11 * SECONDS_A_DAY, Style::plain()).contains("expired"));
    }

    #[test]
    fn a_reservation_is_shown_with_everybody_it_is_for() {
        let record = ReservationRecord {
            prefix: "http://+:80/".into(),
            users: vec!["ann".into()],
            groups: vec!["staff".into()],
            delegate: true,
            configured: true,
            ..ReservationRecord::default()
        };
        assert_eq!(
            reservation_line(&record, Style::plain()),
            "http://+:80/  for ann, group staff, who may reserve below it  (configuration file)"
        );
    }
}
