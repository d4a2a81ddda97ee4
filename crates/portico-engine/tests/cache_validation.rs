//! Answers that are kept and stale: asked for anew, in front of a client or behind its back, or used where that fails.
//! Nothing waits for time to pass: what comes with an `Age` above its lifetime is stale when it is stored.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use portico_cache::store::StoreLimits;
use portico_cache::storing::Rule;
use portico_channel::Response;
use portico_channel::layout::{command, event, response_flag as flag};
use portico_engine::{CacheSite, OutputCache};
use support::{Event, Server, read_answer, read_to_end, send};

/// Stale when it is stored, with something to ask by.
const STALE: &str =
    "ETag: \"a\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: max-age=0\r\n";
/// The same that may be used while it is asked for.
const USABLE: &str =
    "ETag: \"a\"\r\nAge: 20\r\nCache-Control: max-age=10, stale-while-revalidate=1000\r\n";
const FRESH: &str = "Cache-Control: max-age=60\r\n";

fn standard() -> (Server, Arc<OutputCache>) {
    with_rule(Some(Rule::Standard))
}

fn with_rule(rule: Option<Rule>) -> (Server, Arc<OutputCache>) {
    let cache = Arc::new(OutputCache::new(StoreLimits::default()));
    let mut server = Server::new();
    let site = CacheSite {
        rule,
        ..CacheSite::default()
    };
    server.shard.use_cache(Arc::clone(&cache), site).unwrap();
    (server, cache)
}

fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n")
}

fn answer(server: &mut Server, request: &Event, status: u32, fields: &str, body: &str) {
    let has_length = if status == 304 {
        0
    } else {
        flag::CONTENT_LENGTH
    };
    let response = Response {
        status,
        flags: flag::END | has_length | flag::DATE,
        reason: b"OK",
        fields: fields.as_bytes(),
        body: body.as_bytes(),
        content_length: body.len() as u64,
        ..Response::default()
    };
    server
        .commands
        .respond(request.token, request.sequence(), &response);
    server.submit();
}

/// Has an answer stored.
fn store(server: &mut Server, client: &mut TcpStream, target: &str, fields: &str) {
    send(client, get(target, ""));
    let asked = server.request();
    answer(server, &asked, 200, fields, "first");
    assert_eq!(read_answer(client).1, b"first");
}

/// Fields of a request that the application was told of, in lower case.
fn fields_of(request: &Event) -> Vec<(String, String)> {
    let count = request.read::<event::Request>().field_count as usize;
    let fields = (0..count).map(|index| request.field(index));
    fields
        .map(|(name, value)| (name.to_lowercase(), value))
        .collect()
}

fn value<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value.as_str())
}

/// Nothing is told of a request.
fn nothing_is_asked(server: &mut Server) {
    let events = server.settle();
    let is_request = |event: &&Event| event.kind == event::REQUEST;
    assert!(events.iter().find(is_request).is_none(), "{events:?}");
}

#[test]
fn a_304_makes_a_stale_answer_fresh_with_the_fields_that_it_brings() {
    let (mut server, cache) = standard();
    let mut client = server.connect();
    store(&mut server, &mut client, "/", STALE);
    send(&mut client, get("/", "X-Own: 1\r\nRange: bytes=0-1\r\n"));
    let asked = server.request();
    assert_eq!(asked.target(), "/");
    let fields = fields_of(&asked);
    assert_eq!(value(&fields, "if-none-match"), Some("\"a\""));
    let date = Some("Thu, 01 Jan 2026 00:00:00 GMT");
    assert_eq!(value(&fields, "if-modified-since"), date);
    assert_eq!(value(&fields, "x-own"), Some("1"));
    assert_eq!(value(&fields, "host"), Some("a.test"));
    assert_eq!(value(&fields, "range"), None, "{fields:?}");
    let new = format!("{FRESH}X-New: yes\r\nSet-Cookie: a=b\r\n");
    answer(&mut server, &asked, 304, &new, "");
    let (head, body) = read_answer(&mut client);
    assert!(head.starts_with("HTTP/1.1 206 "), "{head}");
    assert_eq!(body, b"fi");
    assert!(head.contains("X-New: yes"), "{head}");
    assert!(head.contains("Set-Cookie: a=b"), "{head}");
    assert!(
        head.contains("Cache-Status: portico; fwd=stale; fwd-status=304; stored"),
        "{head}"
    );
    // It is fresh now, and nobody else gets the cookie.
    send(&mut client, get("/", ""));
    nothing_is_asked(&mut server);
    let (head, body) = read_answer(&mut client);
    assert_eq!(body, b"first");
    assert!(
        head.contains("X-New: yes") && !head.contains("Set-Cookie"),
        "{head}"
    );
    assert_eq!(cache.stats().store.entries, 1);
}

