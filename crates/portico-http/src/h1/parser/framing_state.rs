//! What the fields say about framing and about the connection (RFC 9112, sections 6 and 9).

use super::progress::RequestLine;
use crate::h1::error::{ParseError, ParseErrorCode as Code};
use crate::h1::head::{Framing, Head};
use crate::semantics::expect::expects_continue;
use crate::semantics::framing_fields::{self, LengthError, ends_in_chunked};
use crate::semantics::{ConnectionOptions, Expect, Method, field_name as name, host};

/// What has been learnt from the fields so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FramingState {
    content_length: u64,
    flags: u16,
}

/// Set by `Content-Length`.
const CONTENT_LENGTH: u16 = 1;
/// Set by `Transfer-Encoding`.
const TRANSFER_ENCODING: u16 = 2;
/// The last transfer coding so far is `chunked`.
const CHUNKED: u16 = 4;
const CLOSE: u16 = 8;
const KEEP_ALIVE: u16 = 16;
const CONNECTION_UPGRADE: u16 = 32;
const UPGRADE: u16 = 64;
const HOST: u16 = 128;
const EXPECT_CONTINUE: u16 = 256;
const EXPECT_OTHER: u16 = 512;
/// These are trailer fields.
const TRAILERS: u16 = 1024;

/// An empty value is found to be wrong after its line end.
const AFTER_EMPTY: usize = 2;

/// Where in a field something is wrong: at its colon, or so many bytes into its value.
pub(super) enum Place {
    Name,
    Value(usize),
}

/// What is wrong with a value, and at which byte of it.
type ValueError = (Code, usize);

impl FramingState {
    /// At the start of a trailer section. The message is chunked, so framing fields in it are refused as they would be
    /// after `Transfer-Encoding: chunked` in the head.
    pub(super) fn trailers() -> Self {
        Self {
            content_length: 0,
            flags: TRAILERS | TRANSFER_ENCODING | CHUNKED,
        }
    }

    /// Whether the fields are those of a trailer section.
    pub(super) fn in_trailers(self) -> bool {
        self.has(TRAILERS)
    }

