//! Frames (RFC 9113, sections 4 and 6; RFC 7838 and 8336; RFC 9218, section 7.1): what their bytes say, and how they
//! are written. Nothing here knows a stream or its state.

mod header;
mod parse;
mod settings;
mod write;

pub use header::{FRAME_HEADER_BYTES, FrameHeader, FrameKind, flag};
pub use parse::{Frame, FrameError};
pub use settings::{Setting, SettingsEntries};
pub use write::{
    write_altsvc, write_data_header, write_field_block, write_goaway, write_origin, write_ping,
    write_priority_update, write_rst_stream, write_settings, write_settings_ack,
    write_window_update,
};