#[test]
fn a_new_answer_takes_the_place_of_a_stale_one() {
    let (mut server, cache) = standard();
    let mut client = server.connect();
    store(&mut server, &mut client, "/", STALE);
    send(&mut client, get("/", ""));
    let asked = server.request();
    answer(&mut server, &asked, 200, FRESH, "second");
    let (head, body) = read_answer(&mut client);
    assert_eq!(body, b"second");
    assert!(
        head.contains("Cache-Status: portico; fwd=stale; stored\r\n"),
        "{head}"
    );
    send(&mut client, get("/", ""));
    nothing_is_asked(&mut server);
    assert_eq!(read_answer(&mut client).1, b"second");
    assert_eq!(cache.stats().store.entries, 1);
}

#[test]
fn the_clients_own_condition_is_answered_by_what_the_validation_came_to() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    store(&mut server, &mut client, "/", STALE);
    for (condition, status) in [("\"a\"", "304"), ("\"b\"", "200")] {
        send(
            &mut client,
            get("/", &format!("If-None-Match: {condition}\r\n")),
        );
        let asked = server.request();
        let fields = fields_of(&asked);
        let names: Vec<_> = fields
            .iter()
            .filter(|(name, _)| name == "if-none-match")
            .collect();
        assert_eq!(names.len(), 1, "{fields:?}");
        assert_eq!(value(&fields, "if-none-match"), Some("\"a\""));
        answer(&mut server, &asked, 304, "", "");
        let (head, _) = read_answer(&mut client);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
    }
}

#[test]
fn equal_requests_share_one_validation() {
    let (mut server, cache) = standard();
    let mut clients: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    store(&mut server, &mut clients[0], "/", STALE);
    for client in &mut clients {
        send(client, get("/", ""));
    }
    let asked = server.request();
    nothing_is_asked(&mut server);
    answer(&mut server, &asked, 304, FRESH, "");
    nothing_is_asked(&mut server);
    for client in &mut clients {
        assert_eq!(read_answer(client).1, b"first");
    }
    assert_eq!(cache.stats().collapsed, 3);
}

#[test]
fn what_is_validated_for_each_use_is_shared_by_none() {
    let (mut server, _) = standard();
    let mut clients: Vec<TcpStream> = (0..2).map(|_| server.connect()).collect();
    let no_cache = "ETag: \"a\"\r\nCache-Control: max-age=60, no-cache\r\n";
    store(&mut server, &mut clients[0], "/", no_cache);
    for client in &mut clients {
        send(client, get("/", ""));
        let asked = server.request();
        assert_eq!(value(&fields_of(&asked), "if-none-match"), Some("\"a\""));
        answer(&mut server, &asked, 304, "", "");
        assert_eq!(read_answer(client).1, b"first");
    }
}

