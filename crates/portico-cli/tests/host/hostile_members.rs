//! Processes that registered and turn what they were given against the host.

use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use portico_channel::CommandWriter;
use portico_channel::layout::command;
use portico_channel::shared::ApplicationEnd;
use portico_sys::{Errno, Ringer, descriptors};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::Value;

use crate::application::{Application, register_line};
use crate::harness::{Host, free_port, get, wait_for};

/// A registration whose descriptors are used as they are.
struct Raw {
    control: UnixStream,
    /// The bell, then for each shard memory and ringer.
    descriptors: Vec<OwnedFd>,
}

impl Raw {
    fn register(host: &Host, prefix: &str) -> Self {
        let control = UnixStream::connect(host.socket()).unwrap();
        let line = format!("{}\n", register_line(prefix, "raw"));
        descriptors::send(&control, line.as_bytes(), &[]).unwrap();
        let (mut answer, mut descriptors) = (vec![0; 4096], Vec::new());
        let count = descriptors::receive(&control, &mut answer, &mut descriptors).unwrap();
        let answer: Value = serde_json::from_slice(&answer[..count]).unwrap();
        assert_eq!(answer["type"], "registered", "{answer}");
        Self {
            control,
            descriptors,
        }
    }

    fn memories(&self) -> impl Iterator<Item = &OwnedFd> {
        self.descriptors.iter().skip(1).step_by(2)
    }

    /// Says that this process sleeps, so that the host wakes it for the next event.
    fn pretend_to_sleep(&self) {
        for memory in self.memories() {
            rustix::io::pwrite(memory, &1u32.to_ne_bytes(), SLEEPER).unwrap();
        }
    }
}

/// Place of the application's sleeper in the memory.
const SLEEPER: u64 = 640;

fn make_blocking(descriptor: impl AsFd) {
    let flags = fcntl_getfl(&descriptor).unwrap();
    fcntl_setfl(&descriptor, flags - OFlags::NONBLOCK).unwrap();
}

#[test]
fn a_member_that_makes_its_descriptors_blocking_and_full_holds_up_no_other() {
    let host = Host::start(&[]);
    let port = free_port();
    let _good = Application::start(&host.socket(), &format!("http://*:{port}/good/"), "good");
    let raw = Raw::register(&host, &format!("http://*:{port}/raw/"));
    for descriptor in &raw.descriptors {
        // As much as a counter holds. Where it is no counter it is eight bytes.
        let _ = rustix::io::write(descriptor, &(u64::MAX - 1).to_ne_bytes());
        make_blocking(descriptor);
    }
    let mut clients = Vec::new();
    for number in 0..400 {
        raw.pretend_to_sleep();
        let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        use std::io::Write;
        write!(client, "GET /raw/{number} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        clients.push(client);
        if number % 100 == 0 {
            assert_eq!(get(port, "/good/").unwrap(), (200, "good".into()));
        }
    }
    let status = host.status();
    let requests = |prefix: &Value| prefix["requests"].as_u64().unwrap();
    let all: u64 = status["prefixes"]
        .as_array()
        .unwrap()
        .iter()
        .map(requests)
        .sum();
    assert!(all >= 4, "{status}");
    assert_eq!(get(port, "/good/").unwrap(), (200, "good".into()));
    assert_eq!(
        host.done(&["stop", "--drain", "0"]),
        "the host has stopped\n"
    );
}

#[test]
fn a_member_that_shrinks_its_memory_or_punches_holes_into_it_holds_up_no_other() {
    let host = Host::start(&[]);
    let port = free_port();
    let _good = Application::start(&host.socket(), &format!("http://*:{port}/good/"), "good");
    let raw = Raw::register(&host, &format!("http://*:{port}/raw/"));
    for memory in raw.memories() {
        assert_eq!(rustix::fs::ftruncate(memory, 0), Err(Errno::PERM));
        let size = rustix::fs::fstat(memory).unwrap().st_size;
        let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(memory, mode, 0, u64::try_from(size).unwrap()).unwrap();
    }
    let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    {
        use std::io::Write;
        client
            .write_all(b"GET /raw/ HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
    }
    assert_eq!(get(port, "/good/").unwrap(), (200, "good".into()));
    drop(raw.control);
    wait_for("it to be gone", || {
        host.processes(&format!("http://*:{port}/raw/")) == 0
    });
    assert_eq!(get(port, "/good/").unwrap(), (200, "good".into()));
}

#[test]
fn a_member_that_does_not_finish_a_record_is_dropped_and_told_why() {
    let host = Host::start(&[]);
    let port = free_port();
    let _good = Application::start(&host.socket(), &format!("http://*:{port}/good/"), "good");
    let mut raw = Raw::register(&host, &format!("http://*:{port}/raw/"));
    let mut descriptors = raw.descriptors.drain(1..3);
    let mut end = ApplicationEnd::open(descriptors.next().unwrap()).unwrap();
    let ringer = Ringer::from(descriptors.next().unwrap());
    let mut commands = CommandWriter::new();
    commands.write(0, command::Part { piece_bytes: 4 }, &[b"abcd"]);
    assert!(end.commands.write(commands.as_bytes()).unwrap());
    let began = Instant::now();
    ringer.ring();
    raw.control
        .set_read_timeout(Some(Duration::from_secs(90)))
        .unwrap();
    let mut line = String::new();
    BufReader::new(&raw.control).read_line(&mut line).unwrap();
    assert!(began.elapsed() >= Duration::from_secs(29), "{line}");
    let why = "it began to write a record and did not finish it within 30 s";
    let told: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(told["code"], "ERR_PORTICO_CHANNEL", "{line}");
    assert!(told["message"].as_str().unwrap().ends_with(why), "{line}");
    let logged = format!("http://*:{port}/raw/ dropped: {why}");
    assert!(host.log().contains(&logged), "{}", host.log());
    assert_eq!(get(port, "/good/").unwrap(), (200, "good".into()));
}

#[test]
fn descriptors_that_are_sent_to_the_host_are_refused() {
    if !descriptors::can_be_refused() {
        eprintln!("not tested: this kernel can't refuse descriptors (Linux 6.16 can)");
        return;
    }
    let host = Host::start(&[]);
    let visitor = UnixStream::connect(host.socket()).unwrap();
    let sent = descriptors::send(&visitor, b"{", &[visitor.as_fd()]);
    assert_eq!(sent, Err(Errno::PERM));
    let raw = Raw::register(&host, &format!("http://*:{}/", free_port()));
    let rung = raw.descriptors.iter().skip(2).step_by(2);
    for end in rung.chain([&OwnedFd::from(raw.control.try_clone().unwrap())]) {
        let sent = descriptors::send(end, b"x", &[end.as_fd()]);
        assert_eq!(sent, Err(Errno::PERM));
    }
    // Not even bytes where only the host rings.
    let sent = descriptors::send(&raw.descriptors[0], b"x", &[]);
    assert_eq!(sent, Err(Errno::PIPE));
}
