//! What a client that does not read costs. Alone in its process: resident memory is measured.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::io::Read;

use portico_channel::layout::{command, event, response_flag as flag};
use support::{Host, resident};

#[test]
fn a_client_that_does_not_read_costs_a_window_and_holds_up_no_other() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut slow = host.connect();
    slow.get("/slow");
    let request = app.request();
    let total: usize = 1 << 30;
    let length = total as u64;
    app.head(&request, 200, flag::CONTENT_LENGTH, "", b"", length);
    let piece = vec![9u8; 4 << 20];
    let before = resident();
    let mut sent = 0;
    // As a well-behaved program: it waits for the acknowledgement of each piece.
    let mut given = 0;
    let give = |app: &mut support::App, given: &mut usize| {
        let end = if *given + piece.len() == total {
            flag::END
        } else {
            0
        };
        let mut writer = portico_channel::CommandWriter::new();
        let data = command::Data {
            token: request.token,
            sequence: request.sequence,
            body_bytes: piece.len() as u32,
        };
        writer.write(flag::ACK | flag::EXTERNAL | end, data, &[]);
        app.engine
            .submit(writer.as_bytes(), Some(piece.as_slice().into()))
            .unwrap();
        *given += piece.len();
    };
    give(&mut app, &mut given);
    // Meanwhile others are served, over and over.
    let mut other = host.connect();
    for _ in 0..50 {
        other.get("/other");
        let request = app.request();
        app.answer(&request, "other");
        assert_eq!(other.answer().text(), "other");
    }
    assert!(!app.has(event::FLUSHED), "the client has not read it");
    let head = slow.head();
    assert!(head.contains(&format!("Content-Length: {length}")));
    let mut stream = slow.stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        let mut total_read = 0usize;
        while total_read < total {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0 && buffer[0] == 9 && buffer[count - 1] == 9);
            total_read += count;
        }
    });
    let mut most = 0;
    while given < total {
        app.next(event::FLUSHED);
        sent += piece.len();
        give(&mut app, &mut given);
        most = most.max(resident());
    }
    while !reader.is_finished() {
        app.poll(std::time::Duration::from_millis(20));
    }
    reader.join().unwrap();
    assert!(sent > 0);
    assert!(
        most < before + (64 << 20),
        "{} MiB more",
        (most - before) >> 20
    );
    slow.get("/again");
    let request = app.request();
    app.answer(&request, "again");
    assert_eq!(slow.answer().text(), "again");
}
