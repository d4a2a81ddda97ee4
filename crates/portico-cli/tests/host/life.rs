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
fn a_broken_state_file_is_told_and_kept_aside() {
    let folder = folder();
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("state.json"), "{ not json").unwrap();
    let host = Host::start_in(folder, &[]);
    assert!(host.log().contains("state.json.broken-1"), "{}", host.log());
    let kept = fs::read_to_string(state.join("state.json.broken-1")).unwrap();
    assert_eq!(kept, "{ not json");
}
