//! Answers that the host itself gives.

use portico_channel::layout::response_flag;
use portico_channel::{CommandWriter, Response};
use portico_http::ParseErrorCode;
use portico_http::semantics::status;

use crate::request::Facts;

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

    /// What the body of the answer says.
    pub(crate) fn text(self) -> String {
        format!("{}\n", status::reason(self.status()).unwrap_or_default())
    }

    /// Field lines of the answer.
    pub(crate) fn fields(self) -> String {
        let mut fields = String::from("Content-Type: text/plain; charset=utf-8\r\n");
        if let Self::Unavailable(seconds) = self {
            fields.push_str(&format!("Retry-After: {seconds}\r\n"));
        }
        fields
    }

    pub(crate) fn status(self) -> u16 {
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

/// Writes the whole answer. `keep`: the connection goes on behind it.
pub(crate) fn write(
    commands: &mut CommandWriter,
    token: u32,
    sequence: u32,
    facts: Facts,
    keep: bool,
    refusal: Refusal,
) {
    let status = refusal.status();
    let reason = status::reason(status).unwrap_or_default();
    let body = refusal.text();
    let fields = refusal.fields();
    let connection = if keep {
        response_flag::CONNECTION_KEEP_ALIVE | response_flag::KEEP_ALIVE
    } else {
        response_flag::CONNECTION_CLOSE | response_flag::CLOSE
    };
    commands.respond(
        token,
        sequence,
        &Response {
            status: u32::from(status),
            flags: response_flag::END
                | response_flag::DATE
                | response_flag::CONTENT_LENGTH
                | connection,
            reason: reason.as_bytes(),
            fields: fields.as_bytes(),
            body: if facts.head { b"" } else { body.as_bytes() },
            content_length: u64::try_from(body.len()).unwrap_or(0),
            template: 0,
        },
    );
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
        _ => b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    }
}

/// The answer to a request that takes too long.
pub(crate) const TIMEOUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
