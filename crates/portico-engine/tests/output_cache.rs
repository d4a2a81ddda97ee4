//! Answers that are kept and given again without the application.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use portico_cache::store::{Purge, StoreLimits};
use portico_cache::storing::Rule;
use portico_channel::Response;
use portico_channel::layout::{cache_flag, command, event, response_flag as flag};
use portico_engine::{CacheSite, OutputCache};
use support::{Event, Server, expect, read_answer, send};

const MINUTE: Duration = Duration::from_secs(60);

/// A server that keeps answers by the rule.
fn caching(rule: Option<Rule>) -> (Server, Arc<OutputCache>) {
    let cache = Arc::new(OutputCache::new(StoreLimits::default()));
    let mut server = Server::new();
    let site = CacheSite {
        rule,
        ..CacheSite::default()
    };
    server.shard.use_cache(Arc::clone(&cache), site).unwrap();
    (server, cache)
}

fn profile() -> Option<Rule> {
    Some(Rule::Profile(MINUTE))
}

fn get(target: &str) -> String {
    request("GET", target, "")
}

fn request(method: &str, target: &str, fields: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n")
}

/// Asks that the answer be kept.
fn wish(server: &mut Server, request: &Event, lifetime_ms: u64, tags: &str) {
    let words = command::Cache {
        token: request.token,
        sequence: request.sequence(),
        tags_bytes: u32::try_from(tags.len()).unwrap(),
        target_bytes: 0,
        fields_bytes: 0,
        lifetime_ms,
    };
    server
        .commands
        .write(cache_flag::LIFETIME, words, &[tags.as_bytes()]);
}

fn answer(server: &mut Server, request: &Event, status: u32, fields: &str, body: &str) {
    let response = Response {
        status,
        flags: flag::END | flag::CONTENT_LENGTH | flag::DATE,
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

/// Sends a request that the application answers, and returns the answer as the client gets it.
fn from_application(
    server: &mut Server,
    client: &mut TcpStream,
    text: &str,
    fields: &str,
    body: &str,
) -> (String, Vec<u8>) {
    send(client, text);
    let asked = server.request();
    answer(server, &asked, 200, fields, body);
    read_answer(client)
}

/// Sends a request that the application must not hear of.
fn from_cache(server: &mut Server, client: &mut TcpStream, text: &str) -> (String, Vec<u8>) {
    send(client, text);
    let events = server.settle();
    assert!(
        events.iter().all(|event| event.kind != event::REQUEST),
        "the application was asked: {text}"
    );
    read_answer(client)
}

#[test]
fn an_answer_that_asks_is_given_again_without_the_application() {
    let (mut server, cache) = caching(None);
    let mut client = server.connect();
    send(&mut client, get("/a?b"));
    let asked = server.request();
    wish(&mut server, &asked, 60_000, "");
    answer(
        &mut server,
        &asked,
        200,
        "Content-Type: text/plain\r\n",
        "one",
    );
    let (head, _) = read_answer(&mut client);
    assert!(!head.contains("Age"), "{head}");
    let mut other = server.connect();
    let (head, body) = from_cache(&mut server, &mut other, &get("/a?b"));
    assert_eq!(body, b"one");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nAge: 0\r\nCache-Status: portico; hit; ttl="), "{head}");
    assert_eq!(head.matches("\r\nDate: ").count(), 1, "{head}");
    assert_eq!(head.matches("Content-Length: 3").count(), 1, "{head}");
    // Nothing is kept of what does not ask, nor given to another query or host.
    for text in [
        get("/a?c"),
        get("/a"),
        get("/a?b").replace("a.test", "b.test"),
        get("/a?b").replace("a.test", "a.test:81"),
    ] {
        from_application(&mut server, &mut other, &text, "", "two");
        from_application(&mut server, &mut other, &text, "", "two");
    }
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.store.entries), (1, 1));
}

#[test]
fn a_request_that_came_before_the_cache_is_kept_as_the_application_tells_it() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, get("/a"));
    let asked = server.request();
    let cache = Arc::new(OutputCache::new(StoreLimits::default()));
    let site = CacheSite::default();
    server.shard.use_cache(Arc::clone(&cache), site).unwrap();
    let fields = "Host: a.test\r\n";
    let words = command::Cache {
        token: asked.token,
        sequence: asked.sequence(),
        tags_bytes: 0,
        target_bytes: 2,
        fields_bytes: u32::try_from(fields.len()).unwrap(),
        lifetime_ms: 60_000,
    };
    let parts = [&b"/a"[..], fields.as_bytes()];
    server.commands.write(cache_flag::LIFETIME, words, &parts);
    answer(&mut server, &asked, 200, "", "one");
    assert_eq!(read_answer(&mut client).1, b"one");
    let (_, body) = from_cache(&mut server, &mut client, &get("/a"));
    assert_eq!(body, b"one");
}

