//! What the client sends.

use portico_http::h2::frame::{FrameHeader, FrameKind, Setting, flag, write_settings};
use portico_http::h2::hpack::OutgoingField;

use super::{Choices, Model};

impl Model {
    pub(super) fn frame(&mut self, kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) {
        let header = FrameHeader {
            length: payload.len() as u32,
            kind,
            flags,
            stream,
        };
        self.input.extend_from_slice(&header.bytes());
        self.input.extend_from_slice(payload);
    }

    pub(super) fn settings(&mut self, entries: &[(Setting, u32)]) {
        let value = |setting| {
            let mut found = entries.iter().filter(|entry| entry.0 == setting);
            found.next().map(|entry| entry.1)
        };
        self.unacknowledged.push((
            value(Setting::INITIAL_WINDOW_SIZE),
            value(Setting::HEADER_TABLE_SIZE),
        ));
        write_settings(&mut self.input, entries);
    }

    pub(super) fn block(&mut self, choices: &mut Choices<'_>) -> Vec<u8> {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        let length = choices.next().to_string();
        let long = "v".repeat(usize::from(choices.next()) * 10);
        let mut fields = vec![
            (":method", "POST"),
            (":scheme", "https"),
            (":path", "/"),
            (":authority", "a.example"),
            ("content-length", &length),
            ("priority", "u=1, i"),
            ("x-long", &long),
            ("connection", "close"),
        ];
        let choice = choices.next();
        if choice % 16 != 15 {
            fields.retain(|(name, _)| *name != "connection");
        }
        if choice.is_multiple_of(2) {
            fields.retain(|(name, _)| *name != "content-length");
        }
        if choice % 8 != 3 {
            fields.retain(|(name, _)| *name != "x-long");
        }
        if choice % 32 == 4 {
            fields.retain(|(name, _)| !name.starts_with(':'));
        }
        for (name, value) in fields {
            let field = OutgoingField::new(name.as_bytes(), value.as_bytes());
            self.encoder.encode(&mut block, &field);
        }
        block
    }

    /// A stream that there has been, or nearly.
    pub(super) fn any_id(&self, choices: &mut Choices<'_>) -> u32 {
        let choice = u32::from(choices.next());
        match choice {
            254.. => choice - 250,
            _ => self.last_id.saturating_sub(choice % 6 * 2).max(1),
        }
    }

    pub(super) fn client(&mut self, choice: u8, choices: &mut Choices<'_>) {
        let end_stream = if choices.flag() { flag::END_STREAM } else { 0 };
        // What is wrong anywhere ends the connection: not too often.
        let is_wrong = choices.next().is_multiple_of(16);
        match choice % 16 {
            14 | 15 if !is_wrong => {}
            0..=2 => {
                self.last_id = if self.last_id == 0 {
                    1
                } else {
                    self.last_id + 2
                };
                let block = self.block(choices);
                let flags = end_stream | flag::END_HEADERS;
                self.frame(FrameKind::HEADERS, flags, self.last_id, &block);
            }
            3 => {
                let (id, block) = (self.any_id(choices), self.block(choices));
                let cut = block.len().min(usize::from(choices.next()));
                self.last_id = self.last_id.max(id);
                self.frame(FrameKind::HEADERS, end_stream, id, &block[..cut]);
                self.frame(
                    FrameKind::CONTINUATION,
                    flag::END_HEADERS,
                    id,
                    &block[cut..],
                );
            }
            4..=6 => {
                let length = choices.size().min(16_000) as usize;
                let id = self.any_id(choices);
                let padded = if choices.next().is_multiple_of(8) {
                    flag::PADDED
                } else {
                    0
                };
                let mut payload = vec![0; length];
                if let Some(first) = payload.first_mut() {
                    *first = choices.next();
                }
                self.frame(FrameKind::DATA, end_stream | padded, id, &payload);
            }
            7 => {
                let id = self.any_id(choices);
                self.frame(FrameKind::RST_STREAM, 0, id, &8_u32.to_be_bytes());
            }
            8..=9 => {
                let increment = choices.size();
                let id = if choices.flag() {
                    0
                } else {
                    self.any_id(choices)
                };
                match id {
                    0 => self.window += i64::from(increment),
                    id => self.known(id).window += i64::from(increment),
                }
                self.frame(FrameKind::WINDOW_UPDATE, 0, id, &increment.to_be_bytes());
            }
            10 => {
                let setting = [
                    Setting::INITIAL_WINDOW_SIZE,
                    Setting::HEADER_TABLE_SIZE,
                    Setting::ENABLE_PUSH,
                    Setting(77),
                ][usize::from(choices.next() % 4)];
                let value = choices.size();
                self.settings(&[(setting, value)]);
            }
            11 => self.frame(FrameKind::SETTINGS, flag::ACK, 0, &[]),
            12 => self.frame(FrameKind::PING, end_stream, 0, b"goodbye!"),
            13 => {
                let mut payload = self.any_id(choices).to_be_bytes().to_vec();
                payload.extend([b'u', b'=', b'0' + choices.next() % 8]);
                self.frame(FrameKind::PRIORITY_UPDATE, 0, 0, &payload);
            }
            14 => {
                let kind = FrameKind(choices.next());
                let (id, length) = (self.any_id(choices), usize::from(choices.next()));
                let payload = vec![choices.next(); length];
                self.is_wild = true;
                self.frame(kind, choices.next(), id, &payload);
            }
            _ => {
                self.is_wild = true;
                let wanted = usize::from(choices.next() % 32);
                let length = choices.rest.len().min(wanted);
                let (raw, rest) = choices.rest.split_at(length);
                self.input.extend_from_slice(raw);
                choices.rest = rest;
            }
        }
    }
}
