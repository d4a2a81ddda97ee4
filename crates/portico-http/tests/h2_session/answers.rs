//! Answers: heads, bodies in turns, trailers, promises.

use portico_http::h2::frame::{FrameKind, flag};
use portico_http::h2::hpack::OutgoingField;
use portico_http::h2::{
    AnswerHead, ErrorCode, Event, Priority, SessionOptions, StreamGone, StreamKey,
};

use crate::peer::{GET, Peer, rst_code};

fn field<'a>(name: &'a str, value: &'a str) -> OutgoingField<'a> {
    OutgoingField::new(name.as_bytes(), value.as_bytes())
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// A request with this priority that has so many bytes of an answer.
fn answer(peer: &mut Peer, stream: u32, priority: Option<&str>, bytes: u64) -> StreamKey {
    let mut fields = GET.to_vec();
    fields.extend(priority.map(|priority| ("priority", priority)));
    peer.headers(stream, &fields, true);
    let [Event::Request(key)] = peer.events()[..] else {
        panic!();
    };
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    peer.session.queue(key, bytes).unwrap();
    peer.session.end(key, &mut peer.out).unwrap();
    peer.sent();
    key
}

#[test]
fn an_answer_is_heads_data_and_trailers() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, true);
    let (session, out) = (&mut peer.session, &mut peer.out);
    session
        .inform(key, 103, [field("Link", "</a>")], out)
        .unwrap();
    let fields = [
        field("X-Own", "1"),
        field("Connection", "close"),
        field("TE", "x"),
    ];
    session.respond(key, 200, fields, false, out).unwrap();
    session.queue(key, 5).unwrap();
    session.queue(key, 2).unwrap();
    session
        .end_with_trailers(key, [field("Digest", "abc")], out)
        .unwrap();
    assert_eq!(session.queued_bytes(key), 7);
    assert_eq!(session.queue(key, 1), Err(StreamGone));
    assert_eq!(session.inform(key, 103, [], out), Err(StreamGone));
    assert_eq!(session.respond(key, 200, [], true, out), Err(StreamGone));
    assert_eq!(peer.pump(), [(1, 7, false), (1, 0, true)]);
    let sent = peer.sent();
    assert_eq!(sent.len(), 4);
    let early = pairs(&[(":status", "103"), ("link", "</a>")]);
    assert_eq!(peer.fields(&sent[0]), early);
    let head = pairs(&[(":status", "200"), ("x-own", "1")]);
    assert_eq!(peer.fields(&sent[1]), head);
    assert_eq!((sent[2].kind, sent[2].flags), (FrameKind::DATA, 0));
    assert_eq!(peer.fields(&sent[3]), pairs(&[("digest", "abc")]));
    assert_eq!(sent[3].flags, flag::END_HEADERS | flag::END_STREAM);
    assert_eq!(peer.session.open_streams(), 0);
    assert_eq!(peer.session.end(key, &mut peer.out), Err(StreamGone));
}

#[test]
fn an_answer_may_end_with_its_head_its_last_data_or_empty_data() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, true);
    peer.session
        .respond(key, 204, [], true, &mut peer.out)
        .unwrap();
    let sent = peer.sent();
    assert_eq!(sent[0].flags, flag::END_HEADERS | flag::END_STREAM);

    answer(&mut peer, 3, None, 3);
    assert_eq!(peer.pump(), [(3, 3, true)]);
    assert_eq!(peer.sent()[0].flags, flag::END_STREAM);

    let key = peer.request(5, true);
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    peer.session.queue(key, 3).unwrap();
    assert_eq!(peer.pump(), [(5, 3, false)]);
    peer.session.end(key, &mut peer.out).unwrap();
    let last = peer.sent().pop().unwrap();
    assert_eq!((last.flags, last.payload.len()), (flag::END_STREAM, 0));

    // No trailers after all.
    let key = peer.request(7, true);
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    let trailers = [field("Connection", "close")];
    peer.session
        .end_with_trailers(key, trailers, &mut peer.out)
        .unwrap();
    assert_eq!(peer.sent().pop().unwrap().flags, flag::END_STREAM);
    assert_eq!(peer.session.open_streams(), 0);
}

#[test]
fn a_kept_head_is_sent_again_with_fields_of_each_answer() {
    let fields = [
        field("Content-Type", "text/plain"),
        field("Keep-Alive", "5"),
    ];
    let head = AnswerHead::new(200, fields);
    let mut peer = Peer::new(&SessionOptions::default());
    for round in 0..5 {
        let key = peer.request(round * 2 + 1, true);
        let length = (round / 2).to_string();
        let own = [field("Content-Length", &length)];
        peer.session
            .respond_encoded(key, &head, own, true, &mut peer.out)
            .unwrap();
        let sent = peer.sent();
        let expected = pairs(&[
            (":status", "200"),
            ("content-type", "text/plain"),
            ("content-length", &length),
        ]);
        assert_eq!(peer.fields(&sent[0]), expected);
    }
}

#[test]
fn urgent_answers_go_first_and_incremental_ones_take_turns() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.window(0, 1_000_000);
    answer(&mut peer, 1, Some("u=5"), 20_000);
    answer(&mut peer, 3, Some("u=2, i"), 40_000);
    answer(&mut peer, 5, Some("u=2, i"), 40_000);
    answer(&mut peer, 7, Some("u=1"), 20_000);
    let order: Vec<u32> = peer.pump().iter().map(|sent| sent.0).collect();
    assert_eq!(order, [7, 7, 3, 5, 3, 5, 3, 5, 1, 1]);
}

