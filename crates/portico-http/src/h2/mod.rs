//! HTTP/2 (RFC 9113), as a server speaks it.

mod error;
mod field_section;
pub mod frame;
mod head;
pub mod hpack;
mod limits;
mod priority;
mod pseudo_field;

pub use error::{ConnectionError, ErrorCode};
pub use field_section::FieldSection;
pub use head::{Head, Malformed, check_trailers};
pub use limits::{FIELD_OVERHEAD_BYTES, MAX_EXCESS};
pub use priority::Priority;
