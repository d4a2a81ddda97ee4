//! Chunked bodies (RFC 9112, section 7.1).

use core::ops::Range;

use super::error::ParseError;
use super::limits::HeadLimits;
use super::parser::HeadParser;

/// What [`ChunkedDecoder::decode`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkEvent {
    /// Body bytes: a range of the input, never empty.
    Data(Range<usize>),
    /// The end of the body. Trailer fields, if any, are in [`HeadParser::fields`], their offsets relative to the
    /// input of this call.
    Done,
    /// More input is needed. What was not consumed must be given again, with more bytes after it: it is the start of
    /// a trailer section, at most [`HeadLimits::max_head_bytes`] long.
    NeedMore,
}

/// Decodes one chunked body. Copies nothing: data comes as ranges of the input.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkedDecoder {}

impl ChunkedDecoder {
    /// A decoder at the start of a body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes up to the next event. Returns the number of bytes of `input` that are done with, and the event; call
    /// again with the rest until `NeedMore` or `Done`.
    ///
    /// `parser` lends its room for trailer fields, whose limits are those of a head.
    ///
    /// # Errors
    /// The first thing that is wrong. The body's length is then unknown: the connection must end.
    pub fn decode(
        &mut self,
        input: &[u8],
        parser: &mut HeadParser,
        limits: &HeadLimits,
    ) -> Result<(usize, ChunkEvent), ParseError> {
        let _ = (input, parser, limits);
        Ok((0, ChunkEvent::NeedMore))
    }
}
