//! Session tickets (RFC 5077, RFC 8446 4.6.1): sealed by keys that processes can share, or by keys made at random
//! and renewed.
//!
//! A ticket is `name (16) || nonce (12) || AES-256-GCM-SIV(the session's beginning (8) || session)`. A resumed session gets
//! a new ticket with the old beginning: however often it is resumed, it ends in time (RFC 8446, 4.6.1, advises so; in
//! TLS 1.2 one master secret would live on without an end). The nonce is random and
//! the keys may be shared and long-lived, so the cipher is one that forgives a nonce that comes twice (RFC 8452).

use std::fmt;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hkdf, rand};
use rustls::server::ProducesTickets;
use zeroize::Zeroize;

use crate::{clock, keying};

/// Bytes of `ticketKeys`: name, HMAC key and AES key, 16 each.
pub(crate) const TICKET_KEYS_BYTES: usize = 48;
const NAME_BYTES: usize = 16;
const TIME_BYTES: usize = 8;
const TAG_BYTES: usize = 16;
/// Longest ticket that is handed out. Clients over OpenSSL break a handshake off at a message of more than 16,384 bytes,
/// and rustls writes the length of a ticket beyond 65,535 wrongly; a client's own certificates can make one so long.
const MAX_TICKET_BYTES: usize = 16_000;
/// RFC 8446, 4.6.1: tickets live for a week at most.
const MAX_LIFETIME_SECONDS: u32 = 7 * 24 * 3600;

/// Makes and reads tickets.
pub(crate) struct Ticketer {
    lifetime_seconds: u32,
    keys: Keys,
}

enum Keys {
    Given(TicketKey),
    /// Boxed: keys are large.
    Rotating(Mutex<Box<Rotation>>),
}

struct Rotation {
    current: TicketKey,
    previous: Option<TicketKey>,
    /// When `current` was made, in seconds since 1970.
    since: u64,
}

/// The library gave no random bytes, or no key.
#[derive(Debug)]
pub(crate) struct NoKey;

impl Ticketer {
    /// With the given keys, or at random keys if they are empty.
    pub(crate) fn new(ticket_keys: &[u8], lifetime_seconds: u32) -> Result<Self, NoKey> {
        let keys = if ticket_keys.is_empty() {
            let rotation = Rotation {
                current: TicketKey::random()?,
                previous: None,
                since: clock::now(),
            };
            Keys::Rotating(Mutex::new(Box::new(rotation)))
        } else {
            Keys::Given(TicketKey::new(ticket_keys.try_into().map_err(|_| NoKey)?)?)
        };
        Ok(Self {
            lifetime_seconds: lifetime_seconds.min(MAX_LIFETIME_SECONDS),
            keys,
        })
    }
}

impl ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        self.lifetime_seconds
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let now = clock::now();
        let began = keying::session_began().map_or(now, |began| began.min(now));
        match &self.keys {
            Keys::Given(key) => key.seal(began, plain),
            Keys::Rotating(rotation) => {
                let mut rotation = rotation.lock().unwrap_or_else(PoisonError::into_inner);
                rotation.turn(now, self.lifetime_seconds);
                rotation.current.seal(began, plain)
            }
        }
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (began, plain) = match &self.keys {
            Keys::Given(key) => key.open(ticket)?,
            Keys::Rotating(rotation) => {
                let mut rotation = rotation.lock().unwrap_or_else(PoisonError::into_inner);
                // Keys go when their time is over, not only when a client wants a new ticket.
                rotation.turn(clock::now(), self.lifetime_seconds);
                let previous = || rotation.previous.as_ref().and_then(|key| key.open(ticket));
                rotation.current.open(ticket).or_else(previous)?
            }
        };
        let age = clock::now().saturating_sub(began);
        if age > u64::from(self.lifetime_seconds) {
            return None;
        }
        keying::hear_session(began);
        Some(plain)
    }
}

/// Keys stay out of debug output.
impl fmt::Debug for Ticketer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Ticketer")
    }
}

