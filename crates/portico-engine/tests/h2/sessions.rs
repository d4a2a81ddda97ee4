//! What is said of sessions: the peer's part as events, the application's as commands.

use portico_channel::layout::{command, event, session_command, session_event};
use portico_http::h2::frame::{FrameKind, flag};
use portico_http::h2::{ErrorCode, MAX_OUTSTANDING_SETTINGS};

use super::client::fields;
use super::*;

/// A listener whose application wants to know.
fn notified() -> ListenerOptions {
    ListenerOptions {
        notify_session: true,
        ..options()
    }
}

/// What a `SESSION` says.
fn read(event: &Event) -> (u32, u32, u32, Vec<u8>) {
    let words = event.read::<event::Session>();
    let bytes = words.bytes(words.bytes).to_vec();
    (words.subject, words.stream, words.code, bytes)
}

/// The next `SESSION` about this.
#[track_caller]
fn told(server: &mut Server, subject: u32) -> (u32, u32, u32, Vec<u8>) {
    let is_it = |it: &Event| it.kind == event::SESSION && read(it).0 == subject;
    let events = server.until(|events| events.iter().any(is_it));
    read(events.iter().find(|it| is_it(it)).unwrap())
}

fn say(server: &mut Server, token: u32, (subject, stream, code): (u32, u32, u32), bytes: &[u8]) {
    let words = command::Session {
        token,
        subject,
        stream,
        code,
        data_bytes: u32::try_from(bytes.len()).unwrap(),
    };
    server.commands.write(0, words, &[bytes]);
    server.submit();
}

/// The first frame of a kind, among all.
#[track_caller]
fn frame_of(server: &mut Server, client: &mut Client, kind: FrameKind, flags: u8) -> Frame {
    for _ in 0..1000 {
        server.settle_fast();
        let frames = client.all_frames();
        let found = frames
            .into_iter()
            .find(|it| it.kind == kind && it.flags == flags);
        if let Some(frame) = found {
            return frame;
        }
    }
    panic!("no {kind:?}");
}

/// Until so many streams have ended, and then the connection.
#[track_caller]
fn until_closed(server: &mut Server, client: &mut Client, count: usize) -> Vec<Frame> {
    let (frames, events) = until(server, client, |frames| {
        frames.iter().filter(|frame| frame.ends()).count() >= count
    });
    if !events.iter().any(|it| it.kind == event::CLOSED) {
        server.next(event::CLOSED);
    }
    frames
}

fn entries(bytes: &[u8]) -> Vec<(u16, u32)> {
    let entry = |bytes: &[u8]| {
        (
            u16::from_be_bytes(bytes[..2].try_into().unwrap()),
            u32::from_be_bytes(bytes[2..].try_into().unwrap()),
        )
    };
    bytes.chunks_exact(6).map(entry).collect()
}

#[test]
fn the_peers_settings_and_the_acknowledgement_of_ours_are_told() {
    let (mut server, mut client) = pair(notified());
    let (.., first) = told(&mut server, session_event::PEER_SETTINGS);
    assert!(entries(&first).contains(&(4, 65_535)));
    let sent = [0, 4, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, 9];
    client.frame(FrameKind::SETTINGS, 0, 0, &sent);
    let (.., second) = told(&mut server, session_event::PEER_SETTINGS);
    assert!(entries(&second).contains(&(4, 65_536)));
    assert!(entries(&second).contains(&(2, 0)));
    // One that only the application may know.
    assert_eq!(entries(&second).last(), Some(&(0xf000, 9)));
}

#[test]
fn changed_settings_hold_when_they_are_acknowledged() {
    let (mut server, mut client) = pair(notified());
    let (.., local) = told(&mut server, session_event::LOCAL_SETTINGS);
    assert!(entries(&local).contains(&(3, 100)));
    client.get(1, "/");
    let token = server.request().token;
    client.all_frames();
    // Streams, a window that is too large, and a setting that no one knows.
    let wanted = [
        0, 3, 0, 0, 0, 7, 0, 4, 255, 255, 255, 255, 240, 0, 0, 0, 0, 1,
    ];
    say(
        &mut server,
        token,
        (session_command::SETTINGS, 0, 0),
        &wanted,
    );
    let frame = frame_of(&mut server, &mut client, FrameKind::SETTINGS, 0);
    assert_eq!(entries(&frame.payload), [(3, 7), (4, 0x7fff_ffff)]);
    client.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]);
    let (.., local) = told(&mut server, session_event::LOCAL_SETTINGS);
    assert!(entries(&local).contains(&(3, 7)));
    // Beyond what may be under way nothing is sent.
    for _ in 0..MAX_OUTSTANDING_SETTINGS + 5 {
        say(&mut server, token, (session_command::SETTINGS, 0, 0), &[]);
    }
    server.settle_fast();
    let sent = client.all_frames();
    let sent = sent.iter().filter(|it| it.kind == FrameKind::SETTINGS);
    assert_eq!(sent.count(), MAX_OUTSTANDING_SETTINGS);
}

