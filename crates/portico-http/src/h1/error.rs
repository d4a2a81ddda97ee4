//! A refusal of bytes that are not HTTP/1.

use core::fmt;

pub use super::parse_error_code::ParseErrorCode;

/// A refusal: what is wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParseError {
    /// What is wrong.
    pub code: ParseErrorCode,
    /// How far the parser had come in the bytes it was given: `bytesParsed` in Node. The index of the offending byte,
    /// or of the one after it, as llhttp does it.
    pub offset: usize,
}

impl ParseError {
    /// The error for an offending byte at `index`.
    #[cold]
    pub(super) const fn at(code: ParseErrorCode, index: usize) -> Self {
        Self {
            code,
            offset: index + code.counts_its_byte() as usize,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parse Error: {}", self.code.reason())
    }
}

impl core::error::Error for ParseError {}
