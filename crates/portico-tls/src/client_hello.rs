//! A look at the ClientHello before rustls sees it (RFC 8446, 4.1.2), because rustls must be given the context first
//! and that may be for the application to choose. Nothing is judged here: a message that makes no sense goes to
//! rustls as it is, which finds the error and the alert for it.

use crate::names;
use crate::record::{HEADER_BYTES, MAX_PLAINTEXT_BYTES, content_type};

/// Most bytes of a ClientHello; rustls' limit for a handshake message. A longer one is refused with illegal_parameter.
pub(crate) const MAX_MESSAGE_BYTES: usize = 0xffff;
/// Most bytes of the records that a ClientHello comes in, however many these are: 64 KB of message in records of 16
/// bytes and more. What needs more is refused with decode_error.
pub(crate) const MAX_RECORDS_BYTES: usize = 96 * 1024;
const CLIENT_HELLO: u8 = 1;
const EXTENSION_SERVER_NAME: u16 = 0;
const EXTENSION_SUPPORTED_GROUPS: u16 = 10;
const EXTENSION_SIGNATURE_ALGORITHMS: u16 = 13;
const EXTENSION_ALPN: u16 = 16;
const EXTENSION_SESSION_TICKET: u16 = 35;
const EXTENSION_PRE_SHARED_KEY: u16 = 41;
const EXTENSION_EARLY_DATA: u16 = 42;
const EXTENSION_SUPPORTED_VERSIONS: u16 = 43;
const EXTENSION_KEY_SHARE: u16 = 51;
const EXTENSION_RENEGOTIATION_INFO: u16 = 0xff01;
/// TLS_FALLBACK_SCSV (RFC 7507): the client has tried a higher version before and was refused.
const SUITE_FALLBACK: [u8; 2] = [0x56, 0x00];

/// What the look found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Peek {
    /// More bytes are needed.
    Incomplete,
    /// No ClientHello: rustls is to refuse it.
    Other,
    /// It takes more than [`MAX_RECORDS_BYTES`].
    Excessive,
    /// It is complete.
    Hello(Box<Offer>),
}

/// What a client asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) server_name: Option<String>,
    /// Protocols with a length byte before each.
    pub(crate) alpn: Vec<u8>,
    pub(crate) sessions: SessionOffer,
    /// Those of [`names::SIGNATURE_SCHEMES`], in the client's order.
    pub(crate) schemes: Vec<u16>,
    /// The highest version that the client knows, as far as TLS 1.3.
    pub(crate) highest_version: u16,
    /// TLS_FALLBACK_SCSV is among its suites.
    pub(crate) is_fallback: bool,
    /// It claims to renegotiate: renegotiation_info is there and not empty.
    pub(crate) renegotiates: bool,
    /// It announces early data (RFC 8446, 4.2.10).
    pub(crate) early_data: bool,
    pub(crate) has: Extensions,
}

/// Which of the extensions are there that TLS 1.3 demands (RFC 8446, 9.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    pub(crate) supported_groups: bool,
    pub(crate) signature_algorithms: bool,
    pub(crate) key_share: bool,
}

/// How a client would have its session kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionOffer {
    /// The client knows session tickets (RFC 5077), be it with or without one in hand.
    pub(crate) tickets: bool,
    /// The client offers to resume a TLS 1.3 session.
    pub(crate) resumes: bool,
}

/// Puts the message together while its records come.
#[derive(Default)]
pub(crate) struct HelloReader {
    message: Vec<u8>,
    /// Bytes of the records in `message`.
    bytes_taken: usize,
}

impl HelloReader {
    /// Looks at everything received so far: what was there at the last look, and more.
    pub(crate) fn look(&mut self, received: &[u8]) -> Peek {
        loop {
            let rest = received.get(self.bytes_taken..).unwrap_or_default();
            let body = match record(rest) {
                Ok(Some(body)) => body,
                Ok(None) if received.len() > MAX_RECORDS_BYTES => return Peek::Excessive,
                Ok(None) => return Peek::Incomplete,
                Err(NotAHandshake) => return Peek::Other,
            };
            self.bytes_taken += HEADER_BYTES + body.len();
            self.message.extend_from_slice(body);
            match message_body(&self.message) {
                Message::Incomplete => {}
                Message::Other => return Peek::Other,
                Message::Body(body) => {
                    return parse(body).map_or(Peek::Other, |offer| Peek::Hello(Box::new(offer)));
                }
            }
        }
    }
}

struct NotAHandshake;