impl Rotation {
    /// A key seals for one lifetime and opens for one more, so that each ticket lives as long as it was told to.
    fn turn(&mut self, now: u64, lifetime_seconds: u32) {
        let age = now.saturating_sub(self.since);
        if age < u64::from(lifetime_seconds) {
            return;
        }
        // Without random bytes the old key stays: the next ticket tries again.
        if let Ok(next) = TicketKey::random() {
            let last = std::mem::replace(&mut self.current, next);
            self.previous = (age < 2 * u64::from(lifetime_seconds)).then_some(last);
            self.since = now;
        }
    }
}

struct TicketKey {
    name: [u8; NAME_BYTES],
    key: LessSafeKey,
}

impl TicketKey {
    fn random() -> Result<Self, NoKey> {
        let mut bytes = [0; TICKET_KEYS_BYTES];
        rand::fill(&mut bytes).map_err(|_| NoKey)?;
        let key = Self::new(&bytes);
        bytes.zeroize();
        key
    }

    fn new(bytes: &[u8; TICKET_KEYS_BYTES]) -> Result<Self, NoKey> {
        let (name, secret) = bytes.split_first_chunk::<NAME_BYTES>().ok_or(NoKey)?;
        // Node's two keys of 128 bits become one of 256.
        let pseudo_random = hkdf::Salt::new(hkdf::HKDF_SHA256, name).extract(secret);
        let info: [&[u8]; 1] = [b"portico session ticket 1"];
        let material = pseudo_random
            .expand(&info, &AES_256_GCM_SIV)
            .map_err(|_| NoKey)?;
        let key = UnboundKey::from(material);
        Ok(Self {
            name: *name,
            key: LessSafeKey::new(key),
        })
    }

