//! Keys with their certificates, and which of them a client gets.

use std::fmt;
use std::sync::Arc;

use portico_x509::Certificate;
use rustls::crypto::aws_lc_rs::sign;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{CipherSuite, SignatureAlgorithm, SignatureScheme};

use crate::der::PublicKey;
use crate::{ContextError, Identity};

/// A context's identities, EC before RSA.
pub(crate) struct Identities {
    keys: Vec<Arc<CertifiedKey>>,
    /// TLS 1.3 may be used, whose suites fit every key.
    tls13: bool,
}

impl Identities {
    /// Reads keys and certificates. `schemes` (IANA numbers) limits what keys may sign with; empty: all.
    pub(crate) fn new(
        identities: &[Identity],
        schemes: &[u16],
        tls13: bool,
    ) -> Result<Self, ContextError> {
        let keys = identities.iter().map(|identity| read(identity, schemes));
        let mut keys: Vec<_> = keys.collect::<Result<_, _>>()?;
        keys.sort_by_key(|certified| certified.key.algorithm() == SignatureAlgorithm::RSA);
        Ok(Self { keys, tls13 })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn fits(&self, certified: &CertifiedKey, hello: &ClientHello<'_>) -> bool {
        let suites = hello.cipher_suites();
        let tls13 = self.tls13 && suites.iter().any(|suite| u16::from(*suite) >> 8 == 0x13);
        certified
            .key
            .choose_scheme(hello.signature_schemes())
            .is_some()
            && (tls13
                || suites
                    .iter()
                    .any(|suite| suite_fits(*suite, certified.key.algorithm())))
    }
}

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let fitting = self
            .keys
            .iter()
            .find(|certified| self.fits(certified, &hello));
        // If none fits, rustls finds out why with any of them.
        fitting.or_else(|| self.keys.first()).cloned()
    }
}

/// Keys stay out of debug output.
impl fmt::Debug for Identities {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Identities({})", self.keys.len())
    }
}

/// Whether a TLS 1.2 suite is for keys of this kind.
fn suite_fits(suite: CipherSuite, algorithm: SignatureAlgorithm) -> bool {
    let is_ec = matches!(u16::from(suite), 0xc02b | 0xc02c | 0xcca9);
    let is_rsa = matches!(u16::from(suite), 0xc02f | 0xc030 | 0xcca8);
    if algorithm == SignatureAlgorithm::RSA {
        is_rsa
    } else {
        is_ec
    }
}

fn read(identity: &Identity, schemes: &[u16]) -> Result<Arc<CertifiedKey>, ContextError> {
    let leaf = identity.chain.first().ok_or_else(|| {
        ContextError::new(
            "ERR_OSSL_PEM_NO_START_LINE",
            "cert",
            "`key` is given without a certificate: give `cert`",
        )
    })?;
    let key = PrivateKeyDer::try_from(identity.key.clone()).map_err(|_| bad_key())?;
    let key = sign::any_supported_type(&key).map_err(|_| bad_key())?;
    let certificate = Certificate::read(leaf).ok_or_else(|| {
        ContextError::new(
            "ERR_OSSL_ASN1_BAD_OBJECT_HEADER",
            "cert",
            "`cert` holds a certificate that can't be read",
        )
    })?;
    if !matches(&certificate, key.as_ref()) {
        let text = "error:05800074:x509 certificate routines::key values mismatch: `key` does not belong to the \
                    first certificate of `cert`";
        return Err(ContextError::new(
            "ERR_OSSL_X509_KEY_VALUES_MISMATCH",
            "key",
            text,
        ));
    }
    let key: Arc<dyn SigningKey> = if schemes.is_empty() {
        key
    } else {
        Arc::new(LimitedKey {
            key,
            schemes: schemes.to_vec(),
        })
    };
    let chain = identity
        .chain
        .iter()
        .map(|der| CertificateDer::from(der.clone()))
        .collect();
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

/// Compares the bits of the public keys only: identifiers may be written in several ways.
fn matches(certificate: &Certificate, key: &dyn SigningKey) -> bool {
    key.public_key().is_none_or(|public| {
        let certified = certificate.public_key();
        match (PublicKey::read(&public), PublicKey::read(&certified)) {
            (Some(public), Some(certified)) => public.bits == certified.bits,
            _ => false,
        }
    })
}

fn bad_key() -> ContextError {
    ContextError::new(
        "ERR_OSSL_UNSUPPORTED",
        "key",
        "error:1E08010C:DECODER routines::unsupported: `key` can't be used: give an RSA key of 2048 to 8192 bits, an \
         EC key on P-256, P-384 or P-521, or an Ed25519 key",
    )
}

/// A key that signs with some schemes only (`sigalgs`).
#[derive(Debug)]
struct LimitedKey {
    key: Arc<dyn SigningKey>,
    schemes: Vec<u16>,
}

impl SigningKey for LimitedKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let allowed = |scheme: &&SignatureScheme| self.schemes.contains(&u16::from(**scheme));
        let offered: Vec<_> = offered.iter().filter(allowed).copied().collect();
        self.key.choose_scheme(&offered)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.key.algorithm()
    }
}