#[test]
fn a_stale_answer_is_given_at_once_and_asked_for_behind_the_clients_back() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    store(&mut server, &mut client, "/a?b", USABLE);
    let fields =
        "Cookie: a=b\r\nIf-None-Match: \"z\"\r\nCache-Control: max-stale=1\r\nX-Own: 1\r\n";
    send(&mut client, get("/a?b", fields));
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let (head, body) = read_answer(&mut client);
    assert_eq!(body, b"first");
    assert!(
        head.contains("Cache-Status: portico; hit; ttl=-1"),
        "{head}"
    );
    let asked = events.iter().find(|event| event.kind == event::REQUEST);
    let asked = asked.unwrap().clone();
    let open = events.iter().find(|event| event.kind == event::OPEN);
    let open = open.unwrap().read::<event::Open>();
    assert_eq!(open.token, asked.token);
    let from = client.local_addr().unwrap();
    assert_eq!(open.endpoints.remote_port, from.port());
    assert_eq!(open.endpoints.local_port, server.address.port());
    assert_eq!(asked.target(), "/a?b");
    let fields = fields_of(&asked);
    assert_eq!(value(&fields, "host"), Some("a.test"));
    assert_eq!(value(&fields, "if-none-match"), Some("\"a\""));
    assert_eq!(value(&fields, "cookie"), Some("a=b"));
    assert_eq!(value(&fields, "x-own"), Some("1"));
    assert_eq!(value(&fields, "cache-control"), None);
    // Meanwhile others get the stale one, and nothing more is asked.
    send(&mut client, get("/a?b", ""));
    nothing_is_asked(&mut server);
    assert_eq!(read_answer(&mut client).1, b"first");
    let response = Response {
        status: 200,
        flags: flag::END | flag::CONTENT_LENGTH | flag::DATE | flag::CLOSE,
        reason: b"OK",
        fields: FRESH.as_bytes(),
        body: b"second, which is longer",
        content_length: 23,
        ..Response::default()
    };
    server
        .commands
        .respond(asked.token, asked.sequence(), &response);
    server.submit();
    let is_closed = |event: &Event| event.kind == event::CLOSED && event.token == asked.token;
    server.until(|events| events.iter().any(is_closed));
    send(&mut client, get("/a?b", ""));
    nothing_is_asked(&mut server);
    assert_eq!(read_answer(&mut client).1, b"second, which is longer");
}

#[test]
fn a_client_that_goes_at_once_does_not_stop_what_is_asked_for_it() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    store(&mut server, &mut client, "/", USABLE);
    send(&mut client, get("/", "Connection: close\r\n"));
    let mut events = Vec::new();
    let token = loop {
        events.extend(server.settle());
        if let Some(asked) = events.iter().find(|event| event.kind == event::REQUEST) {
            break asked.token;
        }
    };
    drop(client);
    server.settle();
    let asked = events
        .iter()
        .find(|event| event.token == token && event.kind == event::REQUEST);
    answer(&mut server, &asked.unwrap().clone(), 304, FRESH, "");
    server.settle();
    let mut other = server.connect();
    send(&mut other, get("/", ""));
    nothing_is_asked(&mut server);
    let (head, _) = read_answer(&mut other);
    assert!(!head.contains("ttl=-"), "{head}");
}

#[test]
fn an_application_that_fails_in_the_background_is_left_alone_for_a_while() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    store(&mut server, &mut client, "/", USABLE);
    send(&mut client, get("/", ""));
    let asked = server.request();
    read_answer(&mut client);
    answer(&mut server, &asked, 500, "", "broken");
    server.settle();
    for _ in 0..3 {
        send(&mut client, get("/", ""));
        nothing_is_asked(&mut server);
        assert_eq!(read_answer(&mut client).1, b"first");
    }
}

#[test]
fn no_more_requests_of_the_engine_are_under_way_than_may_be() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    for number in 0..70 {
        store(&mut server, &mut client, &format!("/{number}"), USABLE);
    }
    let mut asked = Vec::new();
    for number in 0..70 {
        send(&mut client, get(&format!("/{number}"), ""));
        let events = server.settle();
        asked.extend(
            events
                .into_iter()
                .filter(|event| event.kind == event::REQUEST),
        );
        assert_eq!(read_answer(&mut client).1, b"first");
    }
    asked.extend(
        server
            .settle()
            .into_iter()
            .filter(|event| event.kind == event::REQUEST),
    );
    assert_eq!(asked.len(), 64);
}

