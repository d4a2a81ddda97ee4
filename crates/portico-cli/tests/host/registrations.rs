//! Who may register what, and what a client gets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use serde_json::Value;

use crate::application::{Application, Process, register_line};
use crate::harness::{
    Host, PATIENCE, can_be_another_user, command, folder, free_port, get, wait_for,
};
use crate::other_builds::other_records;

const ANN: u32 = 10_001;
const BOB: u32 = 10_002;

fn say(host: &Host, lines: &str) -> Value {
    let mut stream = UnixStream::connect(host.socket()).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// The status of the answer to some bytes on a connection of their own.
fn status_of(port: u16, bytes: &str) -> u16 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line[9..12].parse().unwrap()
}

#[test]
fn status_counts_what_no_process_gets_by_its_reason() {
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = |path: &str| format!("http://*:{port}{path}");
    host.done(&["reserve", "add", &prefix("/later/"), "--everyone"]);
    let _one = Application::start(&host.socket(), &prefix("/1/"), "one").unwrap();
    for (count, status, target, fields) in [
        (1, 404, "/3/", "Host: a\r\n"),
        (2, 400, "http://user@a/1/", "Host: a\r\n"),
        (3, 400, "nonsense://a/1/", "Host: a\r\n"),
        (4, 421, "https://a/1/", "Host: a\r\n"),
        (5, 503, "/later/", "Host: a\r\n"),
        (6, 400, "/1/", "Host: a b\r\n"),
        (7, 400, "/1/", "Host: a\r\nno field\r\n"),
        (
            8,
            431,
            "/1/",
            &format!("Host: a\r\nX: {}\r\n", "x".repeat(20_000)),
        ),
    ] {
        for _ in 0..count {
            let request = format!("GET {target} HTTP/1.1\r\n{fields}\r\n");
            assert_eq!(status_of(port, &request), status, "{request}");
        }
    }
    // A client that leaves in the middle of a request has broken no rule.
    let mut left = TcpStream::connect(("127.0.0.1", port)).unwrap();
    left.write_all(b"GET /1/ HT").unwrap();
    left.shutdown(std::net::Shutdown::Write).unwrap();
    left.read_to_end(&mut Vec::new()).unwrap();
    let json = host.status();
    let counts = [
        "unrouted",
        "bad_target",
        "malformed",
        "misdirected",
        "unserved",
        "requests",
    ];
    let counts = counts.map(|name| json[name].as_u64().unwrap());
    assert_eq!(counts, [1, 5, 21, 4, 5, 0]);
    let text = host.done(&["status"]);
    for line in [
        "1 requests that no prefix matched (404)",
        "5 requests with a malformed target or Host (400)",
        "21 requests that break the rules of HTTP (400, 413, 431)",
        "4 requests for another host or scheme than their connection's (421)",
        "5 requests for a reserved prefix that no process has registered (503)",
    ] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}

#[test]
fn two_applications_share_a_port_by_prefix_and_the_rest_is_404() {
    let host = Host::start(&[]);
    let port = free_port();
    let one = Application::start(&host.socket(), &format!("http://*:{port}/1/"), "one").unwrap();
    let _two = Application::start(&host.socket(), &format!("http://*:{port}/2/"), "two").unwrap();
    assert_eq!(one.answer["type"], "registered");
    assert_eq!(one.answer["address"]["port"], port);
    assert_eq!(one.answer["keepAliveTimeout"], 5000);
    assert_eq!(get(port, "/1/x").unwrap(), (200, "one".into()));
    assert_eq!(get(port, "/2").unwrap(), (200, "two".into()));
    assert_eq!(get(port, "/3/").unwrap().0, 404);
    let status = host.status();
    assert_eq!(status["unrouted"], 1);
    assert_eq!(status["prefixes"][0]["requests"], 1);
    assert_eq!(status["prefixes"][0]["processes"][0]["program"], "one");
    drop(one);
    wait_for("one to be gone", || {
        host.processes(&format!("http://*:{port}/1/")) == 0
    });
    assert_eq!(get(port, "/2/").unwrap(), (200, "two".into()));
}

