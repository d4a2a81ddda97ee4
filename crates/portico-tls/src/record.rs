//! The record layer after the handshake (RFC 8446, 5; RFC 5246, 6.2): sealing and opening with the keys that rustls
//! agreed on. rustls' own record layer copies each record twice and keeps the whole handshake state alive; this one
//! decrypts where the bytes lie and costs an idle connection about 1.5 KB.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;

use crate::alert::Alert;

/// Length of a record's header.
pub(crate) const HEADER_BYTES: usize = 5;
/// Most plaintext a record may carry (RFC 8446, 5.1).
pub(crate) const MAX_PLAINTEXT_BYTES: usize = 16_384;
/// Most bytes that may follow a header: the larger allowance of TLS 1.2 (RFC 5246, 6.2.3).
pub(crate) const MAX_BODY_BYTES: usize = MAX_PLAINTEXT_BYTES + 2_048;

/// Content types (RFC 8446, 5.1).
pub(crate) mod content_type {
    pub(crate) const CHANGE_CIPHER_SPEC: u8 = 20;
    pub(crate) const ALERT: u8 = 21;
    pub(crate) const HANDSHAKE: u8 = 22;
    pub(crate) const APPLICATION_DATA: u8 = 23;
}

const TAG_BYTES: usize = 16;
const EXPLICIT_NONCE_BYTES: usize = 8;
/// Records one AES-GCM key may protect in TLS 1.3 before it is renewed (RFC 8446, 5.5; rustls' figure).
const TLS13_RENEW_AFTER: u64 = 1 << 23;
/// Records one key may protect in TLS 1.2, which can't renew it. OpenSSL has no limit; this one is out of reach.
const TLS12_STOP_AFTER: u64 = 1 << 40;

/// The AEADs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128,
    Aes256,
    Chacha20,
}

impl Cipher {
    /// Of a suite of TLS 1.3, by IANA number.
    pub(crate) fn of(suite: u16) -> Option<Self> {
        match suite {
            0x1301 => Some(Self::Aes128),
            0x1302 => Some(Self::Aes256),
            0x1303 => Some(Self::Chacha20),
            _ => None,
        }
    }

    /// Of a suite of TLS 1.2, by IANA number.
    pub(crate) fn of_tls12(suite: u16) -> Option<Self> {
        match suite {
            0xc02b | 0xc02f => Some(Self::Aes128),
            0xc02c | 0xc030 => Some(Self::Aes256),
            0xcca8 | 0xcca9 => Some(Self::Chacha20),
            _ => None,
        }
    }

    fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128 => &aead::AES_128_GCM,
            Self::Aes256 => &aead::AES_256_GCM,
            Self::Chacha20 => &aead::CHACHA20_POLY1305,
        }
    }

    pub(crate) fn key_bytes(self) -> usize {
        self.algorithm().key_len()
    }
}

/// How a suite lays out nonce, additional data and content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// TLS 1.3, all suites (RFC 8446, 5.2 and 5.3).
    Tls13,
    /// AES-GCM in TLS 1.2: eight bytes of the nonce travel in the record (RFC 5288, 3).
    Gcm12,
    /// ChaCha20-Poly1305 in TLS 1.2 (RFC 7905, 2).
    Chacha12,
}

/// The key of one direction, and the number of its next record.
pub(crate) struct RecordKey {
    key: LessSafeKey,
    iv: [u8; aead::NONCE_LEN],
    sequence: u64,
    shape: Shape,
}

/// The library would not take a key that rustls made: Portico's fault.
#[derive(Debug)]
pub(crate) struct BadKey;

impl RecordKey {
    /// A key of TLS 1.3. It fails if it has another length than the cipher's.
    pub(crate) fn tls13(
        cipher: Cipher,
        sequence: u64,
        key: &[u8],
        iv: &[u8; aead::NONCE_LEN],
    ) -> Result<Self, BadKey> {
        let key = UnboundKey::new(cipher.algorithm(), key).map_err(|_| BadKey)?;
        Ok(Self {
            key: LessSafeKey::new(key),
            iv: *iv,
            sequence,
            shape: Shape::Tls13,
        })
    }

