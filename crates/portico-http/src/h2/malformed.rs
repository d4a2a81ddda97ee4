//! What makes a message malformed.

use core::fmt;

/// Why a field section is no request or no trailers (RFC 9113, section 8.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// A name that is no token in lower case, or a value with a control character or white space at its ends.
    ForbiddenByte,
    /// A pseudo-header field that no request has.
    UnknownPseudoField,
    /// The same pseudo-header field twice.
    DuplicatePseudoField,
    /// A pseudo-header field behind another field, or in trailers.
    MisplacedPseudoField,
    /// Method, scheme, path or host is missing.
    MissingPseudoField,
    /// The method is no token.
    Method,
    /// The scheme is none.
    Scheme,
    /// The path is neither a path nor, with OPTIONS, `*`.
    Path,
    /// A host that is none, that is empty, or two that differ.
    Host,
    /// CONNECT with a scheme or a path, or `:protocol` where it has no place.
    Connect,
    /// A field that is about an HTTP/1 connection.
    ConnectionSpecificField,
    /// A length that is none, stands twice or in trailers, or is not the body's.
    ContentLength,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::ForbiddenByte => "a field has a byte that it can't have",
            Malformed::UnknownPseudoField => "a pseudo-header field is not one of a request",
            Malformed::DuplicatePseudoField => "a pseudo-header field stands twice",
            Malformed::MisplacedPseudoField => "a pseudo-header field stands behind other fields",
            Malformed::MissingPseudoField => "a pseudo-header field is missing",
            Malformed::Method => "the method is no token",
            Malformed::Scheme => "the scheme is none",
            Malformed::Path => "the path is none",
            Malformed::Host => "the host is none, or there are two",
            Malformed::Connect => "CONNECT has fields that it can't have",
            Malformed::ConnectionSpecificField => "a field is about the connection",
            Malformed::ContentLength => "the content's length is none, or not the content's",
        })
    }
}

impl std::error::Error for Malformed {}
