//! Answers that are kept, of streams.

use std::sync::Arc;

use portico_cache::store::StoreLimits;
use portico_cache::storing::Rule;
use portico_channel::Response;
use portico_channel::layout::{event, open_flag, response_flag};
use portico_engine::{CacheSite, OutputCache};

use super::client::fields;
use super::*;

fn keeping() -> (Server, Client, Arc<OutputCache>) {
    let (mut server, client) = pair(options());
    let cache = Arc::new(OutputCache::new(StoreLimits::default()));
    let site = CacheSite {
        rule: Some(Rule::Standard),
        ..CacheSite::default()
    };
    server.shard.use_cache(Arc::clone(&cache), site).unwrap();
    (server, client, cache)
}

fn answer(server: &mut Server, request: &Event, status: u32, fields: &[u8], body: &[u8]) {
    let framing = if status == 304 {
        0
    } else {
        response_flag::CONTENT_LENGTH
    };
    let response = Response {
        status,
        flags: response_flag::END | framing,
        reason: b"OK",
        fields,
        body,
        content_length: body.len() as u64,
        ..Response::default()
    };
    server
        .commands
        .respond(request.token, request.sequence(), &response);
    server.submit();
}

/// Names and values of a request's fields.
fn told(request: &Event) -> Vec<(String, String)> {
    let count = request.read::<event::Request>().field_count as usize;
    (0..count).map(|index| request.field(index)).collect()
}

#[test]
fn streams_share_one_validation_of_a_stale_answer() {
    let (mut server, mut client, cache) = keeping();
    client.get(1, "/");
    let asked = server.request();
    let stale = b"ETag: \"a\"\r\nCache-Control: max-age=0\r\n";
    answer(&mut server, &asked, 200, stale, b"first");
    until_ended(&mut server, &mut client, 1);
    for stream in [3, 5, 7] {
        let mut head = fields("GET", "/");
        head.push(("x-own", "1"));
        client.headers(stream, &head, true);
    }
    let asked = server.request();
    assert_eq!(asked.sequence(), 3);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [pair("x-own", "1"), pair("If-None-Match", "\"a\"")];
    assert_eq!(told(&asked), expected);
    answer(
        &mut server,
        &asked,
        304,
        b"Cache-Control: max-age=60\r\n",
        b"",
    );
    let frames = until_ended(&mut server, &mut client, 3);
    for stream in [3, 5, 7] {
        assert_eq!(body_of(&frames, stream), b"first");
    }
    assert_eq!(cache.stats().collapsed, 2);
}

#[test]
fn a_stream_that_waited_may_be_the_next_to_validate() {
    let (mut server, mut client, _) = keeping();
    client.get(1, "/");
    let asked = server.request();
    let stale = b"ETag: \"a\"\r\nCache-Control: max-age=0\r\n";
    answer(&mut server, &asked, 200, stale, b"first");
    until_ended(&mut server, &mut client, 1);
    client.get(3, "/");
    client.get(5, "/");
    let first = server.request();
    // It is stale again as soon as it has come: the next asks by what is stored now.
    let stale = b"ETag: \"b\"\r\nCache-Control: max-age=0\r\n";
    answer(&mut server, &first, 200, stale, b"second");
    let next = server.request();
    assert_eq!(next.sequence(), 5);
    assert_eq!(
        told(&next),
        [("If-None-Match".to_owned(), "\"b\"".to_owned())]
    );
    answer(&mut server, &next, 304, b"", b"");
    let frames = until_ended(&mut server, &mut client, 2);
    assert_eq!(body_of(&frames, 3), b"second");
    assert_eq!(body_of(&frames, 5), b"second");
}

#[test]
fn what_stands_in_ends_a_stream_and_no_connection() {
    let (mut server, mut client, _) = keeping();
    client.get(1, "/");
    let asked = server.request();
    let usable = b"Age: 20\r\nCache-Control: max-age=10, stale-if-error=1000\r\n";
    answer(&mut server, &asked, 200, usable, b"first");
    until_ended(&mut server, &mut client, 1);
    client.get(3, "/");
    let asked = server.request();
    server.commands.reset(asked.token, 3);
    server.submit();
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 3), b"first");
    client.get(5, "/");
    let asked = server.request();
    answer(&mut server, &asked, 503, b"", b"broken");
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 5), b"first");
}

#[test]
fn what_is_asked_for_a_stream_in_the_background_is_a_request_of_http_1() {
    let (mut server, mut client, _) = keeping();
    client.get(1, "/");
    let asked = server.request();
    let usable = b"Age: 20\r\nCache-Control: max-age=10, stale-while-revalidate=1000\r\n";
    answer(&mut server, &asked, 200, usable, b"first");
    until_ended(&mut server, &mut client, 1);
    let mut head = fields("GET", "/");
    head.extend([("cookie", "a=1"), ("cookie", "b=2")]);
    client.headers(3, &head, true);
    let (frames, events) = until(&mut server, &mut client, |frames| {
        frames.iter().any(Frame::ends)
    });
    assert_eq!(body_of(&frames, 3), b"first");
    let mut events = events.into_iter().chain(server.settle());
    let open = events.find(|event| event.kind == event::OPEN).unwrap();
    assert_eq!(open.flags & (open_flag::TLS | open_flag::UNIX), 0);
    let asked = events.find(|event| event.kind == event::REQUEST).unwrap();
    assert_eq!(asked.read::<event::Request>().major_version, 1);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        pair("Host", "a.example"),
        pair("Cookie", "a=1; b=2"),
        pair("Connection", "close"),
    ];
    assert_eq!(told(&asked), expected);
}
