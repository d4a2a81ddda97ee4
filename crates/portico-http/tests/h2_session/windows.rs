//! Flow control both ways (RFC 9113, sections 5.2 and 6.9).

use portico_http::h2::frame::{FrameKind, Setting, flag, write_settings};
use portico_http::h2::{ErrorCode, Event, LocalSettings, SessionOptions, StreamKey};

use crate::peer::{Peer, rst_code};

fn settings(peer: &mut Peer, entries: &[(Setting, u32)]) {
    let mut bytes = Vec::new();
    write_settings(&mut bytes, entries);
    peer.send(&bytes);
    assert!(matches!(peer.events()[..], [Event::PeerSettings { .. }]));
    peer.sent();
}

fn answer(peer: &mut Peer, stream: u32, bytes: u64) -> StreamKey {
    let key = peer.request(stream, true);
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    peer.session.queue(key, bytes).unwrap();
    key
}

fn sum(sent: &[(u32, usize, bool)]) -> usize {
    sent.iter().map(|sent| sent.1).sum()
}

#[test]
fn an_answer_stops_at_its_window_and_goes_on_when_it_grows() {
    let mut peer = Peer::new(&SessionOptions::default());
    settings(&mut peer, &[(Setting::INITIAL_WINDOW_SIZE, 10)]);
    let key = answer(&mut peer, 1, 25);
    assert_eq!(peer.pump(), [(1, 10, false)]);
    assert_eq!(peer.pump(), []);
    assert_eq!(peer.session.send_windows(key), (0, 65_525));
    peer.window(1, 4);
    peer.events();
    assert_eq!(peer.pump(), [(1, 4, false)]);
    // SETTINGS change the windows of all streams by the difference.
    settings(&mut peer, &[(Setting::INITIAL_WINDOW_SIZE, 5)]);
    assert_eq!(peer.session.send_windows(key).0, -5);
    peer.window(1, 5);
    peer.events();
    assert_eq!(peer.pump(), []);
    settings(&mut peer, &[(Setting::INITIAL_WINDOW_SIZE, 100)]);
    peer.session.end(key, &mut peer.out).unwrap();
    assert_eq!(peer.pump(), [(1, 11, true)]);
}

#[test]
fn all_answers_stop_at_the_window_of_the_connection() {
    let mut peer = Peer::new(&SessionOptions::default());
    answer(&mut peer, 1, 50_000);
    answer(&mut peer, 3, 50_000);
    assert_eq!(sum(&peer.pump()), 65_535);
    peer.window(0, 10);
    peer.events();
    assert_eq!(sum(&peer.pump()), 10);
    peer.window(0, 1_000_000);
    peer.events();
    assert_eq!(sum(&peer.pump()), 34_455);
}

#[test]
fn data_frames_are_as_large_as_there_is_room() {
    let mut peer = Peer::new(&SessionOptions::default());
    settings(&mut peer, &[(Setting::MAX_FRAME_SIZE, 1 << 20)]);
    answer(&mut peer, 1, 20_000);
    let frame = peer.session.next_data(700, &mut peer.out).unwrap();
    assert_eq!((frame.bytes, frame.is_last), (700, false));
    peer.out.clear();
    assert_eq!(peer.session.next_data(0, &mut peer.out), None);
    assert_eq!(peer.pump(), [(1, 16_384, false), (1, 2_916, false)]);
}

