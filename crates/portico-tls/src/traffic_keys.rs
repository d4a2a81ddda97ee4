//! The keys of a handshake's records: those of TLS 1.3's application data, with the secrets that the next ones come from
//! (RFC 8446, 7.2 and 7.3), and the sealing key in force, for an alert that rustls does not send.
//!
//! rustls makes them during the handshake with the AEADs that this crate gives it, which write them down here (see
//! `keying.rs` for how). Asking rustls for them at the end would have it derive all of them once more.

use rustls::crypto::cipher::{
    AeadKey, Iv, KeyBlockShape, MessageDecrypter, MessageEncrypter, OutboundOpaqueMessage,
    OutboundPlainMessage, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
};
use rustls::crypto::tls13::HkdfExpander;
use rustls::{ConnectionTrafficSecrets, ContentType};
use zeroize::Zeroize;

use crate::key_schedule::KeySchedule;
use crate::keying::{self, Bytes};
use crate::record::{BadKey, Cipher, RecordKey};

const IV_BYTES: usize = 12;

/// What was heard of a handshake's keys. Wiped when dropped.
#[derive(Default)]
pub(crate) struct TrafficKeys {
    /// The last key that was set for each direction.
    opening: Key,
    sealing: Key,
    /// Records sealed with the last sealing key.
    sealed: u64,
    /// The last of them was an alert.
    alerted: bool,
    secrets: Secrets,
}

#[derive(Default)]
struct Key {
    key: Bytes,
    iv: [u8; IV_BYTES],
}

/// The traffic secrets. Wiped when dropped.
#[derive(Default)]
pub(crate) struct Secrets {
    client: Bytes,
    server: Bytes,
}

impl TrafficKeys {
    /// Notes a traffic secret, under its name in key logs.
    pub(crate) fn hear_secret(&mut self, label: &str, secret: &[u8]) {
        match label {
            CLIENT_SECRET => self.secrets.client = Bytes::new(secret),
            SERVER_SECRET => self.secrets.server = Bytes::new(secret),
            _ => {}
        }
    }

    /// Whether rustls has sealed an alert.
    pub(crate) fn has_alerted(&self) -> bool {
        self.alerted
    }

    /// TLS 1.3: whether the client's records are sealed from here on.
    pub(crate) fn is_opening(&self) -> bool {
        !self.opening.key.get().is_empty()
    }

    /// TLS 1.3: the key of the client's next record, where it has sealed none yet.
    pub(crate) fn opening(&self, cipher: Cipher) -> Result<RecordKey, BadKey> {
        RecordKey::tls13(cipher, 0, self.opening.key.get(), &self.opening.iv)
    }

    /// The key of our next record, where it is to be sealed.
    pub(crate) fn sealing(&self, suite: u16) -> Option<Result<RecordKey, BadKey>> {
        let (key, iv) = (self.sealing.key.get(), &self.sealing.iv);
        if let Some(cipher) = Cipher::of_tls12(suite) {
            // rustls makes the key before its turn; the first thing that is sealed with it is the Finished message.
            return (self.sealed > 0).then(|| RecordKey::tls12(cipher, self.sealed, key, iv));
        }
        let cipher = Cipher::of(suite)?;
        (!key.is_empty()).then(|| RecordKey::tls13(cipher, self.sealed, key, iv))
    }

    /// The record layer after a handshake: opening and sealing key, and where the next ones come from.
    ///
    /// # Errors
    /// Something was not heard: Portico's fault.
    pub(crate) fn take(
        mut self,
        cipher: Cipher,
    ) -> Result<(RecordKey, RecordKey, KeyUpdates), BadKey> {
        // The handshake ends with the client's first message under its handshake key: nothing has been opened yet.
        let opening = self.opening(cipher)?;
        let sealing = RecordKey::tls13(
            cipher,
            self.sealed,
            self.sealing.key.get(),
            &self.sealing.iv,
        )?;
        let hash_bytes = cipher.schedule().hash_bytes();
        let secrets = std::mem::take(&mut self.secrets);
        if [secrets.client, secrets.server]
            .iter()
            .any(|secret| secret.get().len() != hash_bytes)
        {
            return Err(BadKey);
        }
        Ok((opening, sealing, KeyUpdates { cipher, secrets }))
    }
}

/// Labels of a key log (RFC 9850).
pub(crate) const CLIENT_SECRET: &str = "CLIENT_TRAFFIC_SECRET_0";
pub(crate) const SERVER_SECRET: &str = "SERVER_TRAFFIC_SECRET_0";

/// Makes the next keys of a connection.
pub(crate) struct KeyUpdates {
    cipher: Cipher,
    secrets: Secrets,
}

impl KeyUpdates {
    /// The next key for what the client sends.
    pub(crate) fn next_opening(&mut self) -> Result<RecordKey, BadKey> {
        next(self.cipher, &mut self.secrets.client)
    }

    /// The next key for what the server sends.
    pub(crate) fn next_sealing(&mut self) -> Result<RecordKey, BadKey> {
        next(self.cipher, &mut self.secrets.server)
    }
}

