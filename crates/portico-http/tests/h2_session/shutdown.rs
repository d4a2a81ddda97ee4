//! The end of a connection without the loss of a request (RFC 9113, section 6.8).

use portico_http::h2::frame::{FrameKind, flag};
use portico_http::h2::{ErrorCode, Event, SessionOptions};

use crate::peer::{GET, Peer};

fn last_stream(frame: &crate::peer::Sent) -> u32 {
    assert_eq!(frame.kind, FrameKind::GOAWAY);
    u32::from_be_bytes(frame.payload[..4].try_into().unwrap())
}

#[test]
fn the_end_is_announced_and_then_it_is_said_which_was_the_last() {
    let mut peer = Peer::new(&SessionOptions::default());
    let first = peer.request(1, true);
    peer.session.shut_down(&mut peer.out);
    peer.session.shut_down(&mut peer.out);
    let sent = peer.sent();
    assert_eq!(last_stream(&sent[0]), 0x7fff_ffff);
    assert_eq!((sent.len(), sent[1].kind), (2, FrameKind::PING));
    // What was on its way is taken.
    let second = peer.request(3, true);
    peer.frame(FrameKind::PING, flag::ACK, 0, &sent[1].payload);
    assert_eq!(peer.events(), []);
    assert_eq!(last_stream(&peer.sent()[0]), 3);
    // What comes later is not, and does no harm.
    peer.headers(5, &GET, false);
    peer.data(5, b"abc", true);
    assert_eq!(peer.events(), []);
    assert_eq!(peer.sent(), []);
    for key in [first, second] {
        assert!(!peer.session.is_finished());
        peer.session
            .respond(key, 200, [], true, &mut peer.out)
            .unwrap();
    }
    assert!(peer.session.is_finished());
}

#[test]
fn a_client_that_answers_no_ping_is_not_waited_for() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.session.shut_down(&mut peer.out);
    peer.sent();
    assert_eq!(peer.session.deadline_ms(), Some(2_000));
    assert_eq!(peer.session.handle_timeout(2_000, &mut peer.out), Ok(None));
    assert_eq!(last_stream(&peer.sent()[0]), 0);
    assert!(peer.session.is_finished());
}

#[test]
fn goaway_may_be_sent_by_the_application_and_by_the_client() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.request(1, true);
    let code = ErrorCode(99);
    peer.session.go_away(0, code, b"why", &mut peer.out);
    let sent = peer.sent();
    assert_eq!(last_stream(&sent[0]), 1);
    assert_eq!(sent[0].payload[4..], *b"\0\0\0\x63why");
    peer.frame(FrameKind::GOAWAY, 0, 0, b"\0\0\0\x02\0\0\0\x08bye");
    let event = Event::GoAway {
        last_stream: 2,
        code: ErrorCode::CANCEL,
        debug: 17..20,
    };
    assert_eq!(peer.events(), [event]);
}

#[test]
fn pings_go_both_ways() {
    let mut peer = Peer::new(&SessionOptions::default());
    peer.frame(FrameKind::PING, 0, 0, b"12345678");
    assert_eq!(peer.events(), [Event::Ping(*b"12345678")]);
    let sent = peer.sent();
    assert_eq!(
        (sent[0].flags, &sent[0].payload[..]),
        (flag::ACK, &b"12345678"[..])
    );
    peer.session.ping(*b"abcdefgh", &mut peer.out);
    assert_eq!(peer.sent()[0].flags, 0);
    peer.frame(FrameKind::PING, flag::ACK, 0, b"abcdefgh");
    assert_eq!(peer.events(), [Event::PingAnswered(*b"abcdefgh")]);
}
