//! The request line (RFC 9112, section 3), with all the forms it may have.

use super::leading_blank;
use super::progress::{HeadProgress, Stage};
use super::target::{self, TargetState};
use crate::h1::error::{ParseError, ParseErrorCode as Code};
use crate::h1::limits::HeadLimits;
use crate::semantics::Method;
use crate::semantics::Span;

/// Parses on from `state`. False: more bytes are needed.
pub(super) fn parse(
    bytes: &[u8],
    state: &mut HeadProgress,
    limits: &HeadLimits,
) -> Result<bool, ParseError> {
    loop {
        let complete = match state.stage {
            Stage::Method => method(bytes, state)?,
            Stage::BeforeTarget => before_target(bytes, state),
            Stage::Target => target(bytes, state, limits)?,
            Stage::AfterTarget => after_target(bytes, state)?,
            Stage::Fields => return Ok(true),
        };
        if !complete {
            return Ok(false);
        }
    }
}

/// Blank lines, the method, and one space.
fn method(bytes: &[u8], state: &mut HeadProgress) -> Result<bool, ParseError> {
    // RFC 9112, section 2.2: ignore empty lines before the request line. llhttp takes any mix of CR and LF.
    let after_blank = bytes
        .get(state.request.start as usize..)
        .unwrap_or_default();
    let start = state.request.start as usize + leading_blank(after_blank);
    state.request.start = start as u32;
    let rest = bytes.get(start..).unwrap_or_default();
    if rest.starts_with(b"PRI") {
        return http2_preface(rest, start).map(|()| false);
    }
    let mut matched = if b"PRI".starts_with(rest) {
        rest.len()
    } else {
        0
    };
    for method in Method::ALL {
        let name = method.as_str().as_bytes();
        if let Some(after) = rest.strip_prefix(name) {
            let end = start + name.len();
            return match after.first() {
                Some(b' ') => {
                    state.request.method = Some(method);
                    state.stage = Stage::BeforeTarget;
                    state.scanned = end as u32 + 1;
                    Ok(true)
                }
                // `GET_` may be the start of a method of RTSP.
                Some(b'_') if method == Method::Get => {
                    matched = name.len();
                    break;
                }
                Some(_) => Err(ParseError::at(Code::ExpectedSpaceAfterMethod, end)),
                None => Ok(false),
            };
        }
        let common = rest.iter().zip(name).take_while(|(a, b)| a == b).count();
        matched = matched.max(common);
    }
    for name in RTSP_METHODS {
        if rest
            .strip_prefix(name)
            .is_some_and(|after| after.first() == Some(&b' '))
        {
            return Err(ParseError::at(Code::MethodOfRtsp, start + name.len()));
        }
        let common = rest.iter().zip(name).take_while(|(a, b)| a == b).count();
        matched = matched.max(common);
    }
    if matched == rest.len() {
        Ok(false)
    } else {
        Err(ParseError::at(Code::InvalidMethod, start + matched))
    }
}

/// llhttp knows these too, and refuses them for HTTP. We do so at once; what begins like one is called the same way.
const RTSP_METHODS: [&[u8]; 11] = [
    b"DESCRIBE",
    b"ANNOUNCE",
    b"SETUP",
    b"PLAY",
    b"PAUSE",
    b"TEARDOWN",
    b"GET_PARAMETER",
    b"SET_PARAMETER",
    b"REDIRECT",
    b"RECORD",
    b"FLUSH",
];

/// A client that speaks HTTP/2 with prior knowledge (RFC 9113, section 3.4). Never a success here.
fn http2_preface(rest: &[u8], start: usize) -> Result<(), ParseError> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let matched = rest.iter().zip(PREFACE).take_while(|(a, b)| a == b).count();
    if matched == PREFACE.len() {
        Err(ParseError::at(Code::Http2Preface, start + matched))
    } else if matched == rest.len() {
        Ok(())
    } else {
        Err(ParseError::at(Code::ExpectedHttp2Preface, start + matched))
    }
}

