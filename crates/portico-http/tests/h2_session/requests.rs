//! What of a client's frames becomes a request, and where its parts lie.

use portico_http::h2::frame::{FrameKind, Setting, flag};
use portico_http::h2::{ErrorCode, Event, LocalSettings, PREFACE, Session, SessionOptions};

use crate::peer::{GET, POST, Peer, rst_code};

#[test]
fn the_server_begins_with_its_settings() {
    let options = SessionOptions {
        connection_window: 100_000,
        settings: LocalSettings {
            enable_connect_protocol: true,
            ..LocalSettings::default()
        },
        ..SessionOptions::default()
    };
    let mut peer = Peer::silent(&options);
    let sent = peer.sent();
    assert_eq!(sent[0].kind, FrameKind::SETTINGS);
    let entries: Vec<u16> = sent[0]
        .payload
        .chunks(6)
        .map(|entry| u16::from_be_bytes([entry[0], entry[1]]))
        .collect();
    let expected = [
        Setting::MAX_CONCURRENT_STREAMS,
        Setting::MAX_HEADER_LIST_SIZE,
        Setting::ENABLE_CONNECT_PROTOCOL,
        Setting::NO_RFC7540_PRIORITIES,
    ];
    assert_eq!(entries, expected.map(|setting| setting.0));
    assert_eq!(sent[1].kind, FrameKind::WINDOW_UPDATE);
    assert_eq!(sent[1].payload, (100_000_u32 - 65_535).to_be_bytes());
}

#[test]
fn the_preface_may_come_in_pieces_and_must_be_right() {
    let mut peer = Peer::silent(&SessionOptions::default());
    for byte in PREFACE {
        peer.send(&[*byte]);
        assert_eq!(peer.events(), []);
    }
    peer.frame(FrameKind::SETTINGS, 0, 0, &[]);
    assert!(matches!(peer.events()[..], [Event::PeerSettings { .. }]));

    let mut peer = Peer::silent(&SessionOptions::default());
    peer.send(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(peer.error(), ErrorCode::PROTOCOL_ERROR);

    let mut peer = Peer::silent(&SessionOptions::default());
    peer.send(PREFACE);
    peer.frame(FrameKind::PING, 0, 0, &[0; 8]);
    assert_eq!(peer.error(), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn a_request_its_body_and_its_trailers_are_events() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.headers(1, &POST, false);
    let [Event::Request(key)] = peer.events()[..] else {
        panic!();
    };
    let head = *peer.session.head().unwrap();
    assert!(!head.is_complete);
    let path = head.path.of(peer.session.section().bytes());
    assert_eq!(path, b"/");
    peer.data(1, b"hello", false);
    // Padding: one byte says that there are three, which are not the body's.
    peer.frame(FrameKind::DATA, flag::PADDED, 1, b"\x03more...");
    peer.headers(1, &[("digest", "x")], true);
    let data = |bytes, is_last| Event::Data {
        stream: key,
        bytes,
        is_last,
    };
    let events = peer.events();
    assert_eq!(
        events,
        [
            data(9..14, false),
            data(10..14, false),
            Event::Trailers(key)
        ]
    );
    let section = peer.session.section();
    assert_eq!(section.fields()[0].name(section.bytes()), b"digest");
}

#[test]
fn a_body_is_given_as_it_comes() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.headers(1, &POST, false);
    let mut whole = Vec::new();
    let header = [0, 0, 8, 0, flag::PADDED | flag::END_STREAM, 0, 0, 0, 1, 2];
    whole.extend_from_slice(&header);
    whole.extend_from_slice(b"abcde..");
    let (mut body, mut ends) = (Vec::new(), 0);
    peer.events();
    for byte in whole {
        let before = peer.now_ms;
        peer.send(&[byte]);
        for event in peer.events() {
            let Event::Data { bytes, is_last, .. } = event else {
                panic!("{event:?}");
            };
            body.extend(std::iter::repeat_n(byte, bytes.len()));
            ends += u32::from(is_last);
        }
        assert_eq!(before, peer.now_ms);
    }
    assert_eq!((&body[..], ends), (&b"abcde"[..], 1));
}

#[test]
fn a_field_block_may_come_in_parts() {
    let mut peer = Peer::new(&SessionOptions::default());
    let block = peer.block(&GET);
    let (first, rest) = block.split_at(3);
    peer.frame(FrameKind::HEADERS, flag::END_STREAM, 1, first);
    peer.frame(FrameKind::CONTINUATION, 0, 1, &rest[..2]);
    assert_eq!(peer.events(), []);
    assert!(peer.session.is_in_field_block());
    peer.frame(FrameKind::CONTINUATION, flag::END_HEADERS, 1, &rest[2..]);
    assert!(matches!(peer.events()[..], [Event::Request(_)]));
    assert!(!peer.session.is_in_field_block());
    assert!(peer.session.head().unwrap().is_complete);
    peer.request(3, true);
}

#[test]
fn malformed_requests_cost_their_stream() {
    let malformed: [&[(&str, &str)]; 4] = [
        &[(":method", "GET"), (":scheme", "https"), (":path", "/")],
        &[GET[0], GET[1], GET[2], GET[3], ("connection", "close")],
        &[GET[0], GET[1], GET[2], GET[3], (":path", "/")],
        &[GET[0], GET[1], GET[2], GET[3], ("content-length", "5")],
    ];
    let mut peer = Peer::new(&SessionOptions::default());
    for (index, fields) in malformed.into_iter().enumerate() {
        peer.headers(index as u32 * 2 + 1, fields, true);
        assert_eq!(peer.events(), []);
        assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::PROTOCOL_ERROR);
    }
    peer.request(99, true);
}

