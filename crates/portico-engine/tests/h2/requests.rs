//! Requests, bodies and answers of streams.

use portico_channel::Response;
use portico_channel::layout::{
    body_flag, command, event, flushed_flag, request_flag, response_flag,
};
use portico_engine::{Answer, Offer, Offered, Responder, Segment};
use portico_http::Method;
use portico_http::h2::ErrorCode;
use portico_http::h2::frame::FrameKind;

use super::client::fields;
use super::*;

#[test]
fn a_request_is_told_with_its_version_its_authority_and_its_streams_number() {
    let (mut server, mut client) = pair(options());
    let mut head = fields("GET", "/a?b=c");
    head.extend([("cookie", "a=1"), ("x-own", "2"), ("cookie", "b=3")]);
    client.headers(5, &head, true);
    let request = server.request();
    assert_eq!(request.sequence(), 5);
    assert_eq!(request.target(), "/a?b=c");
    let words = request.read::<event::Request>();
    assert_eq!((words.major_version, words.minor_version), (2, 0));
    assert_eq!(words.method, Method::Get as u8);
    assert_eq!(words.bytes(words.authority), b"a.example");
    assert_eq!(words.field_count, 2);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(request.field(0), pair("cookie", "a=1; b=3"));
    assert_eq!(request.field(1), pair("x-own", "2"));
    let flags = request_flag::COMPLETE | request_flag::HAS_HOST | request_flag::KEEP_ALIVE;
    assert_eq!(request.flags, flags);
}

#[test]
fn answers_come_in_any_order_with_their_fields_and_without_those_of_a_connection() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/a");
    client.get(3, "/b");
    let requests = server.collect(event::REQUEST, 2);
    let fields =
        b"X-Own: 1\r\nConnection: close\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\
        Upgrade: h2c\r\nSet-Cookie: a=b\r\n";
    let response = Response {
        status: 201,
        flags: response_flag::END
            | response_flag::CONTENT_LENGTH
            | response_flag::CONNECTION_KEEP_ALIVE
            | response_flag::KEEP_ALIVE
            | response_flag::DATE,
        reason: b"Created",
        fields,
        body: b"second",
        content_length: 6,
        ..Response::default()
    };
    server.commands.respond(requests[1].token, 3, &response);
    server.answer(&requests[0], b"first");
    let frames = until_ended(&mut server, &mut client, 2);
    assert_eq!(body_of(&frames, 3), b"second");
    assert_eq!(body_of(&frames, 1), b"first");
    assert_eq!(frames[0].stream, 3);
    let head = client.fields_of(&frames[0]);
    let names: Vec<&str> = head.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [":status", "x-own", "set-cookie", "date", "content-length"];
    assert_eq!(names, expected);
    assert_eq!(head[0].1, "201");
    assert_eq!(head[4].1, "6");
    let counters = server.shard.counters();
    assert_eq!((counters.requests, counters.responses), (2, 2));
}

#[test]
fn http_1_goes_on_beside_it_and_a_listener_without_it_takes_no_preface() {
    let mut server = Server::with(options());
    let mut stream = server.connect();
    support::send(&mut stream, "GET /old HTTP/1.1\r\nHost: x\r\n\r\n");
    let request = server.request();
    assert_eq!(request.read::<event::Request>().major_version, 1);
    // A preface comes first or not at all.
    server.answer(&request, b"");
    support::send(&mut stream, portico_http::h2::PREFACE);
    server.next(event::CLIENT_ERROR);
    let mut server = Server::new();
    let mut stream = server.connect();
    support::send(&mut stream, portico_http::h2::PREFACE);
    server.next(event::CLIENT_ERROR);
}

#[test]
fn a_preface_may_come_in_pieces() {
    let mut server = Server::with(options());
    let mut client = Client::silent(server.connect());
    for byte in portico_http::h2::PREFACE {
        client.send(&[*byte]);
        server.settle_fast();
    }
    client.frame(FrameKind::SETTINGS, 0, 0, &[]);
    client.get(1, "/");
    let request = server.request();
    server.answer(&request, b"hello");
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 1), b"hello");
}

#[test]
fn bodies_come_in_turn_and_end_with_trailers_or_without() {
    let (mut server, mut client) = pair(options());
    client.post(1, "/a");
    client.post(3, "/b");
    client.data(1, b"one", false);
    client.data(3, b"two", true);
    client.data(1, b"", false);
    client.headers(1, &[("x-sum", "7")], true);
    let events = server.until(|events| events.iter().any(|it| it.kind == event::END));
    let told: Vec<(u32, u32)> = events.iter().map(|it| (it.kind, it.sequence())).collect();
    assert_eq!(
        told[told.len() - 3..],
        [(event::BODY, 1), (event::BODY, 3), (event::END, 1)]
    );
    let end = events.last().unwrap();
    assert_eq!(end.trailer(0), ("x-sum".to_owned(), "7".to_owned()));
    assert_eq!(events[events.len() - 2].flags, body_flag::LAST);
}

