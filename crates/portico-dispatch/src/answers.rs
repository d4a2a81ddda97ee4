//! Answers that the host itself gives.

use portico_engine::{Answer, Segment};
use portico_http::ParseErrorCode;
use portico_http::semantics::status;

/// Why a request is given to no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Where it belongs cannot be said: its target or `Host` is malformed.
    BadTarget,
    /// No prefix matches.
    NotFound,
    /// The target names another scheme than the connection has (RFC 9110, 7.4), or a host that demands a client
    /// certificate which the connection was not asked for.
    Misdirected,
    /// The process that had taken it died.
    Lost,
    /// The process' answer contradicts itself.
    Contradiction,
    /// The process that had taken it let the queue's `response_timeout` pass.
    TimedOut,
    /// No member serves the prefix now, or too many requests wait: try again after so many seconds.
    Unavailable(u32),
}

impl Refusal {
    /// Whether the connection can't be kept: its process may believe that it still answers there.
    pub(crate) fn ends_connection(self) -> bool {
        matches!(self, Self::Contradiction | Self::TimedOut)
    }

    /// The answer, whether it is given when the request is offered or later. `keep_alive`: the connection goes on behind it.
    pub(crate) fn answer(self, keep_alive: bool) -> Answer {
        let status = self.status();
        let mut fields = String::from("Content-Type: text/plain; charset=utf-8\r\n");
        if let Self::Unavailable(seconds) = self {
            fields.push_str(&format!("Retry-After: {seconds}\r\n"));
        }
        let text = format!("{}\n", status::reason(status).unwrap_or_default());
        Answer {
            status,
            fields: fields.into_bytes(),
            has_date: false,
            body: vec![Segment::Owned(text.into_bytes())],
            keep_alive,
        }
    }

    fn status(self) -> u16 {
        match self {
            Self::BadTarget => 400,
            Self::NotFound => 404,
            Self::Misdirected => 421,
            Self::Lost | Self::Contradiction => 502,
            Self::Unavailable(_) => 503,
            Self::TimedOut => 504,
        }
    }
}

/// The answer to bytes that are no request, as node:http gives it.
pub(crate) fn to_parse_error(number: u32) -> &'static [u8] {
    let code = u8::try_from(number)
        .ok()
        .and_then(ParseErrorCode::from_number);
    match code {
        Some(ParseErrorCode::HeaderOverflow) => {
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n"
        }
        Some(ParseErrorCode::ChunkExtensionsOverflow) => {
            b"HTTP/1.1 413 Payload Too Large\r\nConnection: close\r\n\r\n"
        }
        _ => BAD_REQUEST,
    }
}

/// The answer to what is no HTTP, and to what a member takes for none.
pub(crate) const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

/// The answer to a request that takes too long.
pub(crate) const TIMEOUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
