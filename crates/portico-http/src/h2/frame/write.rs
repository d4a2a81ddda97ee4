//! Frames to be sent. Nothing is checked: the session has done that.

use super::header::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, flag};
use super::settings::Setting;
use crate::h2::error::ErrorCode;

fn header(out: &mut Vec<u8>, kind: FrameKind, flags: u8, stream: u32, length: usize) {
    let header = FrameHeader {
        length: length as u32,
        kind,
        flags,
        stream,
    };
    out.extend_from_slice(&header.bytes());
}

/// Appends the header of a DATA frame (RFC 9113, section 6.1); so many bytes must follow.
#[inline]
pub fn write_data_header(out: &mut Vec<u8>, stream: u32, length: usize, is_last: bool) {
    let flags = if is_last { flag::END_STREAM } else { 0 };
    header(out, FrameKind::DATA, flags, stream, length);
}

/// Makes a frame of a field block that has been written behind room for one frame header, and CONTINUATION of what of
/// it does not fit (RFC 9113, sections 6.2, 6.6 and 6.10). `start` is where that room begins in `out`; `kind` is
/// HEADERS, or PUSH_PROMISE with its stream's number in front of the block.
pub fn write_field_block(
    out: &mut Vec<u8>,
    start: usize,
    kind: FrameKind,
    flags: u8,
    stream: u32,
    max_frame_size: usize,
) {
    let length = out.len().saturating_sub(start + FRAME_HEADER_BYTES);
    let first = length.min(max_frame_size);
    let mut frame = FrameHeader {
        length: first as u32,
        kind,
        flags,
        stream,
    };
    if first == length {
        frame.flags |= flag::END_HEADERS;
    }
    if let Some(room) = out.get_mut(start..start + FRAME_HEADER_BYTES) {
        room.copy_from_slice(&frame.bytes());
    }
    if first < length {
        continue_block(
            out,
            start + FRAME_HEADER_BYTES + first,
            stream,
            max_frame_size,
        );
    }
}

/// Puts headers of CONTINUATION between the parts of what lies in `out` from `at` on.
#[cold]
fn continue_block(out: &mut Vec<u8>, at: usize, stream: u32, max_frame_size: usize) {
    let rest = out.split_off(at);
    let mut parts = rest.chunks(max_frame_size).peekable();
    while let Some(part) = parts.next() {
        let flags = match parts.peek() {
            Some(_) => 0,
            None => flag::END_HEADERS,
        };
        header(out, FrameKind::CONTINUATION, flags, stream, part.len());
        out.extend_from_slice(part);
    }
}

/// Appends RST_STREAM (RFC 9113, section 6.4).
pub fn write_rst_stream(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    header(out, FrameKind::RST_STREAM, 0, stream, 4);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends SETTINGS (RFC 9113, section 6.5).
pub fn write_settings(out: &mut Vec<u8>, entries: &[(Setting, u32)]) {
    header(out, FrameKind::SETTINGS, 0, 0, entries.len() * 6);
    for (setting, value) in entries {
        out.extend_from_slice(&setting.0.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends the answer to SETTINGS (RFC 9113, section 6.5.3).
pub fn write_settings_ack(out: &mut Vec<u8>) {
    header(out, FrameKind::SETTINGS, flag::ACK, 0, 0);
}

/// Appends PING or its answer (RFC 9113, section 6.7).
pub fn write_ping(out: &mut Vec<u8>, is_answer: bool, data: [u8; 8]) {
    let flags = if is_answer { flag::ACK } else { 0 };
    header(out, FrameKind::PING, flags, 0, data.len());
    out.extend_from_slice(&data);
}

/// Appends GOAWAY (RFC 9113, section 6.8).
pub fn write_goaway(out: &mut Vec<u8>, last_stream: u32, code: ErrorCode, debug: &[u8]) {
    header(out, FrameKind::GOAWAY, 0, 0, 8 + debug.len());
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
    out.extend_from_slice(debug);
}

/// Appends WINDOW_UPDATE (RFC 9113, section 6.9).
pub fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    header(out, FrameKind::WINDOW_UPDATE, 0, stream, 4);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends PRIORITY_UPDATE (RFC 9218, section 7.1).
pub fn write_priority_update(out: &mut Vec<u8>, stream: u32, value: &[u8]) {
    header(out, FrameKind::PRIORITY_UPDATE, 0, 0, 4 + value.len());
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(value);
}

/// Appends ALTSVC (RFC 7838, section 4): for a stream's origin, or on stream 0 for the origin that is named.
pub fn write_altsvc(out: &mut Vec<u8>, stream: u32, origin: &[u8], value: &[u8]) {
    let length = 2 + origin.len() + value.len();
    header(out, FrameKind::ALTSVC, 0, stream, length);
    out.extend_from_slice(&(origin.len() as u16).to_be_bytes());
    out.extend_from_slice(origin);
    out.extend_from_slice(value);
}

/// Appends ORIGIN (RFC 8336, section 2).
pub fn write_origin<'a>(out: &mut Vec<u8>, origins: impl Iterator<Item = &'a [u8]> + Clone) {
    let length = origins.clone().map(|origin| 2 + origin.len()).sum();
    header(out, FrameKind::ORIGIN, 0, 0, length);
    for origin in origins {
        out.extend_from_slice(&(origin.len() as u16).to_be_bytes());
        out.extend_from_slice(origin);
    }
}
