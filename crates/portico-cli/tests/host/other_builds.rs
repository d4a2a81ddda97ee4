//! Programs and packages of the same version that were built from different tables of records.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;

use portico_application::RegisterError;
use portico_channel::shared::{Capacity, FINGERPRINT, HostEnd, OpenError};
use portico_locate::{Location, NamedBy};
use portico_sys::descriptors;
use serde_json::{Value, json};

use crate::application::{Application, register_line};
use crate::harness::{Host, PATIENCE, command, folder, free_port, get};

/// Where the fingerprint stands in a channel's memory.
const FINGERPRINT_OFFSET: u64 = 16;
const CAPACITY: Capacity = Capacity {
    events: 4096,
    commands: 4096,
};

/// The first line of an application with other records.
pub(crate) fn other_records(prefix: &str) -> String {
    let (ours, theirs) = (FINGERPRINT, FINGERPRINT ^ 1);
    register_line(prefix, "other").replace(
        &format!("\"records\":{ours}"),
        &format!("\"records\":{theirs}"),
    )
}

#[test]
fn an_application_with_other_records_is_refused_at_once_and_others_are_served_on() {
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = format!("http://*:{port}/");
    let _application = Application::start(&host.socket(), &prefix, "it").unwrap();
    let location = Location {
        path: host.socket(),
        named_by: NamedBy::Variable,
    };
    for line in [
        other_records(&prefix),
        register_line(&prefix, "older").replace("records", "unknown"),
    ] {
        let refused = portico_application::register(&location, &line).unwrap();
        assert!(refused.channels.is_none());
        assert!(
            refused.answer.contains("different tables of records"),
            "{}",
            refused.answer
        );
    }
    assert_eq!(host.processes(&prefix), 1);
    assert_eq!(get(port, "/").unwrap(), (200, "it".into()));
}

/// Hosts that look at no fingerprint, or have another one, and give channels.
#[test]
fn an_application_takes_no_channel_of_a_host_with_other_records() {
    for (theirs, advice) in [
        (FINGERPRINT ^ 1, "install the same version of both"),
        (0, "the host is the older one"),
    ] {
        let folder = folder();
        let path = folder.path().join("host.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let host = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let (_end, memory) = HostEnd::create(CAPACITY).unwrap();
            rustix::io::pwrite(&memory, &theirs.to_ne_bytes(), FINGERPRINT_OFFSET).unwrap();
            let (bell, ringer) = UnixStream::pair().unwrap();
            let given = [bell.as_fd(), memory.as_fd(), ringer.as_fd()];
            descriptors::send(&stream, b"{\"type\":\"registered\"}\n", &given).unwrap();
        });
        let location = Location {
            path,
            named_by: NamedBy::Variable,
        };
        let line = register_line("http://*:80/", "it");
        let error = portico_application::register(&location, &line).unwrap_err();
        host.join().unwrap();
        assert!(
            matches!(error, RegisterError::Channel(OpenError::Records { .. })),
            "{error}"
        );
        assert_eq!(error.code(), "ERR_PORTICO_PROTOCOL");
        assert!(error.to_string().contains(advice), "{error}");
    }
}

/// The test is the old host.
#[test]
fn a_program_with_other_records_does_not_take_over_where_applications_serve() {
    for (records, members, part) in [
        (json!(FINGERPRINT ^ 1), 2, "2 registrations"),
        // A host of before there were fingerprints.
        (Value::Null, 1, "1 registrations"),
        (json!(FINGERPRINT), 2, "ready"),
        (json!(FINGERPRINT ^ 1), 0, "ready"),
    ] {
        let said = take_over(&records, members);
        assert!(said.contains(part), "{said}");
        let refused = said.contains("different tables of records");
        assert_eq!(refused, part != "ready", "{said}");
    }
}

/// Has a new program take over from a host with such records, and returns what it says first.
fn take_over(records: &Value, members: u32) -> String {
    let folder = folder();
    let socket = folder.path().join("host.sock");
    let control = UnixListener::bind(&socket).unwrap();
    let lock = std::fs::File::create(folder.path().join("lock")).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut child = command(folder.path(), &["host"])
        .env("PORTICO_UPGRADE", "1")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut handover = json!({
        "version": 1, "records": records, "socket": socket, "owns_socket": true, "sockets": 0, "kept_ports": {},
        "expected": [{ "prefix": format!("http://*:{}/", free_port()), "uid": 0, "gids": [], "members": members }],
    });
    if records.is_null() {
        handover.as_object_mut().unwrap().remove("records");
    }
    let line = format!("{handover}\n");
    let sent = descriptors::send(&ours, line.as_bytes(), &[control.as_fd(), lock.as_fd()]).unwrap();
    assert_eq!(sent, line.len());
    ours.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut said = String::new();
    BufReader::new(&ours).read_line(&mut said).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    said
}
