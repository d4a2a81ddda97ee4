//! A member that does what no application of ours does: it harms itself at most.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use portico_channel::layout::{command, destroy_flag, event, response_flag as flag};
use portico_channel::shared::ANSWER_WINDOW_BYTES;
use portico_channel::{CommandWriter, Response};
use portico_dispatch::{BreakReason, BrokenMember, MemberId, QueueOptions};
use support::{App, Host, RawMember, until};

/// A good member for `/good/` and one for `/bad/`.
fn both() -> (Host, App, App) {
    let mut host = Host::new();
    host.route("/good/", 1, QueueOptions::default());
    host.route("/bad/", 2, QueueOptions::default());
    let (good, bad) = (host.app(1), host.app(2));
    (host, good, bad)
}

#[track_caller]
fn still_serves(host: &Host, good: &mut App) {
    let mut client = host.connect();
    client.get("/good/check");
    let mut request = good.request();
    while request.target != "/good/check" {
        request = good.request();
    }
    good.answer(&request, "good");
    assert_eq!(client.answer().text(), "good");
}

#[track_caller]
fn is_dropped(host: &Host, id: MemberId) {
    let mut broken = Vec::new();
    until(|| {
        broken.extend(host.shards[0].broken_members());
        !broken.is_empty()
    });
    let reason = BreakReason::Rules;
    assert_eq!(broken, [BrokenMember { id, reason }]);
}

#[test]
fn records_that_are_none_end_the_channel_and_only_that() {
    type Write = fn(&mut App, u32);
    let ways: [(&str, Write); 8] = [
        ("an unknown kind", |app, token| {
            app.commands.unlisted(99, 0, &[token], &[])
        }),
        ("a length beyond the record", |app, token| {
            let data = command::Data {
                token,
                sequence: 1,
                body_bytes: 400,
            };
            app.commands.write(0, data, &[b"abc"]);
            let template = command::Template {
                number: 3,
                reason_bytes: 1000,
                fields_bytes: 1000,
            };
            app.commands.write(0, template, &[b"abc"]);
        }),
        ("a body from outside", |app, token| {
            app.commands.data(token, 1, flag::EXTERNAL, b"")
        }),
        ("a template without a number", |app, _| {
            app.commands.template(0, b"OK", b"")
        }),
        ("a template with a number too large", |app, _| {
            app.commands.template(256, b"OK", b"")
        }),
        ("parts of nothing", |app, _| {
            app.commands.write(0, command::Part { piece_bytes: 0 }, &[])
        }),
        ("parts that make no record", |app, _| {
            let bytes = [9; 16];
            app.commands
                .write(flag::END, command::Part { piece_bytes: 16 }, &[&bytes])
        }),
        ("parts that make a part", |app, _| {
            let mut inner = portico_channel::CommandWriter::new();
            inner.write(flag::END, command::Part { piece_bytes: 4 }, &[b"abcd"]);
            let bytes = inner.as_bytes();
            let piece_bytes = bytes.len() as u32;
            app.commands
                .write(flag::END, command::Part { piece_bytes }, &[bytes])
        }),
    ];
    for (name, write) in ways {
        let (host, mut good, mut bad) = both();
        let mut client = host.connect();
        client.get("/bad/");
        let request = bad.request();
        write(&mut bad, request.token);
        bad.submit();
        is_dropped(&host, bad.id);
        let answer = client.try_answer();
        assert!(answer.is_none_or(|answer| answer.status == 502), "{name}");
        still_serves(&host, &mut good);
    }
}

#[test]
fn commands_for_what_belongs_to_others_do_nothing() {
    let (host, mut good, mut bad) = both();
    let mut client = host.connect();
    client.get("/good/");
    client.get("/bad/");
    let request = good.request();
    let own = bad.request();
    for kind in command::RESPOND..=command::CLOSE_IDLE {
        if kind == command::DESTROY || kind == command::SHUTDOWN {
            // It has a request of that connection: it may end it. Another connection it may not.
            bad.commands.unlisted(kind, 0, &[request.token ^ 1], &[]);
            continue;
        }
        bad.commands.unlisted(
            kind,
            0,
            &[request.token, request.sequence, 200, 0, 0, 0, 0, 0, 0],
            &[],
        );
        bad.commands
            .unlisted(kind, 0, &[0x7fff_ffff, 1, 200, 0, 0, 0, 0, 0, 0], &[]);
    }
    bad.submit();
    bad.answer(&own, "own");
    host.until(|stats| {
        stats
            .members
            .iter()
            .any(|member| member.member == bad.id && member.in_flight == 0)
    });
    good.answer(&request, "good");
    assert_eq!(client.answer().text(), "good");
    assert_eq!(client.answer().text(), "own");
    assert!(host.shards[0].broken_members().is_empty());
    // A connection that it never saw.
    let mut other = host.connect();
    other.get("/good/");
    let request = good.request();
    bad.command(
        0,
        command::Destroy {
            token: request.token,
        },
    );
    bad.command(
        1,
        command::Shutdown {
            token: request.token,
        },
    );
    good.answer(&request, "good");
    assert_eq!(other.answer().text(), "good");
}

