//! Why bytes are not HTTP/1: codes with the names and texts that Node.js users know.
//!
//! Programs look at `err.code` ('clientError' gives it) and people read `err.message`, so both are llhttp's. One
//! `HPE_*` code covers several reasons; the number names the reason, and the code and text follow from it.

/// What is wrong with received bytes, by number. The peer is at fault, and its connection is beyond repair: answer
/// (400, or 431 for [`ParseErrorCode::HeaderOverflow`], 413 for [`ParseErrorCode::ChunkExtensionsOverflow`], as Node
/// does) and close.
///
/// Numbers are private to one version of Portico: engine and application are always built together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum ParseErrorCode {
    /// `HPE_INVALID_METHOD`: Invalid method encountered.
    InvalidMethod = 1,
    /// `HPE_INVALID_METHOD`: Expected space after method.
    ExpectedSpaceAfterMethod = 2,
    /// `HPE_INVALID_VERSION`: Expected HTTP/2 Connection Preface.
    ExpectedHttp2Preface = 3,
    /// The preface of HTTP/2 (RFC 9113, section 3.4), where HTTP/1 was expected.
    Http2Preface = 4,
    /// `HPE_INVALID_URL`: Invalid characters in url.
    InvalidUrlCharacter = 5,
    /// `HPE_INVALID_URL`: Unexpected start char in url.
    UnexpectedUrlStart = 6,
    /// `HPE_INVALID_URL`: Unexpected char in url schema.
    UnexpectedUrlScheme = 7,
    /// `HPE_INVALID_URL`: Unexpected char in url server.
    UnexpectedUrlServer = 8,
    /// `HPE_INVALID_URL`: Double @ in url.
    DoubleAtInUrl = 9,
    /// `HPE_INVALID_URL`: Invalid char in url path.
    InvalidUrlPath = 10,
    /// `HPE_INVALID_URL`: Invalid char in url query.
    InvalidUrlQuery = 11,
    /// `HPE_INVALID_URL`: Invalid char in url fragment start.
    InvalidUrlFragment = 12,
    /// `HPE_INVALID_URL`: Expected CRLF.
    ExpectedCrlfAfterUrl = 13,
    /// `HPE_INVALID_CONSTANT`: Invalid method for HTTP/x.x request.
    MethodOfRtsp = 14,
    /// `HPE_INVALID_CONSTANT`: Expected HTTP/, RTSP/ or ICE/.
    ExpectedHttp = 15,
    /// `HPE_INVALID_VERSION`: Invalid major version.
    InvalidMajorVersion = 16,
    /// `HPE_INVALID_VERSION`: Expected dot.
    ExpectedDotInVersion = 17,
    /// `HPE_INVALID_VERSION`: Invalid minor version.
    InvalidMinorVersion = 18,
    /// `HPE_INVALID_VERSION`: Invalid HTTP version.
    InvalidVersion = 19,
    /// `HPE_INVALID_VERSION`: Expected CRLF after version.
    ExpectedCrlfAfterVersion = 20,
    /// `HPE_STRICT`: Expected CRLF after version.
    ExpectedLfAfterVersion = 21,
    /// `HPE_UNEXPECTED_SPACE`: Unexpected space after start line.
    UnexpectedSpaceAfterStartLine = 22,
    /// `HPE_INVALID_HEADER_TOKEN`: Invalid header token.
    InvalidHeaderToken = 23,
    /// `HPE_INVALID_HEADER_TOKEN`: Invalid header field char.
    InvalidHeaderFieldCharacter = 24,
    /// `HPE_INVALID_HEADER_TOKEN`: Invalid header value char.
    InvalidHeaderValueCharacter = 25,
    /// `HPE_INVALID_HEADER_TOKEN`: Unexpected whitespace after header value.
    UnexpectedWhitespaceAfterValue = 26,
    /// `HPE_CR_EXPECTED`: Missing expected CR after header value.
    ExpectedCrAfterValue = 27,
    /// `HPE_LF_EXPECTED`: Missing expected LF after header value.
    ExpectedLfAfterValue = 28,
    /// `HPE_STRICT`: Expected LF after CR.
    ExpectedLfAfterEmptyValue = 29,
    /// `HPE_STRICT`: Expected LF after headers.
    ExpectedLfAfterHeaders = 30,
    /// `HPE_HEADER_OVERFLOW`: Header overflow.
    HeaderOverflow = 31,
    /// `HPE_INVALID_CONTENT_LENGTH`: Empty Content-Length.
    EmptyContentLength = 32,
    /// `HPE_INVALID_CONTENT_LENGTH`: Invalid character in Content-Length.
    InvalidContentLength = 33,
    /// `HPE_INVALID_CONTENT_LENGTH`: Content-Length overflow.
    ContentLengthOverflow = 34,
    /// `HPE_INVALID_CONTENT_LENGTH`: Content-Length can't be present with Transfer-Encoding.
    ContentLengthWithTransferEncoding = 35,
    /// `HPE_UNEXPECTED_CONTENT_LENGTH`: Duplicate Content-Length.
    DuplicateContentLength = 36,
    /// `HPE_INVALID_TRANSFER_ENCODING`: Transfer-Encoding can't be present with Content-Length.
    TransferEncodingWithContentLength = 37,
    /// `HPE_INVALID_TRANSFER_ENCODING`: Empty Transfer-Encoding.
    EmptyTransferEncoding = 38,
    /// `HPE_INVALID_TRANSFER_ENCODING`: Invalid `Transfer-Encoding` header value.
    InvalidTransferEncodingValue = 39,
    /// `HPE_INVALID_TRANSFER_ENCODING`: Request has invalid `Transfer-Encoding`.
    InvalidTransferEncoding = 40,
    /// More than one `Host` (RFC 9112, section 3.2). Portico's own: llhttp lets it pass.
    DuplicateHost = 41,
    /// `Host` that is not `uri-host [":" port]` (RFC 9112, section 3.2). Portico's own: llhttp lets it pass.
    InvalidHost = 42,
    /// `HPE_INVALID_CHUNK_SIZE`: Invalid character in chunk size.
    InvalidChunkSize = 43,
    /// `HPE_INVALID_CHUNK_SIZE`: Chunk size overflow.
    ChunkSizeOverflow = 44,
    /// `HPE_CR_EXPECTED`: Missing expected CR after chunk size.
    ExpectedCrAfterChunkSize = 45,
    /// `HPE_STRICT`: Expected LF after chunk size.
    ExpectedLfAfterChunkSize = 46,
    /// `HPE_CR_EXPECTED`: Missing expected CR after chunk data.
    ExpectedCrAfterChunkData = 47,
    /// `HPE_STRICT`: Expected LF after chunk data.
    ExpectedLfAfterChunkData = 48,
    /// `HPE_STRICT`: Invalid character in chunk extensions.
    InvalidChunkExtension = 49,
    /// `HPE_STRICT`: Invalid character in chunk extensions name.
    InvalidChunkExtensionName = 50,
    /// `HPE_STRICT`: Invalid character in chunk extensions value.
    InvalidChunkExtensionValue = 51,
    /// `HPE_STRICT`: Invalid character in chunk extensions quoted value.
    InvalidChunkExtensionQuotedValue = 52,
    /// `HPE_STRICT`: Invalid quoted-pair in chunk extensions quoted value.
    InvalidChunkExtensionQuotedPair = 53,
    /// `HPE_STRICT`: Invalid character in chunk extensions quote value.
    InvalidAfterChunkExtensionQuotedValue = 54,
    /// `HPE_CR_EXPECTED`: Missing expected CR after chunk extension name.
    ExpectedCrAfterChunkExtensionName = 55,
    /// `HPE_CR_EXPECTED`: Missing expected CR after chunk extension value.
    ExpectedCrAfterChunkExtensionValue = 56,
    /// `HPE_CHUNK_EXTENSIONS_OVERFLOW`: Chunk extensions overflow.
    ChunkExtensionsOverflow = 57,
    /// The peer ended its side in the middle of a message. The connection's owner reports it, not a parser.
    InvalidEofState = 58,
    /// Bytes after a message that ended the connection. The connection's owner reports it, not a parser.
    DataAfterClose = 59,
}

