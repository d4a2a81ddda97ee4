//! Heads, interim heads and trailers of any size.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::io::Read;

use portico_channel::layout::response_flag as flag;
use portico_dispatch::QueueOptions;
use portico_engine::ListenerOptions;
use support::{App, Client, Host, Req};

/// Field lines of about so many bytes.
fn lines(bytes: usize) -> String {
    let line = format!("X-Line: {}\r\n", "v".repeat(990));
    line.repeat(bytes / line.len() + 1)
}

/// Reads to the end of a head, quickly.
fn head(client: &mut Client) -> String {
    let mut all = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while !all.ends_with(b"\r\n\r\n") {
        let count = client.stream.read(&mut buffer).unwrap();
        assert!(count > 0, "ended after {}", all.len());
        all.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(all).unwrap()
}

fn hosted() -> (Host, App, Client) {
    let mut host = Host::with_root();
    let app = host.app(1);
    let client = host.connect();
    (host, app, client)
}

/// A bystander's request is answered, and nothing was dropped.
#[track_caller]
fn serves(host: &Host, app: &mut App) {
    let mut other = host.connect();
    other.get("/other");
    let request = app.request();
    app.answer(&request, "other");
    let answer = meanwhile(app, other, |mut other| other.answer());
    assert_eq!(answer.text(), "other");
    assert!(host.shards[0].broken_members().is_empty());
}

/// What `send` writes comes to an end while the client reads.
fn meanwhile<T: Send + 'static>(
    app: &mut App,
    client: Client,
    read: impl FnOnce(Client) -> T + Send + 'static,
) -> T {
    let reader = std::thread::spawn(move || read(client));
    while !reader.is_finished() {
        app.poll(std::time::Duration::from_millis(5));
    }
    reader.join().unwrap()
}

fn asked(app: &mut App, client: &mut Client) -> Req {
    client.get("/large");
    app.request()
}

/// A request with a head of so many bytes.
fn with_head_of(bytes: usize) -> String {
    let (start, end) = ("GET /long HTTP/1.1\r\nHost: a\r\nX-Long: ", "\r\n\r\n");
    format!(
        "{start}{}{end}",
        "v".repeat(bytes - start.len() - end.len())
    )
}

#[test]
fn a_request_head_beyond_the_limit_gets_431_whatever_the_listener_allows() {
    let options = ListenerOptions {
        max_header_size: 1 << 20,
        ..ListenerOptions::default()
    };
    let mut host = Host::with(1, options);
    host.route("/", 1, QueueOptions::default());
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send(with_head_of(64 * 1024));
    let request = app.request();
    assert_eq!(request.target, "/long");
    app.answer(&request, "fits");
    assert_eq!(client.answer().text(), "fits");
    let mut refused = host.connect();
    refused.send(with_head_of(65 * 1024));
    assert_eq!(refused.answer().status, 431);
    assert!(refused.rest().is_empty());
    serves(&host, &mut app);
    // The connection that kept to the limit goes on.
    client.get("/again");
    let request = app.request();
    app.answer(&request, "again");
    assert_eq!(client.answer().text(), "again");
}

#[test]
fn a_head_of_any_size_goes_out() {
    for bytes in [70_000, 300_000, 700_000, 1_100_000, 9_000_000] {
        let (host, mut app, mut client) = hosted();
        let text = lines(bytes);
        // Twice: the connection and the channel go on.
        for _ in 0..2 {
            let request = asked(&mut app, &mut client);
            app.head(&request, 204, flag::END, &text, b"", 0);
            serves(&host, &mut app);
            let (found, back) =
                meanwhile(&mut app, client, |mut client| (head(&mut client), client));
            client = back;
            assert!(found.contains(&text), "{bytes}: {}", found.len());
        }
    }
}

#[test]
fn what_is_larger_than_any_record_costs_its_own_request() {
    let (host, mut app, mut client) = hosted();
    let request = asked(&mut app, &mut client);
    app.head(&request, 200, flag::END, &lines(17 << 20), b"", 0);
    assert_eq!(client.answer().status, 502);
    assert!(client.rest().is_empty());
    serves(&host, &mut app);
    let mut client = host.connect();
    let request = asked(&mut app, &mut client);
    app.chunked_head(&request);
    app.data(&request, b"body", 0);
    let trailers = lines(17 << 20);
    app.commands
        .end(request.token, request.sequence, 0, trailers.as_bytes());
    app.submit();
    // All of the body has come; what follows it has not.
    let all = client.rest();
    assert!(all.ends_with(b"\r\n\r\n4\r\nbody\r\n0\r\n\r\n"));
    serves(&host, &mut app);
}

#[test]
fn interim_heads_and_trailers_of_any_size_go_out() {
    let (host, mut app, mut client) = hosted();
    let request = asked(&mut app, &mut client);
    let fields = lines(1_500_000);
    let interim = format!("HTTP/1.1 103 Early Hints\r\n{fields}\r\n");
    let (token, sequence) = (request.token, request.sequence);
    app.commands
        .inform(token, sequence, 103, b"Early Hints", fields.as_bytes());
    app.submit();
    serves(&host, &mut app);
    let (found, mut client) = meanwhile(&mut app, client, |mut client| (head(&mut client), client));
    assert_eq!(found.len(), interim.len());
    app.chunked_head(&request);
    assert!(client.head().starts_with("HTTP/1.1 200"));
    app.commands
        .end(request.token, request.sequence, 0, fields.as_bytes());
    app.submit();
    let found = meanwhile(&mut app, client, |mut client| head(&mut client));
    assert_eq!(found.len(), "0\r\n".len() + fields.len() + 2);
    serves(&host, &mut app);
}
