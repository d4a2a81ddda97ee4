//! What a client must not do, and what it costs: its stream, or the connection (RFC 9113, sections 5 and 6).

use portico_http::h2::frame::{FrameKind, Setting, flag, write_settings};
use portico_http::h2::{ErrorCode, Event, SessionOptions};

use crate::peer::{GET, Peer, rst_code};

/// What a client sends, and the code that it gets.
type Wrong = (fn(&mut Peer), ErrorCode);

/// The connection's error after these frames.
fn error(send: impl FnOnce(&mut Peer)) -> ErrorCode {
    let mut peer = Peer::new(&SessionOptions::default());
    send(&mut peer);
    peer.error()
}

#[test]
fn frames_on_idle_streams_end_the_connection() {
    let idle: [fn(&mut Peer); 5] = [
        |peer| peer.data(1, b"a", true),
        |peer| peer.rst(1, ErrorCode::CANCEL),
        |peer| peer.window(1, 1),
        |peer| peer.window(2, 1),
        |peer| peer.frame(FrameKind::CONTINUATION, flag::END_HEADERS, 1, b"\x82"),
    ];
    for send in idle {
        assert_eq!(error(send), ErrorCode::PROTOCOL_ERROR);
    }
    // Priorities may come for any stream.
    let mut peer = Peer::new(&SessionOptions::default());
    peer.frame(FrameKind::PRIORITY, 0, 9, &[0, 0, 0, 1, 5]);
    assert_eq!(peer.events(), []);
}

#[test]
fn streams_are_odd_and_rise() {
    assert_eq!(
        error(|peer| peer.headers(2, &GET, true)),
        ErrorCode::PROTOCOL_ERROR
    );
    let closed = error(|peer| {
        let key = peer.request(5, true);
        let fields = [];
        peer.session
            .respond(key, 200, fields, true, &mut peer.out)
            .unwrap();
        peer.headers(3, &GET, true);
    });
    assert_eq!(closed, ErrorCode::STREAM_CLOSED);
}