#[test]
fn a_head_that_contradicts_itself_becomes_502() {
    let ways: [(u32, u32, &str, u64, &[u8]); 8] = [
        (1000, flag::CONTENT_LENGTH, "", 5, b"hello"),
        (
            200,
            flag::CONTENT_LENGTH,
            "Content-Length: 7\r\n",
            5,
            b"hello",
        ),
        (200, flag::CONTENT_LENGTH | flag::CHUNKED, "", 5, b"hello"),
        (
            200,
            0,
            "Transfer-Encoding: chunked\r\n",
            0,
            b"5\r\nhello\r\n0\r\n\r\n",
        ),
        (
            200,
            flag::CONTENT_LENGTH,
            "A: b\r\n\r\nHTTP/1.1 200 OK\r\n",
            5,
            b"hello",
        ),
        (200, flag::CONTENT_LENGTH, "A: b\nC: d\r\n", 5, b"hello"),
        (200, flag::CONTENT_LENGTH, "A: b", 5, b"hello"),
        (101, flag::CONTENT_LENGTH, "", 5, b"hello"),
    ];
    for (status, flags, fields, length, body) in ways {
        let (host, mut good, mut bad) = both();
        let mut client = host.connect();
        client.get("/good/");
        client.get("/bad/");
        let request = bad.request();
        bad.head(&request, status, flags | flag::END, fields, body, length);
        let first = good.request();
        good.answer(&first, "good");
        assert_eq!(client.answer().text(), "good", "{fields:?}");
        assert_eq!(client.answer().status, 502, "{fields:?}");
        assert!(client.rest().is_empty(), "{fields:?}");
        assert!(host.shards[0].broken_members().is_empty());
        still_serves(&host, &mut good);
    }
}

#[test]
fn a_template_that_is_no_head_costs_the_answers_that_name_it() {
    let large = format!("A: {}\r\n", "x".repeat(70_000));
    for lines in [
        "A: b\r\n\r\nHTTP/1.1 200 OK\r\n",
        "Content-Length: many\r\n",
        &large,
    ] {
        let (host, mut good, mut bad) = both();
        bad.commands.template(1, b"OK", b"X-Of: before\r\n");
        bad.commands.template(1, b"OK", lines.as_bytes());
        let mut client = host.connect();
        client.get("/bad/");
        let request = bad.request();
        let response = portico_channel::Response {
            status: 200,
            flags: flag::END | flag::CONTENT_LENGTH,
            template: 1,
            ..Default::default()
        };
        bad.commands
            .respond(request.token, request.sequence, &response);
        bad.submit();
        assert_eq!(client.answer().status, 502);
        assert!(client.rest().is_empty());
        // Nothing else: it serves on, with another template under that number too.
        let mut other = host.connect();
        other.get("/bad/");
        let request = bad.request();
        bad.commands.template(1, b"OK", b"X-Of: after\r\n");
        bad.commands
            .respond(request.token, request.sequence, &response);
        bad.submit();
        assert_eq!(other.answer().field("x-of"), Some("after"));
        assert!(host.shards[0].broken_members().is_empty());
        still_serves(&host, &mut good);
    }
}

#[test]
fn not_a_byte_goes_out_beyond_the_declared_length() {
    let (host, mut good, mut bad) = both();
    let mut client = host.connect();
    client.get("/bad/");
    let request = bad.request();
    bad.head(&request, 200, flag::CONTENT_LENGTH, "", b"hel", 5);
    client.get("/good/");
    bad.data(&request, b"lo and HTTP/1.1 200 OK\r\n\r\n", flag::END);
    let all = client.rest();
    assert!(
        all.ends_with(b"\r\n\r\nhello"),
        "{:?}",
        String::from_utf8_lossy(&all)
    );
    // The same in one record.
    let mut client = host.connect();
    client.get("/bad/");
    client.get("/good/");
    let request = bad.request();
    let body = b"hello HTTP/1.1 200 OK\r\n\r\n";
    bad.head(&request, 200, flag::CONTENT_LENGTH | flag::END, "", body, 5);
    let all = String::from_utf8(client.rest()).unwrap();
    assert!(all.ends_with("Content-Length: 5\r\n\r\nhello"), "{all}");
    assert!(host.shards[0].broken_members().is_empty());
    still_serves(&host, &mut good);
}