#[test]
fn a_paused_body_holds_its_own_window_alone_and_is_told_when_it_is_wanted() {
    let (mut server, mut client) = pair(options());
    client.post(1, "/a");
    client.post(3, "/b");
    let token = server.collect(event::REQUEST, 2)[0].token;
    let pause = command::Pause { token, sequence: 1 };
    server.commands.write(0, pause, &[]);
    server.submit();
    for _ in 0..3 {
        client.data(1, &[b'x'; 10_000], false);
    }
    client.data(1, b"", true);
    client.data(3, b"other", true);
    let events = server.settle();
    let bodies: Vec<u32> = events.iter().map(Event::sequence).collect();
    assert_eq!(bodies, [3]);
    let resume = command::Resume { token, sequence: 1 };
    server.commands.write(0, resume, &[]);
    server.submit();
    let events = server.until(|events| events.iter().any(|it| it.kind == event::END));
    let bytes = events.iter().filter(|it| it.kind == event::BODY);
    assert_eq!(bytes.map(|it| it.piece().len()).sum::<usize>(), 30_000);
}

#[test]
fn a_window_is_opened_as_the_application_takes_a_body_and_not_before() {
    let (mut server, mut client) = pair(options());
    client.post(1, "/");
    let token = server.request().token;
    let updates = |client: &mut Client| {
        let frames = client.all_frames();
        let updates = frames.iter();
        updates
            .filter(|frame| frame.kind == FrameKind::WINDOW_UPDATE)
            .count()
    };
    let pause = command::Pause { token, sequence: 1 };
    server.commands.write(0, pause, &[]);
    server.submit();
    for _ in 0..6 {
        client.data(1, &[0; 10_000], false);
    }
    server.settle();
    assert_eq!(updates(&mut client), 0);
    let resume = command::Resume { token, sequence: 1 };
    server.commands.write(0, resume, &[]);
    server.submit();
    server.settle();
    assert!(
        updates(&mut client) >= 2,
        "of the stream and of the connection"
    );
}

#[test]
fn a_discarded_body_is_not_told_and_its_end_is() {
    let (mut server, mut client) = pair(options());
    client.post(1, "/");
    let token = server.request().token;
    let discard = command::Discard { token, sequence: 1 };
    server.commands.write(0, discard, &[]);
    server.submit();
    client.data(1, &[b'x'; 10_000], false);
    client.data(1, b"last", true);
    let events = server.settle();
    let told: Vec<u32> = events.iter().map(|it| it.kind).collect();
    assert_eq!(told, [event::END]);
}

#[test]
fn an_answer_waits_for_windows_and_is_acknowledged_when_it_is_out() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/");
    let request = server.request();
    let body: Vec<u8> = (0..200_000u32).map(|at| (at * 7) as u8).collect();
    server.answer_flags(&request, &body, response_flag::ACK);
    let mut frames = Vec::new();
    let mut events = Vec::new();
    for _ in 0..5 {
        events.extend(server.settle());
        frames.extend(client.frames());
    }
    assert_eq!(body_of(&frames, 1).len(), 65_535);
    assert!(events.is_empty());
    client.window(0, 1_000_000);
    client.window(1, 50_000);
    server.settle();
    frames.extend(client.frames());
    assert_eq!(body_of(&frames, 1).len(), 115_535);
    client.window(1, 1_000_000);
    let (rest, events) = until(&mut server, &mut client, |frames| {
        frames.iter().any(Frame::ends)
    });
    frames.extend(rest);
    assert_eq!(body_of(&frames, 1), body);
    let flushed = events.iter().find(|it| it.kind == event::FLUSHED).unwrap();
    assert_eq!(flushed.flags, flushed_flag::NAMED);
    assert_eq!(flushed.read::<event::Flushed>().sequence, 1);
}

#[test]
fn a_more_urgent_answer_overtakes_and_equal_ones_take_turns() {
    let (mut server, mut client) = pair(options());
    client.window(0, 10_000_000);
    let mut urgent = fields("GET", "/urgent");
    urgent.push(("priority", "u=0"));
    let mut incremental = fields("GET", "/");
    incremental.push(("priority", "u=3, i"));
    client.headers(1, &incremental, true);
    client.headers(3, &incremental, true);
    client.headers(5, &urgent, true);
    for request in server.collect(event::REQUEST, 3) {
        let size = if request.sequence() == 5 {
            20_000
        } else {
            60_000
        };
        server.queue_answer(&request, &vec![b'x'; size]);
    }
    server.submit();
    let frames = until_ended(&mut server, &mut client, 3);
    let order: Vec<u32> = frames
        .iter()
        .filter(|frame| frame.kind == FrameKind::DATA)
        .map(|frame| frame.stream)
        .collect();
    assert_eq!(order[..2], [5, 5]);
    let first = order.iter().position(|stream| *stream == 1).unwrap();
    let second = order.iter().position(|stream| *stream == 3).unwrap();
    assert_eq!(first.abs_diff(second), 1, "{order:?}");
}

