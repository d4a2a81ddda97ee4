//! Running out of descriptors. Alone in its process, since the limit is the process's.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::time::{Duration, Instant};

use portico_channel::layout::event;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Server, read_answer, send};

#[test]
fn accepting_pauses_without_descriptors_and_goes_on_later() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(3),
            ..limit
        },
    )
    .unwrap();
    let error = server.next(event::ACCEPT_ERROR);
    let error = error.read::<event::AcceptError>();
    assert_eq!(error.listener, server.listener.0);
    assert_eq!(error.errno, portico_sys::Errno::MFILE.raw_os_error() as u32);
    // It is no busy loop: within the pause nothing happens.
    let start = Instant::now();
    let mut turns = 0;
    while start.elapsed() < Duration::from_millis(350) {
        server.turn(Duration::from_millis(50));
        turns += 1;
    }
    assert!(turns < 30, "{turns} turns");
    setrlimit(Resource::Nofile, limit).unwrap();
    let request = server.request();
    server.answer(&request, b"at last");
    assert_eq!(read_answer(&mut client).1, b"at last");
}
