//! What the TLS crate costs, in memory: server side of handshakes, small records, idle connections.
//! `cargo run --release -p portico-tls --example handshake_bench [seconds per row [rows that contain this]]`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Issued, TLS12, TLS13, client_config, names, options, params, self_signed};
use portico_tls::{Connection, ContextOptions, ServerNames};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, SupportedProtocolVersion};

/// A handshake that counts the time spent in the server.
fn handshake(
    config: &Arc<ClientConfig>,
    names: &Arc<ServerNames>,
    spent: &mut Duration,
) -> (ClientConnection, Connection) {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut output = Vec::with_capacity(8_192);
    let mut plaintext = Vec::new();
    let mut input = Vec::with_capacity(8_192);
    let start = Instant::now();
    let mut server = Connection::new(Arc::clone(names), false);
    *spent += start.elapsed();
    loop {
        input.clear();
        while client.wants_write() {
            client.write_tls(&mut input).unwrap();
        }
        if input.is_empty() {
            return (client, server);
        }
        output.clear();
        let start = Instant::now();
        server
            .handle_input(&mut input, &mut plaintext, &mut output)
            .unwrap();
        *spent += start.elapsed();
        let mut rest = &output[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            client.process_new_packets().unwrap();
        }
    }
}

fn handshakes(
    what: &str,
    seconds: f64,
    names: &Arc<ServerNames>,
    versions: &[&'static SupportedProtocolVersion],
    resumed: bool,
) {
    let fixed = Arc::new(client_config(versions, None));
    let begin = Instant::now();
    let mut times = Vec::new();
    while begin.elapsed().as_secs_f64() < seconds || times.len() < 10 {
        let fresh;
        let config = if resumed {
            &fixed
        } else {
            fresh = Arc::new(client_config(versions, None));
            &fresh
        };
        let mut spent = Duration::ZERO;
        let (_, server) = handshake(config, names, &mut spent);
        if server.session_info().unwrap().resumed == resumed {
            times.push(spent);
        }
        let start = Instant::now();
        drop(server);
        if let Some(last) = times.last_mut() {
            *last += start.elapsed();
        }
    }
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1e6;
    println!(
        "{what:44} {median:9.1} us  ({} handshakes, lowest {:.1})",
        times.len(),
        times[0].as_secs_f64() * 1e6
    );
}

/// A request of 200 bytes decrypted and an answer of 200 bytes encrypted; then 16 KB answers.
fn records(
    what: &str,
    seconds: f64,
    names: &Arc<ServerNames>,
    versions: &[&'static SupportedProtocolVersion],
) {
    const ROUND: usize = 200;
    let config = Arc::new(client_config(versions, None));
    let (mut client, mut server) = handshake(&config, names, &mut Duration::default());
    let (mut output, mut plaintext) = (Vec::new(), Vec::new());
    let mut nanoseconds = Vec::new();
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        let mut requests: Vec<Vec<u8>> = (0..ROUND)
            .map(|_| {
                std::io::Write::write_all(&mut client.writer(), &[7; 200]).unwrap();
                let mut bytes = Vec::new();
                client.write_tls(&mut bytes).unwrap();
                bytes
            })
            .collect();
        let start = Instant::now();
        for request in &mut requests {
            plaintext.clear();
            output.clear();
            server
                .handle_input(request, &mut plaintext, &mut output)
                .unwrap();
            server.write(&[8; 200], &mut output).unwrap();
        }
        nanoseconds.push(start.elapsed().as_nanos() / ROUND as u128);
    }
    nanoseconds.sort_unstable();
    let pair = nanoseconds[nanoseconds.len() / 2];
    let mut big = Vec::new();
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds / 2.0 {
        output.clear();
        let start = Instant::now();
        server.write(&[8; 16_384], &mut output).unwrap();
        big.push(start.elapsed().as_nanos());
    }
    big.sort_unstable();
    println!(
        "{what:44} {pair:9} ns  (16 KB answer: {} ns)",
        big[big.len() / 2]
    );
}

/// Growth of the resident set for open connections, whose clients are gone.
fn idle(what: &str, names: &Arc<ServerNames>, versions: &[&'static SupportedProtocolVersion]) {
    const COUNT: usize = 5_000;
    let config = Arc::new(client_config(versions, None));
    let mut open: Vec<Connection> = Vec::with_capacity(COUNT);
    let mut add = |count: usize| {
        for _ in 0..count {
            let (_, mut server) = handshake(&config, names, &mut Duration::default());
            server.take_session_info();
            open.push(server);
        }
    };
    add(500);
    let before = resident_bytes();
    add(COUNT - 500);
    println!(
        "{what:44} {:9} bytes",
        (resident_bytes() - before) / (COUNT - 500)
    );
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments
        .next()
        .map_or(1.0, |argument| argument.parse().unwrap());
    let wanted = arguments.next().unwrap_or_default();
    let is_wanted = |row: &str| row.contains(&wanted);
    let rsa = self_signed(params("localhost"), common::rsa_key());
    let ec = common::server();
    let make = |issued: &Issued| names(&ContextOptions { ..options(issued) });
    let (rsa, ec) = (make(&rsa), make(&ec));
    for (version, versions) in [("1.3", TLS13), ("1.2", TLS12)] {
        for (what, names, resumed) in [
            ("full, RSA-2048", &rsa, false),
            ("full, P-256", &ec, false),
            ("resumed", &ec, true),
        ] {
            let row = format!("TLS {version}, {what}");
            if is_wanted(&row) {
                handshakes(&row, seconds, names, versions, resumed);
            }
        }
        let row = format!("TLS {version}, 200 bytes in, 200 bytes out");
        if is_wanted(&row) {
            records(&row, seconds, &ec, versions);
        }
        let row = format!("TLS {version}, idle connection");
        if is_wanted(&row) {
            idle(&row, &ec, versions);
        }
    }
}