#[test]
fn a_body_that_is_too_short_ends_the_connection() {
    let (host, mut good, mut bad) = both();
    for in_one in [true, false] {
        let mut client = host.connect();
        client.get("/bad/");
        client.get("/good/");
        let request = bad.request();
        if in_one {
            bad.head(
                &request,
                200,
                flag::CONTENT_LENGTH | flag::END,
                "",
                b"hel",
                5,
            );
        } else {
            bad.head(&request, 200, flag::CONTENT_LENGTH, "", b"hel", 5);
            bad.end(&request);
        }
        let second = good.request();
        good.answer(&second, "HTTP");
        assert!(client.rest().ends_with(b"\r\n\r\nhel"));
    }
}

#[test]
fn a_body_without_a_length_is_the_last_of_its_connection() {
    let (host, _good, mut bad) = both();
    let mut client = host.connect();
    client.get("/bad/");
    let request = bad.request();
    bad.head(&request, 200, flag::CONNECTION_KEEP_ALIVE, "", b"until ", 0);
    bad.data(&request, b"the end", flag::END);
    let all = String::from_utf8(client.rest()).unwrap();
    assert!(
        all.contains("Connection: close\r\n") && all.ends_with("until the end"),
        "{all}"
    );
}

#[test]
fn interim_responses_that_are_none_are_left_out() {
    let (host, _good, mut bad) = both();
    let mut client = host.connect();
    client.get("/bad/");
    let request = bad.request();
    let (token, sequence) = (request.token, request.sequence);
    for (status, reason, fields) in [
        (200, "OK", ""),
        (99, "", ""),
        (101, "Switching Protocols", ""),
        (u32::MAX, "", ""),
        (100, "Continue\r\n\r\nHTTP/1.1 200 OK", ""),
        (100, "Continue", "Content-Length: 3\r\n"),
        (100, "Continue", "Transfer-Encoding: chunked\r\n"),
        (100, "Continue", "\r\nHTTP/1.1 200 OK\r\n"),
        (100, "Continue", "nonsense"),
    ] {
        let (reason, fields) = (reason.as_bytes(), fields.as_bytes());
        bad.commands.inform(token, sequence, status, reason, fields);
    }
    bad.commands
        .inform(token, sequence, 103, b"Early Hints", b"Link: </a>\r\n");
    bad.submit();
    assert_eq!(
        client.head(),
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    );
    bad.answer(&request, "x");
    assert_eq!(client.answer().text(), "x");
}

#[test]
fn acknowledgements_stay_with_those_who_asked() {
    let (host, mut good, mut bad) = both();
    let mut client = host.connect();
    client.get("/bad/");
    client.get("/good/");
    let (bads, goods) = (bad.request(), good.request());
    good.answer_with(&goods, b"good", flag::ACK);
    bad.answer_with(&bads, b"bad", flag::ACK);
    // Acknowledgements for what does not count.
    for _ in 0..5 {
        bad.answer_with(&bads, b"bad", flag::ACK);
        bad.data(&bads, b"more", flag::ACK);
    }
    client.answer();
    client.answer();
    assert_eq!(good.next(event::FLUSHED).read::<event::Flushed>().count, 1);
    assert_eq!(bad.next(event::FLUSHED).read::<event::Flushed>().count, 1);
    for _ in 0..3 {
        client.get("/good/");
        let request = good.request();
        good.answer_with(&request, b"good", flag::ACK);
        client.answer();
        assert_eq!(good.next(event::FLUSHED).read::<event::Flushed>().count, 1);
    }
    assert!(!bad.has(event::FLUSHED));
}

#[test]
fn one_that_writes_beyond_its_window_is_dropped() {
    let (mut host, mut good, _bad) = both();
    host.route("/raw/", 3, QueueOptions::default());
    let mut raw = support::RawMember::attach(&mut host, 3);
    let mut client = host.connect();
    client.get("/raw/");
    let (token, sequence) = raw.request();
    let mut writer = portico_channel::CommandWriter::new();
    writer.respond(
        token,
        sequence,
        &portico_channel::Response {
            status: 200,
            flags: flag::CHUNKED | flag::TRANSFER_ENCODING,
            ..Default::default()
        },
    );
    raw.write(writer.as_bytes());
    let piece = vec![0u8; 64 * 1024];
    let mut sent = 0;
    // The client does not read: kernel buffers, a window, and that is it.
    while sent < 64 << 20 && host.shards[0].stats().members.len() == 3 {
        let mut writer = portico_channel::CommandWriter::new();
        writer.data(token, sequence, 0, &piece);
        if raw.write(writer.as_bytes()) {
            sent += piece.len();
        }
    }
    assert!(sent as u64 >= ANSWER_WINDOW_BYTES);
    is_dropped(&host, raw.id);
    drop(client);
    still_serves(&host, &mut good);
}

