//! HKDF (RFC 5869) for the key schedule of TLS 1.3, over aws-lc's HMAC.
//!
//! rustls derives some thirty secrets and keys in a handshake. Its HKDF over aws-lc begins each of them with the
//! extraction that the last one began with, and each with the key's two hash blocks. Here the extraction is done once, the
//! keyed state is kept while several labels are expanded from it, and the salt that every handshake begins with is keyed
//! once for all. With SHA-384, which few processors have instructions for, hashing is the largest part of a resumed
//! handshake.
//!
//! One secret is not derived: that of early data, which rustls asks for in every resumption though early data is never
//! accepted here (`max_early_data_size` is 0). It gets random bytes of this process and keys made of them without hashing,
//! which saves 3 % of the instructions of a resumed handshake. Were early data accepted by mistake, none would open.

use std::sync::LazyLock;

use aws_lc_rs::{hmac, rand};
use rustls::crypto::hmac::Tag;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};

use crate::keying;

/// SHA-384's output.
const MAX_HASH_BYTES: usize = 48;
const ZEROS: [u8; MAX_HASH_BYTES] = [0; MAX_HASH_BYTES];

/// For suites with SHA-256.
pub(crate) static SHA256: KeySchedule = KeySchedule {
    algorithm: hmac::HMAC_SHA256,
    hash_bytes: 32,
    no_salt: LazyLock::new(|| hmac::Key::new(hmac::HMAC_SHA256, &ZEROS[..32])),
};

/// For suites with SHA-384.
pub(crate) static SHA384: KeySchedule = KeySchedule {
    algorithm: hmac::HMAC_SHA384,
    hash_bytes: 48,
    no_salt: LazyLock::new(|| hmac::Key::new(hmac::HMAC_SHA384, &ZEROS)),
};

/// The label of early data's secret (RFC 8446, 7.1), and where rustls has it in what it expands from.
const EARLY_LABEL: &[u8] = b"c e traffic";
const LABEL_AT: usize = 3;

/// Stands for early data's secret. `None` without random bytes: then it is derived.
static EARLY: LazyLock<Option<[u8; MAX_HASH_BYTES]>> = LazyLock::new(|| {
    let mut bytes = [0; MAX_HASH_BYTES];
    rand::fill(&mut bytes).ok().map(|()| bytes)
});

/// HKDF with a hash.
pub(crate) struct KeySchedule {
    algorithm: hmac::Algorithm,
    hash_bytes: usize,
    /// The key that stands for no salt: zeros.
    no_salt: LazyLock<hmac::Key>,
}

impl KeySchedule {
    /// Length of its output.
    pub(crate) fn hash_bytes(&self) -> usize {
        self.hash_bytes
    }

    /// Expands from a key that is as good as random.
    pub(crate) fn expander(&self, pseudo_random_key: &[u8]) -> Box<dyn HkdfExpander> {
        Box::new(Expander {
            key: hmac::Key::new(self.algorithm, pseudo_random_key),
            hash_bytes: self.hash_bytes,
        })
    }
}

impl Hkdf for KeySchedule {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        self.extract_from_secret(salt, ZEROS.get(..self.hash_bytes).unwrap_or(&ZEROS))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        let extracted = match salt {
            Some(salt) => hmac::sign(&hmac::Key::new(self.algorithm, salt), secret),
            None => hmac::sign(&self.no_salt, secret),
        };
        self.expander(extracted.as_ref())
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        if let Some(early) = early_secret(self.hash_bytes)
            && okm.as_ref() == early
        {
            return Box::new(EarlyExpander(early));
        }
        self.expander(okm.as_ref())
    }

    /// Finished messages and binders.
    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        let tag = hmac::sign(&hmac::Key::new(self.algorithm, key.as_ref()), message);
        keying::hear_signature(tag.as_ref());
        Tag::new(tag.as_ref())
    }
}

struct Expander {
    key: hmac::Key,
    hash_bytes: usize,
}

impl Expander {
    /// `HMAC(key, previous block || info || number)`.
    fn block(&self, previous: &[u8], info: &[&[u8]], number: u8) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(previous);
        for part in info {
            context.update(part);
        }
        context.update(&[number]);
        context.sign()
    }
}

impl HkdfExpander for Expander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        let mut previous = None;
        let mut number = 0u8;
        for part in output.chunks_mut(self.hash_bytes) {
            number = number.checked_add(1).ok_or(OutputLengthError)?;
            let before = previous.as_ref().map_or(&[][..], hmac::Tag::as_ref);
            let block = self.block(before, info, number);
            let (wanted, _) = block.as_ref().split_at(part.len());
            part.copy_from_slice(wanted);
            previous = Some(block);
        }
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        if info.get(LABEL_AT) == Some(&EARLY_LABEL)
            && let Some(early) = early_secret(self.hash_bytes)
        {
            return OkmBlock::new(early);
        }
        OkmBlock::new(self.block(&[], info, 1).as_ref())
    }

    fn hash_len(&self) -> usize {
        self.hash_bytes
    }
}

