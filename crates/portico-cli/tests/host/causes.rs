//! Why workers are replaced, and what they may say of themselves.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::configured::{ready, section, section_with, start, wait_for_workers};
use crate::harness::{Host, folder, free_port, get, wait_for};
use crate::load::Load;
use crate::running::SPEAKER_VARIABLE;

fn speaker(folder: &Path) -> String {
    format!(", {SPEAKER_VARIABLE} = {folder:?}")
}

fn worker(host: &Host) -> Value {
    let all: Value = serde_json::from_str(&host.done(&["describe", "app", "--json"])).unwrap();
    all["workers"][0].clone()
}

#[test]
fn workers_are_replaced_by_each_cause_under_load_and_no_request_fails() {
    for (cause, said) in [
        ("max_age = \"1s\"", "s old; it is replaced"),
        ("max_requests = 20", "requests; it is replaced"),
        ("max_memory = \"64KiB\"", "MiB of memory; it is replaced"),
        (
            "max_heap = \"1MiB\"",
            "MiB in JavaScript's heap; it is replaced",
        ),
    ] {
        let (port, words) = (free_port(), folder());
        let text = section_with(
            "app",
            port,
            &speaker(words.path()),
            &format!("{cause}\ninstances = 2"),
        );
        let host = start(folder(), &text);
        let mut before = wait_for_workers(&host, "app", 2);
        let load = Load::start(port, 2);
        for _ in 0..2 {
            wait_for("other workers", || {
                let now = ready(&host, "app");
                now.len() == 2 && now.iter().all(|pid| !before.contains(pid))
            });
            load.wait_for_more(20);
            before = wait_for_workers(&host, "app", 2);
        }
        assert_eq!(load.stop(), Vec::<String>::new(), "{cause}");
        assert!(host.log().contains(said), "{cause}: {}", host.log());
        assert!(!host.log().contains("ended by itself"), "{cause}");
    }
}

#[test]
fn a_worker_that_is_ready_when_it_says_so_gets_no_request_before_and_its_predecessor_serves_on() {
    let (port, words) = (free_port(), folder());
    let text = section_with("app", port, &speaker(words.path()), "wait_ready = true");
    let host = start(folder(), &text);
    let prefix = format!("http://*:{port}/");
    wait_for("it to register", || host.processes(&prefix) == 1);
    let request = std::thread::spawn(move || get(port, "/").unwrap().0);
    wait_for("the request to wait", || {
        host.status()["prefixes"][0]["waiting"] == 1
    });
    assert_eq!(worker(&host)["state"], "starting");
    assert!(!request.is_finished());
    fs::write(words.path().join("ready"), "").unwrap();
    assert_eq!(request.join().unwrap(), 200);
    let before = wait_for_workers(&host, "app", 1);
    // The next one says nothing for a while.
    fs::remove_file(words.path().join("ready")).unwrap();
    let load = Load::start(port, 2);
    let reload = std::thread::scope(|scope| {
        let reload = scope.spawn(|| host.portico(&["reload", "app"]));
        wait_for("two of them to register", || host.processes(&prefix) == 2);
        load.wait_for_more(20);
        assert_eq!(ready(&host, "app"), before);
        fs::write(words.path().join("ready"), "").unwrap();
        reload.join().unwrap()
    });
    assert!(reload.status.success(), "{reload:?}");
    assert_ne!(ready(&host, "app"), before);
    assert_eq!(load.stop(), Vec::<String>::new());
}

#[test]
fn a_worker_says_how_it_is_and_is_killed_when_its_event_loop_does_not_turn() {
    let (port, words) = (free_port(), folder());
    let text = section_with("app", port, &speaker(words.path()), "hang_timeout = \"2s\"");
    let host = start(folder(), &text);
    let before = wait_for_workers(&host, "app", 1);
    wait_for("an answer", || worker(&host)["heap_used_bytes"] == 5 << 20);
    assert_eq!(worker(&host)["event_loop_percent"], 25);
    assert!(worker(&host)["memory_bytes"].as_u64().unwrap() > 100_000);
    fs::write(words.path().join("deaf"), "").unwrap();
    wait_for("another worker", || {
        let now = ready(&host, "app");
        now.len() == 1 && now != before
    });
    // It has never answered, so it is left alone.
    assert!(
        host.log().contains("has not turned its event loop"),
        "{}",
        host.log()
    );
}

#[test]
fn a_program_that_listens_to_messages_is_told_to_end_by_one() {
    let (port, words) = (free_port(), folder());
    let text = section_with(
        "app",
        port,
        &speaker(words.path()),
        "shutdown_message = true",
    );
    let host = start(
        folder(),
        &[
            text,
            section("other", free_port(), "shutdown_message = true"),
        ]
        .concat(),
    );
    wait_for_workers(&host, "app", 1);
    wait_for_workers(&host, "other", 1);
    wait_for("a connection", || worker(&host)["heap_used_bytes"].is_u64());
    host.done(&["stop", "app"]);
    assert!(
        host.log().contains("exit code 0 application=\"app\""),
        "{}",
        host.log()
    );
    // One that has no such connection gets the signal.
    host.done(&["stop", "other"]);
    assert!(
        host.log().contains("SIGTERM application=\"other\""),
        "{}",
        host.log()
    );
}
