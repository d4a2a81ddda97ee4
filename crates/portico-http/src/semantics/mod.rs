//! What all versions of HTTP share (RFC 9110): heads of requests, methods, status codes, names and values of fields, and
//! what they say of a message's body. One reading, for requests that are parsed and for responses that others made.

mod entity_tag;
pub(crate) mod expect;
mod field;
pub mod field_name;
pub mod field_value;
mod fields;
pub mod framing_fields;
pub(crate) mod host;
pub mod http_date;
mod method;
pub mod preconditions;
pub mod ranges;
mod request_head;
pub mod response_framing;
pub mod status;

pub use entity_tag::EntityTag;
pub use expect::Expect;
pub use field::{Field, Span};
pub use field_name::{FIELD_NAMES, field_name_number};
pub use fields::{Fields, FieldsBuffer};
pub use framing_fields::{ConnectionOptions, FramingFields};
pub use method::Method;
pub use request_head::{AmbiguousAuthority, Authority, RequestHead, Scheme, Version};
