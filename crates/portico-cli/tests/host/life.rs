//! Start, stop, and what happens when two want the same.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use crate::application::Application;
use crate::harness::{Host, command, folder, free_port, get, wait_for};

#[test]
fn a_second_host_is_refused_and_one_on_demand_ends_quietly() {
    let host = Host::start(&[]);
    let error = host.refused(1, &["host"]);
    let pid = host.child.id();
    assert!(
        error.contains(&format!("(process {pid})")) && error.contains("portico stop"),
        "{error}"
    );
    let quiet = host.portico(&["host", "--on-demand"]);
    assert!(
        quiet.status.success() && quiet.stderr.is_empty(),
        "{quiet:?}"
    );
}

#[test]
fn what_a_killed_host_left_behind_is_replaced() {
    let mut host = Host::start(&[]);
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    assert!(host.socket().exists() && UnixStream::connect(host.socket()).is_err());
    let folder = std::mem::replace(&mut host.folder, folder());
    Host::start_in(folder, &[]).done(&["status"]);
}

#[test]
fn of_many_hosts_started_on_demand_one_stays_and_ends_when_it_is_not_needed() {
    let folder = folder();
    let file = folder.path().join("portico.toml");
    fs::write(&file, "[host]\nidle_exit = \"1s\"\n").unwrap();
    let path = file.display().to_string();
    let arguments = ["host", "--on-demand", "--config", &path];
    let mut children: Vec<_> = (0..6)
        .map(|_| {
            command(folder.path(), &arguments)
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let socket = folder.path().join("host.sock");
    wait_for("a host", || UnixStream::connect(&socket).is_ok());
    let application =
        Application::start(&socket, &format!("http://*:{}/", free_port()), "it").unwrap();
    let mut running = |count: usize| {
        wait_for("the others to end", || {
            let ended = |child: &mut std::process::Child| child.try_wait().unwrap().is_some();
            let ended = children.iter_mut().map(ended).filter(|ended| *ended);
            ended.count() + count == 6
        });
    };
    running(1);
    // Longer than `idle_exit`: it is needed.
    std::thread::sleep(Duration::from_millis(1500));
    running(1);
    drop(application);
    running(0);
    assert!(!socket.exists());
    assert!(
        children
            .iter_mut()
            .all(|child| child.wait().unwrap().success())
    );
}

#[test]
fn a_host_that_stops_finishes_what_it_has_and_refuses_the_rest() {
    let mut host = Host::start(&[]);
    let port = free_port();
    let application =
        Application::start(&host.socket(), &format!("http://*:{port}/"), "it").unwrap();
    assert_eq!(get(port, "/").unwrap(), (200, "it".into()));
    assert_eq!(
        host.done(&["stop", "--drain", "5"]),
        "the host has stopped\n"
    );
    assert!(host.wait_for_end().success());
    assert!(get(port, "/").is_err());
    assert!(!host.socket().exists());
    drop(application);
}

#[test]
fn a_signal_ends_the_host_too() {
    let mut host = Host::start(&[]);
    let pid = rustix::process::Pid::from_child(&host.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(host.wait_for_end().success());
    assert!(host.log().contains("the host has ended"));
}

#[test]
fn a_host_does_not_start_without_the_reservations_of_a_broken_state_file() {
    let folder = folder();
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    let file = state.join("state.json");
    let starts = || {
        let output = command(folder.path(), &["host"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    fs::write(&file, "{ not json").unwrap();
    let error = starts();
    assert!(
        error.contains("can't be understood") && error.contains("state.json"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ not json");
    // No process ever writes to it.
    fs::remove_file(&file).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(starts().contains("no regular file"));
}

#[test]
fn a_host_that_is_started_on_purpose_takes_the_place_of_one_on_demand() {
    let folder = folder();
    let mut demanded = command(folder.path(), &["host", "--on-demand"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let socket = folder.path().join("host.sock");
    wait_for("a host", || UnixStream::connect(&socket).is_ok());
    let port = free_port();
    let application = Application::start(&socket, &format!("http://*:{port}/"), "it").unwrap();
    let host = Host::start_in(folder, &[]);
    wait_for("the other one to end", || {
        demanded.try_wait().unwrap().is_some()
    });
    assert!(demanded.wait().unwrap().success());
    wait_for("the new one to answer", || {
        host.portico(&["status"]).status.success()
    });
    assert_eq!(host.status()["on_demand"], false);
    assert_eq!(host.status()["pid"], host.child.id());
    let log = host.log();
    assert!(log.contains("an application has started"), "{log}");
    drop(application);
}
