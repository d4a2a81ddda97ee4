//! Workers of `portico run` that are replaced: by a command, because they ask, or for what they do.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use portico_host::protocol::PROTOCOL_VERSION;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{folder, free_port, get, wait_for};
use crate::load::Load;
use crate::running::{Run, lives};

/// Says one line, and hears one.
fn say(stream: &UnixStream, line: &Value) -> Value {
    writeln!(&*stream, "{line}").unwrap();
    let mut heard = String::new();
    BufReader::new(stream).read_line(&mut heard).unwrap();
    serde_json::from_str(&heard).unwrap_or_default()
}

/// What `portico describe` says of the only application, as JSON.
fn described(run: &Run, name: &str) -> Value {
    let output = run.portico(&["describe", name, "--json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// `portico run` with these options; its workers, which this program plays, register the port.
fn run_workers(options: &[&str], port: u16) -> Run {
    let own = std::env::current_exe().unwrap();
    let worker = [
        own.to_str().unwrap(),
        "--",
        "--exact",
        "worker_process",
        "--nocapture",
    ];
    Run::start(
        &[options, &worker].concat(),
        Some(&format!("http://*:{port}/")),
    )
}

#[test]
fn a_worker_that_takes_nothing_is_killed_and_replaced_and_others_get_its_requests() {
    let port = free_port();
    let run = run_workers(&["--instances", "2", "--hang-timeout", "1"], port);
    wait_for("two workers", || run.pids().len() == 2);
    let clients = 4;
    let load = Load::start(port, clients);
    load.wait_for_more(20);
    let before = run.pids();
    kill_process(Pid::from_raw(before[0]).unwrap(), Signal::STOP).unwrap();
    wait_for("another worker", || {
        let now = run.pids();
        now.len() == 2 && !now.contains(&before[0])
    });
    assert!(!lives(before[0]));
    load.wait_for_more(20);
    let failures = load.stop();
    // What it had taken when it was stopped.
    assert!(failures.len() <= clients, "{failures:?}");
    assert!(
        failures.iter().all(|failure| failure == "Ok(502)"),
        "{failures:?}"
    );
    assert!(run.log().contains("took nothing"), "{}", run.log());
}

#[test]
fn workers_are_replaced_after_so_many_requests_and_none_fails() {
    let port = free_port();
    let run = run_workers(&["--instances", "2", "--max-requests", "20"], port);
    wait_for("two workers", || run.pids().len() == 2);
    let load = Load::start(port, 4);
    let mut seen = std::collections::BTreeSet::new();
    wait_for("six workers, one after the other", || {
        seen.extend(run.pids());
        seen.len() >= 6
    });
    load.wait_for_more(20);
    let failures = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn a_worker_speaks_on_64_connections_and_is_replaced_when_it_asks() {
    let port = free_port();
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "echo id $PORTICO_WORKER; exec {} --exact worker_process --nocapture",
        own.display()
    );
    let run = Run::start(&[&script], Some(&format!("http://*:{port}/")));
    wait_for("a worker", || run.pids().len() == 1);
    let log = run.log();
    let id = log
        .lines()
        .find_map(|line| line.strip_prefix("id "))
        .unwrap();
    let connect = || UnixStream::connect(run.folder.path().join("host.sock")).unwrap();
    let begin = json!({ "type": "worker", "protocol": PROTOCOL_VERSION, "id": id });
    let mut streams = Vec::new();
    for _ in 0..64 {
        let stream = connect();
        assert_eq!(say(&stream, &begin), json!({ "type": "worker" }));
        streams.push(stream);
    }
    assert_eq!(say(&connect(), &begin)["code"], "ERR_PORTICO_LIMIT");
    streams.pop();
    wait_for("room", || say(&connect(), &begin)["type"] == "worker");
    let stranger = json!({ "type": "worker", "protocol": PROTOCOL_VERSION, "id": "0.1.guessed" });
    assert_eq!(
        say(&connect(), &stranger)["code"],
        "ERR_PORTICO_APPLICATION"
    );
    let before = run.pids();
    let load = Load::start(port, 2);
    load.wait_for_more(20);
    // What is not understood is left out.
    writeln!(&streams[0], "{}", json!({ "type": "dance" })).unwrap();
    let recycle = json!({ "type": "recycle", "reason": "tired" });
    assert_eq!(say(&streams[0], &recycle), json!({ "type": "recycling" }));
    wait_for("another worker", || {
        let now = run.pids();
        now.len() == 1 && now != before
    });
    wait_for("the one before to end", || !lives(before[0]));
    load.wait_for_more(20);
    assert!(load.stop().is_empty());
}

#[test]
fn an_application_is_scaled_reloaded_restarted_stopped_and_started_by_its_name() {
    let port = free_port();
    let run = Run::serving(1, &format!("http://*:{port}/"));
    wait_for("a worker", || run.pids().len() == 1);
    let output = run.portico(&["list", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = list[0]["name"].as_str().unwrap().to_owned();
    let done = |command: &[&str]| {
        let output = run.portico(command);
        assert!(output.status.success(), "{command:?}: {output:?}");
    };
    let load = Load::start(port, 2);
    load.wait_for_more(20);
    done(&["scale", &name, "3"]);
    assert_eq!(run.pids().len(), 3);
    let before = run.pids();
    done(&["reload", &name]);
    assert!(run.pids().iter().all(|pid| !before.contains(pid)));
    done(&["scale", &name, "1"]);
    wait_for("one worker", || run.pids().len() == 1);
    let before = run.pids();
    // Its requests wait for it.
    done(&["restart", &name]);
    assert_ne!(run.pids(), before);
    load.wait_for_more(20);
    let failures = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
    done(&["stop", &name]);
    assert_eq!(described(&run, &name)["condition"], "stopped");
    assert!(run.pids().is_empty());
    done(&["start", &name]);
    assert_eq!(run.pids().len(), 1);
    let worker = &described(&run, &name)["workers"][0];
    assert_eq!(
        (&worker["state"], &worker["slot"]),
        (&"ready".into(), &0.into())
    );
    let refused = run.portico(&["reload", "other"]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains(&format!("there are: {name}")), "{text}");
    assert_eq!(refused.status.code(), Some(1));
    let refused = run.portico(&["upgrade"]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("runs a program"), "{text}");
}

#[test]
fn a_reload_whose_new_worker_fails_says_so_and_the_one_before_serves_on() {
    let port = free_port();
    let own = std::env::current_exe().unwrap();
    let folder = folder();
    let broken = folder.path().join("broken");
    let script = format!(
        "test -e {} && {{ echo no database; exit 3; }}; exec {} --exact worker_process --nocapture",
        broken.display(),
        own.display()
    );
    // Two, so that what they write is kept.
    let run = Run::start(
        &["--instances", "2", &script],
        Some(&format!("http://*:{port}/")),
    );
    wait_for("two workers", || run.pids().len() == 2);
    let before = run.pids();
    fs::write(&broken, "").unwrap();
    let refused = run.portico(&["reload", "test"]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        text.contains("exit code 3") && text.contains("no database"),
        "{text}"
    );
    assert_eq!(run.pids(), before);
    assert_eq!(get(port, "/").unwrap().0, 200);
    fs::remove_file(&broken).unwrap();
    wait_for("two other workers", || {
        let now = run.pids();
        now.len() == 2 && now.iter().all(|pid| !before.contains(pid))
    });
    assert_eq!(described(&run, "test")["condition"], "running");
}