#[test]
fn pings_go_both_ways() {
    let (mut server, mut client) = pair(notified());
    client.frame(FrameKind::PING, 0, 0, b"from you");
    assert_eq!(told(&mut server, session_event::PING).3, b"from you");
    client.get(1, "/");
    let token = server.request().token;
    // One that is no ping is none.
    say(&mut server, token, (session_command::PING, 0, 0), b"short");
    say(
        &mut server,
        token,
        (session_command::PING, 0, 0),
        b"from me!",
    );
    let ping = frame_of(&mut server, &mut client, FrameKind::PING, 0);
    assert_eq!(ping.payload, b"from me!");
    client.frame(FrameKind::PING, flag::ACK, 0, &ping.payload);
    assert_eq!(
        told(&mut server, session_event::PING_ANSWERED).3,
        b"from me!"
    );
}

#[test]
fn goaway_goes_both_ways_and_its_streams_end_in_order() {
    let (mut server, mut client) = pair(notified());
    let mut payload = [0, 0, 0, 2, 0, 0, 0, 11].to_vec();
    payload.extend_from_slice(b"enough");
    client.get(1, "/");
    let request = server.request();
    client.frame(FrameKind::GOAWAY, 0, 0, &payload);
    let goaway = told(&mut server, session_event::GOAWAY);
    assert_eq!(goaway, (session_event::GOAWAY, 2, 11, b"enough".to_vec()));
    let what = (session_command::GOAWAY, 0, ErrorCode::NO_ERROR.0);
    say(&mut server, request.token, what, b"bye");
    let frame = frame_of(&mut server, &mut client, FrameKind::GOAWAY, 0);
    assert_eq!(frame.payload, b"\0\0\0\x01\0\0\0\0bye");
    server.answer(&request, b"still");
    let frames = until_closed(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 1), b"still");
}

#[test]
fn a_session_that_is_shut_down_ends_behind_its_streams() {
    let (mut server, mut client) = pair(notified());
    client.get(1, "/");
    let request = server.request();
    let what = (session_command::SHUT_DOWN, 0, 0);
    say(&mut server, request.token, what, b"");
    let ping = frame_of(&mut server, &mut client, FrameKind::PING, 0);
    // A request that was on its way is still taken.
    client.get(3, "/late");
    client.frame(FrameKind::PING, flag::ACK, 0, &ping.payload);
    let late = server.request();
    server.answer(&request, b"one");
    server.answer(&late, b"two");
    let frames = until_closed(&mut server, &mut client, 2);
    assert_eq!(body_of(&frames, 3), b"two");
}

#[test]
fn a_peer_that_breaks_the_protocol_is_told_of_with_the_code_before_the_end() {
    let (mut server, mut client) = pair(notified());
    client.get(1, "/");
    server.request();
    client.frame(FrameKind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]);
    let events = server.until(|events| events.iter().any(|it| it.kind == event::CLOSED));
    let last = &events[events.len() - 2];
    assert_eq!(last.kind, event::SESSION);
    let (subject, _, code, reason) = read(last);
    assert_eq!(
        (subject, code),
        (session_event::FAILED, ErrorCode::PROTOCOL_ERROR.0)
    );
    assert_eq!(reason, b"a client pushes");
}

#[test]
fn services_and_origins_are_said_and_the_window_is_moved() {
    let (mut server, mut client) = pair(notified());
    client.get(1, "/");
    let token = server.request().token;
    let what = (session_command::ALTSVC, 0, 13);
    say(&mut server, token, what, b"https://a.b.ch2=\":443\"");
    let frame = frame_of(&mut server, &mut client, FrameKind::ALTSVC, 0);
    assert_eq!(frame.payload, b"\0\x0dhttps://a.b.ch2=\":443\"");
    // An origin that is longer than what there is.
    say(
        &mut server,
        token,
        (session_command::ALTSVC, 0, 99),
        b"short",
    );
    let origins = b"\0\x0bhttps://a.b\0\x0bhttps://c.d";
    say(&mut server, token, (session_command::ORIGIN, 0, 0), origins);
    let frame = frame_of(&mut server, &mut client, FrameKind::ORIGIN, 0);
    assert_eq!(frame.payload, origins);
    say(
        &mut server,
        token,
        (session_command::WINDOW, 0, 100_000),
        b"",
    );
    let frame = frame_of(&mut server, &mut client, FrameKind::WINDOW_UPDATE, 0);
    assert_eq!(frame.payload, (100_000_u32 - 65_535).to_be_bytes());
}