#[test]
fn what_must_not_be_kept_is_not() {
    let (mut server, cache) = caching(profile());
    let mut client = server.connect();
    for (text, fields) in [
        (request("POST", "/", "Content-Length: 0\r\n"), ""),
        (request("GET", "/", "Authorization: Basic eDp5\r\n"), ""),
        (
            request("GET", "/", "X-HTTP-Method-Override: DELETE\r\n"),
            "",
        ),
        (request("GET", "/", "X-Original-URL: /admin\r\n"), ""),
        (request("GET", "/", "Expect: 100-continue\r\n"), ""),
        (get("http://a.test/"), ""),
        (get("/"), "Set-Cookie: a=b\r\n"),
        (get("/"), "Cache-Control: no-store\r\n"),
        (get("/"), "Cache-Control: private\r\n"),
        (get("/"), "Vary: *\r\n"),
    ] {
        from_application(&mut server, &mut client, &text, fields, "for one");
        assert_eq!(cache.stats().store.entries, 0, "{text}{fields}");
    }
    // Nor what an application forbids, what fails, and what is cut off.
    send(&mut client, get("/"));
    let asked = server.request();
    wish(&mut server, &asked, 0, "");
    answer(&mut server, &asked, 200, "", "no");
    read_answer(&mut client);
    send(&mut client, get("/"));
    let asked = server.request();
    answer(&mut server, &asked, 500, "", "no");
    read_answer(&mut client);
    send(&mut client, get("/"));
    let asked = server.request();
    server.chunked_head(&asked);
    server
        .commands
        .data(asked.token, asked.sequence(), 0, b"half");
    server.submit();
    server
        .commands
        .write(0, command::Destroy { token: asked.token }, &[]);
    server.submit();
    server.settle();
    assert_eq!(cache.stats().store.entries, 0);
}

#[test]
fn a_body_that_comes_in_parts_is_kept_whole_and_a_large_one_is_not() {
    let limits = StoreLimits {
        max_body_bytes: 10,
        ..StoreLimits::default()
    };
    let cache = Arc::new(OutputCache::new(limits));
    let mut server = Server::new();
    let site = CacheSite {
        rule: profile(),
        ..CacheSite::default()
    };
    server.shard.use_cache(Arc::clone(&cache), site).unwrap();
    let mut client = server.connect();
    for (target, last) in [("/fits", "6789"), ("/large", "6789X")] {
        send(&mut client, get(target));
        let asked = server.request();
        server.chunked_head(&asked);
        for part in ["01", "2345"] {
            server
                .commands
                .data(asked.token, asked.sequence(), 0, part.as_bytes());
            server.submit();
        }
        server
            .commands
            .data(asked.token, asked.sequence(), flag::END, last.as_bytes());
        server.submit();
        let whole = format!("012345{last}");
        expect(&mut client, "HTTP/1.1 200 OK\r\n");
        let mut chunked = Vec::new();
        while !chunked.ends_with(b"\r\n0\r\n\r\n") {
            let mut byte = [0];
            std::io::Read::read_exact(&mut client, &mut byte).unwrap();
            chunked.push(byte[0]);
        }
        if target == "/fits" {
            let (head, body) = from_cache(&mut server, &mut client, &get(target));
            assert_eq!(body, whole.as_bytes());
            assert!(head.contains("\r\nContent-Length: 10\r\n"), "{head}");
        } else {
            from_application(&mut server, &mut client, &get(target), "", "small");
        }
    }
}

