//! Attacks, each with the limit that ends it.

use portico_http::h2::frame::{FrameKind, Setting, flag, write_settings};
use portico_http::h2::{
    ConnectionError, ErrorCode, Event, MAX_CONTINUATIONS, MAX_OUTSTANDING_SETTINGS, SessionLimits,
    SessionOptions,
};

use crate::peer::{GET, Peer};

/// How often an attack can be repeated until the connection ends, and that it does with ENHANCE_YOUR_CALM.
fn repeat(mut attack: impl FnMut(&mut Peer, u32)) -> u32 {
    let mut peer = Peer::new(&SessionOptions::default());
    for round in 0..10_000 {
        attack(&mut peer, round);
        if let Err(error) = drain(&mut peer) {
            assert_eq!(error.code, ErrorCode::ENHANCE_YOUR_CALM, "{error}");
            assert_eq!(peer.sent().pop().unwrap().kind, FrameKind::GOAWAY);
            return round;
        }
        peer.out.clear();
    }
    panic!("the attack goes on");
}

/// Handles all events as an application does that answers nothing.
fn drain(peer: &mut Peer) -> Result<(), ConnectionError> {
    for event in peer.try_events()? {
        match event {
            Event::Reset { stream, .. } => peer.session.let_go(stream, &mut peer.out),
            Event::Data { stream, bytes, .. } => {
                let length = bytes.len() as u32;
                peer.session.release(stream, length, &mut peer.out);
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn rapid_reset() {
    let rounds = repeat(|peer, round| {
        peer.headers(round * 2 + 1, &GET, true);
        peer.rst(round * 2 + 1, ErrorCode::CANCEL);
    });
    assert_eq!(rounds, 1000);
}

#[test]
fn resets_that_the_server_is_made_to_send() {
    // CVE-2025-8671: a valid request, and a frame that is an error of its stream.
    let rounds = repeat(|peer, round| {
        peer.headers(round * 2 + 1, &GET, true);
        peer.window(round * 2 + 1, 0);
    });
    assert_eq!(rounds, 1000);
    let rounds = repeat(|peer, round| {
        peer.headers(round * 2 + 1, &GET, true);
        peer.data(round * 2 + 1, b"", true);
    });
    assert_eq!(rounds, 1000);
    let rounds = repeat(|peer, round| peer.headers(round * 2 + 1, &[], true));
    assert_eq!(rounds, 1000);
}

#[test]
fn resets_are_allowed_again_with_time() {
    let mut peer = Peer::new(&SessionOptions::default());
    for round in 0..3000_u32 {
        if round >= 1000 {
            peer.now_ms += 31;
        }
        peer.headers(round * 2 + 1, &GET, true);
        peer.rst(round * 2 + 1, ErrorCode::CANCEL);
        drain(&mut peer).unwrap();
    }
}

#[test]
fn continuation_without_end() {
    let rounds = repeat(|peer, round| {
        if round == 0 {
            peer.frame(FrameKind::HEADERS, 0, 1, b"");
        }
        peer.frame(FrameKind::CONTINUATION, 0, 1, b"");
    });
    assert_eq!(rounds, MAX_CONTINUATIONS);
    // Large ones end it by their bytes.
    let mut peer = Peer::new(&SessionOptions::default());
    let mut part = vec![0x00, 0x7f, 0x80, 0x7f];
    part.resize(16_384, b'a');
    peer.frame(FrameKind::HEADERS, 0, 1, &part);
    for _ in 0..20 {
        peer.frame(FrameKind::CONTINUATION, 0, 1, &part);
    }
    assert_eq!(peer.error(), ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn settings_and_pings() {
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind::SETTINGS, 0, 0, &[])),
        // One was the handshake's.
        99
    );
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind::PING, 0, 0, &[0; 8])),
        1000
    );
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind::GOAWAY, 0, 0, &[0; 8])),
        1000
    );
}

#[test]
fn frames_that_say_nothing() {
    let rounds = repeat(|peer, round| {
        if round == 0 {
            peer.headers(1, &GET, false);
        }
        peer.data(1, b"", false);
    });
    assert_eq!(rounds, 1000);
    let padding = repeat(|peer, round| {
        if round == 0 {
            peer.headers(1, &GET, false);
        }
        peer.frame(FrameKind::DATA, flag::PADDED, 1, b"\x02..");
    });
    assert_eq!(padding, 1000);
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind(0xfa), 0, 0, b"")),
        1000
    );
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind::ALTSVC, 0, 0, b"\0\0")),
        1000
    );
}

