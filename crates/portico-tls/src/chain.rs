//! Verification of a client's certificate chain (RFC 5280, 6), with the verdicts of OpenSSL as Node's users see them.
//!
//! Why not webpki alone: it refuses what `openssl` makes by default and Node accepts (version 1 certificates, a
//! self-signed certificate that is its own trust anchor), and it has no verdicts that map to OpenSSL's. Signatures are
//! the crypto library's affair. Where a chain has name constraints, webpki must accept it as well.
//!
//! Node lets OpenSSL go on after each finding, and the last one is what it shows. So the steps below come in
//! OpenSSL's order (path, extensions, revocation, then signatures and times from the root down to the leaf) and the
//! last finding wins.

use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use std::sync::Arc;

use crate::VerifyError;
use crate::certificate::{Algorithms, Authority, Certificate};
use crate::revocation::{self, RevocationList};

/// Most certificates of a path, leaf and anchor included, and most certificates looked at.
const MAX_PATH: usize = 16;
const MAX_SENT: usize = 32;

/// What chains are verified against.
pub(crate) struct Trust {
    pub(crate) anchors: Vec<Certificate>,
    pub(crate) lists: Vec<RevocationList>,
    pub(crate) algorithms: Algorithms,
}

/// A path from the leaf towards an anchor.
struct Path<'a> {
    certificates: Vec<&'a Certificate>,
    /// What kept it from ending in an anchor.
    finding: VerifyError,
}

impl Trust {
    /// The verdict on certificates as a client sent them, leaf first. `now` in seconds since 1970.
    pub(crate) fn verify(&self, sent: &[Vec<u8>], now: u64) -> VerifyError {
        let Some((first, others)) = sent.split_first() else {
            return VerifyError::NoCertificate;
        };
        if others.len() >= MAX_SENT {
            return VerifyError::CertChainTooLong;
        }
        let Some(leaf) = Certificate::read(first) else {
            return VerifyError::CertRejected;
        };
        let others: Vec<_> = others
            .iter()
            .filter_map(|der| Certificate::read(der))
            .collect();
        let path = self.build_path(&leaf, &others);
        let now = i64::try_from(now).unwrap_or(i64::MAX);

        let mut verdict = path.finding;
        let mut found = |finding: VerifyError| {
            if finding != VerifyError::Ok {
                verdict = finding;
            }
        };
        check_extensions(&path.certificates, &mut found);
        if !self.lists.is_empty() {
            self.check_revocation(&path.certificates, now, &mut found);
        }
        self.check_signatures_and_times(&path.certificates, now, &mut found);
        if verdict == VerifyError::Ok && path.certificates.iter().any(|c| c.name_constraints) {
            verdict = self.check_with_webpki(sent);
        }
        verdict
    }