    /// `None` if the session is too long for a ticket: the client goes without.
    fn seal(&self, began: u64, plain: &[u8]) -> Option<Vec<u8>> {
        let start = NAME_BYTES + NONCE_LEN;
        let length = start + TIME_BYTES + plain.len() + TAG_BYTES;
        if length > MAX_TICKET_BYTES {
            return None;
        }
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let mut ticket = Vec::with_capacity(length);
        ticket.extend_from_slice(&self.name);
        ticket.extend_from_slice(&nonce);
        ticket.extend_from_slice(&began.to_be_bytes());
        ticket.extend_from_slice(plain);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = ticket.get_mut(start..)?;
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(&self.name), sealed)
            .ok()?;
        ticket.extend_from_slice(tag.as_ref());
        Some(ticket)
    }

    /// The session's beginning, and the session.
    fn open(&self, ticket: &[u8]) -> Option<(u64, Vec<u8>)> {
        let (name, rest) = ticket.split_first_chunk::<NAME_BYTES>()?;
        if *name != self.name {
            return None;
        }
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self
            .key
            .open_in_place(nonce, Aad::from(name), &mut sealed)
            .ok()?;
        let (time, session) = opened.split_first_chunk::<TIME_BYTES>()?;
        let result = (u64::from_be_bytes(*time), session.to_vec());
        // rustls wipes its copy.
        sealed.zeroize();
        Some(result)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_opens_under_its_key_only() {
        let ticketer = |keys: &[u8]| Ticketer::new(keys, 300).unwrap();
        let (one, other) = (ticketer(&[1; 48]), ticketer(&[2; 48]));
        let mut same_name = [1; 48];
        same_name[47] = 9;
        let ticket = one.encrypt(b"session").unwrap();
        assert_ne!(ticket, one.encrypt(b"session").unwrap());
        assert_eq!(ticketer(&[1; 48]).decrypt(&ticket).unwrap(), b"session");
        assert!(other.decrypt(&ticket).is_none());
        assert!(ticketer(&same_name).decrypt(&ticket).is_none());
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert!(one.decrypt(&changed).is_none());
            assert!(one.decrypt(&ticket[..at]).is_none());
        }
    }

    #[test]
    fn an_old_ticket_does_not_open() {
        let ticketer = Ticketer::new(&[1; 48], 300).unwrap();
        let Keys::Given(key) = &ticketer.keys else {
            unreachable!()
        };
        assert!(
            ticketer
                .decrypt(&key.seal(clock::now() - 299, b"s").unwrap())
                .is_some()
        );
        assert!(
            ticketer
                .decrypt(&key.seal(clock::now() - 302, b"s").unwrap())
                .is_none()
        );
    }

    #[test]
    fn tickets_live_for_a_week_whatever_longer_time_is_asked_for() {
        for (asked, lifetime) in [
            (MAX_LIFETIME_SECONDS - 1, MAX_LIFETIME_SECONDS - 1),
            (MAX_LIFETIME_SECONDS, MAX_LIFETIME_SECONDS),
            (MAX_LIFETIME_SECONDS + 1, MAX_LIFETIME_SECONDS),
            (u32::MAX, MAX_LIFETIME_SECONDS),
        ] {
            let ticketer = Ticketer::new(&[1; 48], asked).unwrap();
            assert_eq!(ticketer.lifetime(), lifetime);
            let Keys::Given(key) = &ticketer.keys else {
                unreachable!()
            };
            let aged = |seconds: u32| {
                let began = clock::now() - u64::from(seconds);
                ticketer.decrypt(&key.seal(began, b"s").unwrap())
            };
            assert!(aged(lifetime - 60).is_some());
            assert!(aged(lifetime + 1).is_none());
        }
    }

    #[test]
    fn a_resumed_sessions_new_ticket_does_not_prolong_it() {
        let ticketer = Ticketer::new(&[1; 48], 300).unwrap();
        let Keys::Given(key) = &ticketer.keys else {
            unreachable!()
        };
        let began = clock::now() - 200;
        let first = key.seal(began, b"s").unwrap();
        let mut heard = None;
        keying::listen(&mut heard, || ticketer.decrypt(&first).unwrap());
        // Another handshake in between, of a new client.
        let other = keying::listen(&mut None, || ticketer.encrypt(b"s").unwrap());
        assert!(key.open(&other).unwrap().0 > began);
        let second = keying::listen(&mut heard, || ticketer.encrypt(b"s").unwrap());
        assert_eq!(key.open(&second).unwrap().0, began);
    }

    #[test]
    fn a_session_too_long_for_a_ticket_gets_none() {
        let ticketer = Ticketer::new(&[1; 48], 300).unwrap();
        let longest = MAX_TICKET_BYTES - 52;
        let ticket = ticketer.encrypt(&vec![7; longest]).unwrap();
        assert_eq!(ticket.len(), MAX_TICKET_BYTES);
        assert_eq!(ticketer.decrypt(&ticket).unwrap(), vec![7; longest]);
        assert!(ticketer.encrypt(&vec![7; longest + 1]).is_none());
    }

    #[test]
    fn a_key_goes_even_where_no_client_takes_tickets() {
        let ticketer = Ticketer::new(&[], 300).unwrap();
        let Keys::Rotating(rotation) = &ticketer.keys else {
            unreachable!()
        };
        let ticket = ticketer.encrypt(b"s").unwrap();
        rotation.lock().unwrap().since -= 700;
        assert!(ticketer.decrypt(&ticket).is_none());
        assert!(rotation.lock().unwrap().previous.is_none());
    }

    #[test]
    fn random_keys_last_for_one_more_turn() {
        let mut rotation = Rotation {
            current: TicketKey::random().unwrap(),
            previous: None,
            since: 1_000,
        };
        let ticket = rotation.current.seal(1_000, b"s").unwrap();
        rotation.turn(1_299, 300);
        assert!(rotation.current.open(&ticket).is_some());
        rotation.turn(1_300, 300);
        assert!(rotation.current.open(&ticket).is_none());
        assert!(rotation.previous.as_ref().unwrap().open(&ticket).is_some());
        rotation.turn(1_600, 300);
        assert!(rotation.previous.as_ref().unwrap().open(&ticket).is_none());
        rotation.turn(9_000, 300);
        assert!(
            rotation.previous.is_none(),
            "after a long pause the last key is too old"
        );
    }
}
