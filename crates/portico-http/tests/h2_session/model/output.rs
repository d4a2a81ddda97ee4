//! What the session sends, as a client reads it.

use portico_http::h2::frame::{FRAME_HEADER_BYTES, Frame, FrameHeader, FrameKind, flag};
use portico_http::h2::{ErrorCode, FieldSection};

use super::Model;

impl Model {
    /// Reads what the session has sent as its client.
    pub(super) fn read_output(&mut self) {
        let out = std::mem::take(&mut self.out);
        let mut rest = &out[..];
        while let Some((header, after)) = rest.split_first_chunk::<FRAME_HEADER_BYTES>() {
            let header = FrameHeader::parse(header);
            let (payload, after) = after.split_at(header.length as usize);
            rest = after;
            self.read_frame(&header, payload);
        }
        assert!(rest.is_empty());
    }

    pub(super) fn read_frame(&mut self, header: &FrameHeader, payload: &[u8]) {
        let is_wild = self.is_wild;
        if header.kind == FrameKind::DATA {
            let length = i64::from(header.length);
            self.window -= length;
            let window = self.window;
            let known = self.known(header.stream);
            known.window -= length;
            assert!(known.has_head && !known.is_over, "DATA that has no place");
            assert!(is_wild || length == 0 || (known.window >= 0 && window >= 0));
            known.is_over |= header.has(flag::END_STREAM);
            return;
        }
        match Frame::parse(header, payload).unwrap() {
            Frame::Headers { fragment, .. } => {
                let fields = self.decode(fragment);
                let known = self.known(header.stream);
                assert!(!known.is_over, "HEADERS that have no place");
                assert_ne!(header.flags & flag::END_HEADERS, 0);
                known.has_head |= fields.first().is_some_and(|value| value != b"103");
                known.is_over |= header.has(flag::END_STREAM);
            }
            Frame::PushPromise(_, fragment) => {
                self.decode(fragment);
                assert!(!self.known(header.stream).is_over);
            }
            Frame::RstStream(code) => {
                let known = self.known(header.stream);
                let is_late = known.is_over && code != ErrorCode::NO_ERROR;
                assert!(!is_late || !known.was_reset || is_wild || header.stream % 2 == 1);
                known.is_over = true;
            }
            Frame::SettingsAck => {
                let (window, table) = match is_wild && self.unacknowledged.is_empty() {
                    true => (None, None),
                    false => self.unacknowledged.remove(0),
                };
                if let Some(window) = window {
                    let change = i64::from(window) - self.initial_window;
                    self.initial_window += change;
                    self.streams
                        .values_mut()
                        .for_each(|known| known.window += change);
                }
                if let Some(table) = table {
                    self.decoder.set_allowed_size(table);
                }
            }
            Frame::Settings(_) | Frame::Ping(_) | Frame::PingAck(_) | Frame::GoAway { .. } => {}
            Frame::WindowUpdate(increment) => assert!(increment <= 1 << 24),
            other => panic!("{other:?}"),
        }
    }

    /// The values of a field block.
    pub(super) fn decode(&mut self, block: &[u8]) -> Vec<Vec<u8>> {
        let mut section = FieldSection::new();
        section.start(1 << 20, 1000);
        let decoded = self.decoder.decode(block, &mut section);
        // A table of which no one knows the size may have been chosen.
        assert!(decoded.is_ok() || self.is_wild, "{decoded:?}");
        let fields = section.fields().iter();
        fields
            .map(|field| field.value(section.bytes()).to_vec())
            .collect()
    }
}