    fn has(self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Whether a field with this name may stand here at all, whatever its value (RFC 9112, section 6.3: both framing
    /// fields in one message are an attempt to smuggle).
    pub(super) fn check_name(self, number: u16) -> Result<(), Code> {
        match number {
            name::CONTENT_LENGTH if self.has(TRANSFER_ENCODING) => {
                Err(Code::ContentLengthWithTransferEncoding)
            }
            name::TRANSFER_ENCODING if self.has(CONTENT_LENGTH) => {
                Err(Code::TransferEncodingWithContentLength)
            }
            _ => Ok(()),
        }
    }

    /// Whether this may be the start of such a field's value, for values that are not complete or end in a bad byte,
    /// which may be their first.
    pub(super) fn check_start(self, number: u16, start: &[u8]) -> Result<(), ValueError> {
        match number {
            name::CONTENT_LENGTH if self.has(CONTENT_LENGTH) => {
                Err((Code::DuplicateContentLength, 0))
            }
            name::CONTENT_LENGTH => content_length(start).map(|_| ()),
            name::TRANSFER_ENCODING => self.codings(start).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Takes in a first `Host` that is known to be valid. False if it is not the first.
    #[inline(always)]
    pub(super) fn learn_plain_host(&mut self) -> bool {
        let first = !self.has(HOST);
        self.flags |= HOST;
        first
    }

    /// Takes in a complete field. Its name is checked first, as llhttp does.
    #[inline]
    pub(super) fn learn(
        &mut self,
        number: u16,
        value: &[u8],
        raw: &[u8],
    ) -> Result<(), (Code, Place)> {
        if number == name::CONNECTION {
            self.connection(value);
            return Ok(());
        }
        self.check_name(number)
            .map_err(|code| (code, Place::Name))?;
        self.learn_value(number, value, raw)
            .map_err(|(code, at)| (code, Place::Value(at)))
    }

    /// Takes in a complete field whose number is one of those that matter: [`name::HOST`] to
    /// [`name::PROXY_CONNECTION`]. `value` is without the white space around it, `raw` with what trails.
    fn learn_value(&mut self, number: u16, value: &[u8], raw: &[u8]) -> Result<(), ValueError> {
        match number {
            name::HOST if !self.has(TRAILERS) => {
                // RFC 9112, section 3.2: more than one, or an invalid one, must be answered with 400. Who may accept
                // it all the same is up to the caller; all that is to be learnt from it is learnt before.
                if self.has(HOST) {
                    return Err((Code::DuplicateHost, 0));
                }
                self.flags |= HOST;
                host::check(value).map_err(|at| (Code::InvalidHost, at))?;
            }
            name::CONTENT_LENGTH => {
                if value.is_empty() {
                    return Err((Code::EmptyContentLength, AFTER_EMPTY));
                }
                if self.has(CONTENT_LENGTH) {
                    return Err((Code::DuplicateContentLength, 0));
                }
                self.content_length = content_length(value)?;
                self.flags |= CONTENT_LENGTH;
            }
            name::TRANSFER_ENCODING => self.flags = self.transfer_encoding(raw)?,
            name::UPGRADE if !value.is_empty() => self.flags |= UPGRADE,
            name::CONNECTION | name::PROXY_CONNECTION => self.connection(value),
            name::EXPECT => {
                self.flags |= if expects_continue(value) {
                    EXPECT_CONTINUE
                } else {
                    EXPECT_OTHER
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// A complete `Transfer-Encoding`. Returns the flags that follow.
    fn transfer_encoding(self, raw: &[u8]) -> Result<u16, ValueError> {
        if raw.is_empty() {
            return Err((Code::EmptyTransferEncoding, AFTER_EMPTY));
        }
        let chunked = if self.codings(raw)? { CHUNKED } else { 0 };
        Ok(self.flags | TRANSFER_ENCODING | chunked)
    }

    /// Whether the last coding is `chunked`; in a request nothing may come after it.
    fn codings(self, raw: &[u8]) -> Result<bool, ValueError> {
        ends_in_chunked(raw, self.has(CHUNKED))
            .map_err(|at| (Code::InvalidTransferEncodingValue, at))
    }

    /// Connection options (RFC 9110, section 7.6.1). `Proxy-Connection` counts too, as with llhttp.
    #[inline]
    fn connection(&mut self, value: &[u8]) {
        if is_keep_alive(value) {
            self.flags |= KEEP_ALIVE;
        } else {
            self.connection_options(value);
        }
    }

    fn connection_options(&mut self, value: &[u8]) {
        let mut options = ConnectionOptions::default();
        options.learn(value);
        for (is_set, flag) in [
            (options.close, CLOSE),
            (options.keep_alive, KEEP_ALIVE),
            (options.upgrade, CONNECTION_UPGRADE),
        ] {
            self.flags |= if is_set { flag } else { 0 };
        }
    }

    /// The head, now that all of its fields are known. `end` is its length.
    #[inline]
    pub(super) fn head(self, request: &RequestLine, end: usize) -> Result<Head, ParseError> {
        let refuse = |code| Err(ParseError { code, offset: end });
        // A complete request line has named one.
        let Some(method) = request.method else {
            return refuse(Code::InvalidMethod);
        };
        let framing = if self.has(TRANSFER_ENCODING) {
            // RFC 9112, section 6.3: without `chunked` as the last coding the length can't be known. Section 6.1:
            // with HTTP/1.0 the framing is faulty in any case.
            if !self.has(CHUNKED) || request.minor_version == 0 {
                return refuse(Code::InvalidTransferEncoding);
            }
            Framing::Chunked
        } else if self.has(CONTENT_LENGTH) {
            Framing::ContentLength(self.content_length)
        } else {
            Framing::None
        };
        let expect = if request.minor_version == 0 {
            Expect::None
        } else if self.has(EXPECT_CONTINUE) {
            Expect::Continue
        } else if self.has(EXPECT_OTHER) {
            Expect::Other
        } else {
            Expect::None
        };
        Ok(Head {
            method,
            minor_version: request.minor_version,
            // RFC 9112, section 9.3: `close` wins over everything.
            keep_alive: !self.has(CLOSE) && (request.minor_version > 0 || self.has(KEEP_ALIVE)),
            upgrade: self.has(UPGRADE) && self.has(CONNECTION_UPGRADE) || method == Method::Connect,
            has_host: self.has(HOST),
            expect,
            framing,
            target: request.target,
            start: request.start,
            head_bytes: end as u32,
        })
    }
}

/// [`framing_fields::content_length`] with llhttp's codes and places. An empty start may still become one.
fn content_length(value: &[u8]) -> Result<u64, ValueError> {
    framing_fields::content_length(value).or_else(|error| match error {
        LengthError::Empty => Ok(0),
        LengthError::Overflow(at) => Err((Code::ContentLengthOverflow, at)),
        LengthError::NoDigit(at) => Err((Code::InvalidContentLength, at)),
    })
}

/// The commonest value, compared as words. No other byte that a value may have is equal to one of these without its
/// bit 5 but the letter in capitals.
#[inline]
fn is_keep_alive(value: &[u8]) -> bool {
    let (Some(start), Some([v, e]), 10) = (value.first_chunk(), value.last_chunk(), value.len())
    else {
        return false;
    };
    u64::from_le_bytes(*start) | 0x2020_2020_2020_2020 == u64::from_le_bytes(*b"keep-ali")
        && u16::from_le_bytes([*v, *e]) | 0x2020 == u16::from_le_bytes(*b"ve")
}