#[test]
fn a_thousand_prefixes_are_registered_and_served() {
    let host = Host::start(&[]);
    let port = free_port();
    let applications: Vec<_> = (0..1000)
        .map(|number| {
            let prefix = format!("http://*:{port}/{number}/");
            let mut stream = UnixStream::connect(host.socket()).unwrap();
            let line = register_line(&prefix, "many");
            stream.write_all(format!("{line}\n").as_bytes()).unwrap();
            let mut answer = String::new();
            BufReader::new(&stream).read_line(&mut answer).unwrap();
            assert!(answer.contains("registered"), "{answer}");
            stream
        })
        .collect();
    assert_eq!(host.status()["prefixes"].as_array().unwrap().len(), 1000);
    drop(applications);
    let prefix = format!("http://*:{port}/999/");
    wait_for("all to be gone", || host.processes(&prefix) == 0);
    let _one = Application::start(&host.socket(), &prefix, "one").unwrap();
    assert_eq!(get(port, "/999/").unwrap(), (200, "one".into()));
}

#[test]
fn what_is_wrong_with_a_registration_has_a_code_and_says_what_to_do() {
    let host = Host::start(&[]);
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let busy = taken.local_addr().unwrap().port();
    let port = free_port();
    let _application =
        Application::start(&host.socket(), &format!("http://*:{port}/"), "it").unwrap();
    let rows = [
        (
            register_line("http://*:8080", "it").replace("8080", "x"),
            "ERR_PORTICO_PREFIX_INVALID",
            "",
        ),
        (
            register_line(&format!("http://*:{busy}/"), "it"),
            "EADDRINUSE",
            "in use by another program",
        ),
        (
            register_line(&format!("https://*:{port}/"), "it"),
            "ERR_PORTICO_SCHEME_CONFLICT",
            "one scheme",
        ),
        (
            register_line(&format!("https://*:{}/", free_port()), "it"),
            "ERR_PORTICO_NO_CERTIFICATE",
            "portico cert add",
        ),
        (
            register_line("http://*:8080/", "it").replace("\"protocol\":2", "\"protocol\":9"),
            "ERR_PORTICO_PROTOCOL",
            "upgrade the host",
        ),
        (
            register_line("http://*:8080/", "it").replace("\"protocol\":2", "\"protocol\":0"),
            "ERR_PORTICO_PROTOCOL",
            "upgrade the application",
        ),
        (
            other_records("http://*:8080/"),
            "ERR_PORTICO_PROTOCOL",
            "install the same version of both",
        ),
        ("{}".into(), "ERR_PORTICO_REQUEST", "missing field"),
        (
            r#"{"type":"leave"}"#.into(),
            "ERR_PORTICO_REQUEST",
            "nothing is registered",
        ),
    ];
    for (line, code, part) in rows {
        let answer = say(&host, &format!("{line}\n"));
        assert_eq!(
            (&answer["type"], &answer["code"]),
            (&"error".into(), &code.into()),
            "{answer}"
        );
        assert!(
            answer["message"].as_str().unwrap().contains(part),
            "{answer}"
        );
    }
    let endless = "x".repeat(64 * 1024);
    assert_eq!(say(&host, &endless)["code"], "ERR_PORTICO_REQUEST");
}

