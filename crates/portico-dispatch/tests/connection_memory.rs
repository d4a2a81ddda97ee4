//! What one connection can make the host hold. Alone in its process: resident memory is measured.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use portico_dispatch::QueueOptions;
use support::{Host, until};

const CLIENTS: usize = 24;
/// More than the host hands over at once.
const REQUESTS: usize = 32;
const BOUND: usize = 4 << 20;

/// Resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn a_connection_that_pipelines_and_reads_nothing_costs_four_mebibytes_at_most() {
    let mut host = Host::new();
    // The host keeps a copy of each head.
    host.route(
        "/",
        1,
        QueueOptions {
            retry_safe: true,
            ..QueueOptions::default()
        },
    );
    let mut app = host.app(1);
    let head = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(12 * 1024)
    );
    // Its first answer never comes, so that the kernel gets none of the others; each of those fills its window, and the
    // largest record goes beyond it.
    let pieces = [65_536, 65_536, 65_536, 65_400, 128 * 1024].map(|bytes| vec![7u8; bytes]);
    let mut other = host.connect();
    let before = resident();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = host.connect();
        client.send_what_fits(&head.repeat(REQUESTS));
        let first = app.request();
        // Until the host has nothing more of it to say: another one's request comes first, again and again.
        let mut rounds_without = 0;
        while rounds_without < 20 {
            other.get("/other");
            rounds_without += 1;
            loop {
                let request = app.request();
                if request.token != first.token {
                    app.answer(&request, "other");
                    break;
                }
                rounds_without = 0;
                app.chunked_head(&request);
                for piece in &pieces {
                    app.data(&request, piece, 0);
                }
            }
            // What finds no room in the channel is sent when there is some.
            until(|| {
                app.take();
                other.has_input()
            });
            assert_eq!(other.answer().text(), "other");
        }
        clients.push(client);
    }
    let more = resident().saturating_sub(before) / CLIENTS;
    assert!(more <= BOUND, "{} KiB for each connection", more >> 10);
    assert!(more >= BOUND / 4, "{} KiB: it held no answers", more >> 10);
}
