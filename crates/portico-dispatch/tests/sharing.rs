//! Several members of one queue: load, affinity, bounds; a member that comes late, and one that leaves politely.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::{event, response_flag as flag};
use portico_dispatch::{Affinity, QueueOptions};
use portico_engine::ListenerOptions;
use support::{App, Host, Req, until};

/// Which of the applications has the next request.
#[track_caller]
fn taker(apps: &mut [App]) -> (usize, Req) {
    let mut found = None;
    until(|| {
        for (index, app) in apps.iter_mut().enumerate() {
            if app.has(event::REQUEST) {
                found = Some((index, app.request()));
                return true;
            }
        }
        false
    });
    found.unwrap()
}

fn with(options: QueueOptions, members: usize) -> (Host, Vec<App>) {
    let mut host = Host::new();
    host.route("/", 1, options);
    let apps = (0..members).map(|_| host.app(1)).collect();
    (host, apps)
}

#[test]
fn an_answer_that_is_given_up_ends_its_connection_in_its_turn_and_no_other() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut first, mut second) = (host.app(1), host.app(2));
    let mut client = host.connect();
    client.get("/a/");
    client.get("/b/");
    let (ours, theirs) = (first.request(), second.request());
    // Of another member's request a member can say nothing.
    first.give_up(ours.token, theirs.sequence);
    second.give_up(theirs.token, theirs.sequence);
    first.answer(&ours, "first");
    assert_eq!(client.answer().text(), "first");
    assert!(client.rest().is_empty());
    first.next(event::CLOSED);
    second.next(event::CLOSED);
    // It counts no longer as in flight.
    let mut other = host.connect();
    other.get("/b/");
    let request = second.request();
    second.answer(&request, "second");
    assert_eq!(other.answer().text(), "second");
}

#[test]
fn members_of_equal_load_take_turns() {
    let (host, mut apps) = with(QueueOptions::default(), 3);
    let mut client = host.connect();
    let mut counts = [0; 3];
    for _ in 0..9 {
        client.get("/");
        let (index, request) = taker(&mut apps);
        counts[index] += 1;
        apps[index].answer(&request, "x");
        client.answer();
    }
    assert_eq!(counts, [3, 3, 3]);
}

#[test]
fn the_least_loaded_member_gets_the_request() {
    let (host, mut apps) = with(QueueOptions::default(), 2);
    let mut busy = host.connect();
    busy.get("/slow");
    let (slow, _unanswered) = taker(&mut apps);
    let mut client = host.connect();
    for _ in 0..4 {
        client.get("/");
        let (index, request) = taker(&mut apps);
        assert_ne!(index, slow);
        apps[index].answer(&request, "x");
        client.answer();
    }
}

