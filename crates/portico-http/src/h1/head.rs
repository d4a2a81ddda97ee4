//! A parsed request head: what the engine must know about it without looking at the fields again.

use crate::semantics::{
    Authority, Expect, Field, Method, RequestHead, Scheme, Span, Version, field_name,
};

/// A complete request head. The fields are in [`super::HeadParser::fields`] until the next call of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The method.
    pub method: Method,
    /// 0 or 1: HTTP/1.0 or HTTP/1.1. Other versions are refused.
    pub minor_version: u8,
    /// Whether the connection may be kept after this request (RFC 9112, section 9.3).
    pub keep_alive: bool,
    /// `Connection: upgrade` with `Upgrade`, or CONNECT. If there is a body too, it is up to the caller whether the
    /// upgrade waits for its end (Node does).
    pub upgrade: bool,
    /// Whether there is a `Host` field, even an empty one. The parser doesn't demand it (RFC 9112, section 3.2 does
    /// for HTTP/1.1): Node's `requireHostHeader` decides.
    pub has_host: bool,
    /// `Expect`.
    pub expect: Expect,
    /// How the end of the body is found.
    pub framing: Framing,
    /// The request target.
    pub target: Span,
    /// Index of the method's first byte: the number of bytes of blank lines before the request line.
    pub start: u32,
    /// Number of bytes up to and including the blank line at the end; the body starts here.
    pub head_bytes: u32,
}

impl Head {
    /// The same without what is HTTP/1's own. `fields` are the parser's, `bytes` what was parsed.
    #[must_use]
    pub fn request<'a>(
        &self,
        fields: &'a [Field],
        bytes: &'a [u8],
        scheme: Scheme,
    ) -> RequestHead<'a> {
        let mut hosts = fields
            .iter()
            .filter(|field| field.name_number == field_name::HOST);
        let authority = match (hosts.next(), hosts.next()) {
            (None, _) => Authority::None,
            (Some(host), None) => Authority::At(Span {
                offset: host.value_offset,
                length: host.value_length,
            }),
            (Some(_), Some(_)) => Authority::Ambiguous,
        };
        RequestHead {
            bytes,
            fields,
            method: self.method,
            version: match self.minor_version {
                0 => Version::Http10,
                _ => Version::Http11,
            },
            scheme,
            authority,
            target: self.target,
            has_body: !self.framing.is_empty(),
        }
    }
}

/// How the end of a request's body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// No body, and no `Content-Length`.
    #[default]
    None,
    /// So many bytes, possibly none.
    ContentLength(u64),
    /// `Transfer-Encoding` ends in `chunked`.
    Chunked,
}

impl Framing {
    /// Whether there is nothing to read after the head.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        matches!(self, Framing::None | Framing::ContentLength(0))
    }
}
