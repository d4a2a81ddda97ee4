//! The peer's SETTINGS (RFC 9113, section 6.5).

use super::core::Session;
use super::event::Event;
use super::floods::Flood;
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::{Setting, SettingsEntries, write_settings_ack};
use crate::h2::limits::MAX_WINDOW;

/// What the peer has told of itself; before that, the RFC's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSettings {
    /// Bytes of its dynamic table.
    pub header_table_size: u32,
    /// Whether it takes pushed answers.
    pub enable_push: bool,
    /// Pushed streams that may be open.
    pub max_concurrent_streams: u32,
    /// The window of each stream.
    pub initial_window_size: u32,
    /// Bytes of a frame's payload.
    pub max_frame_size: u32,
    /// Bytes of a field section. It is advice: answers are sent whatever it says.
    pub max_header_list_size: u32,
}

impl Default for PeerSettings {
    fn default() -> Self {
        Self {
            header_table_size: 4096,
            enable_push: true,
            max_concurrent_streams: u32::MAX,
            initial_window_size: 65_535,
            max_frame_size: 16_384,
            max_header_list_size: u32::MAX,
        }
    }
}

impl PeerSettings {
    /// All of them, as a SETTINGS frame would have them.
    #[must_use]
    pub fn all(&self) -> [(Setting, u32); 6] {
        [
            (Setting::HEADER_TABLE_SIZE, self.header_table_size),
            (Setting::ENABLE_PUSH, self.enable_push.into()),
            (Setting::MAX_CONCURRENT_STREAMS, self.max_concurrent_streams),
            (Setting::INITIAL_WINDOW_SIZE, self.initial_window_size),
            (Setting::MAX_FRAME_SIZE, self.max_frame_size),
            (Setting::MAX_HEADER_LIST_SIZE, self.max_header_list_size),
        ]
    }

    /// Takes in an entry.
    fn learn(&mut self, setting: Setting, value: u32) -> Result<(), ConnectionError> {
        let is_flag = value <= 1;
        match setting {
            Setting::HEADER_TABLE_SIZE => self.header_table_size = value,
            Setting::ENABLE_PUSH if is_flag => self.enable_push = value == 1,
            Setting::MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = value,
            Setting::INITIAL_WINDOW_SIZE if i64::from(value) > MAX_WINDOW => {
                return Err(ConnectionError::new(
                    ErrorCode::FLOW_CONTROL_ERROR,
                    "SETTINGS_INITIAL_WINDOW_SIZE is too large",
                ));
            }
            Setting::INITIAL_WINDOW_SIZE => self.initial_window_size = value,
            Setting::MAX_FRAME_SIZE if (16_384..1 << 24).contains(&value) => {
                self.max_frame_size = value;
            }
            Setting::MAX_HEADER_LIST_SIZE => self.max_header_list_size = value,
            // RFC 8441, section 3, and RFC 9218, section 2.1: what a client says of them changes nothing.
            Setting::ENABLE_CONNECT_PROTOCOL | Setting::NO_RFC7540_PRIORITIES if is_flag => {}
            Setting::ENABLE_PUSH
            | Setting::MAX_FRAME_SIZE
            | Setting::ENABLE_CONNECT_PROTOCOL
            | Setting::NO_RFC7540_PRIORITIES => {
                return Err(ConnectionError::protocol("a setting has a wrong value"));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Session {
    /// SETTINGS: applied in one go, and acknowledged.
    pub(super) fn settings(
        &mut self,
        entries: SettingsEntries<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectionError> {
        self.count(Flood::Settings)?;
        let mut peer = self.peer;
        for (setting, value) in entries {
            peer.learn(setting, value)?;
            if setting == Setting::HEADER_TABLE_SIZE {
                // Each value counts: a table that was made smaller in between has lost its entries.
                let size = value.min(self.options.encoder_table_size);
                self.encoder.set_table_size(size);
            }
        }
        let change = i64::from(peer.initial_window_size) - i64::from(self.peer.initial_window_size);
        self.peer = peer;
        if change != 0 {
            self.change_send_windows(change)?;
        }
        write_settings_ack(out);
        Ok(())
    }

    /// The peer has acknowledged the oldest of our settings (RFC 9113, section 6.5.3).
    pub(super) fn settings_acknowledged(&mut self) -> Result<Event, ConnectionError> {
        let Some((settings, _)) = self.unacknowledged.pop_front() else {
            return Err(ConnectionError::protocol(
                "SETTINGS that were not sent are acknowledged",
            ));
        };
        let change =
            i64::from(settings.initial_window_size) - i64::from(self.local.initial_window_size);
        self.decoder.set_allowed_size(settings.header_table_size);
        self.local = settings;
        for (_, stream) in self.streams.iter_mut() {
            stream.receive_window += change;
        }
        Ok(Event::LocalSettings)
    }
}
