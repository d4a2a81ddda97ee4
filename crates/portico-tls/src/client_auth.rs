//! Client certificates: rustls asks for them and checks that the client holds the key; the chain is judged after the
//! handshake, because a context may let a client in whatever the verdict is, and because it must be judged again
//! when a session is resumed.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{self, SHA256};
use portico_x509::{Certificate, Purpose, TrustError, TrustOptions, TrustStore};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerMisbehaved,
    SignatureScheme,
};

use crate::der::PublicKey;
use crate::{ContextError, ContextOptions, VerifyError, clock};

/// With more anchors than this clients are not told their names. Node tells those of `ca` and not those of its
/// default authorities, of which there are more than a hundred: 20 KB in each handshake that help no client.
const MAX_NAMED_ANCHORS: usize = 64;

/// What a context wants of clients' certificates.
pub(crate) struct ClientAuth {
    trust: TrustStore,
    rejects: bool,
    demand: ClientDemand,
}

/// What a context demands of its clients, to be compared with what another one does: see
/// [`Context::client_demand`](crate::Context::client_demand).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientDemand {
    /// No client gets in without a certificate that was verified; else clients are only asked for one.
    required: bool,
    /// Digest of everything that decides which certificates are good.
    trust: [u8; 32],
}

impl ClientDemand {
    /// Whether a client that was let in by a context with the demand `made` (`None`: none) has been judged as this one
    /// judges, or more strictly: by the same authorities, and not merely asked where this one insists.
    #[must_use]
    pub fn is_met_by(&self, made: Option<&Self>) -> bool {
        made.is_some_and(|made| made.trust == self.trust && (made.required || !self.required))
    }
}