#[test]
fn the_length_of_a_body_is_the_one_that_was_said() {
    let fields = [POST[0], POST[1], POST[2], POST[3], ("content-length", "5")];
    for (parts, is_right) in [
        (&[("hello", true)][..], true),
        (&[("he", false), ("llo", false), ("", true)], true),
        (&[("hell", true)], false),
        (&[("hello!", false)], false),
        (&[("", true)], false),
    ] {
        let mut peer = Peer::new(&SessionOptions::default());
        peer.headers(1, &fields, false);
        for (bytes, is_last) in parts {
            peer.data(1, bytes.as_bytes(), *is_last);
        }
        let events = peer.events();
        let is_reset = |event: &Event| matches!(event, Event::Reset { by_peer: false, .. });
        assert_eq!(events.iter().any(is_reset), !is_right, "{parts:?}");
        let sent = peer.sent();
        assert_eq!(sent.is_empty(), is_right);
    }
    let mut peer = Peer::new(&SessionOptions::default());
    peer.headers(1, &fields, false);
    peer.data(1, b"hell", false);
    peer.headers(1, &[("a", "b")], true);
    peer.events();
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn fields_that_are_too_large_are_answered_431() {
    let options = SessionOptions {
        settings: LocalSettings {
            max_header_list_size: 300,
            ..LocalSettings::default()
        },
        ..SessionOptions::default()
    };
    let mut peer = Peer::new(&options);
    let long = "x".repeat(200);
    let fields = [GET[0], GET[1], GET[2], GET[3], ("a", &long)];
    peer.headers(1, &fields, false);
    assert_eq!(peer.events(), []);
    let sent = peer.sent();
    let status = (":status".to_owned(), "431".to_owned());
    assert_eq!(peer.fields(&sent[0])[0], status);
    assert_eq!(sent[0].flags, flag::END_HEADERS | flag::END_STREAM);
    assert_eq!(rst_code(&sent[1]), ErrorCode::NO_ERROR);
    // The table is as the client's, and what it sends of the body is skipped.
    peer.data(1, b"body", true);
    peer.request(3, true);
    assert_eq!(peer.session.open_streams(), 1);
}

#[test]
fn a_stream_whose_fields_are_too_large_is_reset_where_it_is_to_be_as_in_node() {
    let options = SessionOptions {
        max_fields: 5,
        answers_large_fields: false,
        ..SessionOptions::default()
    };
    let mut peer = Peer::new(&options);
    let fields = [GET[0], GET[1], GET[2], GET[3], ("a", "1"), ("b", "2")];
    peer.headers(1, &fields, true);
    assert_eq!(peer.events(), []);
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::ENHANCE_YOUR_CALM);
    // The session goes on.
    peer.request(3, true);
}

#[test]
fn an_authority_that_is_no_host_is_taken_where_it_may_be() {
    let with = |authority: &'static str| {
        GET.map(|(name, value)| match name {
            ":authority" => (name, authority),
            _ => (name, value),
        })
    };
    for strict_host in [true, false] {
        let options = SessionOptions {
            strict_host,
            ..SessionOptions::default()
        };
        let mut peer = Peer::new(&options);
        peer.headers(1, &with("::1:8080"), true);
        let is_request = matches!(peer.events()[..], [Event::Request(_)]);
        assert_eq!(is_request, !strict_host);
        peer.sent();
        peer.headers(3, &with("a b"), true);
        assert_eq!(peer.events(), []);
        assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let options = SessionOptions {
        settings: LocalSettings {
            max_concurrent_streams: 2,
            ..LocalSettings::default()
        },
        ..SessionOptions::default()
    };
    let mut peer = Peer::new(&options);
    let first = peer.request(1, true);
    peer.request(3, false);
    peer.headers(5, &GET, true);
    assert_eq!(peer.events(), []);
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::REFUSED_STREAM);
    // One that the client has reset counts until the application has let go of it.
    peer.rst(1, ErrorCode::CANCEL);
    peer.headers(7, &GET, true);
    let reset = Event::Reset {
        stream: first,
        code: ErrorCode::CANCEL,
        by_peer: true,
    };
    assert_eq!(peer.events(), [reset]);
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::REFUSED_STREAM);
    peer.session.let_go(first, &mut peer.out);
    peer.request(9, true);
}

#[test]
fn settings_hold_when_they_are_acknowledged() {
    let mut peer = Peer::new(&SessionOptions::default());
    let settings = LocalSettings {
        max_frame_size: 20_000,
        header_table_size: 0,
        initial_window_size: 10,
        ..LocalSettings::default()
    };
    peer.session
        .change_settings(settings, &mut peer.out)
        .unwrap();
    assert_eq!(peer.sent()[0].payload.len(), 18);
    assert_eq!(peer.session.local_settings().initial_window_size, 65_535);
    peer.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]);
    assert_eq!(peer.events(), [Event::LocalSettings]);
    assert_eq!(peer.session.local_settings(), &settings);
    // The client has to say that its table is smaller now.
    peer.headers(1, &GET, true);
    assert_eq!(peer.error(), ErrorCode::COMPRESSION_ERROR);
    assert!(Session::new(&SessionOptions::default(), 0).head().is_none());
}
