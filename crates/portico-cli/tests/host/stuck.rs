//! A host of which a thread is stuck: a debugger holds it, as whatever a thread must not wait for would.

use std::fs;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use rustix::process::{Signal, kill_process};

use crate::application::Application;
use crate::harness::{Host, free_port, get};

/// A thread of a child that does not go on. (Who holds it is a thread too, and stays to the end.)
struct Held {
    debugger: JoinHandle<Option<i32>>,
}

impl Held {
    fn hold(host: &Host, name: &str) -> Self {
        let thread = thread_of(host.child.id(), name);
        let (held, is_held) = channel();
        let debugger = std::thread::spawn(move || {
            ptrace::seize(thread, ptrace::Options::empty()).unwrap();
            ptrace::interrupt(thread).unwrap();
            waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
            held.send(()).unwrap();
            match waitpid(thread, Some(WaitPidFlag::__WALL)) {
                Ok(WaitStatus::Exited(_, code)) => Some(code),
                _ => None,
            }
        });
        is_held.recv().unwrap();
        Self { debugger }
    }

    /// Waits for the thread's end, which is the process's. Its exit code.
    fn end(self) -> Option<i32> {
        self.debugger.join().unwrap()
    }
}

fn thread_of(process: u32, name: &str) -> Pid {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let found = threads.flatten().find(|thread| {
        let comm = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        comm.trim_end() == name
    });
    let found = found.unwrap_or_else(|| panic!("no thread {name}"));
    Pid::from_raw(found.file_name().to_str().unwrap().parse().unwrap())
}

fn assert_ended_as_stuck(host: &Host, held: Held, name: &str) {
    assert_eq!(held.end(), Some(4), "{}", host.log());
    let told = format!("{name} is stuck");
    assert!(host.log().contains(&told), "{}", host.log());
}

#[test]
fn term_ends_a_host_whose_shard_is_stuck() {
    let host = Host::start(&[]);
    let held = Held::hold(&host, "portico-0");
    kill_process(rustix::process::Pid::from_child(&host.child), Signal::TERM).unwrap();
    assert_ended_as_stuck(&host, held, "portico-0");
}

#[test]
fn a_host_whose_shard_is_stuck_ends_by_itself_and_those_who_wait_for_an_answer_are_told() {
    let host = Host::start(&[]);
    let held = Held::hold(&host, "portico-0");
    let error = host.refused(1, &["stop", "--drain", "0"]);
    assert!(error.contains("ended before it answered"), "{error}");
    assert_ended_as_stuck(&host, held, "portico-0");
}

#[test]
fn a_host_serves_while_its_control_side_is_stuck_and_term_ends_it() {
    let host = Host::start(&[]);
    let port = free_port();
    let _application =
        Application::start(&host.socket(), &format!("http://*:{port}/"), "it").unwrap();
    let held = Held::hold(&host, "portico");
    assert_eq!(get(port, "/").unwrap(), (200, "it".into()));
    let error = host.refused(1, &["status"]);
    let advice = format!("`kill {}` ends it", host.child.id());
    assert!(
        error.contains("does not answer") && error.contains(&advice),
        "{error}"
    );
    kill_process(rustix::process::Pid::from_child(&host.child), Signal::TERM).unwrap();
    assert_ended_as_stuck(&host, held, "the control side (portico)");
}