#[test]
fn a_stale_answer_stands_in_where_the_application_fails() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    let usable = "Age: 20\r\nCache-Control: max-age=10, stale-if-error=1000\r\n";
    store(&mut server, &mut client, "/", usable);
    send(&mut client, get("/", ""));
    let asked = server.request();
    answer(&mut server, &asked, 503, "", "broken");
    let (head, body) = read_answer(&mut client);
    assert_eq!(body, b"first");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(
        head.contains("Cache-Status: portico; fwd=stale; fwd-status=503\r\n"),
        "{head}"
    );
    // What is no failure is the answer.
    send(&mut client, get("/", ""));
    let asked = server.request();
    answer(&mut server, &asked, 404, "", "gone");
    assert_eq!(read_answer(&mut client).1, b"gone");
}

#[test]
fn what_must_be_validated_never_stands_in() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    for (index, directive) in ["must-revalidate", "proxy-revalidate", "no-cache"]
        .iter()
        .enumerate()
    {
        let target = format!("/{index}");
        let fields = format!(
            "ETag: \"a\"\r\nAge: 20\r\nCache-Control: max-age=10, stale-if-error=1000, {directive}\r\n"
        );
        store(&mut server, &mut client, &target, &fields);
        send(&mut client, get(&target, ""));
        let asked = server.request();
        answer(&mut server, &asked, 503, "", "broken");
        assert_eq!(read_answer(&mut client).1, b"broken", "{directive}");
        let mut other = server.connect();
        send(&mut other, get(&target, ""));
        let asked = server.request();
        server
            .commands
            .write(0, command::Destroy { token: asked.token }, &[]);
        server.submit();
        let (head, _) = read_answer(&mut other);
        assert!(head.starts_with("HTTP/1.1 504 "), "{directive} {head}");
        assert_eq!(read_to_end(&mut other).unwrap(), b"");
    }
}

#[test]
fn a_stale_answer_stands_in_where_the_application_ends_the_connection() {
    let (mut server, _) = standard();
    let mut first = server.connect();
    store(
        &mut server,
        &mut first,
        "/",
        USABLE.replace("while-revalidate", "if-error").as_str(),
    );
    for end in ["destroy", "reset"] {
        let mut client = server.connect();
        send(&mut client, get("/", ""));
        let asked = server.request();
        let (token, sequence) = (asked.token, asked.sequence());
        match end {
            "destroy" => server.commands.write(0, command::Destroy { token }, &[]),
            _ => server.commands.reset(token, sequence),
        }
        server.submit();
        let (head, body) = read_answer(&mut client);
        assert_eq!(body, b"first", "{end}");
        assert!(head.contains("Connection: close"), "{head}");
        assert_eq!(read_to_end(&mut client).unwrap(), b"");
    }
}

#[test]
fn those_that_waited_for_an_application_that_fails_get_what_stands_in() {
    let (mut server, _) = standard();
    let mut clients: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    let usable = "Age: 20\r\nCache-Control: max-age=10, stale-if-error=1000\r\n";
    store(&mut server, &mut clients[0], "/", usable);
    for client in &mut clients {
        send(client, get("/", ""));
    }
    let asked = server.request();
    answer(&mut server, &asked, 502, "", "broken");
    nothing_is_asked(&mut server);
    for client in &mut clients {
        assert_eq!(read_answer(client).1, b"first");
    }
}

#[test]
fn a_request_for_what_is_stored_alone_is_never_the_applications() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    let only = "Cache-Control: only-if-cached\r\n";
    send(&mut client, get("/", only));
    nothing_is_asked(&mut server);
    let (head, _) = read_answer(&mut client);
    assert!(head.starts_with("HTTP/1.1 504 "), "{head}");
    store(&mut server, &mut client, "/", FRESH);
    send(&mut client, get("/", only));
    nothing_is_asked(&mut server);
    assert_eq!(read_answer(&mut client).1, b"first");
}