#[test]
fn a_process_that_is_killed_is_noticed_and_its_queue_waits_for_the_next() {
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = format!("http://*:{port}/");
    let (mut process, answer) = Process::start(&host.socket(), &prefix, "first", None);
    assert_eq!(answer["type"], "registered");
    assert_eq!(
        host.status()["prefixes"][0]["processes"][0]["pid"],
        process.pid()
    );
    assert_eq!(get(port, "/").unwrap().1, "first");
    process.kill();
    wait_for("its death to be noticed", || host.processes(&prefix) == 0);
    assert!(host.log().contains("unregistered"), "{}", host.log());
    // Comes while no process serves, waits, and is answered by the next.
    let waiting = std::thread::spawn(move || get(port, "/").unwrap());
    wait_for("the request to wait", || {
        host.status()["prefixes"][0]["waiting"] == 1
    });
    let _next = Application::start(&host.socket(), &prefix, "second").unwrap();
    assert_eq!(waiting.join().unwrap(), (200, "second".into()));
}

#[test]
fn a_process_that_dies_with_requests_is_a_warning_that_counts_them() {
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = format!("http://*:{port}/");
    let (mut process, _) = Process::start(&host.socket(), &prefix, "first", None);
    let pid = Pid::from_raw(i32::try_from(process.pid()).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    // It runs on until each of its threads has heard of it.
    let state = format!("/proc/{}/stat", process.pid());
    wait_for("it to stop", || {
        std::fs::read_to_string(&state).unwrap().contains(") T ")
    });
    let waiting = std::thread::spawn(move || get(port, "/").unwrap());
    wait_for("the request to reach it", || {
        host.status()["prefixes"][0]["processes"][0]["in_flight"] == 1
    });
    process.kill();
    let _next = Application::start(&host.socket(), &prefix, "second").unwrap();
    assert_eq!(waiting.join().unwrap(), (200, "second".into()));
    let log = host.log();
    let line = log.lines().find(|line| line.contains("WARN"));
    let line = line.unwrap_or_else(|| panic!("no warning: {log}"));
    assert!(line.contains("0 got 502, 0 connections"), "{line}");
    assert!(line.contains("1 requests went on"), "{line}");
    assert!(line.contains(&format!("pid={}", process.pid())), "{line}");
}

#[test]
fn a_user_whose_connections_are_all_in_use_can_still_ask() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let host = Host::start(&[]);
    let mut idle: Vec<_> = (0..1200)
        .map(|_| UnixStream::connect(host.socket()).unwrap())
        .collect();
    assert_eq!(host.status()["phase"], "running");
    // Those that waited for longest have given way, and the others are open.
    let mut buffer = [0; 1];
    assert_eq!(idle[0].read(&mut buffer).unwrap(), 0);
    let last = idle.last_mut().unwrap();
    last.write_all(b"{\"type\":\"status\"}\n").unwrap();
    assert_eq!(last.read(&mut buffer).unwrap(), 1);
}

#[test]
fn one_user_cannot_take_all_of_the_hosts_descriptors() {
    if !can_be_another_user() {
        return;
    }
    let folder = folder();
    let file = folder.path().join("portico.toml");
    std::fs::write(&file, "[host]\nshards = 2\n").unwrap();
    let path = file.display().to_string();
    let host = Host::start_with(folder, &["--config", &path], Some(256));
    let port = free_port();
    let start = |number: u32| {
        let prefix = format!("http://*:{port}/{number}/");
        Process::start(&host.socket(), &prefix, "it", Some(ANN))
    };
    // An eighth of 256, 4 for each.
    let served: Vec<_> = (0..8).map(start).collect();
    for (_, answer) in &served {
        assert_eq!(answer["type"], "registered", "{answer}");
    }
    let (_process, answer) = start(8);
    assert_eq!(answer["code"], "ERR_PORTICO_LIMIT", "{answer}");
    let _idle: Vec<_> = (0..300)
        .map(|_| UnixStream::connect(host.socket()))
        .collect();
    assert_eq!(get(port, "/7/").unwrap(), (200, "it".into()));
    assert_eq!(host.processes(&format!("http://*:{port}/7/")), 1);
}