#[test]
fn conditions_ranges_and_head_are_answered_from_what_is_stored() {
    let (mut server, _) = caching(profile());
    let mut client = server.connect();
    let fields = "ETag: \"1\"\r\nContent-Type: text/plain\r\n";
    from_application(&mut server, &mut client, &get("/"), fields, "0123456789");
    let mut ask = |fields: &str, status: &str| {
        let answer = from_cache(&mut server, &mut client, &request("GET", "/", fields));
        assert!(
            answer.0.starts_with(&format!("HTTP/1.1 {status}")),
            "{fields}: {}",
            answer.0
        );
        answer
    };
    let (head, body) = ask("If-None-Match: W/\"1\"\r\n", "304");
    assert!(body.is_empty() && head.contains("ETag: \"1\"\r\n"));
    assert!(!head.contains("Content-"), "{head}");
    ask("If-None-Match: \"2\"\r\n", "200");
    ask("If-Match: \"2\"\r\n", "412");
    let (head, body) = ask("Range: bytes=2-4\r\n", "206");
    assert_eq!(body, b"234");
    assert!(head.contains("Content-Range: bytes 2-4/10\r\n"), "{head}");
    assert_eq!(ask("Range: bytes=-3\r\n", "206").1, b"789");
    assert!(
        ask("Range: bytes=10-\r\n", "416")
            .0
            .contains("Content-Range: bytes */10\r\n")
    );
    assert_eq!(ask("Range: bytes=0-1,4-5\r\n", "200").1, b"0123456789");
    assert_eq!(
        ask("Range: bytes=2-4\r\nIf-Range: \"2\"\r\n", "200")
            .1
            .len(),
        10
    );
    let many: String = (0..1000)
        .map(|at| format!("{0}-{0},", at % 10 / 2 * 2))
        .collect();
    assert_eq!(ask(&format!("Range: bytes={many}\r\n"), "200").1.len(), 10);
    // Parts that touch are one, which here is all there is.
    assert_eq!(ask("Range: bytes=0-4,5-9\r\n", "206").1.len(), 10);
    send(&mut client, request("HEAD", "/", ""));
    let events = server.settle();
    assert!(events.iter().all(|event| event.kind != event::REQUEST));
    send(&mut client, get("/"));
    server.settle();
    // No body stands between the two heads.
    let mut text = String::new();
    while !text.ends_with("0123456789") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut client, &mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2);
    assert_eq!(text.matches("0123456789").count(), 1);
    assert_eq!(text.matches("Content-Length: 10").count(), 2);
}

#[test]
fn what_the_application_may_look_at_tells_answers_apart() {
    let (mut server, cache) = caching(profile());
    let mut client = server.connect();
    let vary = "Vary: Accept-Language\r\n";
    for (fields, body) in [
        ("", "plain"),
        ("X-Forwarded-Host: evil.test\r\n", "evil"),
        ("X-Forwarded-Proto: https\r\n", "https"),
        ("X-Host: evil.test\r\n", "host"),
        ("Accept-Language: de\r\n", "german"),
    ] {
        let text = request("GET", "/", fields);
        // What comes without a language is for others than who asks for one.
        from_application(&mut server, &mut client, &text, vary, body);
        let (_, again) = from_cache(&mut server, &mut client, &text);
        assert_eq!(again, body.as_bytes(), "{fields}");
    }
    let (_, plain) = from_cache(&mut server, &mut client, &get("/"));
    assert_eq!(plain, b"plain");
    assert_eq!(cache.stats().store.entries, 5);
    // One that changes the target takes all of them away.
    let text = request("DELETE", "/", "");
    from_application(&mut server, &mut client, &text, "", "gone");
    assert_eq!(cache.stats().store.entries, 0);
}

#[test]
fn a_purge_holds_for_what_is_on_its_way() {
    let (mut server, cache) = caching(profile());
    let mut client = server.connect();
    send(&mut client, get("/a"));
    let asked = server.request();
    cache.purge(Purge::Prefix {
        owner: None,
        prefix: "http://a.test/".into(),
    });
    answer(&mut server, &asked, 200, "", "old");
    read_answer(&mut client);
    from_application(&mut server, &mut client, &get("/a"), "", "new");
    assert_eq!(from_cache(&mut server, &mut client, &get("/a")).1, b"new");
}

#[test]
fn tags_are_taken_from_the_fields_and_go_no_further() {
    let (mut server, cache) = caching(profile());
    let mut client = server.connect();
    let fields = "A: 1\r\nsurrogate-key: one two\r\nCache-Tag: three,four\r\nB: 2\r\n";
    let (head, body) = from_application(&mut server, &mut client, &get("/"), fields, "x");
    assert_eq!(body, b"x");
    assert!(
        head.starts_with(
            "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nCache-Status: portico; fwd=uri-miss; stored\r\nDate"
        ),
        "{head}"
    );
    let (head, _) = from_cache(&mut server, &mut client, &get("/"));
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nAge"),
        "{head}"
    );
    let purge = |tag: &str| {
        cache.purge(Purge::Tag {
            owner: None,
            tag: tag.as_bytes().into(),
        })
    };
    assert_eq!((purge("tw"), purge("five"), purge("three")), (0, 0, 1));
}