    fn build_path<'a>(&'a self, leaf: &'a Certificate, others: &'a [Certificate]) -> Path<'a> {
        let mut certificates = vec![leaf];
        let mut current = leaf;
        let mut in_store = false;
        let finding = loop {
            if current.is_self_issued() {
                let trusted = self.anchors.iter().any(|anchor| anchor.der == current.der);
                break match (trusted, certificates.len()) {
                    (true, _) => VerifyError::Ok,
                    (false, 1) => VerifyError::DepthZeroSelfSignedCert,
                    (false, _) => VerifyError::SelfSignedCertInChain,
                };
            }
            if certificates.len() >= MAX_PATH {
                break VerifyError::CertChainTooLong;
            }
            // Anchors come first, as with OpenSSL's default (X509_V_FLAG_TRUSTED_FIRST).
            let issuer =
                if let Some(anchor) = self.find_issuer(current, &self.anchors, &certificates) {
                    in_store = true;
                    anchor
                } else if let Some(sent) = self.find_issuer(current, others, &certificates) {
                    sent
                } else if in_store {
                    break VerifyError::UnableToGetIssuerCert;
                } else {
                    break VerifyError::UnableToGetIssuerCertLocally;
                };
            certificates.push(issuer);
            current = issuer;
        };
        Path {
            certificates,
            finding,
        }
    }

    /// Of several with the same name, the one whose key made the signature; if none did, the first, so that the
    /// verdict names the signature.
    fn find_issuer<'a>(
        &self,
        certificate: &Certificate,
        candidates: &'a [Certificate],
        path: &[&Certificate],
    ) -> Option<&'a Certificate> {
        let unused = |candidate: &&Certificate| {
            certificate.names_issuer(candidate)
                && !path.iter().any(|member| member.der == candidate.der)
        };
        let mut named = candidates.iter().filter(unused);
        let first = named.next()?;
        let Some(second) = named.next() else {
            return Some(first);
        };
        let signed = |candidate: &&Certificate| certificate.signed_by(candidate, self.algorithms);
        let mut all = [first, second].into_iter().chain(named);
        Some(all.find(signed).unwrap_or(first))
    }

    fn check_revocation(
        &self,
        path: &[&Certificate],
        now: i64,
        found: &mut impl FnMut(VerifyError),
    ) {
        for (index, certificate) in path.iter().enumerate() {
            let issuer = path.get(index + 1).unwrap_or(certificate);
            found(revocation::check(
                certificate,
                issuer,
                &self.lists,
                self.algorithms,
                now,
            ));
        }
    }

    /// From the end of the path down to the leaf, whose finding is told last.
    fn check_signatures_and_times(
        &self,
        path: &[&Certificate],
        now: i64,
        found: &mut impl FnMut(VerifyError),
    ) {
        let Some((last, rest)) = path.split_last() else {
            return;
        };
        if rest.is_empty() && !last.is_self_issued() {
            found(VerifyError::UnableToVerifyLeafSignature);
        }
        // The time of an intermediate whose issuer is missing is not looked at, as with OpenSSL.
        if rest.is_empty() || last.is_self_issued() {
            found(check_time(last, now));
        }
        for (index, certificate) in rest.iter().enumerate().rev() {
            let Some(issuer) = path.get(index + 1) else {
                return;
            };
            if !certificate.signed_by(issuer, self.algorithms) {
                found(VerifyError::CertSignatureFailure);
            }
            found(check_time(certificate, now));
        }
    }

    /// Only for chains with name constraints, which are seldom: so nothing is prepared.
    fn check_with_webpki(&self, sent: &[Vec<u8>]) -> VerifyError {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(
            self.anchors
                .iter()
                .map(|anchor| CertificateDer::from(anchor.der.as_slice())),
        );
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let mut certificates = sent.iter().map(|der| CertificateDer::from(der.as_slice()));
        let (Ok(verifier), Some(leaf)) = (verifier, certificates.next()) else {
            return VerifyError::CertRejected;
        };
        let others: Vec<_> = certificates.collect();
        match verifier.verify_client_cert(&leaf, &others, UnixTime::now()) {
            Ok(_) => VerifyError::Ok,
            Err(_) => VerifyError::PermittedSubtreeViolation,
        }
    }
}

fn check_extensions(path: &[&Certificate], found: &mut impl FnMut(VerifyError)) {
    let mut issuers_below: u32 = 0;
    for (depth, certificate) in path.iter().enumerate() {
        if certificate.unknown_critical {
            found(VerifyError::UnhandledCriticalExtension);
        }
        if depth == 0 {
            if !certificate.for_client {
                found(VerifyError::InvalidPurpose);
            }
            continue;
        }
        let is_last_and_own = depth + 1 == path.len() && certificate.is_self_issued();
        let may_issue = match certificate.authority {
            Authority::Yes => true,
            Authority::Unmarked => is_last_and_own,
            Authority::No => false,
        };
        // OpenSSL finds INVALID_CA and then this, so this is what users see.
        if !may_issue || !certificate.issues_clients {
            found(VerifyError::InvalidPurpose);
        }
        if certificate
            .path_length
            .is_some_and(|most| issuers_below > most)
        {
            found(VerifyError::PathLengthExceeded);
        }
        // RFC 5280, 4.2.1.9: self-issued certificates don't count.
        issuers_below += u32::from(!certificate.is_self_issued());
    }
}

fn check_time(certificate: &Certificate, now: i64) -> VerifyError {
    if now < certificate.not_before {
        VerifyError::CertNotYetValid
    } else if now > certificate.not_after {
        VerifyError::CertHasExpired
    } else {
        VerifyError::Ok
    }
}
