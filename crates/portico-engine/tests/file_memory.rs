//! What a slow reader of a large file costs: alone in its process, whose memory is measured.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use portico_engine::{Answer, FileRange, ListenerOptions, Offer, Offered, Protocols};
use portico_engine::{Responder, Segment};
use support::{Server, send};

const LENGTH: u64 = 100 * 1024 * 1024;

struct Large(Arc<OwnedFd>);

impl Responder for Large {
    fn offer(&mut self, _: &Offer<'_>) -> Offered {
        let range = FileRange::new(Arc::clone(&self.0), 0, LENGTH);
        Offered::Answered(Answer {
            status: 200,
            fields: Vec::new(),
            has_date: false,
            body: vec![Segment::File(range)],
            keep_alive: true,
        })
    }
}

/// Private memory of the process, KiB: neither pages of files nor of shared memory.
fn private_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let number = line.unwrap().split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}

#[test]
fn slow_readers_of_a_large_file_cost_no_memory() {
    let path = std::env::temp_dir().join(format!("portico-range-{}", std::process::id()));
    let file = std::fs::File::create_new(&path).unwrap();
    let for_reading = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.set_len(LENGTH).unwrap();
    let mut server = Server::with(ListenerOptions {
        protocols: Protocols {
            http1: true,
            http2: true,
        },
        ..ListenerOptions::default()
    });
    server.responder = Some(Box::new(Large(Arc::new(for_reading.into()))));
    let before = private_kib();
    let mut most = before;
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        // Pipelined: what waits for its turn costs nothing either.
        send(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(4));
    }
    let mut piece = vec![0; 100_000];
    for _ in 0..20 {
        server.settle_fast();
        for client in &mut clients {
            client.read_exact(&mut piece).unwrap();
        }
        most = most.max(private_kib());
    }
    let grown = most - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
    let sent = server.shard.counters().bytes_written;
    assert!(
        (40_000_000..20 * LENGTH).contains(&sent),
        "{sent} bytes sent"
    );
}