fn next(cipher: Cipher, secret: &mut Bytes) -> Result<RecordKey, BadKey> {
    let schedule = cipher.schedule();
    let mut bytes = [0; Bytes::MOST];
    let place = bytes.get_mut(..schedule.hash_bytes()).ok_or(BadKey)?;
    let expander = schedule.expander(secret.get());
    expand_label(expander.as_ref(), b"traffic upd", place)?;
    secret.wipe();
    *secret = Bytes::new(place);
    bytes.zeroize();

    let expander = schedule.expander(secret.get());
    let mut key = [0; Bytes::MOST];
    let mut iv = [0; IV_BYTES];
    let place = key.get_mut(..cipher.key_bytes()).ok_or(BadKey)?;
    expand_label(expander.as_ref(), b"key", place)?;
    expand_label(expander.as_ref(), b"iv", &mut iv)?;
    let record_key = RecordKey::tls13(cipher, 0, place, &iv);
    key.zeroize();
    record_key
}

/// HKDF-Expand-Label with an empty context (RFC 8446, 7.1).
fn expand_label(
    expander: &dyn HkdfExpander,
    label: &[u8],
    output: &mut [u8],
) -> Result<(), BadKey> {
    const PREFIX: &[u8] = b"tls13 ";
    let length = u16::try_from(output.len()).map_err(|_| BadKey)?;
    let label_length = u8::try_from(PREFIX.len() + label.len()).map_err(|_| BadKey)?;
    let info: [&[u8]; 5] = [&length.to_be_bytes(), &[label_length], PREFIX, label, &[0]];
    expander.expand_slice(&info, output).map_err(|_| BadKey)
}

impl Key {
    fn new(key: &AeadKey, iv: &Iv) -> Self {
        let mut new = Self {
            key: Bytes::new(key.as_ref()),
            iv: [0; IV_BYTES],
        };
        if let Ok(iv) = iv.as_ref().try_into() {
            new.iv = iv;
        }
        new
    }

    /// The nonce has a fixed part and, with AES-GCM, one that travels in each record and starts at `extra`.
    fn tls12(key: &AeadKey, iv: &[u8], extra: &[u8]) -> Self {
        let mut new = Self {
            key: Bytes::new(key.as_ref()),
            iv: [0; IV_BYTES],
        };
        for (place, byte) in new.iv.iter_mut().zip(iv.iter().chain(extra)) {
            *place = *byte;
        }
        new
    }
}

impl Drop for TrafficKeys {
    fn drop(&mut self) {
        for key in [&mut self.opening, &mut self.sealing] {
            key.key.wipe();
            key.iv.zeroize();
        }
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.client.wipe();
        self.server.wipe();
    }
}

/// An AEAD of TLS 1.3 that is listened to.
pub(crate) struct HeardAead(pub(crate) &'static dyn Tls13AeadAlgorithm);

impl Tls13AeadAlgorithm for HeardAead {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        keying::hear_traffic(|traffic| {
            traffic.sealing = Key::new(&key, &iv);
            traffic.sealed = 0;
        });
        Box::new(CountingEncrypter(self.0.encrypter(key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        keying::hear_traffic(|traffic| traffic.opening = Key::new(&key, &iv));
        self.0.decrypter(key, iv)
    }

    fn key_len(&self) -> usize {
        self.0.key_len()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv)
    }
}

/// Tells how many records have been sealed: the next sequence number is Portico's.
struct CountingEncrypter(Box<dyn MessageEncrypter>);

impl MessageEncrypter for CountingEncrypter {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, rustls::Error> {
        // Even if it fails, so that no number is used twice.
        keying::hear_traffic(|traffic| {
            traffic.sealed = sequence.saturating_add(1);
            traffic.alerted = message.typ == ContentType::Alert;
        });
        self.0.encrypt(message, sequence)
    }

    fn encrypted_payload_len(&self, payload_bytes: usize) -> usize {
        self.0.encrypted_payload_len(payload_bytes)
    }
}

/// An AEAD of TLS 1.2 that is listened to. Only our own key is of interest: rustls gives out both at the end.
pub(crate) struct HeardAead12(pub(crate) &'static dyn Tls12AeadAlgorithm);

impl Tls12AeadAlgorithm for HeardAead12 {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        keying::hear_traffic(|traffic| {
            traffic.sealing = Key::tls12(&key, iv, extra);
            traffic.sealed = 0;
        });
        Box::new(CountingEncrypter(self.0.encrypter(key, iv, extra)))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        self.0.decrypter(key, iv)
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        self.0.key_block_shape()
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        self.0.extract_keys(key, iv, explicit)
    }
}

impl Cipher {
    fn schedule(self) -> &'static KeySchedule {
        match self {
            Self::Aes256 => &crate::key_schedule::SHA384,
            Self::Aes128 | Self::Chacha20 => &crate::key_schedule::SHA256,
        }
    }
}
