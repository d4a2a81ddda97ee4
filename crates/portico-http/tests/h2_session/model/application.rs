//! What the application does.

use portico_http::h2::frame::{FRAME_HEADER_BYTES, FrameKind};
use portico_http::h2::hpack::OutgoingField;
use portico_http::h2::{AnswerHead, ErrorCode, Event, LocalSettings, Priority};

use super::{Choices, MAX_PUSHED, MAX_STREAMS, Model};

impl Model {
    pub(super) fn application(&mut self, choice: u8, choices: &mut Choices<'_>) {
        let index = usize::from(choices.next()) % self.keys.len().max(1);
        let recent = self.keys.len().saturating_sub(1 + index % 6);
        let Some(&key) = self.keys.get(recent) else {
            return;
        };
        let field = [OutgoingField::new(b"X-Own", b"value")];
        let is_last = choices.flag();
        let (session, out) = (&mut self.session, &mut self.out);
        match choice % 16 {
            0..=1 => {
                let answered = session.respond(key, 200, field, is_last, out);
                if answered.is_ok() {
                    self.known(key.id).ends = is_last;
                }
            }
            2..=3 => {
                let bytes = choices.size();
                if session.queue(key, bytes.into()).is_ok() {
                    self.known(key.id).queued += u64::from(bytes);
                }
            }
            4 => {
                if session.end(key, out).is_ok() {
                    self.known(key.id).ends = true;
                }
            }
            5 => {
                if session.end_with_trailers(key, field, out).is_ok() {
                    self.known(key.id).ends = true;
                }
            }
            6 => {
                let _ = session.reset(key, ErrorCode::CANCEL, out);
            }
            7..=8 => session.release(key, choices.size(), out),
            9 => session.let_go(key, out),
            10 => {
                let _ = session.inform(key, 103, field, out);
            }
            11 => {
                let request = [OutgoingField::new(b":method", b"GET")];
                if session.open_streams() < MAX_PUSHED
                    && let Ok(pushed) = session.push(key, request, out)
                {
                    self.keys.push(pushed);
                }
            }
            12..=13 => self.pump(choices),
            14 => {
                self.now_ms += u64::from(choices.size());
                while let Ok(Some(event)) = self.session.handle_timeout(self.now_ms, &mut self.out)
                {
                    let Event::Reset { stream, .. } = event else {
                        panic!("{event:?}");
                    };
                    self.known(stream.id).was_reset = true;
                }
                self.has_failed |= self.session.deadline_ms().is_none() && self.has_goaway();
            }
            _ => match choices.next() % 8 {
                0 => session.shut_down(out),
                1 => session.go_away(choices.size(), ErrorCode::NO_ERROR, b"x", out),
                2 => session.set_priority(key, Priority::parse(b"u=2")),
                3 => {
                    let settings = LocalSettings {
                        initial_window_size: choices.size(),
                        max_concurrent_streams: MAX_STREAMS,
                        ..*session.local_settings()
                    };
                    let _ = session.change_settings(settings, out);
                }
                _ => {
                    let head = AnswerHead::new(404, field);
                    let answered = session.respond_encoded(key, &head, field, is_last, out);
                    if answered.is_ok() {
                        self.known(key.id).ends = is_last;
                    }
                }
            },
        }
    }

    /// Whether what has been sent ends with GOAWAY of an error.
    pub(super) fn has_goaway(&self) -> bool {
        let goaway = FrameKind::GOAWAY.0;
        self.out
            .windows(FRAME_HEADER_BYTES)
            .any(|bytes| bytes[3] == goaway)
    }

    pub(super) fn pump(&mut self, choices: &mut Choices<'_>) {
        let most = choices.size() as usize;
        for _ in 0..=choices.next() % 8 {
            let Some(frame) = self.session.next_data(most, &mut self.out) else {
                return;
            };
            let length = self.out.len() + frame.bytes;
            self.out.resize(length, 0);
            let known = self.known(frame.stream.id);
            known.sent += frame.bytes as u64;
            assert!(known.sent <= known.queued);
            assert!(!frame.is_last || (known.ends && known.sent == known.queued));
        }
    }
}
