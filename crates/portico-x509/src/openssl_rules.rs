//! Where OpenSSL's verdict differs from AWS-LC's, and the difference matters: what OpenSSL refuses is refused, and of
//! what it accepts two forms that people use.
//!
//! Each rule names OpenSSL's function that it follows. The comparison that holds them is in `conformance/tls`.

use aws_lc_sys as lib;
use rustls_pki_types::alg_id;

use crate::Certificate;
use crate::certificate::Key;
use crate::finding::{
    CA_KEY_TOO_SMALL, CA_MD_TOO_WEAK, EE_KEY_TOO_SMALL, Finding, INVALID_CA, Stage, UNSPECIFIED,
};
use crate::limits::{MAX_PATH, MIN_DIGEST_SECURITY_BITS, MIN_EC_BITS, MIN_RSA_BITS};
use crate::path::Path;

/// Adds to a path's findings what OpenSSL would find, and takes out what it would not.
/// `is_pinned`: the leaf is an anchor that signed itself.
pub(crate) fn apply(path: &mut Path, is_pinned: bool, extended_key_usage: u32, now: i64) {
    forgive_unmarked_authorities(path, extended_key_usage);
    judge_lone_leaf(path, now);
    if !is_pinned {
        refuse_a_leaf_of_its_issuers_name(path);
    }
    let too_long = path.certificates.len() >= MAX_PATH;
    for finding in &mut path.findings {
        // `build_chain`: CERT_CHAIN_TOO_LONG.
        if too_long && matches!(finding.code, 2 | 20) {
            *finding = Finding::of_rule(22, finding.depth);
        }
    }
    name_unreadable_keys(path);
    let found = path_lengths(&path.certificates).chain(strengths(&path.certificates));
    path.findings.extend(found.collect::<Vec<_>>());
}

/// AWS-LC looks at the curve of each key, and stops without a number at a key that it can't read. OpenSSL looks at curves
/// only when told to be strict (`check_extensions`); a key without a known strength is too weak for it.
fn name_unreadable_keys(path: &mut Path) {
    let certificates = &path.certificates;
    for finding in &mut path.findings {
        let certificate = certificates.get(finding.depth);
        if finding.code == UNSPECIFIED && certificate.is_some_and(|it| it.key() == Key::Other) {
            *finding = Finding::of_rule(weak_key(finding.depth), finding.depth);
        }
    }
}

/// `check_ca` gives 4 for an issuer that has no basicConstraints and a keyUsage with keyCertSign. As an anchor that is
/// an authority, as an intermediate it is `INVALID_CA` (`check_extensions`); the purpose is in order either way. AWS-LC
/// wants basicConstraints of both, and tells it twice.
fn forgive_unmarked_authorities(path: &mut Path, extended_key_usage: u32) {
    let last = path.certificates.len().saturating_sub(1);
    let is_trusted = path
        .findings
        .iter()
        .all(|finding| finding.stage() != Stage::Path);
    let certificates = &path.certificates;
    path.findings.retain(|finding| {
        let unmarked = finding.depth > 0
            && certificates
                .get(finding.depth)
                .is_some_and(|issuer| is_authority_by_key_usage(issuer, extended_key_usage));
        let forgiven = match finding.code {
            INVALID_CA => is_trusted && finding.depth == last,
            26 => true,
            _ => false,
        };
        !(unmarked && forgiven)
    });
}

fn is_authority_by_key_usage(issuer: &Certificate, extended_key_usage: u32) -> bool {
    !issuer.has(lib::EXFLAG_INVALID)
        && !issuer.has(lib::EXFLAG_BCONS)
        && issuer.has(lib::EXFLAG_KUSAGE)
        && issuer.key_signs_certificates()
        && issuer.extended_key_usage() & extended_key_usage != 0
}

/// A leaf without a known issuer. `build_chain` calls it self-signed whatever its keyUsage says, and
/// `internal_verify` goes on to its time.
fn judge_lone_leaf(path: &mut Path, now: i64) {
    let [leaf] = path.certificates.as_slice() else {
        return;
    };
    if !path.findings.iter().any(|finding| finding.code == 21) {
        return;
    }
    if leaf.issued(leaf) == lib::X509_V_ERR_KEYUSAGE_NO_CERTSIGN {
        path.findings
            .retain(|finding| !matches!(finding.code, 20 | 21));
        path.findings.insert(0, Finding::of_rule(18, 0));
    }
    if let Some(number) = leaf.untimely(now) {
        path.findings.push(Finding::of_library(number, 0));
    }
}

/// `build_chain` looks for no issuer of a leaf that names itself as one, even where its keyUsage says that it is none.
fn refuse_a_leaf_of_its_issuers_name(path: &mut Path) {
    if let [leaf, _, ..] = path.certificates.as_slice()
        && leaf.issued(leaf) == lib::X509_V_ERR_KEYUSAGE_NO_CERTSIGN
    {
        path.findings.push(Finding::of_rule(18, 0));
    }
}

/// `check_extensions`: the path length counts for self-issued issuers, too, and so for roots; self-issued certificates
/// between do not count towards it (RFC 5280, section 4.2.1.9).
fn path_lengths(path: &[Certificate]) -> impl Iterator<Item = Finding> {
    let mut issuers_below = 0;
    path.iter()
        .enumerate()
        .skip(1)
        .filter_map(move |(depth, issuer)| {
            let exceeded = issuer
                .path_length()
                .is_some_and(|most| issuers_below > most);
            issuers_below += usize::from(!issuer.has(lib::EXFLAG_SI));
            exceeded.then(|| Finding::of_rule(25, depth))
        })
}

/// `check_auth_level` at level 2: keys, and the digests of all signatures but the anchor's.
fn strengths(path: &[Certificate]) -> impl Iterator<Item = Finding> {
    let anchor = path.len() - usize::from(!path.is_empty());
    path.iter()
        .enumerate()
        .flat_map(move |(depth, certificate)| {
            let key = (!is_strong_key(certificate.key()))
                .then(|| Finding::of_rule(weak_key(depth), depth));
            let digest = (depth < anchor && !is_strong_signature(certificate))
                .then(|| Finding::of_rule(CA_MD_TOO_WEAK, depth));
            key.into_iter().chain(digest)
        })
}

fn weak_key(depth: usize) -> u32 {
    if depth == 0 {
        EE_KEY_TOO_SMALL
    } else {
        CA_KEY_TOO_SMALL
    }
}

fn is_strong_key(key: Key) -> bool {
    match key {
        Key::Rsa { bits } => bits >= MIN_RSA_BITS,
        Key::EllipticCurve { bits } => bits >= MIN_EC_BITS,
        Key::Ed25519 => true,
        Key::Other => false,
    }
}

fn is_strong_signature(certificate: &Certificate) -> bool {
    match certificate.signature_algorithm() {
        lib::NID_ED25519 => true,
        // Salt, digest and mask generation as TLS and everybody else uses them.
        lib::NID_rsassaPss => {
            let used = certificate.signature_algorithm_der();
            [
                alg_id::RSA_PSS_SHA256,
                alg_id::RSA_PSS_SHA384,
                alg_id::RSA_PSS_SHA512,
            ]
            .iter()
            // Theirs is the content, without the header of the sequence.
            .any(|known| used.get(2..) == Some(known.as_ref()))
        }
        // SHA-1 counts 63 bits for OpenSSL, because of its collisions.
        _ => certificate
            .signature_digest()
            .is_some_and(|(digest, bits)| {
                digest != lib::NID_sha1 && bits >= MIN_DIGEST_SECURITY_BITS
            }),
    }
}
