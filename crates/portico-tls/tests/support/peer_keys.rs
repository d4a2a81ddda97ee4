//! The record layer of a client that can say anything: written for the tests, from the RFCs, and apart from Portico's.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use rustls::{CipherSuite, ConnectionTrafficSecrets};

/// One direction's key.
pub(crate) struct PeerKey {
    key: LessSafeKey,
    algorithm: &'static aead::Algorithm,
    iv: [u8; 12],
    sequence: u64,
    tls13: bool,
    /// Secret and hash that the next key of TLS 1.3 comes from.
    source: Option<(Vec<u8>, hkdf::Algorithm)>,
}

impl PeerKey {
    pub(crate) fn new(
        sequence: u64,
        secrets: &ConnectionTrafficSecrets,
        tls13: bool,
        source: Option<(Vec<u8>, CipherSuite)>,
    ) -> Self {
        let (algorithm, key, iv) = match secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (&aead::CHACHA20_POLY1305, key, iv)
            }
            _ => panic!("no other keys are known"),
        };
        let hash = |suite| match suite {
            CipherSuite::TLS13_AES_256_GCM_SHA384 => hkdf::HKDF_SHA384,
            _ => hkdf::HKDF_SHA256,
        };
        Self {
            key: LessSafeKey::new(UnboundKey::new(algorithm, key.as_ref()).unwrap()),
            algorithm,
            iv: iv.as_ref().try_into().unwrap(),
            sequence,
            tls13,
            source: source.map(|(secret, suite)| (secret, hash(suite))),
        }
    }

    /// The first key from a traffic secret of TLS 1.3.
    #[allow(dead_code, reason = "not all tests begin with a secret")]
    pub(crate) fn of_secret(secret: &[u8], suite: CipherSuite) -> Self {
        let (algorithm, hash) = match suite {
            CipherSuite::TLS13_AES_256_GCM_SHA384 => (&aead::AES_256_GCM, hkdf::HKDF_SHA384),
            CipherSuite::TLS13_AES_128_GCM_SHA256 => (&aead::AES_128_GCM, hkdf::HKDF_SHA256),
            _ => (&aead::CHACHA20_POLY1305, hkdf::HKDF_SHA256),
        };
        let key = expand(secret, hash, b"key", algorithm.key_len());
        Self {
            key: LessSafeKey::new(UnboundKey::new(algorithm, &key).unwrap()),
            algorithm,
            iv: expand(secret, hash, b"iv", 12).try_into().unwrap(),
            sequence: 0,
            tls13: true,
            source: Some((secret.to_vec(), hash)),
        }
    }

    /// The next key (RFC 8446, 7.2 and 7.3).
    pub(crate) fn renew(&mut self) {
        let (secret, hash) = self.source.as_ref().unwrap();
        let length = secret.len();
        let next = expand(secret, *hash, b"traffic upd", length);
        let key = expand(&next, *hash, b"key", self.algorithm.key_len());
        self.iv = expand(&next, *hash, b"iv", 12).try_into().unwrap();
        self.key = LessSafeKey::new(UnboundKey::new(self.algorithm, &key).unwrap());
        self.sequence = 0;
        self.source = Some((next, *hash));
    }

    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, part) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= part;
        }
        nonce
    }

    fn is_gcm12(&self) -> bool {
        !self.tls13 && self.algorithm != &aead::CHACHA20_POLY1305
    }

    fn tls12_data(&self, kind: u8, length: usize) -> Vec<u8> {
        let mut data = self.sequence.to_be_bytes().to_vec();
        data.extend([kind, 3, 3]);
        data.extend((length as u16).to_be_bytes());
        data
    }

    /// A record with any content type, content, and (in TLS 1.3) so many bytes of padding.
    pub(crate) fn seal(&mut self, kind: u8, content: &[u8], padding: usize) -> Vec<u8> {
        let nonce = self.nonce();
        let explicit = if self.is_gcm12() { &nonce[4..] } else { &[] };
        let mut body = content.to_vec();
        if self.tls13 {
            body.push(kind);
            body.resize(body.len() + padding, 0);
        }
        let length = explicit.len() + body.len() + 16;
        let mut record = vec![if self.tls13 { 23 } else { kind }, 3, 3];
        record.extend((length as u16).to_be_bytes());
        let additional = if self.tls13 {
            record.clone()
        } else {
            self.tls12_data(kind, content.len())
        };
        record.extend_from_slice(explicit);
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(&additional),
                &mut body,
            )
            .unwrap();
        record.extend(body);
        self.sequence += 1;
        record
    }

    /// The content type and content of a record.
    pub(crate) fn open(&mut self, record: &[u8]) -> Option<(u8, Vec<u8>)> {
        let (header, body) = record.split_at_checked(5)?;
        let mut nonce = self.nonce();
        let mut body = body.to_vec();
        if self.is_gcm12() {
            nonce[4..].copy_from_slice(body.get(..8)?);
            body.drain(..8);
        }
        let additional = if self.tls13 {
            header.to_vec()
        } else {
            self.tls12_data(header[0], body.len().checked_sub(16)?)
        };
        let length = self
            .key
            .open_in_place(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(&additional),
                &mut body,
            )
            .ok()?
            .len();
        body.truncate(length);
        self.sequence += 1;
        if !self.tls13 {
            return Some((header[0], body));
        }
        while body.last() == Some(&0) {
            body.pop();
        }
        Some((body.pop()?, body))
    }
}

/// RFC 8446, 7.1, with an empty context.
fn expand(secret: &[u8], hash: hkdf::Algorithm, label: &[u8], length: usize) -> Vec<u8> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut info = (length as u16).to_be_bytes().to_vec();
    info.push(6 + label.len() as u8);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label);
    info.push(0);
    let mut output = vec![0; length];
    hkdf::Prk::new_less_safe(hash, secret)
        .expand(&[&info], Length(length))
        .and_then(|okm| okm.fill(&mut output))
        .unwrap();
    output
}