#[test]
fn a_field_block_is_not_interrupted() {
    let interrupted: [fn(&mut Peer); 4] = [
        |peer| peer.frame(FrameKind::PING, 0, 0, &[0; 8]),
        |peer| peer.data(1, b"", false),
        |peer| peer.frame(FrameKind::CONTINUATION, 0, 3, b""),
        |peer| peer.frame(FrameKind(0xfa), 0, 1, b""),
    ];
    for send in interrupted {
        let code = error(|peer| {
            peer.frame(FrameKind::HEADERS, 0, 1, b"\x82");
            send(peer);
        });
        assert_eq!(code, ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn what_concerns_the_connection_ends_it() {
    let wrong: [Wrong; 8] = [
        (
            |peer| peer.frame(FrameKind(0x42), 0, 0, &[0; 16_385]),
            ErrorCode::FRAME_SIZE_ERROR,
        ),
        (
            |peer| peer.frame(FrameKind::PUSH_PROMISE, 0, 1, &[0; 5]),
            ErrorCode::PROTOCOL_ERROR,
        ),
        (
            |peer| peer.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]),
            ErrorCode::PROTOCOL_ERROR,
        ),
        (|peer| peer.window(0, 0), ErrorCode::PROTOCOL_ERROR),
        (
            |peer| peer.window(0, 0x7fff_ffff),
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        (
            |peer| peer.frame(FrameKind::HEADERS, flag::END_HEADERS, 1, b"\x80"),
            ErrorCode::COMPRESSION_ERROR,
        ),
        (
            |peer| peer.frame(FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\0u=1"),
            ErrorCode::PROTOCOL_ERROR,
        ),
        (
            |peer| peer.frame(FrameKind::DATA, flag::PADDED, 1, b"\x05abc"),
            ErrorCode::PROTOCOL_ERROR,
        ),
    ];
    for (index, (send, code)) in wrong.into_iter().enumerate() {
        assert_eq!(error(send), code, "{index}");
    }
}

#[test]
fn settings_have_ranges() {
    for (setting, value, code) in [
        (Setting::ENABLE_PUSH, 2, ErrorCode::PROTOCOL_ERROR),
        (
            Setting::INITIAL_WINDOW_SIZE,
            0x8000_0000,
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        (Setting::MAX_FRAME_SIZE, 16_383, ErrorCode::PROTOCOL_ERROR),
        (Setting::MAX_FRAME_SIZE, 1 << 24, ErrorCode::PROTOCOL_ERROR),
        (
            Setting::ENABLE_CONNECT_PROTOCOL,
            2,
            ErrorCode::PROTOCOL_ERROR,
        ),
        (Setting::NO_RFC7540_PRIORITIES, 2, ErrorCode::PROTOCOL_ERROR),
    ] {
        let mut bytes = Vec::new();
        write_settings(&mut bytes, &[(setting, value)]);
        assert_eq!(error(|peer| peer.send(&bytes)), code, "{setting:?}");
    }
}

#[test]
fn what_concerns_a_stream_ends_the_stream() {
    let wrong: [Wrong; 5] = [
        (|peer| peer.window(1, 0), ErrorCode::PROTOCOL_ERROR),
        (
            |peer| peer.window(1, 0x7fff_ffff),
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        // Half-closed (remote)
        (|peer| peer.data(1, b"a", true), ErrorCode::STREAM_CLOSED),
        (|peer| peer.headers(1, &[], true), ErrorCode::STREAM_CLOSED),
        (
            |peer| peer.frame(FrameKind::PRIORITY, 0, 1, b"abc"),
            ErrorCode::FRAME_SIZE_ERROR,
        ),
    ];
    for (send, code) in wrong {
        let mut peer = Peer::new(&SessionOptions::default());
        let stream = peer.request(1, true);
        send(&mut peer);
        let reset = Event::Reset {
            stream,
            code,
            by_peer: false,
        };
        assert_eq!(peer.events(), [reset]);
        assert_eq!(rst_code(&peer.sent()[0]), code);
        // What the client sends before it knows is no error, and the connection goes on.
        peer.data(1, b"late", false);
        peer.window(1, 5);
        peer.rst(1, ErrorCode::CANCEL);
        peer.headers(1, &[("a", "b")], true);
        assert_eq!(peer.events(), []);
        assert_eq!(peer.sent(), []);
        peer.session.let_go(stream, &mut peer.out);
        peer.data(1, b"late", true);
        assert_eq!(peer.events(), []);
        peer.request(3, true);
    }
}

#[test]
fn data_on_a_stream_that_has_ended_is_an_error_of_the_stream() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, true);
    peer.session
        .respond(key, 204, [], true, &mut peer.out)
        .unwrap();
    peer.sent();
    peer.data(1, b"abc", false);
    assert_eq!(peer.events(), []);
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::STREAM_CLOSED);
    // Also on one that the client itself has reset.
    peer.request(3, false);
    peer.rst(3, ErrorCode::CANCEL);
    peer.data(3, b"abc", false);
    peer.events();
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::STREAM_CLOSED);
}

#[test]
fn trailers_end_the_request() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.request(1, false);
    peer.headers(1, &[("a", "b")], false);
    peer.events();
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::PROTOCOL_ERROR);
    peer.request(3, false);
    peer.headers(3, &[(":path", "/")], true);
    peer.events();
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn nothing_is_received_after_an_error() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.window(0, 0);
    peer.error();
    peer.headers(1, &GET, true);
    assert_eq!(peer.events(), []);
    assert_eq!(peer.sent(), []);
    assert_eq!(peer.session.deadline_ms(), None);
}

#[test]
fn a_wrong_frame_of_a_stream_that_has_ended_gets_its_error_and_ends_nothing_else() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, true);
    let fields = std::iter::empty();
    peer.session
        .respond(key, 204, fields, true, &mut peer.out)
        .unwrap();
    peer.sent();
    peer.frame(FrameKind::PRIORITY, 0, 1, &[0; 4]);
    peer.window(1, 0);
    assert!(peer.events().is_empty());
    let codes: Vec<ErrorCode> = peer.sent().iter().map(rst_code).collect();
    assert_eq!(
        codes,
        [ErrorCode::FRAME_SIZE_ERROR, ErrorCode::PROTOCOL_ERROR]
    );
    peer.request(3, true);
}