#[test]
fn answers_without_a_priority_take_turns() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.window(0, 1_000_000);
    for stream in [1, 3, 5] {
        answer(&mut peer, stream, None, 32_768);
    }
    let order: Vec<u32> = peer.pump().iter().map(|sent| sent.0).collect();
    assert_eq!(order, [1, 3, 5, 1, 3, 5]);
}

#[test]
fn priority_updates_count_before_and_after_the_request() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.window(0, 1_000_000);
    peer.frame(FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x05u=0");
    answer(&mut peer, 1, Some("u=1"), 10);
    answer(&mut peer, 3, Some("u=4"), 10);
    answer(&mut peer, 5, Some("u=7"), 10);
    peer.frame(FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x03u=0");
    peer.frame(FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x63u=0");
    peer.events();
    let order: Vec<u32> = peer.pump().iter().map(|sent| sent.0).collect();
    assert_eq!(order, [3, 5, 1]);
    let key = answer(&mut peer, 7, None, 10);
    answer(&mut peer, 9, Some("u=2"), 10);
    peer.session.set_priority(key, Priority::parse(b"u=1"));
    let order: Vec<u32> = peer.pump().iter().map(|sent| sent.0).collect();
    assert_eq!(order, [7, 9]);
}

#[test]
fn a_reset_answer_sends_nothing_more() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = answer(&mut peer, 1, None, 100);
    peer.session
        .reset(key, ErrorCode::CANCEL, &mut peer.out)
        .unwrap();
    assert_eq!(peer.pump(), []);
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::CANCEL);
    let reset = peer.session.reset(key, ErrorCode::CANCEL, &mut peer.out);
    assert_eq!(reset, Err(StreamGone));
    // By the client, with trailers that were to come next.
    let key = peer.request(3, true);
    let (session, out) = (&mut peer.session, &mut peer.out);
    session.respond(key, 200, [], false, out).unwrap();
    session.queue(key, 3).unwrap();
    session
        .end_with_trailers(key, [field("a", "b")], out)
        .unwrap();
    assert!(session.next_data(100, out).is_some());
    out.extend([0; 3]);
    peer.rst(3, ErrorCode::CANCEL);
    peer.events();
    assert_eq!(peer.pump(), []);
    peer.session.let_go(key, &mut peer.out);
    assert_eq!(peer.session.open_streams(), 0);
}

#[test]
fn an_answer_may_be_complete_before_its_request() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, false);
    peer.session
        .respond(key, 200, [], true, &mut peer.out)
        .unwrap();
    assert_eq!(peer.session.open_streams(), 1);
    // RFC 9113, section 8.1
    peer.session
        .reset(key, ErrorCode::NO_ERROR, &mut peer.out)
        .unwrap();
    assert_eq!(rst_code(&peer.sent()[1]), ErrorCode::NO_ERROR);
    peer.data(1, b"late", true);
    assert_eq!(peer.events(), []);
    assert_eq!(peer.session.open_streams(), 0);
}

#[test]
fn an_answer_can_be_pushed() {
    let mut peer = Peer::new(&SessionOptions::default());
    let parent = peer.request(1, true);
    let request = GET.map(|(name, value)| field(name, value));
    let (session, out) = (&mut peer.session, &mut peer.out);
    let pushed = session.push(parent, request, out).unwrap();
    assert_eq!(pushed.id, 2);
    assert_eq!(session.push(pushed, request, out), Err(StreamGone));
    session.respond(pushed, 200, [], false, out).unwrap();
    session.queue(pushed, 4).unwrap();
    session.end(pushed, out).unwrap();
    session.respond(parent, 200, [], true, out).unwrap();
    assert_eq!(peer.pump(), [(2, 4, true)]);
    let sent = peer.sent();
    let kinds: Vec<_> = sent
        .iter()
        .map(|frame| (frame.kind, frame.stream))
        .collect();
    let expected = [
        (FrameKind::PUSH_PROMISE, 1),
        (FrameKind::HEADERS, 2),
        (FrameKind::HEADERS, 1),
        (FrameKind::DATA, 2),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(sent[0].payload[..4], [0, 0, 0, 2]);
    assert_eq!(peer.session.open_streams(), 0);

    peer.frame(FrameKind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0]);
    let parent = peer.request_after_settings(3);
    let refused = peer.session.push(parent, request, &mut peer.out);
    assert_eq!(refused, Err(StreamGone));
}

#[test]
fn a_pushed_answer_can_be_refused() {
    let mut peer = Peer::new(&SessionOptions::default());
    let parent = peer.request(1, true);
    let request = GET.map(|(name, value)| field(name, value));
    let pushed = peer.session.push(parent, request, &mut peer.out).unwrap();
    peer.rst(2, ErrorCode::REFUSED_STREAM);
    let reset = Event::Reset {
        stream: pushed,
        code: ErrorCode::REFUSED_STREAM,
        by_peer: true,
    };
    assert_eq!(peer.events(), [reset]);
    // Its number has nothing to do with that of a request.
    peer.session.let_go(pushed, &mut peer.out);
    peer.request(3, false);
    peer.data(3, b"a", true);
    assert!(matches!(peer.events()[..], [Event::Data { .. }]));
}

#[test]
fn other_services_and_origins_are_told() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.session.alt_svc(0, b"https://a", b"h3", &mut peer.out);
    let origins = [&b"https://a"[..]];
    peer.session.origins(origins.into_iter(), &mut peer.out);
    let kinds: Vec<FrameKind> = peer.sent().iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [FrameKind::ALTSVC, FrameKind::ORIGIN]);
}
