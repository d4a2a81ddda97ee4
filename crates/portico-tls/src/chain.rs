//! Verification of a client's certificate chain (RFC 5280, 6), with the verdicts of OpenSSL as Node's users see them.
//!
//! Why not webpki alone: it refuses what `openssl` makes by default and Node accepts (version 1 certificates, a
//! self-signed certificate that is its own trust anchor), and it has no verdicts that map to OpenSSL's. Signatures are
//! the crypto library's affair. Where a chain has name constraints, webpki must accept it as well.
//!
//! Node lets OpenSSL go on after each finding, and the last one is what it shows. So the steps below come in
//! OpenSSL's order (path, extensions, revocation, then signatures and times from the root down to the leaf) and the
//! last finding wins.

use std::cell::Cell;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;

use crate::VerifyError;
use crate::certificate::{Algorithms, Authority, Certificate};
use crate::revocation::{self, RevocationList};

/// Most certificates of a path, leaf and anchor included, and most certificates looked at.
const MAX_PATH: usize = 16;
const MAX_SENT: usize = 32;
/// Most signatures checked for a path. A client could send certificates of one name, of which each might have signed each
/// other: hundreds of checks with keys of 8,192 bits, for the price of a handshake.
const MAX_SIGNATURES: u32 = 48;

/// What chains are verified against.
pub(crate) struct Trust {
    pub(crate) anchors: Vec<Certificate>,
    pub(crate) lists: Vec<RevocationList>,
    pub(crate) algorithms: Algorithms,
    /// An anchor need not have signed itself (OpenSSL's `X509_V_FLAG_PARTIAL_CHAIN`).
    pub(crate) partial: bool,
}

/// Signature checks that are left for a path.
struct Budget(Cell<u32>);

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
        let budget = Budget(Cell::new(MAX_SIGNATURES));
        let path = self.build_path(&leaf, &others, &budget);
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
        self.check_signatures_and_times(&path, now, &budget, &mut found);
        if verdict == VerifyError::Ok {
            verdict = self.check_names(&path.certificates, sent);
        }
        verdict
    }

    fn build_path<'a>(
        &'a self,
        leaf: &'a Certificate,
        others: &'a [Certificate],
        budget: &Budget,
    ) -> Path<'a> {
        let mut certificates = vec![leaf];
        let mut current = leaf;
        let mut in_store = false;
        let is_anchor = |found: &Certificate| self.anchors.iter().any(|a| a.der == found.der);
        let finding = loop {
            if self.partial && is_anchor(current) {
                break VerifyError::Ok;
            }
            if current.is_self_issued() {
                break match (is_anchor(current), certificates.len()) {
                    (true, _) => VerifyError::Ok,
                    (false, 1) => VerifyError::DepthZeroSelfSignedCert,
                    (false, _) => VerifyError::SelfSignedCertInChain,
                };
            }
            if certificates.len() >= MAX_PATH {
                break VerifyError::CertChainTooLong;
            }
            // Anchors come first, as with OpenSSL's default (X509_V_FLAG_TRUSTED_FIRST).
            let issuer = if let Some(anchor) =
                self.find_issuer(current, &self.anchors, &certificates, budget)
            {
                in_store = true;
                anchor
            } else if let Some(sent) = self.find_issuer(current, others, &certificates, budget) {
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
        budget: &Budget,
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
        let signed = |candidate: &&Certificate| self.is_signed(certificate, candidate, budget);
        let mut all = [first, second].into_iter().chain(named);
        Some(all.find(signed).unwrap_or(first))
    }

    /// Whether `issuer` signed it; not, once the budget is spent.
    fn is_signed(&self, certificate: &Certificate, issuer: &Certificate, budget: &Budget) -> bool {
        let Some(left) = budget.0.get().checked_sub(1) else {
            return false;
        };
        budget.0.set(left);
        certificate.signed_by(issuer, self.algorithms)
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
        path: &Path<'_>,
        now: i64,
        budget: &Budget,
        found: &mut impl FnMut(VerifyError),
    ) {
        let Some((last, rest)) = path.certificates.split_last() else {
            return;
        };
        let is_end = last.is_self_issued() || path.finding == VerifyError::Ok;
        if rest.is_empty() && !is_end {
            found(VerifyError::UnableToVerifyLeafSignature);
        }
        // The time of an intermediate whose issuer is missing is not looked at, as with OpenSSL.
        if rest.is_empty() || is_end {
            found(check_time(last, now));
        }
        for (index, certificate) in rest.iter().enumerate().rev() {
            let Some(issuer) = path.certificates.get(index + 1) else {
                return;
            };
            if !self.is_signed(certificate, issuer, budget) {
                found(VerifyError::CertSignatureFailure);
            }
            found(check_time(certificate, now));
        }
    }

    /// Name constraints of the issuers.
    fn check_names(&self, path: &[&Certificate], sent: &[Vec<u8>]) -> VerifyError {
        let mut constraints = path
            .iter()
            .filter_map(|found| found.name_constraints.as_ref());
        let Some(first) = constraints.next() else {
            return VerifyError::Ok;
        };
        let mut all = std::iter::once(first).chain(constraints);
        let names = path.first().map_or(&[][..], |leaf| &leaf.host_names);
        if !all.all(|constraints| names.iter().all(|name| constraints.allow(name))) {
            return VerifyError::PermittedSubtreeViolation;
        }
        self.check_with_webpki(sent)
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::common::{Issued, ca_params, client_params, ec_key, issue, self_signed};

    #[test]
    fn a_crowd_of_issuers_of_one_name_does_not_cost_a_check_each() {
        let twin = || {
            let mut params = ca_params("twin");
            params.use_authority_key_identifier_extension = false;
            params.key_identifier_method = rcgen::KeyIdMethod::PreSpecified(vec![]);
            params
        };
        let read = |issued: &Issued| Certificate::read(&issued.der).unwrap();
        let root = self_signed(twin(), ec_key());
        // Each could have issued the leaf, and none has.
        let twins: Vec<_> = (0..31)
            .map(|_| read(&issue(twin(), ec_key(), &root)))
            .collect();
        let algorithms = rustls::crypto::aws_lc_rs::default_provider()
            .signature_verification_algorithms
            .all;
        let trust = Trust {
            anchors: twins,
            lists: Vec::new(),
            algorithms,
            partial: true,
        };
        let mut params = client_params("leaf");
        params.use_authority_key_identifier_extension = false;
        let leaf = issue(params, ec_key(), &root);
        let budget = Budget(Cell::new(20));
        trust.build_path(&read(&leaf), &[], &budget);
        assert_eq!(budget.0.get(), 0);
        assert_eq!(
            trust.verify(&[leaf.der], crate::clock::now()),
            VerifyError::CertSignatureFailure
        );
    }
}