#[test]
fn a_window_that_settings_make_too_large_ends_the_connection() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.request(1, true);
    peer.window(1, 0x7fff_ffff - 65_535);
    assert_eq!(peer.events(), []);
    let mut bytes = Vec::new();
    write_settings(&mut bytes, &[(Setting::INITIAL_WINDOW_SIZE, 65_536)]);
    peer.send(&bytes);
    assert_eq!(peer.error(), ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn a_body_stops_until_the_application_has_read() {
    let options = SessionOptions {
        settings: LocalSettings {
            initial_window_size: 1000,
            ..LocalSettings::default()
        },
        ..SessionOptions::default()
    };
    let mut peer = Peer::new(&options);
    let key = peer.request(1, false);
    peer.data(1, &[0; 1000], false);
    peer.events();
    assert_eq!(peer.sent(), []);
    assert_eq!(peer.session.held_bytes(key), 1000);
    // Less than half of a window is not told.
    peer.session.release(key, 400, &mut peer.out);
    assert_eq!(peer.sent(), []);
    peer.session.release(key, 200, &mut peer.out);
    let sent = peer.sent();
    assert_eq!(sent[0].kind, FrameKind::WINDOW_UPDATE);
    assert_eq!(sent[0].payload, 600_u32.to_be_bytes());
    assert_eq!((sent.len(), sent[0].stream), (1, 1));
    peer.data(1, &[0; 601], false);
    let reset = Event::Reset {
        stream: key,
        code: ErrorCode::FLOW_CONTROL_ERROR,
        by_peer: false,
    };
    assert_eq!(peer.events(), [reset]);
    assert_eq!(rst_code(&peer.sent()[0]), ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn the_connection_has_a_window_of_its_own() {
    let mut peer = Peer::new(&SessionOptions::default());
    let first = peer.request(1, false);
    let second = peer.request(3, false);
    for _ in 0..2 {
        peer.data(1, &[0; 16_000], false);
        peer.data(3, &[0; 16_000], false);
    }
    peer.events();
    assert_eq!(peer.sent(), []);
    peer.session.release(first, 32_000, &mut peer.out);
    // A stream that goes gives back what it held.
    peer.session
        .reset(second, ErrorCode::CANCEL, &mut peer.out)
        .unwrap();
    let sent = peer.sent();
    let updates: Vec<(u32, usize)> = sent
        .iter()
        .filter(|frame| frame.kind == FrameKind::WINDOW_UPDATE)
        .map(|frame| (frame.stream, frame.payload.len()))
        .collect();
    assert_eq!(updates, [(0, 4)]);
    // What comes for it late uses the window for a moment only.
    for _ in 0..20 {
        peer.data(3, &[0; 16_000], false);
        assert_eq!(peer.events(), []);
    }
    for _ in 0..5 {
        peer.data(1, &[0; 16_000], false);
    }
    assert_eq!(peer.error(), ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn padding_is_given_back_at_once() {
    let options = SessionOptions {
        settings: LocalSettings {
            initial_window_size: 400,
            ..LocalSettings::default()
        },
        ..SessionOptions::default()
    };
    let mut peer = Peer::new(&options);
    peer.request(1, false);
    let mut payload = vec![250];
    payload.extend([0; 251]);
    peer.frame(FrameKind::DATA, flag::PADDED, 1, &payload);
    peer.events();
    let sent = peer.sent();
    assert_eq!(sent[0].payload, 251_u32.to_be_bytes());
}

#[test]
fn what_is_left_of_a_frame_does_not_reach_a_stream_that_was_given_up() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, false);
    peer.send(&[0, 0, 10, 0, flag::END_STREAM, 0, 0, 0, 1, 1, 2, 3]);
    assert_eq!(peer.events().len(), 1);
    peer.session
        .reset(key, ErrorCode::CANCEL, &mut peer.out)
        .unwrap();
    peer.send(&[4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(peer.events(), []);
    peer.request(3, true);
}

#[test]
fn nothing_stands_between_the_header_of_data_and_its_bytes() {
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, false);
    for is_last in [false, false, true] {
        peer.data(1, &[0; 16_000], is_last);
    }
    peer.events();
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    peer.session.queue(key, 3).unwrap();
    peer.session.end(key, &mut peer.out).unwrap();
    peer.sent();
    // With the last of the answer goes what the request held of the connection's window.
    assert_eq!(peer.pump(), [(1, 3, true)]);
    let kinds: Vec<FrameKind> = peer.sent().iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [FrameKind::WINDOW_UPDATE, FrameKind::DATA]);
}

#[test]
fn the_window_of_the_connection_can_be_changed() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.session.set_connection_window(200_000, &mut peer.out);
    let increment = 200_000_u32 - 65_535;
    assert_eq!(peer.sent()[0].payload, increment.to_be_bytes());
    peer.session.set_connection_window(150_000, &mut peer.out);
    assert_eq!(peer.sent(), []);
    let key = peer.request(1, false);
    // What is released makes up for the 50,000 first.
    for (round, expected) in [(0, None), (1, None), (2, None), (3, Some(78_000_u32))] {
        peer.data(1, &[0; 16_000], false);
        peer.data(1, &[0; 16_000], false);
        peer.events();
        peer.session.release(key, 32_000, &mut peer.out);
        let sent = peer.sent();
        let update = sent.iter().find(|frame| frame.stream == 0);
        let update = update.map(|frame| frame.payload.clone());
        assert_eq!(
            update,
            expected.map(|size| size.to_be_bytes().to_vec()),
            "{round}"
        );
        peer.window(1, 1);
    }
}
