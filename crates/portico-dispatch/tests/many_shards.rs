//! What bounds a member or a queue holds for all shards of a host together, whichever of them a client meets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use portico_channel::layout::event;
use portico_dispatch::{QueueOptions, ShardThread};
use portico_engine::ListenerOptions;
use support::{App, Client, Host, until};

const SHARDS: usize = 3;

fn with(options: QueueOptions) -> Host {
    let mut host = Host::with_sockets(u32::try_from(SHARDS).unwrap(), &ListenerOptions::default());
    host.route("/", 1, options);
    host
}

/// A connection to each shard, `count` times, with a request on each that names its shard.
fn ask_all(host: &Host, count: usize) -> Vec<(usize, Client)> {
    let mut clients = Vec::new();
    for _ in 0..count {
        for shard in 0..SHARDS {
            let mut client = host.connect_to(shard);
            client.get(&format!("/{shard}"));
            clients.push((shard, client));
        }
    }
    clients
}

fn answer_next(app: &mut App) -> String {
    let request = app.request();
    app.answer(&request, "x");
    request.target
}

#[test]
fn a_queue_has_its_length_once() {
    const LENGTH: u32 = 4;
    let host = with(QueueOptions {
        length: LENGTH,
        ..QueueOptions::default()
    });
    let mut clients = ask_all(&host, 4);
    let refused = |host: &Host| -> u64 {
        let stats = host.shards.iter().flat_map(|shard| shard.stats().queues);
        stats.map(|queue| queue.refused).sum()
    };
    until(|| u64::from(host.waiting()) + refused(&host) == 12);
    assert_eq!((host.waiting(), refused(&host)), (LENGTH, 8));
    // Whoever leaves makes room, for clients of other shards too.
    let mut refused = None;
    until(|| {
        refused = clients.iter().position(|(_, client)| client.has_input());
        refused.is_some()
    });
    let (_, mut client) = clients.remove(refused.unwrap());
    assert_eq!(client.answer().status, 503);
    for (_, client) in clients {
        client.reset();
    }
    until(|| {
        client.get("/");
        let waits = || host.waiting() == 1;
        until(|| client.has_input() || waits());
        !client.has_input() || client.answer().status != 503
    });
}

#[test]
fn requests_that_a_member_has_not_taken_count_on_every_shard() {
    let mut host = with(QueueOptions {
        length: 4,
        ..QueueOptions::default()
    });
    // It takes nothing yet.
    let mut app = host.app(1);
    let mut first = host.connect_to(0);
    for _ in 0..4 {
        first.get("/first");
    }
    host.until(|stats| stats.members[0].in_flight == 4);
    let mut second = host.connect_to(1);
    second.get("/second");
    assert_eq!(second.answer().status, 503);
    // Its channel on the first shard is read while that shard sleeps.
    for _ in 0..4 {
        assert_eq!(app.request().target, "/first");
    }
    until(|| {
        second.get("/second");
        until(|| app.has(event::REQUEST) || second.has_input());
        if app.has(event::REQUEST) {
            return true;
        }
        assert_eq!(second.answer().status, 503);
        false
    });
    assert_eq!(app.request().target, "/second");
}

#[test]
fn a_member_has_its_limit_once_and_a_place_that_is_free_goes_to_any_shard() {
    const LIMIT: u32 = 2;
    let mut host = with(QueueOptions {
        max_in_flight: LIMIT,
        ..QueueOptions::default()
    });
    let mut app = host.app(1);
    let mut clients = ask_all(&host, 4);
    until(|| host.waiting() == 10);
    for _ in 0..LIMIT {
        app.request();
    }
    assert!(!app.has(event::REQUEST));
    let mut clients_left = clients.len();
    // Those in flight end with their connections: whoever waits is given their places.
    let in_flight = |host: &Host| -> u32 {
        let stats = host.shards.iter().flat_map(|shard| shard.stats().members);
        stats.map(|member| member.in_flight).sum()
    };
    assert_eq!(in_flight(&host), LIMIT);
    while clients_left > 0 {
        clients.remove(0).1.reset();
        clients_left -= 1;
        let expected = LIMIT.min(u32::try_from(clients_left).unwrap());
        until(|| {
            app.take();
            in_flight(&host) == expected
        });
    }
}

#[test]
fn shards_on_which_requests_wait_take_turns() {
    let mut host = with(QueueOptions {
        max_in_flight: 1,
        ..QueueOptions::default()
    });
    let mut app = host.app(1);
    let mut blocking = host.connect_to(0);
    blocking.get("/blocking");
    let first = app.request();
    let mut clients = ask_all(&host, 3);
    until(|| host.waiting() == 9);
    app.answer(&first, "x");
    let order: Vec<String> = (0..9).map(|_| answer_next(&mut app)).collect();
    for round in order.chunks(SHARDS) {
        let mut round = round.to_vec();
        round.sort();
        assert_eq!(round, ["/0", "/1", "/2"], "{order:?}");
    }
    for (_, client) in &mut clients {
        assert_eq!(client.answer().text(), "x");
    }
}

#[test]
fn uploads_of_a_member_are_counted_once() {
    let host = with(QueueOptions {
        max_uploads: 32,
        ..QueueOptions::default()
    });
    let mut clients: Vec<_> = (0..SHARDS).map(|shard| host.connect_to(shard)).collect();
    let mut kept = Vec::new();
    for number in 0..32 {
        let mut client = host.connect_to(number % SHARDS);
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
        kept.push(client);
        // One address has half of them, and no more than a sixteenth of what is left.
        if number == 15 {
            until(|| host.waiting() == 16);
        }
    }
    for client in &mut clients {
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
        assert_eq!(client.answer().status, 503);
    }
    assert_eq!(host.waiting(), 16);
}

#[test]
fn a_port_has_its_connections_once() {
    let options = ListenerOptions {
        max_connections: Some(4),
        ..ListenerOptions::default()
    };
    let mut host = Host::with_sockets(u32::try_from(SHARDS).unwrap(), &options);
    host.route("/", 1, QueueOptions::default());
    let clients = ask_all(&host, 3);
    let open = |host: &Host| -> usize { host.shards.iter().map(|shard| shard.connections()).sum() };
    until(|| host.waiting() == 4);
    assert_eq!(open(&host), 4);
    drop(clients);
}

#[test]
fn more_shards_than_a_host_has_are_refused() {
    for count in [0, 65] {
        let error = ShardThread::start_all(count).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{count}");
    }
}