#[test]
fn priorities_that_change_for_ever() {
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind::PRIORITY, 0, 1, &[0, 0, 0, 3, 5])),
        1000
    );
    let mut peer = Peer::new(&SessionOptions::default());
    for round in 0..900_u32 {
        let mut payload = (round * 2 + 1).to_be_bytes().to_vec();
        payload.extend(b"u=1");
        peer.frame(FrameKind::PRIORITY_UPDATE, 0, 0, &payload);
    }
    drain(&mut peer).unwrap();
    assert_eq!(
        repeat(|peer, _| peer.frame(FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\x01u=1")),
        1000
    );
}

#[test]
fn field_blocks_that_stand_for_more_than_they_are() {
    let mut peer = Peer::new(&SessionOptions::default());
    // An entry of 4,001 bytes, and then indices of it.
    let mut block = vec![0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    block.extend([b'x'; 4000]);
    let flags = flag::END_HEADERS | flag::END_STREAM;
    peer.frame(FrameKind::HEADERS, flags, 1, &block);
    drain(&mut peer).unwrap();
    peer.frame(FrameKind::HEADERS, flags, 3, &[0xbe; 20]);
    drain(&mut peer).unwrap();
    peer.frame(FrameKind::HEADERS, flags, 5, &[0xbe; 200]);
    assert_eq!(peer.error(), ErrorCode::ENHANCE_YOUR_CALM);
}

/// An answer of 100,000 bytes to a client whose streams begin with a window of 0.
fn stalled(limits: SessionLimits) -> Peer {
    let options = SessionOptions {
        limits,
        ..SessionOptions::default()
    };
    let mut peer = Peer::new(&options);
    let mut bytes = Vec::new();
    write_settings(&mut bytes, &[(Setting::INITIAL_WINDOW_SIZE, 0)]);
    peer.send(&bytes);
    peer.events();
    let key = peer.request(1, true);
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    peer.session.queue(key, 100_000).unwrap();
    assert_eq!(peer.pump(), []);
    peer
}

#[test]
fn windows_of_one_byte() {
    let mut peer = stalled(SessionLimits::default());
    for round in 0..2000 {
        peer.window(1, 1);
        if let Err(error) = peer.try_events() {
            assert_eq!(error.code, ErrorCode::ENHANCE_YOUR_CALM);
            assert_eq!(round, 1001);
            return;
        }
        assert_eq!(peer.pump(), [(1, 1, false)]);
        peer.out.clear();
    }
    panic!("the attack goes on");
}

#[test]
fn window_updates_that_nothing_is_sent_for() {
    assert_eq!(repeat(|peer, _| peer.window(0, 1)), 1000);
    // Who reads may send them.
    let mut peer = Peer::new(&SessionOptions::default());
    let key = peer.request(1, true);
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    for _ in 0..5000 {
        peer.session.queue(key, 300).unwrap();
        assert_eq!(peer.pump().len(), 1);
        peer.window(1, 300);
        peer.window(0, 300);
        assert_eq!(peer.events(), []);
    }
}

#[test]
fn a_window_that_stays_closed() {
    let limits = SessionLimits {
        window_timeout_ms: 10_000,
        ..SessionLimits::default()
    };
    let mut peer = stalled(limits);
    assert_eq!(peer.session.deadline_ms(), Some(11_000));
    let due = |peer: &mut Peer, now_ms: u64| {
        peer.now_ms = now_ms;
        peer.session.handle_timeout(now_ms, &mut peer.out)
    };
    assert_eq!(due(&mut peer, 10_999), Ok(None));
    // A few bytes are no progress.
    peer.window(1, 3);
    peer.events();
    assert_eq!(peer.pump(), [(1, 3, false)]);
    let Ok(Some(Event::Reset {
        stream,
        code,
        by_peer,
    })) = due(&mut peer, 11_000)
    else {
        panic!();
    };
    assert_eq!((stream.id, code), (1, ErrorCode::ENHANCE_YOUR_CALM));
    assert!(!by_peer);
    assert_eq!(due(&mut peer, 11_000), Ok(None));
    assert_eq!(peer.session.deadline_ms(), None);
}

#[test]
fn a_window_that_opens_in_time() {
    let limits = SessionLimits {
        window_timeout_ms: 10_000,
        ..SessionLimits::default()
    };
    let mut peer = stalled(limits);
    peer.now_ms = 9_000;
    peer.window(1, 20_000);
    peer.events();
    assert_eq!(peer.pump().len(), 2);
    let late = peer.session.handle_timeout(11_000, &mut peer.out);
    assert_eq!(late, Ok(None));
    assert_eq!(peer.session.deadline_ms(), Some(19_000));
}

#[test]
fn a_window_of_the_connection_that_stays_closed() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.window(0, 5);
    peer.events();
    let key = peer.request(1, true);
    peer.window(1, 1_000_000);
    peer.events();
    peer.session
        .respond(key, 200, [], false, &mut peer.out)
        .unwrap();
    peer.session.queue(key, 100_000).unwrap();
    peer.pump();
    assert_eq!(peer.session.deadline_ms(), Some(121_000));
    let error = peer.session.handle_timeout(121_000, &mut peer.out);
    assert_eq!(error.unwrap_err().code, ErrorCode::ENHANCE_YOUR_CALM);
    assert_eq!(peer.session.deadline_ms(), None);
}

#[test]
fn settings_that_are_not_acknowledged() {
    let mut peer = Peer::silent(&SessionOptions::default());
    assert_eq!(peer.session.deadline_ms(), Some(11_000));
    let early = peer.session.handle_timeout(10_999, &mut peer.out);
    assert_eq!(early, Ok(None));
    let late = peer.session.handle_timeout(11_000, &mut peer.out);
    assert_eq!(late.unwrap_err().code, ErrorCode::SETTINGS_TIMEOUT);
    assert_eq!(peer.sent().pop().unwrap().kind, FrameKind::GOAWAY);
}

#[test]
fn so_many_of_our_settings_wait_for_their_acknowledgement_and_no_more() {
    let mut peer = Peer::silent(&SessionOptions::default());
    let settings = *peer.session.local_settings();
    let mut changed = 1; // the first ones are on their way
    while peer
        .session
        .change_settings(settings, &mut peer.out)
        .is_ok()
    {
        changed += 1;
        assert!(changed <= 100);
    }
    assert_eq!(changed, MAX_OUTSTANDING_SETTINGS);
}