    /// A key of TLS 1.2. It fails if it has another length than the cipher's.
    pub(crate) fn tls12(
        cipher: Cipher,
        sequence: u64,
        key: &[u8],
        iv: &[u8; aead::NONCE_LEN],
    ) -> Result<Self, BadKey> {
        let shape = match cipher {
            Cipher::Chacha20 => Shape::Chacha12,
            Cipher::Aes128 | Cipher::Aes256 => Shape::Gcm12,
        };
        let key = Self::tls13(cipher, sequence, key, iv)?;
        Ok(Self { shape, ..key })
    }

    /// From what rustls gives out.
    pub(crate) fn new(
        tls13: bool,
        sequence: u64,
        secrets: &ConnectionTrafficSecrets,
    ) -> Result<Self, BadKey> {
        let (algorithm, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (&aead::CHACHA20_POLY1305, key, iv)
            }
            _ => return Err(BadKey),
        };
        let shape = match (tls13, secrets) {
            (true, _) => Shape::Tls13,
            (false, ConnectionTrafficSecrets::Chacha20Poly1305 { .. }) => Shape::Chacha12,
            (false, _) => Shape::Gcm12,
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| BadKey)?;
        let iv = iv.as_ref().try_into().map_err(|_| BadKey)?;
        Ok(Self {
            key: LessSafeKey::new(key),
            iv,
            sequence,
            shape,
        })
    }

    /// Whether the records are those of TLS 1.3.
    pub(crate) fn is_tls13(&self) -> bool {
        self.shape == Shape::Tls13
    }

    /// Whether the key should be renewed before the next record (TLS 1.3).
    pub(crate) fn is_worn(&self) -> bool {
        self.is_tls13() && self.sequence >= TLS13_RENEW_AFTER
    }

    /// Appends one record with the concatenation of `parts`, of at most [`MAX_PLAINTEXT_BYTES`].
    pub(crate) fn seal(
        &mut self,
        content_type: u8,
        parts: &[&[u8]],
        output: &mut Vec<u8>,
    ) -> Result<(), BadKey> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > MAX_PLAINTEXT_BYTES || self.sequence >= TLS12_STOP_AFTER {
            return Err(BadKey);
        }
        let nonce = self.nonce();
        let outer_type = if self.is_tls13() {
            content_type::APPLICATION_DATA
        } else {
            content_type
        };
        let extra = match self.shape {
            Shape::Tls13 => 1,
            Shape::Gcm12 => EXPLICIT_NONCE_BYTES,
            Shape::Chacha12 => 0,
        };
        let header = header(outer_type, length + extra + TAG_BYTES);
        output.reserve(HEADER_BYTES + extra + length + TAG_BYTES);
        output.extend_from_slice(&header);
        if self.shape == Shape::Gcm12 {
            output.extend_from_slice(&nonce[4..]);
        }
        let start = output.len();
        for part in parts {
            output.extend_from_slice(part);
        }
        let tls12_data;
        let additional: &[u8] = if self.is_tls13() {
            output.push(content_type);
            &header
        } else {
            tls12_data = tls12_additional_data(self.sequence, content_type, length);
            &tls12_data
        };
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed =
            self.key
                .seal_in_place_separate_tag(nonce, Aad::from(additional), &mut output[start..]);
        output.extend_from_slice(sealed.map_err(|_| BadKey)?.as_ref());
        self.sequence += 1;
        Ok(())
    }

    /// Opens the record with this header, whose body is decrypted in place. Gives the content type and the plaintext.
    pub(crate) fn open<'a>(
        &mut self,
        header: [u8; HEADER_BYTES],
        body: &'a mut [u8],
    ) -> Result<(u8, &'a [u8]), Alert> {
        let sequence = self.sequence;
        self.sequence = sequence.checked_add(1).ok_or(Alert::InternalError)?;
        match self.shape {
            Shape::Tls13 => self.open_tls13(sequence, header, body),
            Shape::Gcm12 => {
                let (explicit, sealed) = body
                    .split_at_mut_checked(EXPLICIT_NONCE_BYTES)
                    .ok_or(Alert::BadRecordMac)?;
                let mut nonce = self.iv;
                nonce[4..].copy_from_slice(explicit);
                self.open_tls12(sequence, header[0], nonce, sealed)
            }
            Shape::Chacha12 => {
                let nonce = nonce(&self.iv, sequence);
                self.open_tls12(sequence, header[0], nonce, body)
            }
        }
    }

    fn open_tls13<'a>(
        &self,
        sequence: u64,
        header: [u8; HEADER_BYTES],
        body: &'a mut [u8],
    ) -> Result<(u8, &'a [u8]), Alert> {
        if header[0] != content_type::APPLICATION_DATA {
            return Err(Alert::UnexpectedMessage);
        }
        // RFC 8446, 5.2: at most 2^14 + 256 bytes.
        if body.len() > MAX_PLAINTEXT_BYTES + 256 {
            return Err(Alert::RecordOverflow);
        }
        let nonce = Nonce::assume_unique_for_key(nonce(&self.iv, sequence));
        let opened = self.key.open_in_place(nonce, Aad::from(&header), body);
        let inner: &[u8] = opened.map_err(|_| Alert::BadRecordMac)?;
        if inner.len() > MAX_PLAINTEXT_BYTES + 1 {
            return Err(Alert::RecordOverflow);
        }
        // RFC 8446, 5.4: the type is the last byte that is not zero; what follows it is padding.
        let end = inner
            .iter()
            .rposition(|byte| *byte != 0)
            .ok_or(Alert::UnexpectedMessage)?;
        Ok((inner[end], &inner[..end]))
    }

    fn open_tls12<'a>(
        &self,
        sequence: u64,
        content_type: u8,
        nonce: [u8; aead::NONCE_LEN],
        sealed: &'a mut [u8],
    ) -> Result<(u8, &'a [u8]), Alert> {
        let length = sealed
            .len()
            .checked_sub(TAG_BYTES)
            .ok_or(Alert::BadRecordMac)?;
        if length > MAX_PLAINTEXT_BYTES {
            return Err(Alert::RecordOverflow);
        }
        let additional = tls12_additional_data(sequence, content_type, length);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = self
            .key
            .open_in_place(nonce, Aad::from(&additional), sealed);
        Ok((content_type, opened.map_err(|_| Alert::BadRecordMac)?))
    }

    fn nonce(&self) -> [u8; aead::NONCE_LEN] {
        nonce(&self.iv, self.sequence)
    }
}

