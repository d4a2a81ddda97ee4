//! The request target (RFC 9112, section 3.2), with llhttp's idea of what may stand in it.
//!
//! ```text
//!   Start --'/','*'--> Path     (any visible character; '?' and '#' only change what an error is called)
//!   Start --letter---> Scheme --':'--> SchemeColon --'/'--> SchemeSlash --'/'--> Server --'/','?'--> Path
//!   CONNECT starts at Server; Server --'@'--> ServerAt --other--> Server
//! ```
//!
//! Visible characters that RFC 3986 wants escaped (`|`, `"`, `{`, ...) are let through, as browsers send them.

use crate::h1::error::{ParseError, ParseErrorCode as Code};
use crate::scan;

/// Where in a target the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TargetState {
    #[default]
    Start,
    Scheme,
    SchemeColon,
    SchemeSlash,
    Server,
    ServerAt,
    Path,
}

/// Checks a target that begins at `start`, from the byte at `from` on. Returns the index of the space, CR or LF that
/// ends it, or the length of `bytes`.
pub(super) fn advance(
    state: &mut TargetState,
    bytes: &[u8],
    start: usize,
    from: usize,
) -> Result<usize, ParseError> {
    let mut at = from;
    loop {
        if *state == TargetState::Path {
            return path(bytes, start, at);
        }
        let Some(&byte) = bytes.get(at) else {
            return Ok(at);
        };
        if matches!(byte, b'\t' | b'\x0c') && *state != TargetState::SchemeSlash {
            return Err(ParseError::at(Code::InvalidUrlCharacter, at));
        }
        *state = match (*state, byte) {
            (TargetState::Start, b'/' | b'*') => TargetState::Path,
            (TargetState::Start | TargetState::Scheme, letter) if letter.is_ascii_alphabetic() => {
                TargetState::Scheme
            }
            (TargetState::Scheme, b':') => TargetState::SchemeColon,
            (TargetState::SchemeColon, b'/') => TargetState::SchemeSlash,
            (TargetState::SchemeSlash, b'/') => TargetState::Server,
            (TargetState::Server | TargetState::ServerAt, b'/' | b'?') => TargetState::Path,
            (TargetState::Server | TargetState::ServerAt, b' ' | b'\r' | b'\n') => return Ok(at),
            (TargetState::Server, b'@') => TargetState::ServerAt,
            (TargetState::ServerAt, b'@') => return Err(ParseError::at(Code::DoubleAtInUrl, at)),
            (TargetState::Server | TargetState::ServerAt, other) if is_server(other) => {
                TargetState::Server
            }
            (state, _) => return Err(ParseError::at(refusal(state, byte), at)),
        };
        at += 1;
    }
}

/// Path, query and fragment: up to the first byte that is not visible.
fn path(bytes: &[u8], start: usize, from: usize) -> Result<usize, ParseError> {
    let end = scan::visible_end(bytes, from);
    let code = match bytes.get(end) {
        None | Some(b' ' | b'\r' | b'\n') => return Ok(end),
        Some(b'\t' | b'\x0c') => Code::InvalidUrlCharacter,
        Some(_) => {
            let before = bytes.get(start..end).unwrap_or_default();
            if before.contains(&b'#') {
                Code::InvalidUrlFragment
            } else if before.contains(&b'?') {
                Code::InvalidUrlQuery
            } else {
                Code::InvalidUrlPath
            }
        }
    };
    Err(ParseError::at(code, end))
}

/// `userinfo`, `host` and `port` of RFC 3986 without its checks of their order.
fn is_server(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.!~*'()%;:&=+$,[]".contains(&byte)
}

/// What llhttp calls a byte that doesn't fit.
fn refusal(state: TargetState, byte: u8) -> Code {
    match state {
        TargetState::Server | TargetState::ServerAt => Code::UnexpectedUrlServer,
        TargetState::SchemeSlash => Code::UnexpectedUrlScheme,
        _ if matches!(byte, b' ' | b'\r' | b'\n') => Code::InvalidUrlCharacter,
        TargetState::Start => Code::UnexpectedUrlStart,
        _ => Code::UnexpectedUrlScheme,
    }
}
