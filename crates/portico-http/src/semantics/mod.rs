//! What all versions of HTTP share (RFC 9110): methods, names of header fields, status codes.

pub mod field_name;
mod method;
pub mod status;

pub use field_name::{FIELD_NAMES, field_name_number};
pub use method::Method;
