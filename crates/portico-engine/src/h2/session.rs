//! What is said of the session itself: the peer's part to applications that ask for it, and theirs to the peer.

use portico_channel::EventWriter;
use portico_channel::layout::{event, session_command, session_event};
use portico_http::h2::frame::{Setting, SettingsEntries};
use portico_http::h2::{ErrorCode, Event};

use super::H2;
use crate::core::Core;
use crate::limits::H2_SESSION_BYTES;
use crate::stop::Stop;
use crate::transport::Transport;

/// What the event `SESSION` tells.
struct Told<'a> {
    subject: u32,
    stream: u32,
    code: u32,
    bytes: &'a [u8],
}

impl<'a> Told<'a> {
    fn new(subject: u32, bytes: &'a [u8]) -> Self {
        Self {
            subject,
            stream: 0,
            code: 0,
            bytes,
        }
    }
}

impl H2 {
    /// An event of the session that is about no request. `input` is what it came in.
    pub(super) fn session_event(
        &mut self,
        transport: &mut Transport,
        core: &Core,
        events: &mut EventWriter<'_>,
        input: &[u8],
        event: Event,
    ) -> Result<(), Stop> {
        if matches!(event, Event::PeerSettings { .. }) {
            self.clocks.is_open = true;
        }
        if !self.notifies {
            return Ok(());
        }
        let settings;
        let data;
        let told = match event {
            Event::PeerSettings { entries } => {
                let sent = SettingsEntries::new(input.get(entries).unwrap_or_default());
                let known = self.session.peer_settings().all();
                let is_unknown = |entry: &(Setting, u32)| known.iter().all(|it| it.0 != entry.0);
                settings = payload(known.into_iter().chain(sent.filter(is_unknown)));
                Told::new(session_event::PEER_SETTINGS, &settings)
            }
            Event::LocalSettings => {
                settings = payload(self.session.local_settings().all().into_iter());
                Told::new(session_event::LOCAL_SETTINGS, &settings)
            }
            Event::Ping(bytes) => {
                data = bytes;
                Told::new(session_event::PING, &data)
            }
            Event::PingAnswered(bytes) => {
                data = bytes;
                Told::new(session_event::PING_ANSWERED, &data)
            }
            Event::GoAway {
                last_stream,
                code,
                debug,
            } => Told {
                stream: last_stream,
                code: code.0,
                ..Told::new(session_event::GOAWAY, input.get(debug).unwrap_or_default())
            },
            _ => return Ok(()),
        };
        self.tell_session(transport, core, events, &told)
    }

    /// The session has ended by an error of the peer, which is among the output.
    pub(super) fn session_failed(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        (code, reason): (ErrorCode, &str),
    ) -> Result<(), Stop> {
        let mut told = Ok(());
        if self.notifies {
            let failed = Told {
                code: code.0,
                ..Told::new(session_event::FAILED, reason.as_bytes())
            };
            told = self.tell_session(transport, core, events, &failed);
        }
        match told {
            Ok(()) => self.fail(transport, core),
            // The connection ends when that has been told.
            Err(_) => {
                self.ending.has_failed = true;
                self.ending.fails_when_told = true;
            }
        }
        told
    }

    fn tell_session(
        &mut self,
        transport: &mut Transport,
        core: &Core,
        events: &mut EventWriter<'_>,
        told: &Told<'_>,
    ) -> Result<(), Stop> {
        let token = transport.token();
        let write = |events: &mut EventWriter<'_>| {
            events.tell_bytes(0, told.bytes, |bytes| event::Session {
                token,
                subject: told.subject,
                stream: told.stream,
                code: told.code,
                bytes,
            })
        };
        self.untold.tell(transport, core, events, write)
    }

    /// `SESSION`. What is too large for a frame of any peer is left out.
    pub(crate) fn session_command(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        (subject, stream, code): (u32, u32, u32),
        bytes: &[u8],
    ) {
        if self.ending.has_failed || !transport.takes_output() || bytes.len() > H2_SESSION_BYTES {
            return;
        }
        self.begin(transport, core);
        let session = &mut self.session;
        let out = transport.buffer(core);
        match subject {
            session_command::SETTINGS => {
                let mut settings = session.sent_settings();
                for (setting, value) in SettingsEntries::new(bytes) {
                    settings.change(setting, value);
                }
                // It fails where too many are under way: the application counts its own.
                let _ = session.change_settings(settings, out);
            }
            session_command::PING => {
                if let Ok(data) = bytes.try_into() {
                    session.ping(data, out);
                }
            }
            session_command::GOAWAY => session.go_away(stream, ErrorCode(code), bytes, out),
            session_command::ALTSVC => {
                let length = usize::try_from(code).unwrap_or(usize::MAX);
                if let Some((origin, value)) = bytes.split_at_checked(length) {
                    session.alt_svc(stream, origin, value, out);
                }
            }
            session_command::ORIGIN => session.origins(Origins(bytes), out),
            session_command::WINDOW => session.set_connection_window(code, out),
            session_command::SHUT_DOWN => session.shut_down(out),
            _ => {}
        }
        self.enter_deadline(transport, core);
        transport.flush_later(core);
    }
}

/// Settings as in their frame.
fn payload(entries: impl Iterator<Item = (Setting, u32)>) -> Vec<u8> {
    let bytes = entries.flat_map(|(setting, value)| {
        let [i0, i1] = setting.0.to_be_bytes();
        let [v0, v1, v2, v3] = value.to_be_bytes();
        [i0, i1, v0, v1, v2, v3]
    });
    bytes.collect()
}

/// Origins, each with two bytes of length.
#[derive(Clone)]
struct Origins<'a>(&'a [u8]);

impl<'a> Iterator for Origins<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (origin, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        self.0 = rest;
        Some(origin)
    }
}
