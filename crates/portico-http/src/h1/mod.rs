//! HTTP/1.0 and 1.1 (RFC 9112): request heads, chunked bodies, response heads.
//!
//! Verdicts are the RFC's; where the RFC leaves a choice they are those of llhttp in its strict mode, with its `HPE_*`
//! codes, because programs depend on them. The rows in `tests/wire/` say each verdict, and node:http's beside it.

mod chunked;
mod date;
mod error;
mod field;
mod field_lines;
mod head;
mod limits;
mod parse_error_code;
mod parser;
mod response;

pub use crate::semantics::Expect;
pub use chunked::{ChunkEvent, ChunkedDecoder};
pub use date::{DateCache, HTTP_DATE_LENGTH};
pub use error::{ParseError, ParseErrorCode};
pub use field_lines::{FieldLine, FieldLines, NoFieldLine, are_trailers, read_framing};
pub use head::{Framing, Head};
pub use limits::{ExcessFields, HeadLimits, InvalidHosts, MAX_CHUNK_EXTENSION_BYTES};
pub use parser::{HeadParser, HeadProgress, leading_blank};
pub use response::{
    BodyFraming, CHUNK_END, ConnectionField, KeepAlive, MAX_ADDED_BYTES, ResponseHead,
    write_chunk_size, write_last_chunk, write_response_head,
};