#[test]
fn equal_requests_wait_for_the_first_ones_answer() {
    let (mut server, cache) = caching(profile());
    let mut clients: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    for client in &mut clients {
        send(client, get("/slow"));
    }
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let more = server.settle();
    let asked: Vec<&Event> = events
        .iter()
        .chain(&more)
        .filter(|event| event.kind == event::REQUEST)
        .collect();
    assert_eq!(asked.len(), 1, "one goes to the application");
    answer(&mut server, asked[0], 200, "", "for all");
    assert!(
        server
            .settle()
            .iter()
            .all(|event| event.kind != event::REQUEST)
    );
    for client in &mut clients {
        assert_eq!(read_answer(client).1, b"for all");
    }
    assert_eq!(cache.stats().collapsed, 3);
}

#[test]
fn who_waits_for_an_answer_that_is_not_kept_is_passed_at_its_head() {
    let (mut server, cache) = caching(profile());
    let mut first = server.connect();
    let mut second = server.connect();
    send(&mut first, get("/"));
    let asked = server.request();
    send(&mut second, get("/"));
    assert!(
        server
            .settle()
            .iter()
            .all(|event| event.kind != event::REQUEST)
    );
    // The head says that it is for one client; its body may take long.
    let response = Response {
        status: 200,
        flags: flag::CHUNKED | flag::TRANSFER_ENCODING,
        reason: b"OK",
        fields: b"Set-Cookie: a=b\r\n",
        ..Response::default()
    };
    server
        .commands
        .respond(asked.token, asked.sequence(), &response);
    server.submit();
    let other = server.request();
    assert_ne!(other.token, asked.token);
    // From then on nobody waits for such an answer.
    let mut third = server.connect();
    send(&mut third, get("/"));
    server.request();
    assert_eq!(cache.stats().collapsed, 0);
}

#[test]
fn who_waits_goes_to_the_application_when_the_first_ones_connection_ends() {
    let (mut server, _) = caching(profile());
    let mut first = server.connect();
    let mut second = server.connect();
    send(&mut first, get("/"));
    server.request();
    send(&mut second, get("/"));
    assert!(
        server
            .settle()
            .iter()
            .all(|event| event.kind != event::REQUEST)
    );
    drop(first);
    let asked = server.request();
    answer(&mut server, &asked, 200, "", "own");
    assert_eq!(read_answer(&mut second).1, b"own");
}

#[test]
fn without_a_rule_nobody_waits_before_an_answer_has_asked() {
    let (mut server, _) = caching(None);
    let mut first = server.connect();
    let mut second = server.connect();
    // A chat: the first request is answered when the second has come.
    send(&mut first, get("/chat"));
    let one = server.request();
    send(&mut second, get("/chat"));
    let two = server.request();
    answer(&mut server, &one, 200, "", "hello");
    answer(&mut server, &two, 200, "", "hello");
    assert_eq!(read_answer(&mut first).1, b"hello");
    assert_eq!(read_answer(&mut second).1, b"hello");
}

#[test]
fn who_waits_too_long_goes_to_the_application() {
    let (mut server, _) = caching(profile());
    let mut first = server.connect();
    let mut second = server.connect();
    send(&mut first, get("/"));
    server.request();
    send(&mut second, get("/"));
    let began = std::time::Instant::now();
    let asked = server.request();
    assert!(began.elapsed() >= Duration::from_secs(4));
    answer(&mut server, &asked, 200, "", "own");
    assert_eq!(read_answer(&mut second).1, b"own");
}

#[test]
fn an_answer_with_too_many_tags_is_not_kept() {
    let (mut server, cache) = caching(profile());
    let mut client = server.connect();
    let many = (0..129).map(|tag| format!("{tag} ")).collect::<String>();
    let long = "x".repeat(8193);
    let enough = (0..128).map(|tag| format!("{tag} ")).collect::<String>();
    for (tags, entries) in [(many, 0), (long, 0), (enough, 1)] {
        let fields = format!("Surrogate-Key: {tags}\r\n");
        from_application(&mut server, &mut client, &get("/"), &fields, "x");
        assert_eq!(cache.stats().store.entries, entries);
    }
}
