//! What is looked up: that of a request which decides who gets it.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use crate::path::{Scratch, normalised};
use crate::prefix::{MAX_NAME_BYTES, Scheme};

/// A request, as far as routing looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// Whether the request came over TLS.
    pub scheme: Scheme,
    /// The local port of the connection. A port in `host` or in an absolute-form target is not looked at: port
    /// mappings make it another one.
    pub port: u16,
    /// The value of `Host` or `:authority`, perhaps with a port; `None` if there is none.
    pub host: Option<&'a [u8]>,
    /// The local address of the connection.
    pub local_address: IpAddr,
    /// The request target as received: origin-form, absolute-form, authority-form or `*` (RFC 9112, section 3.2).
    /// The latter two count as the path `/`. An authority in the target replaces `host`.
    pub target: &'a [u8],
}

impl<'a> Lookup<'a> {
    /// The host name that the request is for, without port and final dot, perhaps with capitals. `None` where it names
    /// none, or an address in brackets.
    ///
    /// # Errors
    /// Those of [`Table::find`](crate::Table::find) that are about the host, the target's form or its scheme.
    pub fn host_name(&self) -> Result<Option<&'a [u8]>, LookupError> {
        let (authority, _) = authority_and_path(self)?;
        let name = authority.map(name_in).transpose()?.flatten();
        Ok(name.map(|(name, _)| name))
    }
}

/// A request that can't be routed because its target or host can't be understood in one way only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookupError {
    /// `Host`, or the authority of the target, is none: a bad character, an escape, a user name, a bad port.
    Host,
    /// None of the four forms of RFC 9112, section 3.2.
    Target,
    /// An absolute-form target whose scheme is not the connection's (RFC 9110, section 7.4).
    Scheme,
    /// `%` without two hexadecimal digits.
    Escape,
    /// An escaped NUL.
    Nul,
    /// A character that no path has: a control character, a space, a backslash, `#`.
    Character,
    /// Both `//` and `..`: programs disagree about what that means.
    Ambiguous,
}

impl LookupError {
    /// The status to answer with: 421 for [`LookupError::Scheme`], 400 for all others.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Scheme => 421,
            _ => 400,
        }
    }

    /// A short reason for the log.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Host => "invalid host",
            Self::Target => "invalid request target",
            Self::Scheme => "the target's scheme is not the connection's",
            Self::Escape => "invalid escape in the path",
            Self::Nul => "NUL in the path",
            Self::Character => "invalid character in the path",
            Self::Ambiguous => "ambiguous path: both empty and '..' segments",
        }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.reason())
    }
}

impl Error for LookupError {}

/// Memory for what has to be rewritten before it can be compared. Untouched for nearly all requests.
#[derive(Default)]
pub(crate) struct Room {
    path: Option<Scratch>,
    name: Option<[u8; MAX_NAME_BYTES]>,
}

/// What the index is asked for.
pub(crate) struct Key<'a> {
    /// The host's name in lower case, if it could be one that a prefix has.
    pub(crate) name: Option<&'a [u8]>,
    /// The path in normal form, without query, perhaps cut off beyond what a prefix can have; or why there is none.
    pub(crate) path: Result<&'a [u8], LookupError>,
}

impl<'a> Key<'a> {
    pub(crate) fn of(lookup: &Lookup<'a>, room: &'a mut Room) -> Result<Self, LookupError> {
        let (authority, path) = authority_and_path(lookup)?;
        let name = match authority {
            Some(authority) => host_name(authority, &mut room.name)?,
            None => None,
        };
        let path = normalised(path, &mut room.path);
        Ok(Self { name, path })
    }
}

/// Whom a request is for, and where there.
fn authority_and_path<'a>(
    lookup: &Lookup<'a>,
) -> Result<(Option<&'a [u8]>, &'a [u8]), LookupError> {
    match lookup.target {
        [b'/', ..] => Ok((lookup.host, lookup.target)),
        b"*" => Ok((lookup.host, &b"/"[..])),
        target => other_form(target, lookup.scheme),
    }
}

