//! Chunked bodies (RFC 9112, section 7.1).
//!
//! ```text
//!   Size --digit--> Digits --';'--> extensions --CR--> SizeLf --LF--> Data, or Trailers if the size was 0
//!   Data --bytes--> DataCr --CR--> DataLf --LF--> Size          Trailers --blank line--> Done
//! ```
//!
//! White space around a chunk's extensions, which RFC 9112 calls bad, is refused, as llhttp does: what one recipient
//! skips and another doesn't is how requests are smuggled.

use core::ops::Range;

use super::error::{ParseError, ParseErrorCode as Code};
use super::limits::{HeadLimits, MAX_CHUNK_EXTENSION_BYTES};
use super::parser::{HeadParser, HeadProgress};
use crate::semantics::field_name::is_token;

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
pub struct ChunkedDecoder {
    state: State,
    /// Of the size line: what has been read of the size. Of the data: bytes that are still to come.
    size: u64,
    /// Bytes of the size line that count for [`MAX_CHUNK_EXTENSION_BYTES`], and size digits.
    line_bytes: u32,
    trailers: Option<HeadProgress>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Size,
    Digits,
    Extension,
    ExtensionName,
    ExtensionValue,
    Quoted,
    QuotedPair,
    AfterQuoted,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
    Done,
}

impl ChunkedDecoder {
    /// A decoder at the start of a body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the end of the body has been reached.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
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
        let mut at = 0;
        loop {
            match self.state {
                State::Data => return Ok(self.data(input, at)),
                State::Trailers => return self.trailers(input, at, parser, limits),
                State::Done => return Ok((at, ChunkEvent::Done)),
                _ => {}
            }
            let Some(&byte) = input.get(at) else {
                return Ok((at, ChunkEvent::NeedMore));
            };
            let after_size = self.state == State::Digits;
            self.state = self.framing(byte).map_err(|code| {
                // llhttp goes past white space after a size before it refuses it.
                let past = after_size && matches!(byte, b' ' | b'\t');
                ParseError::at(code, at + usize::from(past))
            })?;
            at += 1;
        }
    }

    /// Hands on what there is of a chunk's data.
    fn data(&mut self, input: &[u8], at: usize) -> (usize, ChunkEvent) {
        let available = input.len() - at;
        if available == 0 {
            return (at, ChunkEvent::NeedMore);
        }
        let taken = usize::try_from(self.size).map_or(available, |size| size.min(available));
        self.size -= taken as u64;
        if self.size == 0 {
            self.state = State::DataCr;
        }
        (at + taken, ChunkEvent::Data(at..at + taken))
    }

    /// Trailer fields and the blank line.
    fn trailers(
        &mut self,
        input: &[u8],
        at: usize,
        parser: &mut HeadParser,
        limits: &HeadLimits,
    ) -> Result<(usize, ChunkEvent), ParseError> {
        let rest = input.get(at..).unwrap_or_default();
        let progress = self.trailers.get_or_insert_with(HeadProgress::trailers);
        let end = parser
            .parse_trailers(rest, progress, limits)
            .map_err(|error| ParseError {
                code: error.code,
                offset: at + error.offset,
            })?;
        let Some(end) = end else {
            return Ok((at, ChunkEvent::NeedMore));
        };
        parser.move_fields(at);
        self.state = State::Done;
        self.trailers = None;
        Ok((at + end, ChunkEvent::Done))
    }

    /// The state after one byte of framing.
    fn framing(&mut self, byte: u8) -> Result<State, Code> {
        match (self.state, byte) {
            (State::Size | State::Digits, _) if byte.is_ascii_hexdigit() => self.digit(byte),
            (State::Digits, b'\r')
            | (State::ExtensionName | State::ExtensionValue | State::AfterQuoted, b'\r') => {
                Ok(State::SizeLf)
            }
            (State::Digits, b';')
            | (State::ExtensionName | State::ExtensionValue | State::AfterQuoted, b';') => {
                Ok(State::Extension)
            }
            (State::SizeLf, b'\n') => Ok(self.size_line_end()),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => {
                self.size = 0;
                self.line_bytes = 0;
                Ok(State::Size)
            }
            (State::Extension | State::ExtensionName, b'=') => Ok(State::ExtensionValue),
            (State::Extension, b';') => Ok(State::Extension),
            (State::Extension | State::ExtensionName, _) if is_token(byte) => {
                self.count(State::ExtensionName)
            }
            (State::ExtensionValue, b'"') => self.count(State::Quoted),
            (State::ExtensionValue, _) if is_token(byte) => self.count(State::ExtensionValue),
            (State::Quoted, b'"') => self.count(State::AfterQuoted),
            (State::Quoted, b'\\') => self.count(State::QuotedPair),
            (State::Quoted | State::QuotedPair, _) if is_text(byte) => self.count(State::Quoted),
            (state, _) => Err(refusal(state, byte)),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<State, Code> {
        // Leading zeros are free in llhttp; here even they end somewhere.
        self.count(State::Digits)?;
        if self.size > u64::MAX >> 4 {
            return Err(Code::ChunkSizeOverflow);
        }
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.size = self.size << 4 | u64::from(digit);
        Ok(State::Digits)
    }

    fn size_line_end(&mut self) -> State {
        if self.size == 0 {
            State::Trailers
        } else {
            State::Data
        }
    }

    /// Counts a byte of the size line's extensions.
    fn count(&mut self, next: State) -> Result<State, Code> {
        self.line_bytes += 1;
        if self.line_bytes > MAX_CHUNK_EXTENSION_BYTES {
            return Err(Code::ChunkExtensionsOverflow);
        }
        Ok(next)
    }
}

/// What may stand in a quoted string (RFC 9110, section 5.6.4).
const fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x7e | 0x80..)
}

/// What is wrong with a byte that doesn't fit.
#[cold]
const fn refusal(state: State, byte: u8) -> Code {
    match (state, byte) {
        (State::Digits, b'\n') => Code::ExpectedCrAfterChunkSize,
        (State::Extension | State::ExtensionName, b'\n') => Code::ExpectedCrAfterChunkExtensionName,
        (State::ExtensionValue | State::AfterQuoted, b'\n') => {
            Code::ExpectedCrAfterChunkExtensionValue
        }
        (State::DataCr, b'\n') => Code::ExpectedCrAfterChunkData,
        (State::Extension, b' ' | b'\r') => Code::InvalidChunkExtension,
        (State::Extension | State::ExtensionName, _) => Code::InvalidChunkExtensionName,
        (State::ExtensionValue, _) => Code::InvalidChunkExtensionValue,
        (State::Quoted, _) => Code::InvalidChunkExtensionQuotedValue,
        (State::QuotedPair, _) => Code::InvalidChunkExtensionQuotedPair,
        (State::AfterQuoted, _) => Code::InvalidAfterChunkExtensionQuotedValue,
        (State::SizeLf, _) => Code::ExpectedLfAfterChunkSize,
        (State::DataCr | State::DataLf, _) => Code::ExpectedLfAfterChunkData,
        _ => Code::InvalidChunkSize,
    }
}
