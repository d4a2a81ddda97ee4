//! A member dies, at each point of a request's life.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::time::Duration;

use portico_channel::layout::{command, event, response_flag as flag};
use portico_dispatch::QueueOptions;
use support::{App, Host};

fn patient(wait: Duration) -> QueueOptions {
    QueueOptions {
        wait,
        ..QueueOptions::default()
    }
}

#[test]
fn what_it_had_not_taken_goes_to_another() {
    let mut host = Host::with_root();
    let mut dies = host.app(1);
    let mut client = host.connect();
    client.get("/taken");
    let _taken = dies.request();
    let mut clients: Vec<_> = (0..5).map(|_| host.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!(
            "POST /{number} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
        ));
    }
    host.until(|stats| stats.members[0].in_flight == 6);
    let mut other = host.app(1);
    host.kill(dies);
    assert_eq!(client.answer().status, 502);
    for _ in 0..5 {
        let request = other.request();
        assert_eq!(other.body(), b"hello");
        other.answer(&request, &request.target);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answer().text(), format!("/{number}"));
        // And the connection goes on.
        client.get("/next");
    }
    for _ in 0..5 {
        let request = other.request();
        other.answer(&request, "next");
    }
    for client in &mut clients {
        assert_eq!(client.answer().text(), "next");
    }
    host.until(|stats| stats.queues[0].moved == 5 && stats.queues[0].lost == 1);
}

#[test]
fn a_body_that_is_still_coming_follows_its_request_to_the_next_member() {
    let mut host = Host::with_root();
    let dies = host.app(1);
    let mut client = host.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
    host.until(|stats| stats.members[0].in_flight == 1);
    host.kill(dies);
    client.send("wor");
    let mut next = host.app(1);
    let request = next.request();
    client.send("ld");
    assert_eq!(next.body(), b"helloworld");
    next.answer(&request, "ok");
    assert_eq!(client.answer().text(), "ok");
}

#[test]
fn without_another_it_waits_for_a_replacement() {
    let mut host = Host::with_root();
    let dies = host.app(1);
    let mut client = host.connect();
    client.get("/");
    host.until(|stats| stats.members[0].untaken == 1);
    host.kill(dies);
    host.until(|stats| stats.queues[0].waiting == 1);
    let mut next = host.app(1);
    let request = next.request();
    next.answer(&request, "replaced");
    assert_eq!(client.answer().text(), "replaced");
}

#[test]
fn without_a_replacement_it_gets_503() {
    let mut host = Host::new();
    host.route("/", 1, patient(Duration::from_millis(50)));
    let dies = host.app(1);
    let mut client = host.connect();
    client.get("/");
    host.until(|stats| stats.members[0].untaken == 1);
    host.kill(dies);
    assert_eq!(client.answer().status, 503);
}

