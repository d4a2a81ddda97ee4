//! The cipher suites as rustls takes them. Those of TLS 1.3 get a key schedule of our own making; all of them are
//! listened to (see `keying.rs`).
//!
//! rustls derives a dozen secrets and keys in a handshake. Its HKDF over aws-lc begins each of them with the extraction
//! that the last one began with, and each with the key's two hash blocks. Here the extraction is done once and the
//! keyed state is kept while several labels are expanded from it, which saves a third of the hashing. With SHA-384,
//! which no processor has instructions for, hashing is the largest part of a resumed handshake.

use std::sync::LazyLock;

use aws_lc_rs::hmac;
use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, cipher_suite};
use rustls::crypto::hmac::{Hmac, Key, Tag};
use rustls::crypto::tls13::{Hkdf, HkdfUsingHmac};
use rustls::{SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use crate::keying::{HeardHkdf, HeardPrf};

/// The suite with this IANA number.
pub(crate) fn find(number: u16) -> Option<SupportedCipherSuite> {
    let tls13 = [&*AES_256, &*CHACHA20, &*AES_128].into_iter().flatten();
    let mut all = tls13
        .map(SupportedCipherSuite::Tls13)
        .chain(TLS12.iter().copied().map(SupportedCipherSuite::Tls12));
    all.find(|suite| u16::from(suite.suite()) == number)
}

/// All of TLS 1.2, with the PRF listened to. They live as long as the process.
static TLS12: LazyLock<Vec<&'static Tls12CipherSuite>> = LazyLock::new(|| {
    let heard = |suite: &SupportedCipherSuite| match suite {
        SupportedCipherSuite::Tls12(suite) => Some(with_heard_prf(suite)),
        SupportedCipherSuite::Tls13(_) => None,
    };
    ALL_CIPHER_SUITES.iter().filter_map(heard).collect()
});

fn with_heard_prf(suite: &Tls12CipherSuite) -> &'static Tls12CipherSuite {
    Box::leak(Box::new(Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        prf_provider: Box::leak(Box::new(HeardPrf(suite.prf_provider))),
        kx: suite.kx,
        sign: suite.sign,
        aead_alg: suite.aead_alg,
    }))
}

static AES_256: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| with_schedule(cipher_suite::TLS13_AES_256_GCM_SHA384, &SHA384));
static CHACHA20: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| with_schedule(cipher_suite::TLS13_CHACHA20_POLY1305_SHA256, &SHA256));
static AES_128: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| with_schedule(cipher_suite::TLS13_AES_128_GCM_SHA256, &SHA256));

type Schedule = HeardHkdf<HkdfUsingHmac<'static>>;
static SHA256: Schedule = HeardHkdf(HkdfUsingHmac(&HmacOf(hmac::HMAC_SHA256, 32)));
static SHA384: Schedule = HeardHkdf(HkdfUsingHmac(&HmacOf(hmac::HMAC_SHA384, 48)));

/// rustls' suite with another key schedule.
fn with_schedule(
    suite: SupportedCipherSuite,
    schedule: &'static dyn Hkdf,
) -> Option<Tls13CipherSuite> {
    let suite = suite.tls13()?;
    Some(Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: schedule,
        aead_alg: suite.aead_alg,
        quic: None,
    })
}

/// HMAC with a hash, and the length of its output.
struct HmacOf(hmac::Algorithm, usize);

impl Hmac for HmacOf {
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        Box::new(KeyedHmac(hmac::Key::new(self.0, key), self.1))
    }

    fn hash_output_len(&self) -> usize {
        self.1
    }
}

struct KeyedHmac(hmac::Key, usize);

impl Key for KeyedHmac {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(first);
        for part in middle {
            context.update(part);
        }
        context.update(last);
        Tag::new(context.sign().as_ref())
    }

    fn tag_len(&self) -> usize {
        self.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::CIPHER_SUITES;

    #[test]
    fn every_suite_of_the_table_is_there() {
        for suite in CIPHER_SUITES {
            let found = find(suite.number).map(|found| u16::from(found.suite()));
            assert_eq!(found, Some(suite.number));
        }
        assert!(find(0x002f).is_none());
    }

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
                    assert_eq!(a.hash_len(), b.hash_len());
                    let info: [&[u8]; 3] = [b"one", b"", b"two"];
                    let (block, other) = (a.expand_block(&info), b.expand_block(&info));
                    assert_eq!(block.as_ref(), other.as_ref());
                    let tags = (own.hmac_sign(&block, b"m"), theirs.hmac_sign(&other, b"m"));
                    assert_eq!(tags.0.as_ref(), tags.1.as_ref());
                    let mut outputs = [[0; 100]; 2];
                    let [mine, yours] = &mut outputs;
                    assert!(
                        own.expander_for_okm(&block)
                            .expand_slice(&info, mine)
                            .is_ok()
                    );
                    assert!(
                        theirs
                            .expander_for_okm(&other)
                            .expand_slice(&info, yours)
                            .is_ok()
                    );
                    assert_eq!(outputs[0], outputs[1]);
                }
                let zero = own
                    .extract_from_zero_ikm(Some(secret))
                    .expand_block(&[b"x"]);
                let other = theirs
                    .extract_from_zero_ikm(Some(secret))
                    .expand_block(&[b"x"]);
                assert_eq!(zero.as_ref(), other.as_ref());
            }
        }
    }
}