/// RFC 9112, section 3 lets a recipient take a run of spaces for one; llhttp does.
fn before_target(bytes: &[u8], state: &mut HeadProgress) -> bool {
    if !skip_spaces(bytes, state) {
        return false;
    }
    state.stage = Stage::Target;
    state.request.target = Span {
        offset: state.scanned,
        length: 0,
    };
    state.target_state = match state.request.method {
        Some(Method::Connect) => TargetState::Server,
        _ => TargetState::Start,
    };
    true
}

fn target(bytes: &[u8], state: &mut HeadProgress, limits: &HeadLimits) -> Result<bool, ParseError> {
    let start = state.request.target.offset as usize;
    let outcome = target::advance(
        &mut state.target_state,
        bytes,
        start,
        state.scanned as usize,
    );
    let end = match &outcome {
        Ok(end) => *end,
        Err(error) => error.offset,
    };
    if end - start >= limits.max_header_size as usize {
        return Err(ParseError::at(Code::HeaderOverflow, end));
    }
    outcome?;
    state.scanned = end as u32;
    match bytes.get(end) {
        Some(b' ') => {}
        None => return Ok(false),
        // The end of the line: a request of HTTP/0.9, which RFC 9112 no longer has.
        Some(b'\r') => {
            return match bytes.get(end + 1) {
                None => Ok(false),
                Some(b'\n') => Err(ParseError::at(Code::InvalidVersion, end)),
                Some(_) => Err(ParseError::at(Code::ExpectedCrlfAfterUrl, end + 1)),
            };
        }
        Some(_) => return Err(ParseError::at(Code::InvalidVersion, end)),
    }
    state.stage = Stage::AfterTarget;
    state.request.target.length = (end - start) as u32;
    state.counted = state.request.target.length;
    state.scanned = end as u32 + 1;
    Ok(true)
}

/// Spaces, the version (RFC 9112, section 2.3) and the end of the line.
fn after_target(bytes: &[u8], state: &mut HeadProgress) -> Result<bool, ParseError> {
    let first = (state.request.target.offset + state.request.target.length) as usize + 1;
    if matches!(bytes.get(first), Some(b'\t' | b'\x0c')) {
        // To llhttp this still belongs to the target.
        return Err(ParseError::at(Code::InvalidUrlCharacter, first));
    }
    if !skip_spaces(bytes, state) {
        return Ok(false);
    }
    let mut at = state.scanned as usize;
    for expected in b"HTTP/" {
        match bytes.get(at) {
            None => return Ok(false),
            Some(byte) if byte == expected => at += 1,
            Some(_) => return Err(ParseError::at(Code::ExpectedHttp, at)),
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let version = [
        (
            rest.first().is_none_or(u8::is_ascii_digit),
            Code::InvalidMajorVersion,
        ),
        (
            rest.get(1).is_none_or(|&byte| byte == b'.'),
            Code::ExpectedDotInVersion,
        ),
        (
            rest.get(2).is_none_or(u8::is_ascii_digit),
            Code::InvalidMinorVersion,
        ),
        (
            rest.len() < 3 || matches!(rest, [b'1', _, b'0' | b'1', ..]),
            Code::InvalidVersion,
        ),
        (
            rest.get(3).is_none_or(|&byte| byte == b'\r'),
            Code::ExpectedCrlfAfterVersion,
        ),
        (
            rest.get(4).is_none_or(|&byte| byte == b'\n'),
            Code::ExpectedLfAfterVersion,
        ),
    ];
    // Where llhttp says it found each of them.
    let bare_lf = usize::from(rest.get(3) == Some(&b'\n'));
    for ((right, code), offset) in version.into_iter().zip([0, 1, 2, 3, 3 + bare_lf, 4]) {
        if !right {
            return Err(ParseError::at(code, at + offset));
        }
    }
    let [_, _, minor, _, _, ..] = rest else {
        return Ok(false);
    };
    state.request.minor_version = minor - b'0';
    state.line = at as u32 + 5;
    state.scanned = state.line;
    state.stage = Stage::Fields;
    Ok(true)
}

/// Moves `scanned` past spaces. False if nothing follows them yet.
fn skip_spaces(bytes: &[u8], state: &mut HeadProgress) -> bool {
    let rest = bytes.get(state.scanned as usize..).unwrap_or_default();
    let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
    state.scanned += spaces as u32;
    spaces < rest.len()
}