/// The body length that a header tells, or the alert it deserves. Types and versions are looked at by `open`: the
/// version field means nothing (RFC 8446, 5.1) but is authenticated in TLS 1.3.
pub(crate) fn body_length(header: [u8; HEADER_BYTES]) -> Result<usize, Alert> {
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    if length > MAX_BODY_BYTES {
        Err(Alert::RecordOverflow)
    } else {
        Ok(length)
    }
}

/// RFC 8446, 5.3.
fn nonce(iv: &[u8; aead::NONCE_LEN], sequence: u64) -> [u8; aead::NONCE_LEN] {
    let mut nonce = *iv;
    for (byte, part) in nonce[4..].iter_mut().zip(sequence.to_be_bytes()) {
        *byte ^= part;
    }
    nonce
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "callers bound the length to 16 KB and a little"
)]
fn header(content_type: u8, length: usize) -> [u8; HEADER_BYTES] {
    let [high, low] = (length as u16).to_be_bytes();
    [content_type, 3, 3, high, low]
}

/// RFC 5246, 6.2.3.3.
#[expect(
    clippy::cast_possible_truncation,
    reason = "callers bound the length to 16 KB"
)]
fn tls12_additional_data(sequence: u64, content_type: u8, length: usize) -> [u8; 13] {
    let mut data = [0; 13];
    data[..8].copy_from_slice(&sequence.to_be_bytes());
    data[8] = content_type;
    data[9..11].copy_from_slice(&[3, 3]);
    data[11..].copy_from_slice(&(length as u16).to_be_bytes());
    data
}
