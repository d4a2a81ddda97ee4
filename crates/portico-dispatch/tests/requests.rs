//! Requests reach the member they belong to, and answers their client.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use portico_channel::layout::{command, event, request_flag, response_flag as flag};
use portico_dispatch::QueueOptions;
use support::{Host, until};

#[test]
fn a_request_reaches_its_member_and_the_answer_its_client() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/hello?x=1");
    let request = app.request();
    assert_eq!(request.target, "/hello?x=1");
    app.answer(&request, "hi");
    let answer = client.answer();
    assert_eq!((answer.status, answer.text().as_str()), (200, "hi"));
    client.get("/again");
    let again = app.request();
    assert_eq!((again.token, again.sequence), (request.token, 2));
    app.answer(&again, "ho");
    assert_eq!(client.answer().text(), "ho");
    // The connection was told once.
    assert_eq!(app.opened, [request.token]);
    host.until(|stats| stats.members[0].in_flight == 0 && stats.members[0].requests == 2);
}

#[test]
fn what_no_member_serves_is_answered_by_the_host() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.reserve("/b/");
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/c/");
    assert_eq!(client.answer().status, 404);
    client.get("/b/x");
    let reserved = client.answer();
    assert_eq!(reserved.status, 503);
    assert_eq!(reserved.field("retry-after"), Some("5"));
    // The connection is still good.
    client.get("/a/");
    let request = app.request();
    app.answer(&request, "a");
    assert_eq!(client.answer().text(), "a");
    let mut head = host.connect();
    head.send("HEAD /c HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(head.head().starts_with("HTTP/1.1 404"));
    assert_eq!(head.answer().text(), "Not Found\n");
}

#[test]
fn requests_that_belong_nowhere_for_sure_are_refused() {
    let mut host = Host::with_root();
    let _app = host.app(1);
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400),
        ("NONSENSE\r\n\r\n", 400),
    ] {
        let mut client = host.connect();
        client.send(request);
        let head = client.head();
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")),
            "{request:?}: {head}"
        );
    }
    host.until(|stats| stats.members[0].requests == 0);
}

#[test]
fn a_target_that_can_be_read_in_two_ways_is_refused_where_it_matters() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/a/%zz");
    let request = app.request();
    assert_eq!(request.target, "/a/%zz");
    app.answer(&request, "as it was sent");
    assert_eq!(client.answer().text(), "as it was sent");
    host.route("/a/", 2, QueueOptions::default());
    client.get("/a/%zz");
    assert_eq!(client.answer().status, 400);
    client.get("/");
    let request = app.request();
    app.answer(&request, "still good");
    assert_eq!(client.answer().text(), "still good");
}

#[test]
fn one_connection_serves_two_prefixes_and_answers_keep_their_order() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut a, mut b) = (host.app(1), host.app(2));
    let mut client = host.connect();
    for path in ["/a/1", "/b/2", "/a/3", "/b/4", "/c/5"] {
        client.get(path);
    }
    let (first, third) = (a.request(), a.request());
    let (second, fourth) = (b.request(), b.request());
    b.answer(&fourth, "4");
    b.answer(&second, "2");
    a.answer(&third, "3");
    a.answer(&first, "1");
    for body in ["1", "2", "3", "4"] {
        assert_eq!(client.answer().text(), body);
    }
    assert_eq!(client.answer().status, 404);
    assert_eq!((a.opened.len(), b.opened.len()), (1, 1));
    drop(client);
    a.next(event::CLOSED);
    b.next(event::CLOSED);
}

#[test]
fn an_answer_without_a_body_and_an_old_client_are_framed_right() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let request = app.request();
    app.head(&request, 200, flag::END | flag::CONTENT_LENGTH, "", b"", 5);
    assert!(client.head().contains("Content-Length: 5"));
    client.get("/");
    let request = app.request();
    app.head(&request, 304, flag::END, "ETag: \"x\"\r\n", b"", 0);
    assert!(client.head().starts_with("HTTP/1.1 304"));
    client.get("/");
    let request = app.request();
    app.answer(&request, "still good");
    assert_eq!(client.answer().text(), "still good");
    let mut old = host.connect();
    old.send("GET / HTTP/1.0\r\n\r\n");
    let request = app.request();
    assert_eq!(request.flags & request_flag::KEEP_ALIVE, 0);
    app.answer_with(&request, b"old", flag::CLOSE | flag::CONNECTION_CLOSE);
    assert!(
        String::from_utf8(old.rest())
            .unwrap()
            .ends_with("\r\n\r\nold")
    );
}

