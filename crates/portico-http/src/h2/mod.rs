//! HTTP/2 (RFC 9113), as a server speaks it.

mod error;
mod field_section;
pub mod frame;
mod head;
pub mod hpack;
mod limits;
mod malformed;
mod priority;
mod pseudo_field;
mod session;

pub use error::{ConnectionError, ErrorCode};
pub use field_section::FieldSection;
pub use head::{Head, check_trailers};
pub use limits::{
    FIELD_OVERHEAD_BYTES, FloodLimit, MAX_CONTINUATIONS, MAX_DATA_BYTES, MAX_EARLY_PRIORITIES,
    MAX_EXCESS, MAX_OUTSTANDING_SETTINGS, MAX_WINDOW, SessionLimits, TINY_DATA_BYTES,
};
pub use malformed::Malformed;
pub use priority::Priority;
pub use session::{
    AnswerHead, DataFrame, Event, LocalSettings, PREFACE, PeerSettings, Received, Session,
    SessionOptions, StreamGone, StreamKey, TooManySettings,
};
