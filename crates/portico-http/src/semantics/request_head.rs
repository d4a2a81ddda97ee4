//! The head of a request, whatever the version of HTTP that it came by.

use super::{Field, Method, Span};

/// A version of HTTP (RFC 9110, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

/// How a request reached us (RFC 9110, section 4.2). What an absolute-form target says of it stands in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// On a plain connection.
    Http,
    /// Over TLS.
    Https,
}

/// Whom a request names as its host, apart from its target (RFC 9110, section 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// It does not.
    None,
    /// The value of `Host`, possibly empty, or of `:authority`.
    At(Span),
    /// There is more than one `Host` (RFC 9112, section 3.2).
    Ambiguous,
}

/// A request's head: places in the bytes that were received.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The bytes in which the places are.
    pub bytes: &'a [u8],
    /// The header fields, in the order they were sent.
    pub fields: &'a [Field],
    /// The method.
    pub method: Method,
    /// The version.
    pub version: Version,
    /// How it reached us.
    pub scheme: Scheme,
    /// Whom it names as its host.
    pub authority: Authority,
    /// The request target as received (RFC 9112, section 3.2); in HTTP/2 the path, and of CONNECT the authority.
    pub target: Span,
    /// Whether a body that is not empty follows, or may follow.
    pub has_body: bool,
}

impl<'a> RequestHead<'a> {
    /// The request target.
    #[must_use]
    pub fn target(&self) -> &'a [u8] {
        self.target.of(self.bytes)
    }

    /// The host that is named apart from the target.
    ///
    /// # Errors
    /// [`AmbiguousAuthority`]: more than one is.
    pub fn authority(&self) -> Result<Option<&'a [u8]>, AmbiguousAuthority> {
        match self.authority {
            Authority::None => Ok(None),
            Authority::At(span) => Ok(Some(span.of(self.bytes))),
            Authority::Ambiguous => Err(AmbiguousAuthority),
        }
    }
}

/// A request names more than one host: where it belongs can't be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousAuthority;

impl std::fmt::Display for AmbiguousAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the request names more than one host")
    }
}

impl std::error::Error for AmbiguousAuthority {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::h1::{HeadLimits, HeadParser, HeadProgress, InvalidHosts};

    fn with_head(text: &str, check: impl FnOnce(RequestHead<'_>)) {
        let mut parser = HeadParser::new();
        let limits = HeadLimits {
            invalid_hosts: InvalidHosts::Accept,
            ..HeadLimits::default()
        };
        let head = parser
            .parse(text.as_bytes(), &mut HeadProgress::default(), &limits)
            .unwrap()
            .unwrap();
        check(head.request(parser.fields(), text.as_bytes(), Scheme::Https));
    }

    #[test]
    fn a_head_names_its_places_whatever_came_before_it() {
        let text = "\r\nPOST /a?b HTTP/1.1\r\nX-Own: 1\r\nHost: example.com:8443\r\nContent-Length: 3\r\n\r\n";
        with_head(text, |head| {
            assert_eq!(head.target(), b"/a?b");
            assert_eq!(head.authority(), Ok(Some(&b"example.com:8443"[..])));
            assert_eq!((head.method, head.version), (Method::Post, Version::Http11));
            assert_eq!((head.scheme, head.has_body), (Scheme::Https, true));
            assert_eq!(head.fields[0].name(head.bytes), b"X-Own");
        });
    }

    #[test]
    fn a_head_names_one_host_none_or_too_many() {
        with_head("GET / HTTP/1.0\r\n\r\n", |head| {
            assert_eq!(head.authority(), Ok(None));
            assert_eq!((head.version, head.has_body), (Version::Http10, false));
        });
        with_head("GET / HTTP/1.1\r\nHost:\r\n\r\n", |head| {
            assert_eq!(head.authority(), Ok(Some(&b""[..])));
        });
        with_head("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", |head| {
            assert_eq!(head.authority(), Err(AmbiguousAuthority));
        });
    }
}