#[test]
fn what_is_too_large_for_a_frame_of_the_session_is_left_out() {
    let (mut server, mut client) = pair(notified());
    client.get(1, "/");
    let token = server.request().token;
    let what = (session_command::GOAWAY, 0, 0);
    say(&mut server, token, what, &[b'x'; 16 * 1024 - 15]);
    say(&mut server, token, what, &[b'y'; 16 * 1024 - 16]);
    let frame = frame_of(&mut server, &mut client, FrameKind::GOAWAY, 0);
    assert_eq!(frame.payload.len(), 8 + 16 * 1024 - 16);
    assert_eq!(frame.payload.last(), Some(&b'y'));
}

#[test]
fn an_answer_is_pushed_where_the_client_takes_it() {
    let (mut server, mut client) = pair(notified());
    client.get(1, "/");
    let request = server.request();
    let push = |server: &mut Server| {
        let parts: [&[u8]; 5] = [b"GET", b"http", b"a.example", b"/style", b"X-Own: 1\r\n"];
        let length = |at: usize| u32::try_from(parts[at].len()).unwrap();
        let words = command::Push {
            token: request.token,
            sequence: 1,
            method_bytes: length(0),
            scheme_bytes: length(1),
            authority_bytes: length(2),
            path_bytes: length(3),
            fields_bytes: length(4),
        };
        server.commands.write(0, words, &parts);
        server.submit();
        told(server, session_event::PUSHED)
    };
    assert_eq!(push(&mut server), (session_event::PUSHED, 1, 2, Vec::new()));
    server.answer(&request, b"page");
    let response = portico_channel::Response {
        status: 200,
        flags: portico_channel::layout::response_flag::END,
        body: b"style",
        ..portico_channel::Response::default()
    };
    server.commands.respond(request.token, 2, &response);
    server.submit();
    let frames = until_ended(&mut server, &mut client, 2);
    assert_eq!(frames[0].kind, FrameKind::PUSH_PROMISE);
    assert_eq!(
        (frames[0].stream, &frames[0].payload[..4]),
        (1, &[0, 0, 0, 2][..])
    );
    assert_eq!(body_of(&frames, 2), b"style");
    // The request has ended: nothing can be promised for it.
    assert_eq!(push(&mut server).2, 0);
    // Nor where the client takes nothing.
    let (mut server, mut client) = pair(notified());
    client.frame(FrameKind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 0]);
    client.get(1, "/");
    server.request();
    assert_eq!(push(&mut server).2, 0);
}

#[test]
fn a_client_that_refuses_a_pushed_answer_resets_its_stream_alone() {
    let (mut server, mut client) = pair(notified());
    client.get(1, "/");
    let request = server.request();
    let parts: [&[u8]; 4] = [b"GET", b"http", b"a.example", b"/"];
    let words = command::Push {
        token: request.token,
        sequence: 1,
        method_bytes: 3,
        scheme_bytes: 4,
        authority_bytes: 9,
        path_bytes: 1,
        fields_bytes: 0,
    };
    server.commands.write(0, words, &parts);
    server.submit();
    let (.., promised, _) = told(&mut server, session_event::PUSHED);
    client.rst(promised, ErrorCode::CANCEL);
    let reset = server.next(event::RESET);
    assert_eq!(reset.sequence(), promised);
    server.answer(&request, b"page");
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 1), b"page");
}

#[test]
fn a_method_without_a_number_is_told_by_its_name() {
    let (mut server, mut client) = pair(notified());
    client.headers(1, &fields("BREW", "/pot"), true);
    let request = server.request();
    let words = request.read::<event::Request>();
    assert_eq!(words.method, 0);
    let first = (":method".to_owned(), "BREW".to_owned());
    assert_eq!(request.field(0), first);
    server.answer(&request, b"tea");
    let frames = until_ended(&mut server, &mut client, 1);
    assert_eq!(body_of(&frames, 1), b"tea");
}

#[test]
fn applications_that_do_not_ask_are_told_of_requests_alone() {
    let (mut server, mut client) = pair(options());
    client.frame(FrameKind::PING, 0, 0, b"from you");
    client.headers(1, &fields("BREW", "/pot"), true);
    client.get(3, "/");
    let events = server.until(|events| events.iter().any(|it| it.kind == event::REQUEST));
    assert!(events.iter().all(|it| it.kind != event::SESSION));
    assert_eq!(events.last().unwrap().sequence(), 3);
}
