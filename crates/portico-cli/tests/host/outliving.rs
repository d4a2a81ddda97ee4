//! What applications write, and workers that outlive their host.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::configured::{configure, ready, section, start, wait_for_workers};
use crate::harness::{Host, folder, free_port, get, wait_for};
use crate::load::Load;
use crate::running::lives;

/// Writes a number every 20 ms, from 0 on.
fn counter() -> String {
    let script = "n=0; while :; do echo n=$n; n=$((n+1)); sleep 0.02; done; :";
    format!("[[application]]\nname = \"counter\"\ncommand = {script:?}\n")
}

/// The numbers that the counter has written, by its log.
fn counted(host: &Host) -> Vec<u64> {
    let log = host.folder.path().join("state/logs/counter/0.log");
    let text = fs::read_to_string(log).unwrap_or_default();
    let numbers = text.lines().map(|line| line.rsplit_once("n=").unwrap().1);
    numbers.map(|number| number.parse().unwrap()).collect()
}

fn is_complete(numbers: &[u64]) -> bool {
    numbers
        .iter()
        .zip(0..)
        .all(|(number, index)| *number == index)
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn what_workers_write_is_in_logs_with_time_and_worker_and_the_last_words_too() {
    let script = "echo started; echo '{\"level\":30}'; echo oh >&2; printf 'last words'; sleep 0.3; kill -KILL $$; :";
    let text = format!(
        "[[application]]\nname = \"app\"\ncommand = {script:?}\nrapid_failures = 1\nlog_max_size = \"1KiB\"\n\
         [[application]]\nname = \"much\"\ncommand = \"i=0; while [ $i -lt 100 ]; do echo line $i of many; i=$((i+1)); done; sleep 100\"\n\
         log_max_size = \"1KiB\"\nlog_files = 2\n"
    );
    let host = start(folder(), &text);
    wait_for("the last words", || {
        host.done(&["logs", "app"]).contains("last words")
    });
    let logs = host.done(&["logs", "app", "--since", "1h"]);
    let mut lines = logs.lines();
    let mut next = || lines.next().unwrap().to_owned();
    let first = next();
    let (time, rest) = first.split_at(24);
    assert!(time.starts_with("20") && time.ends_with('Z'), "{first}");
    assert!(
        rest.starts_with(" 0:") && rest.ends_with(" out started"),
        "{first}"
    );
    assert!(logs.lines().any(|line| line == "{\"level\":30}"), "{logs}");
    assert!(logs.lines().any(|line| line.ends_with(" err oh")), "{logs}");
    let files = host.folder.path().join("state/logs/much");
    wait_for("the last line", || {
        let text = fs::read_to_string(files.join("0.log")).unwrap_or_default();
        text.contains("line 99 of many")
    });
    let count = fs::read_dir(&files).unwrap().count();
    assert_eq!(count, 3, "the log and two that were put behind");
    let last = host.done(&["logs", "much", "--lines", "3"]);
    let last: Vec<_> = last
        .lines()
        .map(|line| line.split(' ').nth(4).unwrap())
        .collect();
    assert_eq!(last, ["97", "98", "99"]);
    assert!(
        host.refused(1, &["logs", "none"])
            .contains("no application")
    );
}

#[test]
fn workers_go_on_when_their_host_is_killed_and_the_next_one_takes_them_over() {
    let port = free_port();
    let text = [section("app", port, "instances = 2"), counter()].concat();
    let mut host = start(folder(), &text);
    let before = wait_for_workers(&host, "app", 2);
    let counter = wait_for_workers(&host, "counter", 1);
    assert_eq!(get(port, "/").unwrap().0, 200);
    host.done(&["scale", "app", "3"]);
    let mut before = [before, wait_for_workers(&host, "app", 3)].concat();
    before.sort_unstable();
    before.dedup();
    wait_for("some numbers", || counted(&host).len() > 3);

    let file = host
        .folder
        .path()
        .join("portico.toml")
        .display()
        .to_string();
    host.crash_and_start(&["--config", &file]);
    assert_eq!(get(port, "/").unwrap().0, 200);
    let prefix = format!("http://*:{port}/");
    wait_for("all of them to register", || host.processes(&prefix) == 3);
    let mut after = wait_for_workers(&host, "app", 3);
    after.sort_unstable();
    assert_eq!(after, before);
    assert_eq!(ready(&host, "counter"), counter);
    // Nothing that was written meanwhile is lost.
    let count = counted(&host).len();
    wait_for("more numbers", || counted(&host).len() > count + 3);
    let numbers = counted(&host);
    assert!(is_complete(&numbers), "{numbers:?}");
    // They are looked after as before.
    kill(after[0]);
    wait_for("another worker", || {
        let now = ready(&host, "app");
        now.len() == 3 && !now.contains(&after[0])
    });
    host.done(&["reload", "app"]);
    let replaced = wait_for_workers(&host, "app", 3);
    assert!(replaced.iter().all(|pid| !before.contains(pid)));
    host.done(&["stop"]);
    // Those of the host before are reaped by the machine's first process, some time.
    wait_for("all of them to end", || {
        replaced.iter().chain(&counter).all(|pid| !lives(*pid))
    });
    assert!(!host.folder.path().join("host.workers").exists());
}

#[test]
fn workers_of_an_application_that_is_not_configured_any_more_end_when_the_next_host_starts() {
    let mut host = start(folder(), &counter());
    let pids = wait_for_workers(&host, "counter", 1);
    configure(&host.folder, "");
    let file = host
        .folder
        .path()
        .join("portico.toml")
        .display()
        .to_string();
    host.crash_and_start(&["--config", &file]);
    wait_for("it to end", || !lives(pids[0]));
}

#[test]
fn a_new_program_takes_over_workers_under_load_and_neither_a_request_nor_a_line_is_lost() {
    let port = free_port();
    let text = [section("app", port, "instances = 2"), counter()].concat();
    let mut host = start(folder(), &text);
    let mut before = wait_for_workers(&host, "app", 2);
    let counter = wait_for_workers(&host, "counter", 1);
    let load = Load::start(port, 2);
    load.wait_for_more(20);
    host.done(&["upgrade"]);
    load.wait_for_more(20);
    let mut after = wait_for_workers(&host, "app", 2);
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!(after, before);
    assert!(host.wait_for_end().success());
    host.done(&["reload", "app"]);
    let replaced = wait_for_workers(&host, "app", 2);
    assert!(replaced.iter().all(|pid| !before.contains(pid)));
    load.wait_for_more(20);
    assert_eq!(load.stop(), Vec::<String>::new());
    let count = counted(&host).len();
    wait_for("more numbers", || counted(&host).len() > count + 3);
    let numbers = counted(&host);
    assert!(is_complete(&numbers), "{numbers:?}");
    assert_eq!(ready(&host, "counter"), counter);
    kill(counter[0]);
    wait_for("another counter", || {
        let now = ready(&host, "counter");
        now.len() == 1 && now != counter
    });
    host.done(&["stop", "--drain", "0"]);
}
