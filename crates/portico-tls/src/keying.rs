//! What applications may ask about a handshake when it is long over: the secret for `exportKeyingMaterial()` (RFC 5705;
//! RFC 8446, 7.5) and the Finished messages.
//!
//! rustls' connection without buffers has no way to ask for them. But it computes them with what this crate gives it
//! (key schedule, PRF, key log), so these write down what they see. They can't know the connection, hence the place is
//! the thread's: [`listen`] opens it for one call of rustls and takes what was heard.

use std::cell::RefCell;

use rustls::KeyLog;
use rustls::crypto::ActiveKeyExchange;
use rustls::crypto::tls12::Prf;
use zeroize::Zeroize;

use crate::traffic_keys::{CLIENT_SECRET, SERVER_SECRET, TrafficKeys};

/// Secret and messages of one handshake. Wiped when dropped, and not shown by `Debug`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keying {
    finished: Bytes,
    peer_finished: Bytes,
    secret: Bytes,
    /// Server's, then client's, as the PRF is given them.
    randoms: Option<[u8; 64]>,
}

/// Up to 48 bytes: SHA-384's output, TLS 1.2's master secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes {
    bytes: [u8; Self::MOST],
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
    pub(crate) const MOST: usize = 48;

    /// Empty if there are more.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut new = Self::default();
        if let Some(place) = new.bytes.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            new.length = u8::try_from(bytes.len()).unwrap_or(0);
        }
        new
    }

    pub(crate) fn get(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }

    pub(crate) fn wipe(&mut self) {
        self.bytes.zeroize();
        self.length = 0;
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self {
            bytes: [0; Self::MOST],
            length: 0,
        }
    }
}

impl Drop for Keying {
    fn drop(&mut self) {
        self.secret.wipe();
    }
}

impl std::fmt::Debug for Keying {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keying")
    }
}

/// All that is heard during a handshake.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) keying: Keying,
    pub(crate) traffic: TrafficKeys,
    /// When the session that the client came back with began, in seconds since 1970.
    pub(crate) session_began: Option<u64>,
}

thread_local! {
    static HEARD: RefCell<Option<Box<Heard>>> = const { RefCell::new(None) };
}

/// Calls rustls, and adds to what was heard.
pub(crate) fn listen<T>(heard: &mut Option<Box<Heard>>, action: impl FnOnce() -> T) -> T {
    HEARD.set(Some(heard.take().unwrap_or_default()));
    let result = action();
    *heard = HEARD.take();
    result
}

fn hear(note: impl FnOnce(&mut Heard)) {
    HEARD.with_borrow_mut(|heard| {
        if let Some(heard) = heard {
            note(heard);
        }
    });
}

/// A ticket was opened: its session began then.
pub(crate) fn hear_session(began: u64) {
    hear(|heard| heard.session_began = Some(began));
}

/// When the session of this handshake began, if it is an old one.
pub(crate) fn session_began() -> Option<u64> {
    HEARD.with_borrow(|heard| heard.as_ref().and_then(|heard| heard.session_began))
}

/// Notes something about the keys of records.
pub(crate) fn hear_traffic(note: impl FnOnce(&mut TrafficKeys)) {
    hear(|heard| note(&mut heard.traffic));
}

/// Hears secrets. Those that are not needed here are not told to it.
#[derive(Debug)]
pub(crate) struct SecretLog;

const EXPORTER: &str = "EXPORTER_SECRET";

impl KeyLog for SecretLog {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        hear_secret(label, secret);
    }

    fn will_log(&self, label: &str) -> bool {
        matches!(label, EXPORTER | CLIENT_SECRET | SERVER_SECRET)
    }
}

/// For key logs that others read as well.
pub(crate) fn hear_secret(label: &str, secret: &[u8]) {
    hear(|heard| match label {
        EXPORTER => heard.keying.secret = Bytes::new(secret),
        _ => heard.traffic.hear_secret(label, secret),
    });
}

/// A Finished message or a binder of TLS 1.3 was computed.
pub(crate) fn hear_signature(tag: &[u8]) {
    hear(|heard| heard.keying.hear_signature(tag));
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
        hear(|heard| heard.keying.hear_prf(output, secret, label, seed));
    }
}