#[test]
fn what_it_had_taken_is_tried_again_where_that_is_safe() {
    let mut host = Host::new();
    let options = QueueOptions {
        retry_safe: true,
        ..QueueOptions::default()
    };
    host.route("/", 1, options);
    let mut dies = host.app(1);
    let (mut get, mut post) = (host.connect(), host.connect());
    get.get("/get");
    dies.request();
    post.send("POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    dies.request();
    let mut other = host.app(1);
    host.kill(dies);
    assert_eq!(post.answer().status, 502);
    let request = other.request();
    assert_eq!(request.target, "/get");
    other.answer(&request, "again");
    assert_eq!(get.answer().text(), "again");
}

#[test]
fn a_half_answer_never_looks_complete() {
    let mut host = Host::with_root();
    let mut dies = host.app(1);
    let mut clients: Vec<_> = (0..4).map(|_| host.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    let requests: Vec<_> = (0..4).map(|_| dies.request()).collect();
    dies.head(&requests[0], 200, flag::CONTENT_LENGTH, "", b"", 10);
    dies.head(&requests[1], 200, flag::CONTENT_LENGTH, "", b"half", 10);
    dies.chunked_head(&requests[2]);
    dies.data(&requests[2], b"half", 0);
    dies.chunked_head(&requests[3]);
    let mut other = host.app(1);
    host.kill(dies);
    for client in &mut clients {
        assert_eq!(client.try_answer(), None);
    }
    let mut client = host.connect();
    client.get("/");
    let request = other.request();
    other.answer(&request, "ok");
    assert_eq!(client.answer().text(), "ok");
}

#[test]
fn what_it_wrote_before_still_counts() {
    let mut host = Host::with_root();
    for _ in 0..20 {
        let mut dies = host.app(1);
        let mut client = host.connect();
        client.get("/");
        let request = dies.request();
        dies.answer(&request, "last words");
        host.kill(dies);
        assert_eq!(client.answer().text(), "last words");
    }
}

#[test]
fn its_tunnels_end() {
    let mut host = Host::with_root();
    let mut dies = host.app(1);
    let mut client = host.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    let request = dies.request();
    dies.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    dies.raw(request.token, b"HTTP/1.1 101 S\r\n\r\n");
    client.head();
    host.kill(dies);
    assert!(client.rest().is_empty());
    host.until(|stats| stats.counters.connections_open == 0);
}

#[test]
fn an_upgrade_it_had_not_taken_goes_to_another() {
    let mut host = Host::with_root();
    let dies = host.app(1);
    let mut client = host.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    host.until(|stats| stats.members[0].untaken == 1);
    let mut other = host.app(1);
    host.kill(dies);
    let request = other.request();
    other.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    other.raw(request.token, b"HTTP/1.1 101 S\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 101"));
}

#[test]
fn requests_of_others_on_its_connections_are_answered() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut dies, mut lives) = (host.app(1), host.app(2));
    let mut client = host.connect();
    client.get("/a/");
    client.get("/b/");
    client.get("/a/");
    dies.request();
    dies.request();
    let request = lives.request();
    lives.answer(&request, "b");
    host.kill(dies);
    assert_eq!(client.answer().status, 502);
    assert_eq!(client.answer().text(), "b");
    assert_eq!(client.answer().status, 502);
    client.get("/b/");
    let request = lives.request();
    lives.answer(&request, "still");
    assert_eq!(client.answer().text(), "still");
}

#[test]
fn a_paused_connection_goes_on_without_it() {
    let mut host = Host::with_root();
    let mut dies = host.app(1);
    let mut client = host.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    let request = dies.request();
    dies.pause(&request);
    dies.answer(&request, "early");
    assert_eq!(client.answer().text(), "early");
    host.kill(dies);
    let mut other = host.app(1);
    client.send("def");
    client.get("/next");
    let request = other.request();
    other.answer(&request, "next");
    assert_eq!(client.answer().text(), "next");
}

/// Members come and go under load: every request is answered once, completely, 502 or 503.
#[test]
fn no_request_is_lost_while_members_die() {
    let mut host = Host::with_root();
    let mut apps: Vec<App> = (0..3).map(|_| host.app(1)).collect();
    let address = host.address;
    let clients: Vec<_> = (0..8)
        .map(|number| {
            std::thread::spawn(move || {
                let mut client = support::Client::connect(address);
                let mut counts = [0; 2];
                for request in 0..200 {
                    let target = format!("/{number}/{request}");
                    client.get(&target);
                    let answer = client.answer();
                    match answer.status {
                        200 => {
                            assert_eq!(answer.text(), target);
                            counts[0] += 1;
                        }
                        502 => counts[1] += 1,
                        other => panic!("{other}"),
                    }
                }
                counts
            })
        })
        .collect();
    let mut deaths = 0;
    while !clients.iter().all(std::thread::JoinHandle::is_finished) {
        for app in &mut apps {
            app.poll(Duration::from_millis(1));
            let mut taken = 0;
            while app.has(event::REQUEST) {
                let request = app.request();
                taken += 1;
                let body = request.target.clone();
                app.answer(&request, &body);
                if taken == 3 && deaths < 200 {
                    break;
                }
            }
            if taken == 3 && deaths < 200 {
                deaths += 1;
                let fresh = host.app(1);
                let old = std::mem::replace(app, fresh);
                host.kill(old);
            }
        }
    }
    let mut total = [0; 2];
    for client in clients {
        let counts = client.join().unwrap();
        total[0] += counts[0];
        total[1] += counts[1];
    }
    assert_eq!(total[0] + total[1], 1600);
    assert!(deaths > 10 && total[0] > 800, "{deaths} deaths, {total:?}");
}