#[test]
fn two_users_share_a_port_and_reservations_decide() {
    if !can_be_another_user() {
        return;
    }
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = |path: &str| format!("http://*:{port}{path}");
    let start = |path: &str, user| Process::start(&host.socket(), &prefix(path), path, Some(user));
    let (_a, answer) = start("/a/", ANN);
    assert_eq!(answer["type"], "registered", "{answer}");
    let (_b, answer) = start("/b/", BOB);
    assert_eq!(answer["type"], "registered", "{answer}");
    assert_eq!(
        (get(port, "/a/").unwrap().1, get(port, "/b/").unwrap().1),
        ("/a/".into(), "/b/".into())
    );
    for path in ["/a/", "/a/deeper/"] {
        let (_process, answer) = start(path, BOB);
        assert_eq!(answer["code"], "ERR_PORTICO_PREFIX_TAKEN", "{answer}");
    }
    let (_low, answer) = Process::start(&host.socket(), "http://*:81/", "low", Some(ANN));
    assert_eq!(answer["code"], "EACCES", "{answer}");

    host.done(&["reserve", "add", &prefix("/c/"), "--user", &ANN.to_string()]);
    let (_c, answer) = start("/c/", BOB);
    assert_eq!(answer["code"], "ERR_PORTICO_PREFIX_RESERVED", "{answer}");
    let (_c, answer) = start("/c/", ANN);
    assert_eq!(answer["type"], "registered", "{answer}");
}

#[test]
fn what_a_process_says_of_itself_is_kept_up_to_a_length() {
    let host = Host::start(&[]);
    let port = free_port();
    for (path, characters, kept) in [("whole", 256, 256), ("cut", 257, 256)] {
        let prefix = format!("http://*:{port}/{path}/");
        let (program, node) = ("\u{e9}".repeat(characters), "\u{e8}".repeat(characters));
        let line = register_line(&prefix, &program).replace("20.0.0", &node);
        let mut stream = UnixStream::connect(host.socket()).unwrap();
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).unwrap();
        assert!(answer.contains("registered"), "{answer}");
        let status = host.status();
        let all = status["prefixes"].as_array().unwrap();
        let found = all.iter().find(|entry| entry["prefix"] == prefix);
        let process = &found.unwrap()["processes"][0];
        assert_eq!(process["program"], "\u{e9}".repeat(kept));
        assert_eq!(process["node"], "\u{e8}".repeat(kept));
    }
}

#[test]
fn a_refusal_has_so_many_characters_of_the_log() {
    let host = Host::start(&[]);
    let refused = |prefix: &str| {
        let answer = say(&host, &format!("{}\n", register_line(prefix, "it")));
        assert_eq!(answer["type"], "error", "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    };
    let message = refused("short");
    wait_for("the line", || host.log().contains(&message));
    assert!(host.log().contains("\"short\" refused: "), "{}", host.log());
    let told = refused(&"x".repeat(20_000));
    assert!(!told.is_empty());
    // A quotation mark comes first.
    let kept = format!("\"{}", "x".repeat(499));
    wait_for("the beginning", || host.log().contains(&kept));
    assert!(!host.log().contains(&"x".repeat(500)));
    assert_eq!(host.status()["phase"], "running");
}

#[test]
fn a_host_has_64_shards_and_not_one_more() {
    let folder = folder();
    let file = folder.path().join("portico.toml");
    let path = file.display().to_string();
    std::fs::write(&file, "[host]\nshards = 65\n").unwrap();
    let refused = command(folder.path(), &["host", "--config", &path])
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("must be 0 to 64, not 65"), "{text}");
    std::fs::write(&file, "[host]\nshards = 64\n").unwrap();
    let host = Host::start_in(folder, &["--config", &path]);
    let port = free_port();
    let it = Application::start(&host.socket(), &format!("http://*:{port}/"), "it").unwrap();
    assert_eq!(it.answer["shards"], 64);
    for _ in 0..64 {
        assert_eq!(get(port, "/").unwrap(), (200, "it".into()));
    }
}