#[test]
fn one_that_writes_parts_without_end_is_dropped() {
    let (mut host, mut good, _bad) = both();
    host.route("/raw/", 3, QueueOptions::default());
    let raw = &mut support::RawMember::attach(&mut host, 3);
    let piece = vec![0u8; 256 * 1024];
    let mut sent = 0;
    while sent < 64 << 20 && host.shards[0].stats().members.len() == 3 {
        let mut writer = portico_channel::CommandWriter::new();
        let piece_bytes = piece.len() as u32;
        writer.write(0, command::Part { piece_bytes }, &[&piece]);
        if raw.write(writer.as_bytes()) {
            sent += piece.len();
        }
    }
    assert!((16 << 20..24 << 20).contains(&sent), "{sent}");
    is_dropped(&host, raw.id);
    still_serves(&host, &mut good);
}

#[test]
fn an_error_in_a_body_is_answered_in_its_turn() {
    let (host, mut good, mut bad) = both();
    let mut client = host.connect();
    client.get("/good/");
    client.send("POST /bad/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
    let first = good.request();
    let request = bad.request();
    // It can't know yet, and can't speak out of turn.
    bad.raw(request.token, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(!bad.has(event::CLIENT_ERROR));
    // Until the host has read that.
    let mut other = host.connect();
    other.get("/bad/");
    let unrelated = bad.request();
    bad.answer(&unrelated, "x");
    other.answer();
    good.answer(&first, "good");
    assert_eq!(client.answer().text(), "good");
    bad.next(event::CLIENT_ERROR);
    bad.commands.raw(
        request.token,
        0,
        b"HTTP/1.1 400 Mine\r\nConnection: close\r\n\r\n",
    );
    bad.command(
        1,
        command::Shutdown {
            token: request.token,
        },
    );
    let rest = String::from_utf8(client.rest()).unwrap();
    assert!(rest.starts_with("HTTP/1.1 400 Mine"), "{rest}");
}

#[test]
fn a_client_is_refused_for_a_member_only_where_that_member_is_next_to_answer() {
    let (host, mut good, mut bad) = both();
    let refuse = |app: &mut App, token| {
        app.command(destroy_flag::BAD_REQUEST, command::Destroy { token });
    };
    // Its own request is next.
    let mut client = host.connect();
    client.get("/bad/");
    let request = bad.request();
    refuse(&mut bad, request.token);
    let refused = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    assert_eq!(client.rest(), refused.as_bytes());
    // The body of a request that it has answered.
    let mut client = host.connect();
    client.send("POST /bad/ HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    let request = bad.request();
    bad.answer(&request, "early");
    assert_eq!(client.answer().text(), "early");
    refuse(&mut bad, request.token);
    assert_eq!(client.rest(), refused.as_bytes());
    // Another member answers first: as ever, the connection ends.
    let mut client = host.connect();
    client.get("/good/");
    client.get("/bad/");
    let (_first, request) = (good.request(), bad.request());
    refuse(&mut bad, request.token);
    assert_eq!(client.rest(), b"");
    // Nothing there is its own: the connection goes on.
    let mut client = host.connect();
    client.get("/bad/");
    let request = bad.request();
    bad.answer(&request, "done");
    assert_eq!(client.answer().text(), "done");
    refuse(&mut bad, request.token);
    client.get("/good/");
    let request = good.request();
    good.answer(&request, "good");
    assert_eq!(client.answer().text(), "good");
}

#[test]
fn a_body_in_too_large_a_record_breaks_the_channel() {
    let (mut host, mut good, _bad) = both();
    host.route("/raw/", 3, QueueOptions::default());
    let mut raw = RawMember::attach(&mut host, 3);
    let mut client = host.connect();
    client.get("/raw/");
    let (token, sequence) = raw.request();
    let body = vec![0; 128 * 1024 + 1];
    let mut writer = CommandWriter::new();
    let response = Response {
        status: 200,
        flags: flag::END | flag::CONTENT_LENGTH,
        body: &body,
        content_length: body.len() as u64,
        ..Response::default()
    };
    writer.respond(token, sequence, &response);
    assert!(raw.write(writer.as_bytes()));
    is_dropped(&host, raw.id);
    assert_eq!(client.answer().status, 502);
    still_serves(&host, &mut good);
}