#[test]
fn a_member_at_its_limit_gets_no_more_and_the_others_wait() {
    let options = QueueOptions {
        max_in_flight: 1,
        ..QueueOptions::default()
    };
    let (host, mut apps) = with(options, 2);
    let mut clients: Vec<_> = (0..3).map(|_| host.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    let (first, request) = taker(&mut apps);
    let (second, _other) = taker(&mut apps);
    assert_ne!(first, second);
    host.until(|stats| stats.queues[0].waiting == 1);
    apps[first].answer(&request, "x");
    let (third, _) = taker(&mut apps);
    assert_eq!(third, first);
}

#[test]
fn requests_with_the_same_value_go_to_the_same_member() {
    for (affinity, line, target) in [
        (
            Affinity::Cookie("sid".to_owned()),
            "Cookie: a=b; sid=@\r\n",
            "/",
        ),
        (Affinity::Header("x-user".to_owned()), "X-User: @\r\n", "/"),
        (Affinity::Segment(2), "", "/room/@/x"),
    ] {
        let options = QueueOptions {
            affinity,
            ..QueueOptions::default()
        };
        let (host, mut apps) = with(options, 4);
        let mut homes = Vec::new();
        for round in 0..3 {
            for user in 0..12 {
                let user = format!("user{user}");
                let mut client = host.connect();
                let (line, target) = (line.replace('@', &user), target.replace('@', &user));
                client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n{line}\r\n"));
                let (index, request) = taker(&mut apps);
                apps[index].answer(&request, "x");
                client.answer();
                if round == 0 {
                    homes.push(index);
                } else {
                    let number: usize = user[4..].parse().unwrap();
                    assert_eq!(homes[number], index, "{user}");
                }
            }
        }
        homes.sort_unstable();
        homes.dedup();
        assert!(homes.len() > 1, "all went to one");
    }
}

#[test]
fn a_request_bound_to_a_full_member_waits_for_it_and_holds_up_no_other() {
    let options = QueueOptions {
        affinity: Affinity::Segment(1),
        max_in_flight: 1,
        ..QueueOptions::default()
    };
    let (host, mut apps) = with(options, 2);
    let mut clients: Vec<_> = (0..16).map(|_| host.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.get(&format!("/{}", number / 2));
    }
    let mut order = vec![Vec::new(), Vec::new()];
    for _ in 0..16 {
        let (index, request) = taker(&mut apps);
        order[index].push(request.target.clone());
        apps[index].answer(&request, &request.target);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer().text(), format!("/{}", number / 2));
    }
    assert!(
        order[0].iter().all(|target| !order[1].contains(target)),
        "{order:?}"
    );
}

/// Bytes of events that a member may have before it when it gets a request.
const FULL_BYTES: usize = 16 << 20;

#[test]
fn a_member_with_too_many_bytes_before_it_gets_no_more_requests_and_others_do() {
    let large = ListenerOptions {
        max_header_size: 64 * 1024,
        ..ListenerOptions::default()
    };
    let mut host = Host::with(1, large);
    let options = QueueOptions {
        length: 10_000,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut full = host.app(1);
    let mut clients: Vec<_> = (0..300).map(|_| host.connect()).collect();
    let value = "v".repeat(60_000);
    for client in &mut clients {
        client.send(format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Large: {value}\r\n\r\n"
        ));
    }
    // It takes nothing: what no longer fits waits in the queue.
    host.until(|stats| stats.members[0].untaken + stats.queues[0].waiting == 300);
    let stats = host.shards[0].stats();
    let (given, waiting) = (stats.members[0].untaken, stats.queues[0].waiting);
    assert!(waiting > 0, "all {given} went to it");
    // Another member gets those, and what comes later.
    let mut other = host.app(1);
    let mut late = host.connect();
    late.get("/late");
    for _ in 0..=waiting {
        let request = other.request();
        other.answer(&request, "other");
    }
    assert_eq!(late.answer().text(), "other");
    // What it was given by then ends with the request that went beyond the bound.
    let (mut bytes, mut last) = (0, 0);
    for _ in 0..given {
        let request = loop {
            let event = full.any();
            bytes += event.size();
            last = event.size();
            if event.kind == event::REQUEST {
                break event.as_request();
            }
        };
        full.answer(&request, "full");
    }
    assert!(bytes > FULL_BYTES && bytes - last <= FULL_BYTES, "{bytes}");
    let answers: Vec<_> = clients
        .iter_mut()
        .map(|client| client.answer().text())
        .collect();
    let by_full = answers.iter().filter(|text| *text == "full").count();
    assert_eq!(by_full, given as usize);
    // It has caught up: requests go to it again.
    host.leave(&other);
    late.get("/again");
    let request = full.request();
    full.answer(&request, "full");
    assert_eq!(late.answer().text(), "full");
}

