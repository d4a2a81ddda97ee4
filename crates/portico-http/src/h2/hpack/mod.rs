//! HPACK (RFC 7541): field sections to field blocks and back.

mod decoder;
mod dynamic_table;
mod encoder;
mod error;
mod huffman;
mod huffman_table;
mod integer;
mod static_table;

pub use decoder::Decoder;
pub use encoder::{Encoder, OutgoingField, encode_fields, encode_independent};
pub use error::HpackError;