#[test]
fn templates_of_two_members_do_not_mix() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut a, mut b) = (host.app(1), host.app(2));
    a.commands.template(1, b"A", b"X-Of: a\r\n");
    b.commands.template(1, b"B", b"X-Of: b\r\n");
    let mut client = host.connect();
    for _ in 0..3 {
        client.get("/a/");
        client.get("/b/");
        for (app, body) in [(&mut b, b"b"), (&mut a, b"a")] {
            let request = app.request();
            let response = portico_channel::Response {
                status: 200,
                flags: flag::END | flag::CONTENT_LENGTH,
                template: 1,
                body,
                content_length: 1,
                ..Default::default()
            };
            app.commands
                .respond(request.token, request.sequence, &response);
            app.submit();
        }
        assert_eq!(client.answer().field("x-of"), Some("a"));
        assert_eq!(client.answer().field("x-of"), Some("b"));
    }
}

#[test]
fn a_client_that_leaves_is_told() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/");
    let request = app.request();
    drop(client);
    // Its side has ended; whoever has a request of it decides.
    assert_eq!(app.next(event::PEER_END).token, request.token);
    app.command(
        0,
        command::Destroy {
            token: request.token,
        },
    );
    assert_eq!(app.next(event::CLOSED).token, request.token);
    app.answer(&request, "too late");
    host.until(|stats| stats.members[0].in_flight == 0);
    let mut other = host.connect();
    other.get("/");
    let request = app.request();
    app.answer(&request, "fine");
    assert_eq!(other.answer().text(), "fine");
}

#[test]
fn draining_closes_behind_the_answer_and_drops_nothing() {
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/1");
    client.get("/2");
    let (first, second) = (app.request(), app.request());
    host.shards[0].drain();
    app.answer_with(&first, b"1", flag::CONNECTION_KEEP_ALIVE);
    app.answer_with(&second, b"2", flag::CONNECTION_KEEP_ALIVE);
    assert_eq!(client.answer().text(), "1");
    let last = client.answer();
    assert_eq!(
        (last.text().as_str(), last.field("connection")),
        ("2", Some("close"))
    );
    assert!(client.rest().is_empty());
    until(|| host.shards[0].connections() == 0);
}

#[test]
fn of_one_connection_so_many_requests_wait_for_their_answers_and_others_are_served() {
    const AT_ONCE: usize = 8;
    let mut host = Host::with_root();
    let mut app = host.app(1);
    let mut client = host.connect();
    client.send("GET /one HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3 * AT_ONCE));
    let mut waiting: Vec<_> = (0..AT_ONCE).map(|_| app.request()).collect();
    // Another connection's request overtakes the rest.
    let mut other = host.connect();
    other.get("/other");
    let request = app.request();
    assert_eq!(request.target, "/other");
    app.answer(&request, "other");
    assert_eq!(other.answer().text(), "other");
    for _ in 0..2 * AT_ONCE {
        app.answer(&waiting.remove(0), "one");
        waiting.push(app.request());
    }
    for request in waiting {
        app.answer(&request, "one");
    }
    for _ in 0..3 * AT_ONCE {
        assert_eq!(client.answer().text(), "one");
    }
}

#[test]
fn nothing_runs_behind_an_answer_that_ends_the_connection() {
    let mut host = Host::new();
    host.route("/a/", 1, QueueOptions::default());
    host.route("/b/", 2, QueueOptions::default());
    let (mut a, mut b) = (host.app(1), host.app(2));
    let asked = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    // The host's own answer: a body that no member wants can't be told from the next request.
    let mut client = host.connect();
    client.send(format!(
        "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc{}",
        asked("/a/pipelined")
    ));
    assert_eq!(client.answer().status, 404);
    assert!(client.rest().is_empty());
    // Behind an earlier request, which is still to be answered.
    let mut client = host.connect();
    client.send(format!(
        "{}POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc{}",
        asked("/b/first"),
        asked("/a/pipelined")
    ));
    let first = b.request();
    client.send(asked("/a/later"));
    b.answer(&first, "first");
    assert_eq!(client.answer().text(), "first");
    assert_eq!(client.answer().status, 404);
    assert!(client.rest().is_empty());
    // A member's answer.
    let mut client = host.connect();
    client.send(asked("/b/last"));
    let last = b.request();
    b.head(
        &last,
        400,
        flag::CONNECTION_CLOSE | flag::CLOSE | flag::CONTENT_LENGTH,
        "",
        b"",
        1,
    );
    assert!(client.head().starts_with("HTTP/1.1 400"));
    client.send(asked("/a/pipelined"));
    let mut other = host.connect();
    other.send(asked("/a/other"));
    let request = a.request();
    assert_eq!(request.target, "/a/other");
    a.answer(&request, "other");
    assert_eq!(other.answer().text(), "other");
    b.data(&last, b"x", flag::END);
    assert_eq!(client.rest(), b"x");
    assert!(!a.has(event::REQUEST));
    host.until(|stats| stats.members.iter().all(|member| member.in_flight == 0));
}