impl ClientAuth {
    /// `None` if no certificates are asked for.
    pub(crate) fn new(
        options: &ContextOptions,
        more_anchors: &[Vec<u8>],
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<Option<Self>, ContextError> {
        let anchors = [options.ca.as_slice(), more_anchors].concat();
        let trust = TrustStore::new(&TrustOptions {
            anchors: &anchors,
            revocation_lists: &options.crl,
            partial_chains: options.allow_partial_trust_chain,
        });
        let trust = trust.map_err(explain)?;
        let allowed = &options.signature_schemes;
        let usable = |scheme: SignatureScheme| allowed.contains(&u16::from(scheme));
        let mut supported = algorithms.supported_schemes().into_iter();
        if options.request_cert && !allowed.is_empty() && !supported.any(usable) {
            let text = "`sigalgs` names no scheme that client certificates can be verified with";
            return Err(ContextError::new(
                "ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM",
                "sigalgs",
                text,
            ));
        }
        let auth = Self {
            trust,
            rejects: options.reject_unauthorized,
            demand: ClientDemand {
                required: options.reject_unauthorized,
                trust: trust_digest(&anchors, options),
            },
        };
        Ok(options.request_cert.then_some(auth))
    }

    /// What is demanded.
    pub(crate) fn demand(&self) -> &ClientDemand {
        &self.demand
    }

    /// Whether clients without a verified certificate are turned away.
    pub(crate) fn rejects(&self) -> bool {
        self.rejects
    }

    /// The verdict on a client's certificates.
    pub(crate) fn verify(&self, sent: &[Vec<u8>]) -> VerifyError {
        if sent.is_empty() {
            return VerifyError::NoCertificate;
        }
        let judged = self.trust.verify(sent, Purpose::Client, clock::now());
        judged.map_or_else(
            |refusal| VerifyError::of_openssl(refusal.code),
            |_path| VerifyError::Ok,
        )
    }

    /// The names that help clients choose a certificate.
    fn anchor_names(&self) -> Vec<DistinguishedName> {
        let anchors = self.trust.anchors();
        if anchors.len() > MAX_NAMED_ANCHORS {
            return Vec::new();
        }
        anchors
            .iter()
            .map(|anchor| DistinguishedName::from(anchor.subject()))
            .collect()
    }
}

/// Equal for equal sets of authorities and revocation lists, in whatever order they were given.
fn trust_digest(anchors: &[Vec<u8>], options: &ContextOptions) -> [u8; 32] {
    let mut whole = digest::Context::new(&SHA256);
    for list in [anchors, options.crl.as_slice()] {
        let mut hashes: Vec<_> = list
            .iter()
            .map(|der| digest::digest(&SHA256, der))
            .collect();
        hashes.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
        hashes.dedup_by(|one, other| one.as_ref() == other.as_ref());
        whole.update(&hashes.len().to_le_bytes());
        for hash in hashes {
            whole.update(hash.as_ref());
        }
    }
    whole.update(&[u8::from(options.allow_partial_trust_chain)]);
    let mut trust = [0; 32];
    trust.copy_from_slice(whole.finish().as_ref());
    trust
}

/// In OpenSSL's words where Node's users know them.
fn explain(error: TrustError) -> ContextError {
    match error {
        TrustError::Anchor => ContextError::new(
            "ERR_OSSL_ASN1_BAD_OBJECT_HEADER",
            "ca",
            "`ca` holds a certificate that can't be read",
        ),
        TrustError::RevocationList => ContextError::new(
            "ERR_CRYPTO_OPERATION_FAILED",
            "crl",
            "Failed to parse CRL: `crl` holds a revocation list that can't be read",
        ),
        TrustError::DeltaList => ContextError::new(
            "ERR_CRYPTO_OPERATION_FAILED",
            "crl",
            "Failed to parse CRL: `crl` holds a revocation list of changes (a delta), which would be taken for a \
             complete one: give complete ones",
        ),
        _ => ContextError::new("ERR_CRYPTO_OPERATION_FAILED", "ca", error.to_string()),
    }
}

/// rustls' side of it.
pub(crate) struct Verifier {
    mandatory: bool,
    names: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
    schemes: Vec<SignatureScheme>,
}

impl Verifier {
    /// `allowed`: signature schemes by IANA number; empty: all.
    pub(crate) fn new(
        auth: &ClientAuth,
        algorithms: WebPkiSupportedAlgorithms,
        allowed: &[u16],
    ) -> Arc<Self> {
        let supported = algorithms.supported_schemes().into_iter();
        let schemes =
            supported.filter(|scheme| allowed.is_empty() || allowed.contains(&u16::from(*scheme)));
        Arc::new(Self {
            mandatory: auth.rejects,
            names: auth.anchor_names(),
            algorithms,
            schemes: schemes.collect(),
        })
    }

    fn verify_with_first(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
        most: usize,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bad = Error::InvalidCertificate(CertificateError::BadSignature);
        // The key is read by the parser that judges the chain, so that both mean the same one.
        let key = Certificate::read(cert).map(|certificate| certificate.public_key());
        let Some(key) = key.as_deref().and_then(PublicKey::read) else {
            return Err(Error::InvalidCertificate(CertificateError::BadEncoding));
        };
        let mapping = self.algorithms.mapping.iter();
        let Some((_, algorithms)) = mapping
            .filter(|(scheme, _)| self.schemes.contains(scheme))
            .find(|(scheme, _)| *scheme == dss.scheme)
        else {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        };
        let fits = algorithms
            .iter()
            .take(most)
            .find(|algorithm| algorithm.public_key_alg_id().as_ref() == key.algorithm);
        let valid = fits.is_some_and(|algorithm| {
            algorithm
                .verify_signature(&key.bits, message, dss.signature())
                .is_ok()
        });
        if valid {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(bad)
        }
    }
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.names
    }

    /// The chain is judged later, by [`ClientAuth::verify`].
    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // In TLS 1.2 a scheme does not fix the curve, so each algorithm of the scheme may fit.
        self.verify_with_first(message, cert, dss, usize::MAX)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // RFC 8446, 4.4.3: no PKCS#1 v1.5 here.
        let banned = [
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
        ];
        if banned.contains(&dss.scheme) {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        self.verify_with_first(message, cert, dss, 1)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Verifier")
    }
}