impl ParseErrorCode {
    /// All codes in order of their numbers: `ALL[0]` has number 1.
    pub const ALL: [ParseErrorCode; 59] = [
        ParseErrorCode::InvalidMethod,
        ParseErrorCode::ExpectedSpaceAfterMethod,
        ParseErrorCode::ExpectedHttp2Preface,
        ParseErrorCode::Http2Preface,
        ParseErrorCode::InvalidUrlCharacter,
        ParseErrorCode::UnexpectedUrlStart,
        ParseErrorCode::UnexpectedUrlScheme,
        ParseErrorCode::UnexpectedUrlServer,
        ParseErrorCode::DoubleAtInUrl,
        ParseErrorCode::InvalidUrlPath,
        ParseErrorCode::InvalidUrlQuery,
        ParseErrorCode::InvalidUrlFragment,
        ParseErrorCode::ExpectedCrlfAfterUrl,
        ParseErrorCode::MethodOfRtsp,
        ParseErrorCode::ExpectedHttp,
        ParseErrorCode::InvalidMajorVersion,
        ParseErrorCode::ExpectedDotInVersion,
        ParseErrorCode::InvalidMinorVersion,
        ParseErrorCode::InvalidVersion,
        ParseErrorCode::ExpectedCrlfAfterVersion,
        ParseErrorCode::ExpectedLfAfterVersion,
        ParseErrorCode::UnexpectedSpaceAfterStartLine,
        ParseErrorCode::InvalidHeaderToken,
        ParseErrorCode::InvalidHeaderFieldCharacter,
        ParseErrorCode::InvalidHeaderValueCharacter,
        ParseErrorCode::UnexpectedWhitespaceAfterValue,
        ParseErrorCode::ExpectedCrAfterValue,
        ParseErrorCode::ExpectedLfAfterValue,
        ParseErrorCode::ExpectedLfAfterEmptyValue,
        ParseErrorCode::ExpectedLfAfterHeaders,
        ParseErrorCode::HeaderOverflow,
        ParseErrorCode::EmptyContentLength,
        ParseErrorCode::InvalidContentLength,
        ParseErrorCode::ContentLengthOverflow,
        ParseErrorCode::ContentLengthWithTransferEncoding,
        ParseErrorCode::DuplicateContentLength,
        ParseErrorCode::TransferEncodingWithContentLength,
        ParseErrorCode::EmptyTransferEncoding,
        ParseErrorCode::InvalidTransferEncodingValue,
        ParseErrorCode::InvalidTransferEncoding,
        ParseErrorCode::DuplicateHost,
        ParseErrorCode::InvalidHost,
        ParseErrorCode::InvalidChunkSize,
        ParseErrorCode::ChunkSizeOverflow,
        ParseErrorCode::ExpectedCrAfterChunkSize,
        ParseErrorCode::ExpectedLfAfterChunkSize,
        ParseErrorCode::ExpectedCrAfterChunkData,
        ParseErrorCode::ExpectedLfAfterChunkData,
        ParseErrorCode::InvalidChunkExtension,
        ParseErrorCode::InvalidChunkExtensionName,
        ParseErrorCode::InvalidChunkExtensionValue,
        ParseErrorCode::InvalidChunkExtensionQuotedValue,
        ParseErrorCode::InvalidChunkExtensionQuotedPair,
        ParseErrorCode::InvalidAfterChunkExtensionQuotedValue,
        ParseErrorCode::ExpectedCrAfterChunkExtensionName,
        ParseErrorCode::ExpectedCrAfterChunkExtensionValue,
        ParseErrorCode::ChunkExtensionsOverflow,
        ParseErrorCode::InvalidEofState,
        ParseErrorCode::DataAfterClose,
    ];