fn early_secret(hash_bytes: usize) -> Option<&'static [u8]> {
    EARLY.as_ref().and_then(|bytes| bytes.get(..hash_bytes))
}

/// Makes keys that nothing is ever opened with.
struct EarlyExpander(&'static [u8]);

impl HkdfExpander for EarlyExpander {
    fn expand_slice(&self, _: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        let bytes = self.0.get(..output.len()).ok_or(OutputLengthError)?;
        output.copy_from_slice(bytes);
        Ok(())
    }

    fn expand_block(&self, _: &[&[u8]]) -> OkmBlock {
        OkmBlock::new(self.0)
    }

    fn hash_len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs::cipher_suite;

    use super::*;

    #[test]
    fn the_key_schedule_derives_what_rustls_own_does() {
        for (suite, own) in [
            (cipher_suite::TLS13_AES_256_GCM_SHA384, &SHA384),
            (cipher_suite::TLS13_AES_128_GCM_SHA256, &SHA256),
        ] {
            let Some(theirs) = suite.tls13().map(|suite| suite.hkdf_provider) else {
                panic!()
            };
            for secret in [&[][..], &[7; 32], &[9; 200]] {
                for salt in [None, Some(&[1u8; 48][..])] {
                    let (a, b) = (
                        own.extract_from_secret(salt, secret),
                        theirs.extract_from_secret(salt, secret),
                    );
                    compare(own, theirs, a.as_ref(), b.as_ref());
                }
                let zero = own.extract_from_zero_ikm(Some(secret));
                let other = theirs.extract_from_zero_ikm(Some(secret));
                compare(own, theirs, zero.as_ref(), other.as_ref());
            }
            let none = own.extract_from_zero_ikm(None);
            compare(
                own,
                theirs,
                none.as_ref(),
                theirs.extract_from_zero_ikm(None).as_ref(),
            );
        }
    }

    #[test]
    fn no_hash_is_longer_than_the_room_for_one() {
        assert_eq!(SHA256.hash_bytes(), 32);
        assert_eq!(SHA384.hash_bytes(), MAX_HASH_BYTES);
        // rustls gives the key schedule no longer salts or secrets than these.
        let suites = rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES.iter();
        let hashes = suites.map(|suite| suite.tls13().map_or(0, hash_bytes));
        assert_eq!(hashes.max(), Some(MAX_HASH_BYTES));
    }

    fn hash_bytes(suite: &rustls::Tls13CipherSuite) -> usize {
        suite.common.hash_provider.output_len()
    }

    #[test]
    fn the_secret_of_early_data_is_not_derived() {
        let one = SHA384.extract_from_secret(None, b"one");
        let other = SHA384.extract_from_secret(None, b"other");
        let info = |label| [&[0, 48][..], &[17], b"tls13 ", label, &[0]];
        let early = one.expand_block(&info(EARLY_LABEL));
        assert_eq!(
            early.as_ref(),
            other.expand_block(&info(EARLY_LABEL)).as_ref()
        );
        assert_ne!(early.as_ref(), [0; 48]);
        let mut key = [0; 32];
        let expander = SHA384.expander_for_okm(&early);
        assert!(expander.expand_slice(&info(b"key"), &mut key).is_ok());
        assert_ne!(key, [0; 32]);
        // All others are, whatever they are called.
        for label in [&b"c hs traffic"[..], b"c ap traffic", b"c e traffi", b""] {
            assert_ne!(
                one.expand_block(&info(label)).as_ref(),
                other.expand_block(&info(label)).as_ref()
            );
        }
    }

    fn compare(own: &dyn Hkdf, theirs: &dyn Hkdf, a: &dyn HkdfExpander, b: &dyn HkdfExpander) {
        assert_eq!(a.hash_len(), b.hash_len());
        let info: [&[u8]; 3] = [b"one", b"", b"two"];
        let (block, other) = (a.expand_block(&info), b.expand_block(&info));
        assert_eq!(block.as_ref(), other.as_ref());
        let tags = (own.hmac_sign(&block, b"m"), theirs.hmac_sign(&other, b"m"));
        assert_eq!(tags.0.as_ref(), tags.1.as_ref());
        for length in [0, 1, 12, 100, 255 * a.hash_len(), 255 * a.hash_len() + 1] {
            let (mut mine, mut yours) = (vec![0; length], vec![0; length]);
            let results = [
                own.expander_for_okm(&block).expand_slice(&info, &mut mine),
                theirs
                    .expander_for_okm(&block)
                    .expand_slice(&info, &mut yours),
            ];
            assert_eq!(results[0].is_ok(), results[1].is_ok());
            assert_eq!(results[0].is_ok(), length <= 255 * a.hash_len());
            if results[0].is_ok() {
                assert_eq!(mine, yours);
            }
        }
    }
}