#[test]
fn parts_interim_answers_and_trailers_are_framed() {
    let (mut server, mut client) = pair(options());
    client.get(1, "/");
    let token = server.request().token;
    let inform = command::Inform {
        token,
        sequence: 1,
        status: 103,
        reason_bytes: 11,
        fields_bytes: 12,
    };
    server
        .commands
        .write(0, inform, &[b"Early Hints", b"Link: </a>\r\n"]);
    let head = Response {
        status: 200,
        flags: response_flag::CHUNKED | response_flag::TRANSFER_ENCODING,
        reason: b"OK",
        body: b"one ",
        ..Response::default()
    };
    server.commands.respond(token, 1, &head);
    server.commands.data(token, 1, 0, b"two");
    let end = command::End {
        token,
        sequence: 1,
        trailers_bytes: 10,
    };
    server.commands.write(0, end, &[b"X-Sum: 7\r\n"]);
    server.submit();
    let frames = until_ended(&mut server, &mut client, 1);
    let heads: Vec<Vec<(String, String)>> = frames
        .iter()
        .filter(|frame| frame.kind == FrameKind::HEADERS)
        .map(|frame| client.fields_of(frame))
        .collect();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(heads[0], [pair(":status", "103"), pair("link", "</a>")]);
    assert_eq!(heads[1], [pair(":status", "200")]);
    assert_eq!(heads[2], [pair("x-sum", "7")]);
    assert_eq!(body_of(&frames, 1), b"one two");
    assert!(frames.last().unwrap().ends());
}

#[test]
fn a_tunnel_is_a_body_and_an_answer_without_an_end() {
    let mut options = options();
    options.http2.settings.enable_connect_protocol = true;
    let (mut server, mut client) = pair(options);
    let mut head = fields("CONNECT", "/chat");
    head.push((":protocol", "websocket"));
    head.push(("x-own", "1"));
    server.settle();
    client.headers(1, &head, false);
    let request = server.request();
    assert_ne!(request.flags & request_flag::UPGRADE, 0);
    let protocol = (":protocol".to_owned(), "websocket".to_owned());
    assert_eq!(
        (request.target(), request.field(0)),
        ("/chat".to_owned(), protocol)
    );
    assert_eq!(request.field(1).0, "x-own");
    let response = Response {
        status: 200,
        reason: b"OK",
        ..Response::default()
    };
    server.commands.respond(request.token, 1, &response);
    server.commands.data(request.token, 1, 0, b"from us");
    server.submit();
    client.data(1, b"to us", false);
    assert_eq!(server.next(event::BODY).piece(), b"to us");
    let frames = client.frames();
    assert_eq!(body_of(&frames, 1), b"from us");
    assert!(!frames.iter().any(Frame::ends));
    client.data(1, b"", true);
    server.next(event::END);
}

#[test]
fn a_request_whose_method_has_no_number_gets_501() {
    let (mut server, mut client) = pair(options());
    client.headers(1, &fields("BREW", "/"), true);
    let frames = until_ended(&mut server, &mut client, 1);
    let status = (":status".to_owned(), "501".to_owned());
    assert_eq!(client.fields_of(&frames[0])[0], status);
}

#[test]
fn either_side_gives_up_one_stream_and_the_others_go_on() {
    let (mut server, mut client) = pair(options());
    for stream in [1, 3, 5] {
        client.post(stream, "/");
    }
    let requests = server.collect(event::REQUEST, 3);
    client.rst(1, ErrorCode::CANCEL);
    let reset = server.next(event::RESET);
    assert_eq!(reset.sequence(), 1);
    assert_eq!(reset.read::<event::Reset>().code, ErrorCode::CANCEL.0);
    server.answer(&requests[0], b"crossed with it");
    let words = command::Reset {
        token: requests[1].token,
        sequence: 3,
        code: ErrorCode::ENHANCE_YOUR_CALM.0,
    };
    server.commands.write(0, words, &[]);
    server.answer(&requests[2], b"whole");
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(frames[0].kind, FrameKind::RST_STREAM);
    assert_eq!(frames[0].code(), ErrorCode::ENHANCE_YOUR_CALM);
    assert_eq!(body_of(&frames, 5), b"whole");
    assert!(frames.iter().all(|frame| frame.stream != 1));
}

