//! `portico run`: programs that are started, replaced and ended.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use portico_host::protocol::PROTOCOL_VERSION;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::application::Application;
use crate::harness::{PROGRAM, folder, free_port, get, wait_for};
use crate::load::Load;

/// Which prefix a worker of these tests serves.
const PREFIX_VARIABLE: &str = "TEST_PREFIX";

/// A host that runs a program.
pub(crate) struct Run {
    child: Child,
    pub(crate) folder: TempDir,
}

impl Run {
    /// With so many workers, which serve this prefix.
    pub(crate) fn serving(instances: u32, prefix: &str) -> Self {
        let own = std::env::current_exe().unwrap();
        let instances = instances.to_string();
        let arguments = ["--instances", &instances, own.to_str().unwrap(), "--"];
        let worker = ["--exact", "worker_process", "--nocapture"];
        Self::start(&[&arguments[..], &worker].concat(), Some(prefix))
    }

    pub(crate) fn start(arguments: &[&str], prefix: Option<&str>) -> Self {
        let folder = folder();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut command = run(folder.path(), arguments);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command.envs(prefix.map(|prefix| (PREFIX_VARIABLE, prefix)));
        let child = command.spawn().unwrap();
        Self { child, folder }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The processes that serve.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let output = self.portico(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let prefixes = status["prefixes"].as_array().into_iter().flatten();
        let processes = prefixes.flat_map(|prefix| prefix["processes"].as_array().unwrap());
        let serving = processes.filter(|process| process["state"] == "serving");
        let pid = |process: &Value| i32::try_from(process["pid"].as_i64().unwrap()).unwrap();
        serving.map(pid).collect()
    }

    pub(crate) fn portico(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        let socket = self.folder.path().join("host.sock");
        command.args(arguments).arg("--socket").arg(socket);
        command.output().unwrap()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Its exit code.
    fn wait_for_end(&mut self) -> Option<i32> {
        let mut status = None;
        wait_for("the host to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // The second one ends all at once; its workers end with it in any case.
        for _ in 0..2 {
            if self.child.try_wait().unwrap().is_none() {
                self.signal(Signal::TERM);
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the host\n{}", self.log());
        }
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("run").arg("--socket");
    command.arg(folder.join("host.sock")).args(arguments);
    // Not loaded: these workers are no Node.
    command.env("PORTICO_PACKAGE", folder);
    command.env_remove("PORTICO_HOST").env_remove("PORTICO_LOG");
    command.stdin(Stdio::null());
    command
}

/// A folder whose files tell a worker what to say on a connection of its own: `ready` that it is ready, `deaf` that it
/// answers no more questions. It ends when it hears `shutdown`.
pub(crate) const SPEAKER_VARIABLE: &str = "TEST_SPEAKER";

fn speak(folder: &Path) {
    let id = std::env::var("PORTICO_WORKER").unwrap();
    let mut stream = UnixStream::connect(std::env::var_os("PORTICO_HOST").unwrap()).unwrap();
    let first = json!({ "type": "worker", "protocol": PROTOCOL_VERSION, "id": id, "process": {} });
    writeln!(stream, "{first}").unwrap();
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut has_said_ready = false;
    for line in lines {
        let heard: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if folder.join("ready").exists() && !has_said_ready {
            has_said_ready = true;
            stream.write_all(b"{\"type\":\"ready\"}\n").unwrap();
        }
        match heard["type"].as_str().unwrap() {
            "ping" if !folder.join("deaf").exists() => {
                let answer = json!({
                    "type": "pong", "id": heard["id"], "heap_used": 5 << 20, "heap_total": 6 << 20, "rss": 7 << 20,
                    "event_loop": 0.25,
                });
                writeln!(stream, "{answer}").unwrap();
            }
            "shutdown" => {
                stream
                    .write_all(b"{\"type\":\"shutdown\",\"heard\":true}\n")
                    .unwrap();
                std::process::exit(0);
            }
            _ => {}
        }
    }
}

/// What [`Run::serving`] starts, in this same program: a worker that serves until it is killed.
pub(crate) fn process_main() {
    let Ok(prefix) = std::env::var(PREFIX_VARIABLE) else {
        return;
    };
    let socket = PathBuf::from(std::env::var_os("PORTICO_HOST").unwrap());
    let mut application = Application::start(&socket, &prefix, "it").unwrap();
    if let Ok(folder) = std::env::var(SPEAKER_VARIABLE) {
        std::thread::spawn(move || speak(Path::new(&folder)));
    }
    for _ in 0..6000 {
        std::thread::sleep(Duration::from_millis(20));
        // The host was killed: another one may come.
        if application.has_ended() && UnixStream::connect(&socket).is_ok() {
            application = Application::start(&socket, &prefix, "it").unwrap();
        }
    }
}

pub(crate) fn lives(pid: i32) -> bool {
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok()
}

#[test]
fn a_worker_that_is_killed_under_load_is_replaced_at_once_and_costs_only_what_it_had_taken() {
    let port = free_port();
    let run = Run::serving(2, &format!("http://*:{port}/"));
    wait_for("two workers", || run.pids().len() == 2);
    let clients = 2;
    let load = Load::start(port, clients);
    let kills = 3;
    for _ in 0..kills {
        load.wait_for_more(20);
        let before = run.pids();
        kill_process(Pid::from_raw(before[0]).unwrap(), Signal::KILL).unwrap();
        wait_for("another worker", || {
            let now = run.pids();
            now.len() == 2 && !now.contains(&before[0])
        });
    }
    load.wait_for_more(20);
    let failures = load.stop();
    assert!(failures.len() <= kills * clients, "{failures:?}");
    assert!(
        failures.iter().all(|failure| failure == "Ok(502)"),
        "{failures:?}"
    );
    assert_eq!(run.log().matches("SIGKILL").count(), kills, "{}", run.log());
}

#[test]
fn all_workers_are_replaced_under_load_and_no_request_fails() {
    let port = free_port();
    let run = Run::serving(2, &format!("http://*:{port}/"));
    wait_for("two workers", || run.pids().len() == 2);
    let load = Load::start(port, 2);
    for _ in 0..5 {
        load.wait_for_more(20);
        let before = run.pids();
        run.signal(Signal::HUP);
        wait_for("two other workers", || {
            let now = run.pids();
            now.len() == 2 && now.iter().all(|pid| !before.contains(pid))
        });
        wait_for("the ones before to end", || {
            before.iter().all(|pid| !lives(*pid))
        });
    }
    load.wait_for_more(20);
    let failures = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn the_exit_code_is_that_of_a_program_that_can_not_start_or_is_done() {
    for (program, expected) in [
        ("exit 3", 3),
        ("kill -SEGV $$", 128 + 11),
        ("true", 0),
        ("/nowhere/at-all", 127),
        ("missing.js", 1),
    ] {
        let mut run = Run::start(&[program], None);
        assert_eq!(
            run.wait_for_end(),
            Some(expected),
            "{program}: {}",
            run.log()
        );
    }
}

#[test]
fn output_of_several_workers_has_the_number_of_its_slot_and_nothing_is_lost_at_their_end() {
    let script = "echo out$PORTICO_INSTANCE; echo err >&2; printf last; exit 0; :";
    let mut run = Run::start(&["--instances", "2", script], None);
    assert_eq!(run.wait_for_end(), Some(0));
    let log = run.log();
    let mut lines: Vec<_> = log.lines().collect();
    lines.sort_unstable();
    let expected = [
        "0 | err", "0 | last", "0 | out0", "1 | err", "1 | last", "1 | out1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn what_a_program_has_started_ends_with_it_also_where_all_ignore_sigterm() {
    let script = "trap '' TERM; sleep 100 & echo $! $$; while :; do sleep 1; done; :";
    let mut run = Run::start(&[script], None);
    let mut pids = Vec::new();
    wait_for("the program", || {
        let log = run.log();
        pids = log.split_whitespace().flat_map(str::parse::<i32>).collect();
        pids.len() == 2
    });
    run.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(run.child.try_wait().unwrap(), None, "it is waited for");
    assert!(lives(pids[0]) && lives(pids[1]));
    // A second one: at once.
    run.signal(Signal::TERM);
    assert_eq!(run.wait_for_end(), Some(0));
    wait_for("all of them to end", || pids.iter().all(|pid| !lives(*pid)));
}

#[test]
fn workers_end_with_a_host_that_is_killed() {
    let port = free_port();
    let mut run = Run::serving(2, &format!("http://*:{port}/"));
    wait_for("two workers", || run.pids().len() == 2);
    let before = run.pids();
    assert_eq!(get(port, "/").unwrap().0, 200);
    run.child.kill().unwrap();
    wait_for("the workers to end", || {
        before.iter().all(|pid| !lives(*pid))
    });
}

#[test]
fn the_first_process_of_a_container_reaps_what_has_lost_its_parent() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root makes a container.
    }
    let folder = folder();
    let run = run(
        folder.path(),
        &["(sleep 0.2 &); sleep 1; grep -c '^State:.Z' /proc/[0-9]*/status; true; :"],
    );
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]);
    command.arg(run.get_program()).args(run.get_args());
    command.envs(
        run.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("/proc/1/status:0"),
        "{text} {:?}",
        output.stderr
    );
    assert!(!text.contains("status:1"), "a zombie is left: {text}");
    assert_eq!(output.status.code(), Some(0));
}
