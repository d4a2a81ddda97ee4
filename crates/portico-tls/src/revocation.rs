//! Certificate revocation lists (RFC 5280, 5), read once into sets of serial numbers.

use std::collections::HashSet;

use x509_parser::oid_registry as oid;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use crate::VerifyError;
use crate::certificate::{self, Algorithms, Certificate};
use crate::der::Signed;

/// One list.
pub(crate) struct RevocationList {
    issuer: Vec<u8>,
    /// Seconds since 1970.
    this_update: i64,
    next_update: Option<i64>,
    revoked: HashSet<Vec<u8>>,
    signed: Signed,
}

impl RevocationList {
    /// Reads a list; `None` if it makes no sense, has critical extensions, none of which is known here, or is partial
    /// (a list of changes, or of some certificates only) without saying so in a critical extension as it must.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let (rest, parsed) = CertificateRevocationList::from_der(der).ok()?;
        if !rest.is_empty()
            || parsed
                .extensions()
                .iter()
                .any(|extension| extension.critical || is_partial(&extension.oid))
        {
            return None;
        }
        Some(Self {
            issuer: parsed.issuer().as_raw().to_vec(),
            this_update: parsed.last_update().timestamp(),
            next_update: parsed.next_update().map(|time| time.timestamp()),
            revoked: parsed
                .iter_revoked_certificates()
                .map(|entry| certificate::serial(entry.raw_serial()).to_vec())
                .collect(),
            signed: Signed::read(der)?,
        })
    }
}

/// deltaCRLIndicator and issuingDistributionPoint (RFC 5280, 5.2.4 and 5.2.5).
fn is_partial(id: &oid::asn1_rs::Oid<'_>) -> bool {
    *id == oid::OID_X509_EXT_DELTA_CRL_INDICATOR
        || *id == oid::OID_X509_EXT_ISSUER_DISTRIBUTION_POINT
}

/// Looks a certificate up in its issuer's lists. Of several, one that has it is enough.
pub(crate) fn check(
    certificate: &Certificate,
    issuer: &Certificate,
    lists: &[RevocationList],
    algorithms: Algorithms,
    now: i64,
) -> VerifyError {
    let mut found = VerifyError::UnableToGetCrl;
    for list in lists
        .iter()
        .filter(|list| list.issuer == certificate.issuer)
    {
        let result = check_in(certificate, issuer, list, algorithms, now);
        if result == VerifyError::CertRevoked {
            return result;
        }
        if found != VerifyError::Ok {
            found = result;
        }
    }
    found
}

fn check_in(
    certificate: &Certificate,
    issuer: &Certificate,
    list: &RevocationList,
    algorithms: Algorithms,
    now: i64,
) -> VerifyError {
    if !issuer.may_sign_crls || !certificate::verify(&list.signed, &issuer.public_key, algorithms) {
        return VerifyError::CrlSignatureFailure;
    }
    if list.revoked.contains(&certificate.serial) {
        return VerifyError::CertRevoked;
    }
    if now < list.this_update {
        return VerifyError::CrlNotYetValid;
    }
    if list.next_update.is_some_and(|next| now > next) {
        return VerifyError::CrlHasExpired;
    }
    VerifyError::Ok
}
