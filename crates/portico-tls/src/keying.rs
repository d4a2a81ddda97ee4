//! What applications may ask about a handshake when it is long over: the secret for `exportKeyingMaterial()` (RFC 5705;
//! RFC 8446, 7.5) and the Finished messages.
//!
//! rustls' connection without buffers has no way to ask for them. But it computes them with what this crate gives it
//! (key schedule, PRF, key log), so these write down what they see. They can't know the connection, hence the place is
//! the thread's: [`listen`] opens it for one call of rustls and takes what was heard.

use std::cell::RefCell;

use rustls::KeyLog;
use rustls::crypto::ActiveKeyExchange;
use rustls::crypto::hmac::Tag;
use rustls::crypto::tls12::Prf;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock};
use zeroize::Zeroize;

/// SHA-384's output, TLS 1.2's master secret.
const MOST_BYTES: usize = 48;

/// Secret and messages of one handshake. Wiped when dropped, and not shown by `Debug`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keying {
    finished: Bytes,
    peer_finished: Bytes,
    secret: Bytes,
    /// Server's, then client's, as the PRF is given them.
    randoms: Option<[u8; 64]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Bytes {
    bytes: [u8; MOST_BYTES],
    length: u8,
}

impl Keying {
    /// Verify data of the server's Finished message: 12 bytes in TLS 1.2, the hash's length in TLS 1.3.
    #[must_use]
    pub fn finished(&self) -> &[u8] {
        self.finished.get()
    }

    /// Verify data of the client's Finished message.
    #[must_use]
    pub fn peer_finished(&self) -> &[u8] {
        self.peer_finished.get()
    }

    /// What keying material is exported from: in TLS 1.3 the exporter secret, in TLS 1.2 the master secret.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        self.secret.get()
    }

    /// TLS 1.2: the randoms of client and server (32 bytes each), the seed of what is exported; else empty.
    #[must_use]
    pub fn randoms(&self) -> [&[u8]; 2] {
        let parts = self.randoms.as_ref().map(|both| both.split_at(32));
        parts.map_or([&[], &[]], |(server, client)| [client, server])
    }

    /// TLS 1.3: the server signs its own Finished message and then the client's (and a ticket's binder before both).
    fn hear_signature(&mut self, tag: &[u8]) {
        self.finished = self.peer_finished;
        self.peer_finished = Bytes::new(tag);
    }

    /// TLS 1.2: what the PRF is asked for.
    fn hear_prf(&mut self, output: &[u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        match label {
            b"server finished" => self.finished = Bytes::new(output),
            b"client finished" => self.peer_finished = Bytes::new(output),
            b"key expansion" => {
                self.secret = Bytes::new(secret);
                self.randoms = seed.try_into().ok();
            }
            _ => {}
        }
    }
}

impl Bytes {
    fn new(bytes: &[u8]) -> Self {
        let mut new = Self::default();
        if let Some(place) = new.bytes.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            new.length = u8::try_from(bytes.len()).unwrap_or(0);
        }
        new
    }

    fn get(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self {
            bytes: [0; MOST_BYTES],
            length: 0,
        }
    }
}

impl Drop for Keying {
    fn drop(&mut self) {
        self.secret.bytes.zeroize();
    }
}

impl std::fmt::Debug for Keying {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keying")
    }
}

thread_local! {
    static HEARD: RefCell<Option<Keying>> = const { RefCell::new(None) };
}

/// Calls rustls, and adds to `keying` what it computed.
pub(crate) fn listen<T>(keying: &mut Keying, action: impl FnOnce() -> T) -> T {
    HEARD.set(Some(std::mem::take(keying)));
    let result = action();
    *keying = HEARD.take().unwrap_or_default();
    result
}

fn hear(note: impl FnOnce(&mut Keying)) {
    HEARD.with_borrow_mut(|heard| {
        if let Some(keying) = heard {
            note(keying);
        }
    });
}

/// Hears the exporter secret. Nothing else is told to it.
#[derive(Debug)]
pub(crate) struct ExporterLog;

const EXPORTER: &str = "EXPORTER_SECRET";

impl KeyLog for ExporterLog {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        hear_exporter(label, secret);
    }

    fn will_log(&self, label: &str) -> bool {
        label == EXPORTER
    }
}

/// For key logs that others read as well.
pub(crate) fn hear_exporter(label: &str, secret: &[u8]) {
    if label == EXPORTER {
        hear(|keying| keying.secret = Bytes::new(secret));
    }
}

/// A key schedule of TLS 1.3 that is listened to.
pub(crate) struct HeardHkdf<H>(pub(crate) H);

impl<H: Hkdf> Hkdf for HeardHkdf<H> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.0.extract_from_zero_ikm(salt)
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        self.0.extract_from_secret(salt, secret)
    }

    fn extract_from_kx_shared_secret(
        &self,
        salt: Option<&[u8]>,
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
    ) -> Result<Box<dyn HkdfExpander>, rustls::Error> {
        self.0.extract_from_kx_shared_secret(salt, kx, peer_pub_key)
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        self.0.expander_for_okm(okm)
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        let tag = self.0.hmac_sign(key, message);
        hear(|keying| keying.hear_signature(tag.as_ref()));
        tag
    }
}

/// The PRF of TLS 1.2, listened to.
pub(crate) struct HeardPrf(pub(crate) &'static dyn Prf);

impl Prf for HeardPrf {
    fn for_key_exchange(
        &self,
        output: &mut [u8; 48],
        kx: Box<dyn ActiveKeyExchange>,
        peer_pub_key: &[u8],
        label: &[u8],
        seed: &[u8],
    ) -> Result<(), rustls::Error> {
        self.0
            .for_key_exchange(output, kx, peer_pub_key, label, seed)
    }

    fn for_secret(&self, output: &mut [u8], secret: &[u8], label: &[u8], seed: &[u8]) {
        self.0.for_secret(output, secret, label, seed);
        hear(|keying| keying.hear_prf(output, secret, label, seed));
    }
}