/// The body of the handshake record at the front, if it is there.
fn record(bytes: &[u8]) -> Result<Option<&[u8]>, NotAHandshake> {
    let Some((header, after)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        // Not enough to name what it is, even where it can't be TLS.
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let plausible = header[0] == content_type::HANDSHAKE
        && header[1] == 3
        && (1..=MAX_PLAINTEXT_BYTES).contains(&length);
    if plausible {
        return Ok(after.get(..length));
    }
    // An alert is told of by what it says.
    let waits = header[0] == content_type::ALERT && length == 2 && after.len() < length;
    if waits { Ok(None) } else { Err(NotAHandshake) }
}

enum Message<'a> {
    Incomplete,
    Other,
    Body(&'a [u8]),
}

fn message_body(message: &[u8]) -> Message<'_> {
    if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
        return Message::Other;
    }
    let Some(([_, a, b, c], rest)) = message.split_first_chunk::<4>() else {
        return Message::Incomplete;
    };
    let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
    if length > MAX_MESSAGE_BYTES {
        return Message::Other;
    }
    rest.get(..length)
        .map_or(Message::Incomplete, Message::Body)
}

fn parse(body: &[u8]) -> Option<Offer> {
    let mut body = Reader(body);
    let version = body.u16()?; // legacy_version
    body.take(32)?; // random
    body.vector8()?; // legacy_session_id
    let suites = body.vector16()?;
    body.vector8()?; // legacy_compression_methods
    let mut offer = Offer {
        highest_version: version.min(0x0303),
        is_fallback: suites.chunks_exact(2).any(|suite| suite == SUITE_FALLBACK),
        ..Offer::default()
    };
    if body.0.is_empty() {
        return Some(offer);
    }
    let mut extensions = Reader(body.vector16()?);
    while !extensions.0.is_empty() {
        let kind = extensions.u16()?;
        let content = extensions.vector16()?;
        match kind {
            EXTENSION_SERVER_NAME => offer.server_name = host_name(content),
            EXTENSION_SUPPORTED_GROUPS => offer.has.supported_groups = true,
            EXTENSION_SIGNATURE_ALGORITHMS => {
                offer.has.signature_algorithms = true;
                offer.schemes = schemes(content);
            }
            EXTENSION_ALPN => offer.alpn = protocols(content)?,
            EXTENSION_SESSION_TICKET => offer.sessions.tickets = true,
            EXTENSION_PRE_SHARED_KEY => offer.sessions.resumes = true,
            EXTENSION_EARLY_DATA => offer.early_data = true,
            // RFC 8446, 4.2.1: where it is, legacy_version says nothing.
            EXTENSION_SUPPORTED_VERSIONS => offer.highest_version = highest_version(content)?,
            EXTENSION_KEY_SHARE => offer.has.key_share = true,
            EXTENSION_RENEGOTIATION_INFO => {
                offer.renegotiates = content.first().is_some_and(|length| *length > 0);
            }
            _ => {}
        }
    }
    Some(offer)
}

/// RFC 8446, 4.2.1. Of the versions that there are; others are greasing (RFC 8701) or to come.
fn highest_version(content: &[u8]) -> Option<u16> {
    let mut versions = Reader(Reader(content).vector8()?);
    let mut highest = 0;
    while let Some(version) = versions.u16() {
        if (0x0300..=0x0304).contains(&version) {
            highest = highest.max(version);
        }
    }
    Some(highest)
}

/// RFC 6066, 3. Only host names exist as names.
fn host_name(content: &[u8]) -> Option<String> {
    let mut list = Reader(Reader(content).vector16()?);
    while !list.0.is_empty() {
        let kind = list.take(1)?;
        let name = list.vector16()?;
        if kind == [0] && !name.is_empty() && name.is_ascii() && !name.contains(&0) {
            return String::from_utf8(name.to_vec()).ok();
        }
    }
    None
}

/// RFC 8446, 4.2.3. Each scheme once, so that the list has a bound.
fn schemes(content: &[u8]) -> Vec<u16> {
    let mut list = Reader(Reader(content).vector16().unwrap_or_default());
    let mut known = Vec::with_capacity(names::SIGNATURE_SCHEMES.len());
    while let Some(scheme) = list.u16() {
        if names::SIGNATURE_SCHEMES.contains(&scheme) && !known.contains(&scheme) {
            known.push(scheme);
        }
    }
    known
}

/// RFC 7301, 3.1. Checked, because others take this apart.
fn protocols(content: &[u8]) -> Option<Vec<u8>> {
    let list = Reader(content).vector16()?;
    let mut names = Reader(list);
    while !names.0.is_empty() {
        names.vector8().filter(|name| !name.is_empty())?;
    }
    Some(list.to_vec())
}

/// Takes bytes from the front; `None` when there are too few.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        let (taken, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*taken))
    }

    fn vector8(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?.first().copied()?;
        self.take(usize::from(length))
    }

    fn vector16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }
}

#[cfg(test)]
mod tests;