#[test]
fn a_queue_holds_so_many_requests_and_the_next_gets_503_at_once() {
    let mut host = Host::new();
    let options = QueueOptions {
        length: 3,
        retry_after_seconds: 7,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut clients: Vec<_> = (0..3).map(|_| host.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    host.until(|stats| stats.queues[0].waiting == 3);
    let mut late = host.connect();
    late.get("/");
    let refused = late.answer();
    assert_eq!(
        (refused.status, refused.field("retry-after")),
        (503, Some("7"))
    );
    // The three get their answers once a member is there.
    let mut app = host.app(1);
    for _ in 0..3 {
        let request = app.request();
        app.answer(&request, "x");
    }
    for client in &mut clients {
        assert_eq!(client.answer().status, 200);
    }
    // What a member has not taken counts too.
    for client in &mut clients {
        client.get("/");
    }
    host.until(|stats| stats.members[0].untaken == 3);
    late.get("/");
    assert_eq!(late.answer().status, 503);
}

#[test]
fn patience_ends_in_503() {
    let mut host = Host::new();
    let options = QueueOptions {
        wait: Duration::from_millis(50),
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut client = host.connect();
    client.get("/");
    let answer = client.answer();
    assert_eq!(
        (answer.status, answer.field("retry-after")),
        (503, Some("1"))
    );
    // With a body that is not read to its end the connection can't go on.
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(client.answer().status, 503);
    assert!(client.rest().is_empty());
}

#[test]
fn a_member_that_leaves_finishes_and_gets_nothing_new() {
    let (mut host, mut apps) = with(QueueOptions::default(), 1);
    let (mut idle, mut client) = (host.connect(), host.connect());
    idle.get("/");
    let request = apps[0].request();
    apps[0].answer(&request, "x");
    idle.answer();
    client.get("/");
    let in_work = apps[0].request();
    apps[0].chunked_head(&in_work);
    host.leave(&apps[0]);
    // The idle connection is closed for it, not for its client.
    assert_eq!(apps[0].next(event::CLOSED).token, request.token);
    let mut other = host.app(1);
    idle.get("/");
    let for_other = other.request();
    assert_eq!(for_other.token, request.token);
    other.answer(&for_other, "other");
    assert_eq!(idle.answer().text(), "other");
    apps[0].data(&in_work, b"finished", 0);
    apps[0].end(&in_work);
    assert_eq!(client.answer().text(), "finished");
    assert_eq!(apps[0].next(event::CLOSED).token, in_work.token);
    client.get("/");
    let request = other.request();
    other.answer_with(&request, b"x", flag::ACK);
    assert_eq!(client.answer().text(), "x");
    assert_eq!(other.next(event::FLUSHED).read::<event::Flushed>().count, 1);
    assert_eq!(apps[0].engine.open_connections(), 0);
}

#[test]
fn two_shards_serve_one_member() {
    let mut host = Host::with_shards(2);
    host.route("/", 1, QueueOptions::default());
    let mut app = host.app(1);
    // The kernel gives connections to either thread; both kinds must work.
    let mut clients: Vec<_> = (0..64).map(|_| host.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.get(&format!("/{number}"));
    }
    for _ in 0..clients.len() {
        let request = app.request();
        let body = request.target.clone();
        app.answer(&request, &body);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer().text(), format!("/{number}"));
    }
    let mut tokens = app.opened.clone();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 64);
    drop(clients);
    until(|| {
        app.take();
        app.engine.open_connections() == 0
    });
}

#[test]
fn a_thousand_members_each_get_what_is_theirs() {
    let mut host = Host::new();
    host.route_all((1..=1000).map(|number| (format!("/{number}/"), number)));
    let mut apps: Vec<_> = (1..=1000)
        .map(|number| host.app_with(number, 16 * 1024))
        .collect();
    let mut client = host.connect();
    for number in (1..=1000).step_by(7) {
        client.get(&format!("/{number}/x"));
        let app = &mut apps[number - 1];
        let request = app.request();
        assert_eq!(request.target, format!("/{number}/x"));
        app.answer(&request, &number.to_string());
        assert_eq!(client.answer().text(), number.to_string());
    }
    for app in apps.drain(..500) {
        host.kill(app);
    }
    client.get("/999/");
    let request = apps[498].request();
    apps[498].answer(&request, "still there");
    assert_eq!(client.answer().text(), "still there");
}
