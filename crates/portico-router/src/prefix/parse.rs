//! Text to prefix: cuts it into its parts, which `host` and `path` take on.

use super::error::{PrefixError, PrefixErrorKind as Kind};
use super::{MAX_TEXT_BYTES, Scheme, UrlPrefix, host, path};

/// What is wrong, and at which byte of the part that was looked at.
pub(super) type Fault = (Kind, usize);

pub(super) fn parse(text: &str) -> Result<UrlPrefix, PrefixError> {
    parts(text).map_err(|(kind, at)| PrefixError::new(kind, at, text))
}

fn parts(text: &str) -> Result<UrlPrefix, Fault> {
    if text.len() > MAX_TEXT_BYTES {
        return Err((Kind::TooLong, MAX_TEXT_BYTES));
    }
    let (scheme, after_scheme) = scheme(text)?;
    let rest = text.get(after_scheme..).unwrap_or_default();
    let authority_bytes = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path_text) = rest.split_at(authority_bytes);
    let (host, port) = authority_parts(authority).map_err(moved(after_scheme))?;
    let path = path::parse(path_text).map_err(moved(after_scheme + authority_bytes))?;
    Ok(UrlPrefix {
        port,
        scheme,
        host,
        path,
    })
}

/// Makes a fault's place relative to the whole text.
fn moved(by: usize) -> impl Fn(Fault) -> Fault {
    move |(kind, at)| (kind, at + by)
}

/// The scheme, and the index after `://`.
fn scheme(text: &str) -> Result<(Scheme, usize), Fault> {
    let Some(end) = text.find("://") else {
        return Err((Kind::SchemeMissing, 0));
    };
    let name = text.get(..end).unwrap_or_default();
    let scheme = if name.eq_ignore_ascii_case("http") {
        Scheme::Http
    } else if name.eq_ignore_ascii_case("https") {
        Scheme::Https
    } else {
        return Err((Kind::SchemeUnknown, 0));
    };
    Ok((scheme, end + 3))
}

/// `host:port`.
fn authority_parts(authority: &str) -> Result<(super::Host, u16), Fault> {
    if let Some(at) = authority.rfind('@') {
        return Err((Kind::UserInfo, at));
    }
    let host_bytes = if authority.starts_with('[') {
        match authority.find(']') {
            Some(end) => end + 1,
            None => return Err((Kind::AddressBrackets, authority.len())),
        }
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host_text, port_text) = authority.split_at(host_bytes);
    if !host_text.starts_with('[') && port_text.matches(':').count() > 1 {
        return Err((Kind::AddressBrackets, 0));
    }
    let host = host::parse(host_text)?;
    let Some(digits) = port_text.strip_prefix(':') else {
        // `[::1]x` has something else where the port belongs.
        return Err((Kind::PortMissing, host_bytes));
    };
    let port = port(digits).map_err(moved(host_bytes + 1))?;
    Ok((host, port))
}

fn port(digits: &str) -> Result<u16, Fault> {
    if digits.is_empty() {
        return Err((Kind::PortMissing, 0));
    }
    if let Some(at) = digits.bytes().position(|byte| !byte.is_ascii_digit()) {
        return Err((Kind::PortInvalid, at));
    }
    if digits.starts_with('0') {
        return Err((Kind::PortInvalid, 0));
    }
    digits.parse().map_err(|_| (Kind::PortInvalid, 0))
}