/// Authority and path of an absolute-form or authority-form target.
fn other_form(target: &[u8], scheme: Scheme) -> Result<(Option<&[u8]>, &[u8]), LookupError> {
    let Some(after_scheme) = target
        .windows(3)
        .position(|window| window == b"://")
        .and_then(|at| Some((target.get(..at)?, target.get(at + 3..)?)))
    else {
        // Authority-form: `CONNECT host:port`. Its characters are checked with the host.
        return match target {
            [] | [b':', ..] => Err(LookupError::Target),
            _ => Ok((Some(target), b"/")),
        };
    };
    let (name, rest) = after_scheme;
    let named = if name.eq_ignore_ascii_case(b"http") {
        Scheme::Http
    } else if name.eq_ignore_ascii_case(b"https") {
        Scheme::Https
    } else {
        return Err(LookupError::Target);
    };
    let end = rest
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#' | b'\\'))
        .unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if matches!(authority, [] | [b':', ..]) {
        return Err(LookupError::Target);
    }
    if named != scheme {
        return Err(LookupError::Scheme);
    }
    match path {
        [b'/', ..] => Ok((Some(authority), path)),
        [] | [b'?', ..] => Ok((Some(authority), b"/")),
        _ => Err(LookupError::Character),
    }
}

/// The name in `host [":" port]`: in lower case, without a final dot. `None` for an address in brackets and for what is
/// too long for a name.
fn host_name<'a>(
    authority: &'a [u8],
    room: &'a mut Option<[u8; MAX_NAME_BYTES]>,
) -> Result<Option<&'a [u8]>, LookupError> {
    let Some((name, has_capitals)) = name_in(authority)? else {
        return Ok(None);
    };
    if !has_capitals {
        return Ok(Some(name));
    }
    let room = room.insert([0; MAX_NAME_BYTES]);
    let Some(lower_case) = room.get_mut(..name.len()) else {
        return Ok(None);
    };
    lower_case.copy_from_slice(name);
    lower_case.make_ascii_lowercase();
    Ok(Some(lower_case))
}

/// The name in `host [":" port]` as it stands there, without a final dot, and whether it has capitals. `None` for an
/// address in brackets.
///
/// An escape is refused: whoever decodes it sees another name than who does not.
fn name_in(authority: &[u8]) -> Result<Option<(&[u8], bool)>, LookupError> {
    if authority.first() == Some(&b'[') {
        return bracketed(authority).map(|()| None);
    }
    let mut seen = LOWER;
    let mut end = ordinary_bytes(authority);
    while let Some(&byte) = authority.get(end) {
        let class = NAME_BYTES[usize::from(byte)];
        seen |= class;
        if class >= COLON {
            break;
        }
        end += 1;
    }
    if seen >= OTHER {
        return Err(LookupError::Host);
    }
    port(authority.get(end..).unwrap_or_default())?;
    let name = authority.get(..end).unwrap_or_default();
    let name = name.strip_suffix(b".").unwrap_or(name);
    Ok(Some((name, seen & CAPITAL != 0)))
}

/// How many bytes at the front are small letters, digits, dots and hyphens: a multiple of 8, found 8 at a time.
fn ordinary_bytes(authority: &[u8]) -> usize {
    let (chunks, _) = authority.as_chunks::<8>();
    let ordinary = |chunk: &&[u8; 8]| {
        chunk.iter().fold(true, |all, byte| {
            let letter = byte.wrapping_sub(b'a') < 26;
            let other = (byte.wrapping_sub(b'-') < 13) & (*byte != b'/');
            all & (letter | other)
        })
    };
    8 * chunks.iter().take_while(ordinary).count()
}

/// Of a name, needing no change. So is the rest of RFC 3986's `reg-name`, though no prefix has such a name.
const LOWER: u8 = 0;
const CAPITAL: u8 = 1;
const COLON: u8 = 2;
const OTHER: u8 = 4;

const NAME_BYTES: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        if character.is_ascii_uppercase() {
            table[byte] = CAPITAL;
        } else if character.is_ascii_alphanumeric() {
            table[byte] = LOWER;
        }
        byte += 1;
    }
    let others = b"-._~!$&'()*+,;=";
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = LOWER;
        at += 1;
    }
    table[b':' as usize] = COLON;
    table
};

/// `[...]`, perhaps with a port.
fn bracketed(authority: &[u8]) -> Result<(), LookupError> {
    let inside = authority
        .iter()
        .skip(1)
        .take_while(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        .count();
    if inside == 0 || authority.get(1 + inside) != Some(&b']') {
        return Err(LookupError::Host);
    }
    port(authority.get(2 + inside..).unwrap_or_default())
}

/// Nothing, or `:` and digits; RFC 3986 allows none.
fn port(text: &[u8]) -> Result<(), LookupError> {
    match text {
        [] => Ok(()),
        [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(LookupError::Host),
    }
}
