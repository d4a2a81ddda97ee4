//! A look at the ClientHello before rustls sees it (RFC 8446, 4.1.2), because rustls must be given the context first
//! and that may be for the application to choose. Nothing is judged here: a message that makes no sense goes to
//! rustls as it is, which finds the error and the alert for it.

use crate::names;
use crate::record::{HEADER_BYTES, MAX_PLAINTEXT_BYTES, content_type};

/// Most bytes of a ClientHello; rustls' limit for a handshake message.
const MAX_MESSAGE_BYTES: usize = 0xffff;
/// Most records it may come in. One is usual, a few are legitimate; more cost time to put together again and again.
const MAX_RECORDS: usize = 64;
const CLIENT_HELLO: u8 = 1;
const EXTENSION_SERVER_NAME: u16 = 0;
const EXTENSION_SIGNATURE_ALGORITHMS: u16 = 13;
const EXTENSION_ALPN: u16 = 16;
const EXTENSION_SESSION_TICKET: u16 = 35;
const EXTENSION_PRE_SHARED_KEY: u16 = 41;

/// What the look found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Peek {
    /// More bytes are needed.
    Incomplete,
    /// No ClientHello: rustls is to refuse it.
    Other,
    /// In more records than a peer of good will uses.
    Excessive,
    /// It is complete.
    Hello(Offer),
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
    /// The client knows nothing newer than TLS 1.1.
    pub(crate) outdated: bool,
}

/// How a client would have its session kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionOffer {
    /// The client knows session tickets (RFC 5077), be it with or without one in hand.
    pub(crate) tickets: bool,
    /// The client offers to resume a TLS 1.3 session.
    pub(crate) resumes: bool,
}

/// Looks at everything received so far.
pub(crate) fn peek(received: &[u8]) -> Peek {
    let mut rest = received;
    let mut message = Vec::new();
    for _ in 0..MAX_RECORDS {
        let Some((header, after)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            // Enough to tell that it isn't TLS?
            let plausible = rest
                .first()
                .is_none_or(|first| *first == content_type::HANDSHAKE);
            return if plausible {
                Peek::Incomplete
            } else {
                Peek::Other
            };
        };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        let plausible = header[0] == content_type::HANDSHAKE
            && header[1] == 3
            && (1..=MAX_PLAINTEXT_BYTES).contains(&length);
        if !plausible {
            return Peek::Other;
        }
        let Some((body, after)) = after.split_at_checked(length) else {
            return Peek::Incomplete;
        };
        message.extend_from_slice(body);
        match message_body(&message) {
            Message::Incomplete => rest = after,
            Message::Other => return Peek::Other,
            Message::Body(body) => return parse(body).map_or(Peek::Other, Peek::Hello),
        }
    }
    Peek::Excessive
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
    body.vector16()?; // cipher_suites
    body.vector8()?; // legacy_compression_methods
    let mut offer = Offer {
        outdated: version < 0x0303,
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
            EXTENSION_SIGNATURE_ALGORITHMS => offer.schemes = schemes(content),
            EXTENSION_ALPN => offer.alpn = protocols(content)?,
            EXTENSION_SESSION_TICKET => offer.sessions.tickets = true,
            EXTENSION_PRE_SHARED_KEY => offer.sessions.resumes = true,
            _ => {}
        }
    }
    Some(offer)
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
mod tests {
    use super::*;

    /// A ClientHello with these extensions, in records of at most `most` bytes.
    fn hello(extensions: &[(u16, &[u8])], most: usize) -> Vec<u8> {
        let mut list = Vec::new();
        for (kind, content) in extensions {
            list.extend(kind.to_be_bytes());
            list.extend((content.len() as u16).to_be_bytes());
            list.extend_from_slice(content);
        }
        let mut body = vec![3, 3];
        body.extend([0; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend((list.len() as u16).to_be_bytes());
        body.extend(list);
        let mut message = vec![CLIENT_HELLO, 0];
        message.extend((body.len() as u16).to_be_bytes());
        message.extend(body);
        let mut records = Vec::new();
        for part in message.chunks(most) {
            records.extend([22, 3, 1]);
            records.extend((part.len() as u16).to_be_bytes());
            records.extend(part);
        }
        records
    }

    fn offer(name: &str, alpn: &[u8]) -> Offer {
        Offer {
            server_name: Some(name.to_owned()),
            alpn: alpn.to_vec(),
            ..Offer::default()
        }
    }

    const NAME: (u16, &[u8]) = (0, b"\0\x08\0\0\x05a.com");
    const ALPN: (u16, &[u8]) = (16, b"\0\x05\x02h2\x01x");

    #[test]
    fn name_and_protocols_are_found_however_it_is_cut() {
        for most in [3, 10, 50, 1_000] {
            let bytes = hello(&[(43, b""), NAME, ALPN], most);
            assert_eq!(peek(&bytes), Peek::Hello(offer("a.com", b"\x02h2\x01x")));
            for end in 0..bytes.len() {
                assert_eq!(
                    peek(&bytes[..end]),
                    Peek::Incomplete,
                    "{end} of {}",
                    bytes.len()
                );
            }
        }
        assert_eq!(peek(&hello(&[NAME, ALPN], 1)), Peek::Excessive);
    }

    #[test]
    fn a_client_without_extensions_is_one() {
        assert_eq!(peek(&hello(&[], 1_000)), Peek::Hello(Offer::default()));
    }

    #[test]
    fn ways_to_resume_are_seen() {
        let Peek::Hello(offer) = peek(&hello(&[(35, b""), (41, b"x")], 1_000)) else {
            panic!()
        };
        assert_eq!(
            offer.sessions,
            SessionOffer {
                tickets: true,
                resumes: true
            }
        );
    }

    #[test]
    fn nonsense_is_left_to_rustls() {
        for bytes in [
            &b"GET / HTTP/1.1"[..],
            &[22, 3, 1, 0, 0],
            &[22, 3, 1, 0, 4, 2, 0, 0, 0],
            &[22, 3, 1, 0, 5, 1, 0, 0, 1, 0],
            &hello(&[(16, b"\0\x03\x05h2")], 1_000),
            &hello(&[(16, b"\0\x01\0")], 1_000),
        ] {
            assert_eq!(peek(bytes), Peek::Other, "{bytes:?}");
        }
        // A name that is none counts as none.
        let Peek::Hello(found) = peek(&hello(&[(0, b"\0\x04\0\0\x01\0")], 1_000)) else {
            panic!()
        };
        assert_eq!(found.server_name, None);
    }
}