    /// The number that engine and application exchange, from 1.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The code with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<ParseErrorCode> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// `err.code` in Node: llhttp's name, `HPE_...`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name_and_reason().0
    }

    /// `err.reason` in Node; `err.message` is this after `Parse Error: `.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        self.name_and_reason().1
    }

    /// Whether llhttp has gone past the offending byte when it reports it.
    pub(super) const fn counts_its_byte(self) -> bool {
        matches!(
            self,
            Self::InvalidUrlCharacter
                | Self::DoubleAtInUrl
                | Self::UnexpectedSpaceAfterStartLine
                | Self::InvalidHeaderFieldCharacter
                | Self::ContentLengthOverflow
                | Self::ContentLengthWithTransferEncoding
                | Self::TransferEncodingWithContentLength
                | Self::InvalidTransferEncodingValue
                | Self::ChunkSizeOverflow
                | Self::ExpectedCrAfterChunkSize
                | Self::ExpectedCrAfterChunkData
                | Self::InvalidChunkExtension
                | Self::InvalidChunkExtensionName
                | Self::InvalidChunkExtensionValue
                | Self::InvalidChunkExtensionQuotedValue
                | Self::InvalidChunkExtensionQuotedPair
        )
    }

    /// The table behind [`Self::name`] and [`Self::reason`].
    const fn name_and_reason(self) -> (&'static str, &'static str) {
        match self {
            Self::InvalidMethod => ("HPE_INVALID_METHOD", "Invalid method encountered"),
            Self::ExpectedSpaceAfterMethod => ("HPE_INVALID_METHOD", "Expected space after method"),
            Self::ExpectedHttp2Preface => {
                ("HPE_INVALID_VERSION", "Expected HTTP/2 Connection Preface")
            }
            Self::Http2Preface => ("HPE_PAUSED_H2_UPGRADE", "Pause on PRI/Upgrade"),
            Self::InvalidUrlCharacter => ("HPE_INVALID_URL", "Invalid characters in url"),
            Self::UnexpectedUrlStart => ("HPE_INVALID_URL", "Unexpected start char in url"),
            Self::UnexpectedUrlScheme => ("HPE_INVALID_URL", "Unexpected char in url schema"),
            Self::UnexpectedUrlServer => ("HPE_INVALID_URL", "Unexpected char in url server"),
            Self::DoubleAtInUrl => ("HPE_INVALID_URL", "Double @ in url"),
            Self::InvalidUrlPath => ("HPE_INVALID_URL", "Invalid char in url path"),
            Self::InvalidUrlQuery => ("HPE_INVALID_URL", "Invalid char in url query"),
            Self::InvalidUrlFragment => ("HPE_INVALID_URL", "Invalid char in url fragment start"),
            Self::ExpectedCrlfAfterUrl => ("HPE_INVALID_URL", "Expected CRLF"),
            Self::MethodOfRtsp => (
                "HPE_INVALID_CONSTANT",
                "Invalid method for HTTP/x.x request",
            ),
            Self::ExpectedHttp => ("HPE_INVALID_CONSTANT", "Expected HTTP/, RTSP/ or ICE/"),
            Self::InvalidMajorVersion => ("HPE_INVALID_VERSION", "Invalid major version"),
            Self::ExpectedDotInVersion => ("HPE_INVALID_VERSION", "Expected dot"),
            Self::InvalidMinorVersion => ("HPE_INVALID_VERSION", "Invalid minor version"),
            Self::InvalidVersion => ("HPE_INVALID_VERSION", "Invalid HTTP version"),
            Self::ExpectedCrlfAfterVersion => {
                ("HPE_INVALID_VERSION", "Expected CRLF after version")
            }
            Self::ExpectedLfAfterVersion => ("HPE_STRICT", "Expected CRLF after version"),
            Self::UnexpectedSpaceAfterStartLine => {
                ("HPE_UNEXPECTED_SPACE", "Unexpected space after start line")
            }
            Self::InvalidHeaderToken => ("HPE_INVALID_HEADER_TOKEN", "Invalid header token"),
            Self::InvalidHeaderFieldCharacter => {
                ("HPE_INVALID_HEADER_TOKEN", "Invalid header field char")
            }
            Self::InvalidHeaderValueCharacter => {
                ("HPE_INVALID_HEADER_TOKEN", "Invalid header value char")
            }
            Self::UnexpectedWhitespaceAfterValue => (
                "HPE_INVALID_HEADER_TOKEN",
                "Unexpected whitespace after header value",
            ),
            Self::ExpectedCrAfterValue => {
                ("HPE_CR_EXPECTED", "Missing expected CR after header value")
            }
            Self::ExpectedLfAfterValue => {
                ("HPE_LF_EXPECTED", "Missing expected LF after header value")
            }
            Self::ExpectedLfAfterEmptyValue => ("HPE_STRICT", "Expected LF after CR"),
            Self::ExpectedLfAfterHeaders => ("HPE_STRICT", "Expected LF after headers"),
            Self::HeaderOverflow => ("HPE_HEADER_OVERFLOW", "Header overflow"),
            Self::EmptyContentLength => ("HPE_INVALID_CONTENT_LENGTH", "Empty Content-Length"),
            Self::InvalidContentLength => (
                "HPE_INVALID_CONTENT_LENGTH",
                "Invalid character in Content-Length",
            ),
            Self::ContentLengthOverflow => {
                ("HPE_INVALID_CONTENT_LENGTH", "Content-Length overflow")
            }
            Self::ContentLengthWithTransferEncoding => (
                "HPE_INVALID_CONTENT_LENGTH",
                "Content-Length can't be present with Transfer-Encoding",
            ),
            Self::DuplicateContentLength => {
                ("HPE_UNEXPECTED_CONTENT_LENGTH", "Duplicate Content-Length")
            }
            Self::TransferEncodingWithContentLength => (
                "HPE_INVALID_TRANSFER_ENCODING",
                "Transfer-Encoding can't be present with Content-Length",
            ),
            Self::EmptyTransferEncoding => {
                ("HPE_INVALID_TRANSFER_ENCODING", "Empty Transfer-Encoding")
            }
            Self::InvalidTransferEncodingValue => (
                "HPE_INVALID_TRANSFER_ENCODING",
                "Invalid `Transfer-Encoding` header value",
            ),
            Self::InvalidTransferEncoding => (
                "HPE_INVALID_TRANSFER_ENCODING",
                "Request has invalid `Transfer-Encoding`",
            ),
            Self::DuplicateHost => ("HPE_INVALID_HEADER_TOKEN", "Duplicate Host"),
            Self::InvalidHost => ("HPE_INVALID_HEADER_TOKEN", "Invalid character in Host"),
            Self::InvalidChunkSize => ("HPE_INVALID_CHUNK_SIZE", "Invalid character in chunk size"),
            Self::ChunkSizeOverflow => ("HPE_INVALID_CHUNK_SIZE", "Chunk size overflow"),
            Self::ExpectedCrAfterChunkSize => {
                ("HPE_CR_EXPECTED", "Missing expected CR after chunk size")
            }
            Self::ExpectedLfAfterChunkSize => ("HPE_STRICT", "Expected LF after chunk size"),
            Self::ExpectedCrAfterChunkData => {
                ("HPE_CR_EXPECTED", "Missing expected CR after chunk data")
            }
            Self::ExpectedLfAfterChunkData => ("HPE_STRICT", "Expected LF after chunk data"),
            Self::InvalidChunkExtension => ("HPE_STRICT", "Invalid character in chunk extensions"),
            Self::InvalidChunkExtensionName => {
                ("HPE_STRICT", "Invalid character in chunk extensions name")
            }
            Self::InvalidChunkExtensionValue => {
                ("HPE_STRICT", "Invalid character in chunk extensions value")
            }
            Self::InvalidChunkExtensionQuotedValue => (
                "HPE_STRICT",
                "Invalid character in chunk extensions quoted value",
            ),
            Self::InvalidChunkExtensionQuotedPair => (
                "HPE_STRICT",
                "Invalid quoted-pair in chunk extensions quoted value",
            ),
            Self::InvalidAfterChunkExtensionQuotedValue => (
                "HPE_STRICT",
                "Invalid character in chunk extensions quote value",
            ),
            Self::ExpectedCrAfterChunkExtensionName => (
                "HPE_CR_EXPECTED",
                "Missing expected CR after chunk extension name",
            ),
            Self::ExpectedCrAfterChunkExtensionValue => (
                "HPE_CR_EXPECTED",
                "Missing expected CR after chunk extension value",
            ),
            Self::ChunkExtensionsOverflow => {
                ("HPE_CHUNK_EXTENSIONS_OVERFLOW", "Chunk extensions overflow")
            }
            Self::InvalidEofState => ("HPE_INVALID_EOF_STATE", "Invalid EOF state"),
            Self::DataAfterClose => ("HPE_CLOSED_CONNECTION", "Data after `Connection: close`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ParseErrorCode;

    #[test]
    fn every_code_is_found_by_its_number() {
        for (index, code) in ParseErrorCode::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(code.number()), index + 1);
            assert_eq!(ParseErrorCode::from_number(code.number()), Some(code));
            assert!(code.name().starts_with("HPE_"));
            assert!(!code.reason().is_empty());
        }
        assert_eq!(ParseErrorCode::from_number(0), None);
    }
}