#[test]
fn an_answer_of_the_application_says_what_the_cache_makes_of_it() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    for (fields, said) in [
        (FRESH, "fwd=uri-miss; stored"),
        (
            "Cache-Control: no-store\r\n",
            "fwd=uri-miss; detail=no-store",
        ),
        ("Cache-Control: private\r\n", "fwd=uri-miss; detail=private"),
        (
            "Set-Cookie: a=b\r\nCache-Control: max-age=9\r\n",
            "fwd=uri-miss; detail=set-cookie",
        ),
        ("", "fwd=uri-miss; detail=never-fresh"),
    ] {
        send(
            &mut client,
            get(&format!("/{}", said.len() + fields.len()), ""),
        );
        let asked = server.request();
        answer(&mut server, &asked, 200, fields, "x");
        let (head, _) = read_answer(&mut client);
        assert!(
            head.contains(&format!("Cache-Status: portico; {said}\r\n")),
            "{head}"
        );
    }
    send(&mut client, get("/v", "X: 1\r\n"));
    let asked = server.request();
    answer(
        &mut server,
        &asked,
        200,
        "Vary: X\r\nCache-Control: max-age=9\r\n",
        "x",
    );
    read_answer(&mut client);
    send(&mut client, get("/v", "X: 2\r\n"));
    let asked = server.request();
    answer(
        &mut server,
        &asked,
        200,
        "Vary: X\r\nCache-Control: max-age=9\r\n",
        "x",
    );
    assert!(read_answer(&mut client).0.contains("fwd=vary-miss; stored"));
    send(
        &mut client,
        get("/v", "X: 2\r\nCache-Control: no-cache\r\n"),
    );
    let asked = server.request();
    answer(
        &mut server,
        &asked,
        200,
        "Vary: X\r\nCache-Control: max-age=9\r\n",
        "x",
    );
    assert!(read_answer(&mut client).0.contains("fwd=request; stored"));
    // Without a rule and a wish nothing is said.
    let (mut server, _) = with_rule(None);
    let mut client = server.connect();
    send(&mut client, get("/", ""));
    let asked = server.request();
    answer(&mut server, &asked, 200, FRESH, "x");
    assert!(!read_answer(&mut client).0.contains("Cache-Status"));
}

#[test]
fn a_rules_answer_may_be_used_stale_as_its_own_directives_say() {
    let (mut server, _) = with_rule(Some(Rule::Profile(Duration::from_millis(1))));
    let mut client = server.connect();
    let fields = "ETag: \"a\"\r\nCache-Control: stale-while-revalidate=1000\r\n";
    store(&mut server, &mut client, "/", fields);
    let asked = loop {
        // The first ones may still find it fresh.
        send(&mut client, get("/", ""));
        let events = server.settle();
        assert_eq!(read_answer(&mut client).1, b"first");
        let mut all = events.into_iter().chain(server.settle());
        if let Some(asked) = all.find(|event| event.kind == event::REQUEST) {
            break asked;
        }
    };
    assert_eq!(
        value(&fields_of(&asked), "if-none-match"),
        None,
        "a rule's lifetime needs the answer"
    );
}

#[test]
fn a_body_behind_the_head_that_another_answer_took_the_place_of_is_dropped_and_acknowledged() {
    let (mut server, _) = standard();
    let mut client = server.connect();
    let usable = "Age: 20\r\nCache-Control: max-age=10, stale-if-error=1000\r\n";
    store(&mut server, &mut client, "/", usable);
    send(&mut client, get("/", "") + &get("/next", ""));
    let asked = server.request();
    let (token, sequence) = (asked.token, asked.sequence());
    let head = Response {
        status: 500,
        flags: flag::TRANSFER_ENCODING | flag::CHUNKED,
        reason: b"Broken",
        ..Response::default()
    };
    server.commands.respond(token, sequence, &head);
    server.submit();
    assert_eq!(read_answer(&mut client).1, b"first");
    server.commands.data(token, sequence, 0, b"broken");
    server
        .commands
        .data(token, sequence, flag::END | flag::ACK, b" page");
    server.submit();
    server.until(|events| events.iter().any(|event| event.kind == event::FLUSHED));
    server.commands.respond(
        token,
        sequence + 1,
        &Response {
            status: 200,
            flags: flag::END | flag::CONTENT_LENGTH,
            reason: b"OK",
            body: b"next",
            content_length: 4,
            ..Response::default()
        },
    );
    server.submit();
    assert_eq!(read_answer(&mut client).1, b"next");
}