#[test]
fn nothing_is_lost_where_event_memory_is_short() {
    let mut server = Server::with_memory(options(), 6000);
    let mut client = Client::new(server.connect());
    for stream in (1..40).step_by(2) {
        client.post(stream, &format!("/{stream}"));
        client.data(stream, &[stream as u8; 1500], false);
        client.headers(stream, &[("x-sum", "1")], true);
    }
    let events =
        server.until(|events| events.iter().filter(|it| it.kind == event::END).count() == 20);
    for stream in (1..40).step_by(2) {
        let of_stream = events
            .iter()
            .filter(|it| it.kind != event::OPEN && it.sequence() == stream);
        let kinds: Vec<u32> = of_stream.map(|it| it.kind).collect();
        assert_eq!(kinds.first(), Some(&event::REQUEST));
        assert_eq!(kinds.last(), Some(&event::END));
        let bodies = events
            .iter()
            .filter(|it| it.kind == event::BODY && it.sequence() == stream);
        let bytes: Vec<u8> = bodies.flat_map(|it| it.piece().to_vec()).collect();
        assert_eq!(bytes, vec![stream as u8; 1500]);
    }
}

/// Counts as long as it lives.
#[derive(Debug)]
#[expect(dead_code, reason = "it is held, and no more")]
struct Counted(std::rc::Rc<()>);

impl portico_engine::AnswerFilter for Counted {
    fn head(&mut self, _: &portico_engine::FilteredHead<'_>) -> portico_engine::NewAnswer {
        portico_engine::NewAnswer::AsItIs
    }

    fn body(&mut self, _: &[u8], _: bool) -> Option<Vec<u8>> {
        None
    }
}

struct Filters(std::rc::Rc<()>);

impl Responder for Filters {
    fn offer(&mut self, _: &Offer<'_>) -> Offered {
        Offered::Filtered(Box::new(Counted(std::rc::Rc::clone(&self.0))))
    }
}

#[test]
fn the_filter_of_a_stream_that_its_client_gives_up_is_dropped_at_once() {
    let (mut server, mut client) = pair(options());
    let count = std::rc::Rc::new(());
    server.responder = Some(Box::new(Filters(std::rc::Rc::clone(&count))));
    for stream in [1, 3, 5] {
        client.get(stream, "/");
    }
    let requests = server.collect(event::REQUEST, 3);
    let alive = || std::rc::Rc::strong_count(&count) - 2;
    assert_eq!(alive(), 3);
    client.rst(3, ErrorCode::CANCEL);
    // One that goes in the same packet in which it came.
    client.get(7, "/");
    client.rst(7, ErrorCode::CANCEL);
    server.collect(event::RESET, 2);
    assert_eq!(alive(), 2);
    server.answer(&requests[0], b"first");
    assert_eq!(alive(), 1);
}

/// Answers `/own`, has `/slow` wait, passes the rest.
struct Own;

impl Responder for Own {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        match offer.head().target() {
            b"/own" => Offered::Answered(answer()),
            b"/slow" => Offered::Waits,
            _ => Offered::Passed,
        }
    }
}

fn answer() -> Answer {
    Answer {
        status: 200,
        fields: b"x-own: 1\r\n".to_vec(),
        has_date: false,
        body: vec![Segment::Owned(b"own".to_vec())],
        keep_alive: true,
    }
}

#[test]
fn a_responder_answers_streams_or_has_each_wait_alone() {
    let (mut server, mut client) = pair(options());
    server.responder = Some(Box::new(Own));
    client.get(1, "/slow");
    client.post(3, "/slow");
    client.data(3, b"body", true);
    client.post(5, "/own");
    client.data(5, &[0; 16_000], false);
    client.headers(7, &fields("HEAD", "/own"), true);
    client.get(9, "/passed");
    let request = server.request();
    assert_eq!(request.sequence(), 9);
    let frames = until_ended(&mut server, &mut client, 2);
    assert_eq!(body_of(&frames, 5), b"own");
    assert_eq!(body_of(&frames, 7), b"");
    // The client may end its body, and is not told of as a stream that failed.
    client.data(5, b"end", true);
    assert!(
        server
            .shard
            .settle(request.token, 1, Offered::Answered(answer()))
    );
    assert!(server.shard.settle(request.token, 3, Offered::Passed));
    assert!(!server.shard.settle(request.token, 9, Offered::Passed));
    let events = server.settle();
    let told: Vec<(u32, u32)> = events.iter().map(|it| (it.kind, it.sequence())).collect();
    assert_eq!(
        told,
        [(event::REQUEST, 3), (event::BODY, 3), (event::END, 3)]
    );
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 1), b"own");
}
