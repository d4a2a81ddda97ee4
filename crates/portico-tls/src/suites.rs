//! The cipher suites as rustls takes them. Those of TLS 1.3 get a key schedule of our own making (see `key_schedule.rs`);
//! all of them are listened to (see `keying.rs`).

use std::sync::LazyLock;

use rustls::crypto::CipherSuiteCommon;
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, cipher_suite};
use rustls::crypto::tls13::Hkdf;
use rustls::{SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};

use crate::key_schedule::{SHA256, SHA384};
use crate::keying::HeardPrf;
use crate::traffic_keys::{HeardAead, HeardAead12};

/// The suite with this IANA number.
pub(crate) fn find(number: u16) -> Option<SupportedCipherSuite> {
    let tls13 = [&*AES_256, &*CHACHA20, &*AES_128].into_iter().flatten();
    let mut all = tls13
        .map(SupportedCipherSuite::Tls13)
        .chain(TLS12.iter().copied().map(SupportedCipherSuite::Tls12));
    all.find(|suite| u16::from(suite.suite()) == number)
}

/// All of TLS 1.2, with PRF and AEAD listened to. They live as long as the process.
static TLS12: LazyLock<Vec<&'static Tls12CipherSuite>> = LazyLock::new(|| {
    let heard = |suite: &SupportedCipherSuite| match suite {
        SupportedCipherSuite::Tls12(suite) => Some(heard_tls12(suite)),
        SupportedCipherSuite::Tls13(_) => None,
    };
    ALL_CIPHER_SUITES.iter().filter_map(heard).collect()
});

fn heard_tls12(suite: &Tls12CipherSuite) -> &'static Tls12CipherSuite {
    Box::leak(Box::new(Tls12CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        prf_provider: Box::leak(Box::new(HeardPrf(suite.prf_provider))),
        kx: suite.kx,
        sign: suite.sign,
        aead_alg: Box::leak(Box::new(HeardAead12(suite.aead_alg))),
    }))
}

static AES_256: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| prepared(cipher_suite::TLS13_AES_256_GCM_SHA384, &SHA384));
static CHACHA20: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| prepared(cipher_suite::TLS13_CHACHA20_POLY1305_SHA256, &SHA256));
static AES_128: LazyLock<Option<Tls13CipherSuite>> =
    LazyLock::new(|| prepared(cipher_suite::TLS13_AES_128_GCM_SHA256, &SHA256));

/// rustls' suite with another key schedule, and listened to. It lives as long as the process.
fn prepared(suite: SupportedCipherSuite, schedule: &'static dyn Hkdf) -> Option<Tls13CipherSuite> {
    let suite = suite.tls13()?;
    Some(Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: schedule,
        aead_alg: Box::leak(Box::new(HeardAead(suite.aead_alg))),
        quic: None,
    })
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
}
