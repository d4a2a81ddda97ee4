//! What a session offers its peer.

use crate::h2::frame::Setting;
use crate::h2::limits::{MAX_WINDOW, SessionLimits};

/// Our settings (RFC 9113, section 6.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalSettings {
    /// Bytes of the dynamic table that field blocks are decoded with. Default 4,096, as in the RFC.
    pub header_table_size: u32,
    /// Streams that the peer may have open, and that the application has not let go of. Default 100, the least that
    /// the RFC recommends.
    pub max_concurrent_streams: u32,
    /// Bytes that each request's body may have under way or unread, at most 2^31 - 1. Default 65,535, as in the RFC.
    pub initial_window_size: u32,
    /// Bytes of a frame's payload, 16,384 to 2^24 - 1. Default 16,384, as in the RFC. A frame that is not DATA must lie
    /// whole in the receive buffer.
    pub max_frame_size: u32,
    /// Bytes of a field section, 32 more for each field. Default 65,535, as in Node.
    pub max_header_list_size: u32,
    /// Whether extended CONNECT (RFC 8441) is understood. Default no, as in Node.
    pub enable_connect_protocol: bool,
}

impl Default for LocalSettings {
    fn default() -> Self {
        Self {
            header_table_size: 4096,
            max_concurrent_streams: 100,
            initial_window_size: 65_535,
            max_frame_size: 16_384,
            max_header_list_size: 65_535,
            enable_connect_protocol: false,
        }
    }
}

impl LocalSettings {
    /// All of them, as a SETTINGS frame would have them.
    #[must_use]
    pub fn all(&self) -> [(Setting, u32); 6] {
        [
            (Setting::HEADER_TABLE_SIZE, self.header_table_size),
            (Setting::MAX_CONCURRENT_STREAMS, self.max_concurrent_streams),
            (Setting::INITIAL_WINDOW_SIZE, self.initial_window_size),
            (Setting::MAX_FRAME_SIZE, self.max_frame_size),
            (Setting::MAX_HEADER_LIST_SIZE, self.max_header_list_size),
            (
                Setting::ENABLE_CONNECT_PROTOCOL,
                self.enable_connect_protocol.into(),
            ),
        ]
    }

    /// Takes in an entry, within what RFC 9113, section 6.5.2 allows. One that a server has not is left out, as is the
    /// end of extended CONNECT (RFC 8441, section 3).
    pub fn change(&mut self, setting: Setting, value: u32) {
        match setting {
            Setting::HEADER_TABLE_SIZE => self.header_table_size = value,
            Setting::MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = value,
            Setting::INITIAL_WINDOW_SIZE => {
                self.initial_window_size = value.min(MAX_WINDOW as u32);
            }
            Setting::MAX_FRAME_SIZE => self.max_frame_size = value.clamp(1 << 14, (1 << 24) - 1),
            Setting::MAX_HEADER_LIST_SIZE => self.max_header_list_size = value,
            Setting::ENABLE_CONNECT_PROTOCOL => self.enable_connect_protocol |= value == 1,
            _ => {}
        }
    }

    /// What differs from what the peer knows. The table of HPACK is told whenever it changes.
    pub(super) fn entries(&self, known: &Self, is_first: bool) -> Vec<(Setting, u32)> {
        let mut entries = Vec::with_capacity(8);
        let mut tell = |setting, value: u32, known: u32| {
            if value != known {
                entries.push((setting, value));
            }
        };
        // RFC 9113, section 6.5.2: what holds if nothing is said.
        let unlimited = |value: u32| if is_first { u32::MAX } else { value };
        tell(
            Setting::HEADER_TABLE_SIZE,
            self.header_table_size,
            known.header_table_size,
        );
        tell(
            Setting::MAX_CONCURRENT_STREAMS,
            self.max_concurrent_streams,
            unlimited(known.max_concurrent_streams),
        );
        tell(
            Setting::INITIAL_WINDOW_SIZE,
            self.initial_window_size,
            known.initial_window_size,
        );
        tell(
            Setting::MAX_FRAME_SIZE,
            self.max_frame_size,
            known.max_frame_size,
        );
        tell(
            Setting::MAX_HEADER_LIST_SIZE,
            self.max_header_list_size,
            unlimited(known.max_header_list_size),
        );
        tell(
            Setting::ENABLE_CONNECT_PROTOCOL,
            self.enable_connect_protocol.into(),
            known.enable_connect_protocol.into(),
        );
        if is_first {
            // RFC 9218, section 2.1
            entries.push((Setting::NO_RFC7540_PRIORITIES, 1));
        }
        entries
    }
}

/// How a session is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// What the peer is told.
    pub settings: LocalSettings,
    /// Bytes that all request bodies together may have under way or unread, at least 65,535. Default 65,535, as in
    /// Node.
    pub connection_window: u32,
    /// Fields of a section. Default 128, as in Node (`maxHeaderListPairs`).
    pub max_fields: u32,
    /// Bytes of the dynamic table that answers are encoded with, if the peer allows as much. Default 4,096, as in Node
    /// (`maxDeflateDynamicTableSize`).
    pub encoder_table_size: u32,
    /// An authority must be a host: see [`HeadRules::strict_host`](crate::h2::HeadRules::strict_host). Default yes.
    pub strict_host: bool,
    /// A request with too many fields, or too large ones, is answered with 431; else its stream is reset with
    /// ENHANCE_YOUR_CALM, as in `node:http2`. Default yes.
    pub answers_large_fields: bool,
    /// What is allowed beyond that.
    pub limits: SessionLimits,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            settings: LocalSettings::default(),
            connection_window: 65_535,
            max_fields: 128,
            encoder_table_size: 4096,
            strict_host: true,
            answers_large_fields: true,
            limits: SessionLimits::default(),
        }
    }
}
