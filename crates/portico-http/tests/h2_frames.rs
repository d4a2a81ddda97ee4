//! Frames: what is written is read again, and what is wrong with one ends its stream or its connection.

#![allow(clippy::unwrap_used, reason = "tests")]

use portico_http::h2::ErrorCode;
use portico_http::h2::frame::{
    FRAME_HEADER_BYTES, Frame, FrameError, FrameHeader, FrameKind, Setting, flag, write_altsvc,
    write_data_header, write_field_block, write_goaway, write_origin, write_ping,
    write_priority_update, write_rst_stream, write_settings, write_settings_ack,
    write_window_update,
};

fn split(bytes: &[u8]) -> (FrameHeader, &[u8]) {
    let (header, payload) = bytes.split_first_chunk::<FRAME_HEADER_BYTES>().unwrap();
    let header = FrameHeader::parse(header);
    assert_eq!(header.length as usize, payload.len());
    (header, payload)
}

fn read(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
    let (header, payload) = split(bytes);
    Frame::parse(&header, payload)
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

#[test]
fn what_is_written_is_read_again() {
    let bytes = written(|out| write_rst_stream(out, 3, ErrorCode::CANCEL));
    assert_eq!(read(&bytes), Ok(Frame::RstStream(ErrorCode::CANCEL)));

    let entries = [(Setting::MAX_FRAME_SIZE, 20_000), (Setting(0xfafa), 7)];
    let bytes = written(|out| write_settings(out, &entries));
    let Ok(Frame::Settings(read_entries)) = read(&bytes) else {
        panic!("{bytes:?}");
    };
    assert_eq!(read_entries.collect::<Vec<_>>(), entries);
    assert_eq!(read(&written(write_settings_ack)), Ok(Frame::SettingsAck));

    let data = *b"12345678";
    let bytes = written(|out| write_ping(out, false, data));
    assert_eq!(read(&bytes), Ok(Frame::Ping(data)));
    let bytes = written(|out| write_ping(out, true, data));
    assert_eq!(read(&bytes), Ok(Frame::PingAck(data)));

    let bytes = written(|out| write_goaway(out, 7, ErrorCode(99), b"why"));
    let goaway = Frame::GoAway {
        last_stream: 7,
        code: ErrorCode(99),
        debug: b"why",
    };
    assert_eq!(read(&bytes), Ok(goaway));

    let bytes = written(|out| write_window_update(out, 5, 0x7fff_ffff));
    assert_eq!(read(&bytes), Ok(Frame::WindowUpdate(0x7fff_ffff)));
    let bytes = written(|out| write_priority_update(out, 5, b"u=1"));
    assert_eq!(read(&bytes), Ok(Frame::PriorityUpdate(5, b"u=1")));
    let bytes = written(|out| write_altsvc(out, 0, b"https://a", b"h3=\":443\""));
    assert_eq!(
        read(&bytes),
        Ok(Frame::AltSvc(b"https://a", b"h3=\":443\""))
    );
    let bytes = written(|out| write_origin(out, [&b"https://a"[..], b"b"].into_iter()));
    assert_eq!(read(&bytes), Ok(Frame::Origin(b"\0\x09https://a\0\x01b")));

    let bytes = written(|out| write_data_header(out, 1, 4, true));
    let header = FrameHeader::parse(bytes.first_chunk().unwrap());
    assert_eq!((header.kind, header.length), (FrameKind::DATA, 4));
    assert!(header.has(flag::END_STREAM));
}

#[test]
fn a_long_field_block_is_continued() {
    for length in 0..50_usize {
        let block: Vec<u8> = (0..length as u8).collect();
        let mut out = b"before".to_vec();
        out.extend([0; FRAME_HEADER_BYTES]);
        out.extend_from_slice(&block);
        write_field_block(&mut out, 6, FrameKind::HEADERS, flag::END_STREAM, 9, 16);
        let (mut rest, mut read, mut is_complete) = (&out[6..], Vec::new(), false);
        while let Some((header, after)) = rest.split_first_chunk() {
            let header = FrameHeader::parse(header);
            let (payload, after) = after.split_at(header.length as usize);
            assert_eq!(header.stream, 9);
            assert!(payload.len() <= 16 && !is_complete);
            is_complete = header.has(flag::END_HEADERS);
            let fragment = match Frame::parse(&header, payload).unwrap() {
                Frame::Headers { fragment, .. } if read.is_empty() => {
                    assert!(header.has(flag::END_STREAM));
                    fragment
                }
                Frame::Continuation(fragment) if !fragment.is_empty() => fragment,
                other => panic!("{other:?}"),
            };
            read.extend_from_slice(fragment);
            rest = after;
        }
        assert!(is_complete && rest.is_empty());
        assert_eq!(read, block);
    }
}

fn parse(kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) -> Result<Frame<'_>, FrameError> {
    let header = FrameHeader {
        length: payload.len() as u32,
        kind,
        flags,
        stream,
    };
    Frame::parse(&header, payload)
}

