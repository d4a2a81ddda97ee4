//! Frames: those that are read can be written again and are then the same; a fragment never leaves the payload.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico_http::h2::frame::{
    FRAME_HEADER_BYTES, Frame, FrameHeader, write_altsvc, write_goaway, write_ping, write_priority_update, write_rst_stream,
    write_settings, write_settings_ack, write_window_update,
};

fuzz_target!(|data: &[u8]| {
    let Some((bytes, payload)) = data.split_first_chunk::<FRAME_HEADER_BYTES>() else {
        return;
    };
    let mut header = FrameHeader::parse(bytes);
    header.length = payload.len() as u32;
    assert_eq!(FrameHeader::parse(&header.bytes()), header);
    let Ok(frame) = Frame::parse(&header, payload) else {
        return;
    };
    let mut out = Vec::new();
    match frame {
        Frame::Headers { fragment, .. } | Frame::PushPromise(_, fragment) | Frame::Continuation(fragment) => {
            assert!(fragment.is_empty() || payload.windows(fragment.len()).any(|part| part.as_ptr() == fragment.as_ptr()));
            return;
        }
        Frame::Priority { .. } | Frame::Unknown | Frame::Origin(_) => return,
        Frame::RstStream(code) => write_rst_stream(&mut out, header.stream, code),
        Frame::Settings(entries) => write_settings(&mut out, &entries.collect::<Vec<_>>()),
        Frame::SettingsAck => write_settings_ack(&mut out),
        Frame::Ping(data) => write_ping(&mut out, false, data),
        Frame::PingAck(data) => write_ping(&mut out, true, data),
        Frame::GoAway { last_stream, code, debug } => write_goaway(&mut out, last_stream, code, debug),
        Frame::WindowUpdate(increment) => write_window_update(&mut out, header.stream, increment),
        Frame::PriorityUpdate(stream, value) => write_priority_update(&mut out, stream, value),
        Frame::AltSvc(origin, value) => write_altsvc(&mut out, header.stream, origin, value),
    }
    let (again, written) = out.split_first_chunk::<FRAME_HEADER_BYTES>().expect("a header");
    let again = FrameHeader::parse(again);
    assert_eq!((again.kind, again.stream, again.length as usize), (header.kind, header.stream, written.len()));
    assert_eq!(Frame::parse(&again, written), Ok(frame));
});