fn connection(result: Result<Frame<'_>, FrameError>) -> ErrorCode {
    match result {
        Err(FrameError::Connection(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn padding_and_old_priorities_are_left_out() {
    let flags = flag::PADDED | flag::PRIORITY;
    let payload = b"\x02\x80\0\0\x05\x10block..";
    let frame = parse(FrameKind::HEADERS, flags, 3, payload).unwrap();
    let headers = |depends_on_itself| Frame::Headers {
        fragment: b"block",
        depends_on_itself,
    };
    assert_eq!(frame, headers(false));
    let frame = parse(FrameKind::HEADERS, flags, 5, payload).unwrap();
    assert_eq!(frame, headers(true));
    let frame = parse(
        FrameKind::PUSH_PROMISE,
        flag::PADDED,
        1,
        b"\x01\0\0\0\x02x.",
    );
    assert_eq!(frame, Ok(Frame::PushPromise(2, b"x")));

    for payload in [&b"\x05abcd"[..], b"\x01", b"\xff"] {
        let frame = parse(FrameKind::HEADERS, flag::PADDED, 1, payload);
        assert_eq!(connection(frame), ErrorCode::PROTOCOL_ERROR);
    }
    let frame = parse(FrameKind::HEADERS, flag::PADDED, 1, b"");
    assert_eq!(connection(frame), ErrorCode::FRAME_SIZE_ERROR);
    let frame = parse(FrameKind::HEADERS, flag::PRIORITY, 1, b"abcd");
    assert_eq!(connection(frame), ErrorCode::FRAME_SIZE_ERROR);
}

#[test]
fn sizes_that_a_kind_can_not_have_are_refused() {
    for (kind, flags, stream, payload) in [
        (FrameKind::RST_STREAM, 0, 1, &b"abc"[..]),
        (FrameKind::RST_STREAM, 0, 1, b"abcde"),
        (FrameKind::SETTINGS, 0, 0, b"abcde"),
        (FrameKind::SETTINGS, flag::ACK, 0, b"abcdef"),
        (FrameKind::PING, 0, 0, b"1234567"),
        (FrameKind::PING, flag::ACK, 0, b"123456789"),
        (FrameKind::GOAWAY, 0, 0, b"1234567"),
        (FrameKind::WINDOW_UPDATE, 0, 0, b"123"),
        (FrameKind::WINDOW_UPDATE, 0, 1, b"12345"),
        (FrameKind::PUSH_PROMISE, 0, 1, b"123"),
        (FrameKind::PRIORITY_UPDATE, 0, 0, b"123"),
    ] {
        let frame = parse(kind, flags, stream, payload);
        assert_eq!(connection(frame), ErrorCode::FRAME_SIZE_ERROR, "{kind:?}");
    }
    let stream_error = Err(FrameError::Stream(ErrorCode::FRAME_SIZE_ERROR));
    assert_eq!(parse(FrameKind::PRIORITY, 0, 1, b"1234"), stream_error);
    assert_eq!(parse(FrameKind::PRIORITY, 0, 1, b"123456"), stream_error);
}

#[test]
fn a_frame_is_about_a_stream_or_about_the_connection() {
    for kind in [
        FrameKind::DATA,
        FrameKind::HEADERS,
        FrameKind::PRIORITY,
        FrameKind::RST_STREAM,
        FrameKind::PUSH_PROMISE,
        FrameKind::CONTINUATION,
    ] {
        let frame = parse(kind, 0, 0, b"1234");
        assert_eq!(connection(frame), ErrorCode::PROTOCOL_ERROR, "{kind:?}");
    }
    for kind in [
        FrameKind::SETTINGS,
        FrameKind::PING,
        FrameKind::GOAWAY,
        FrameKind::PRIORITY_UPDATE,
    ] {
        let frame = parse(kind, 0, 1, b"12345678");
        assert_eq!(connection(frame), ErrorCode::PROTOCOL_ERROR, "{kind:?}");
    }
}

#[test]
fn a_window_never_grows_by_nothing() {
    let payload = &0x8000_0000_u32.to_be_bytes();
    let frame = parse(FrameKind::WINDOW_UPDATE, 0, 0, payload);
    assert_eq!(connection(frame), ErrorCode::PROTOCOL_ERROR);
    let frame = parse(FrameKind::WINDOW_UPDATE, 0, 1, payload);
    assert_eq!(frame, Err(FrameError::Stream(ErrorCode::PROTOCOL_ERROR)));
}

#[test]
fn what_is_not_known_is_skipped() {
    for kind in [11, 13, 15, 17, 0xfa] {
        let frame = parse(FrameKind(kind), 0xff, kind.into(), b"anything");
        assert_eq!(frame, Ok(Frame::Unknown));
    }
    for payload in [&b""[..], b"\0", b"\0\x05abc"] {
        assert_eq!(parse(FrameKind::ALTSVC, 0, 0, payload), Ok(Frame::Unknown));
    }
}
