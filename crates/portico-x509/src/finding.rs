//! What speaks against a chain, in the order in which OpenSSL finds it.
//!
//! A server that lets its application decide goes on after each finding, and shows the last one: Node's
//! `authorizationError`. So findings of our own rules must be put where OpenSSL would have found them.

use aws_lc_sys as lib;

/// Why a chain was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// OpenSSL's number (`X509_V_ERR_*`), as of version 3.
    pub code: u32,
}

impl Refusal {
    /// A certificate can't be read, or is beyond a bound (`X509_V_ERR_CERT_REJECTED`).
    pub const REJECTED: Self = Self { code: 28 };
    /// `X509_V_ERR_CERT_CHAIN_TOO_LONG`.
    pub const TOO_LONG: Self = Self { code: 22 };
}

/// One thing that speaks against a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: u32,
    /// The place of the certificate in the path, 0 for the leaf.
    pub(crate) depth: usize,
    stage: Stage,
}

/// The steps of OpenSSL's `verify_chain`, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    LeafKey,
    Path,
    Extensions,
    Strength,
    Revocation,
    Signatures,
    Names,
}

impl Finding {
    /// What the library told, under its own number.
    pub(crate) fn of_library(number: i32, depth: usize) -> Self {
        let code = openssl_number(number);
        Self {
            code,
            depth,
            stage: stage(code),
        }
    }

    /// What a rule of ours found, under OpenSSL's number.
    pub(crate) fn of_rule(code: u32, depth: usize) -> Self {
        Self {
            code,
            depth,
            stage: stage(code),
        }
    }

    pub(crate) fn stage(self) -> Stage {
        self.stage
    }

    /// Later findings have larger keys. Extensions are looked at from the leaf upwards; within the other steps the
    /// order is the one in which they are told.
    fn order(&self) -> (Stage, usize) {
        let depth = match self.stage {
            Stage::Extensions | Stage::Strength => self.depth,
            _ => 0,
        };
        (self.stage, depth)
    }
}

/// The verdict that users see: of all findings the one that OpenSSL makes last.
pub(crate) fn last(findings: &[Finding]) -> Option<Refusal> {
    // Of equals `max_by_key` takes the last.
    let last = findings.iter().max_by_key(|finding| finding.order())?;
    Some(Refusal { code: last.code })
}

/// Numbers of OpenSSL 3 that the library has under other numbers, or not at all.
pub(crate) const UNSPECIFIED: u32 = 1;
pub(crate) const EE_KEY_TOO_SMALL: u32 = 66;
pub(crate) const CA_KEY_TOO_SMALL: u32 = 67;
pub(crate) const CA_MD_TOO_WEAK: u32 = 68;
pub(crate) const INVALID_CA: u32 = 79;
const INVALID_CALL: u32 = 69;
const STORE_LOOKUP: u32 = 70;
const EC_KEY_EXPLICIT_PARAMS: u32 = 94;

/// Up to 64 both libraries count alike, with one exception.
fn openssl_number(number: i32) -> u32 {
    match number {
        lib::X509_V_ERR_INVALID_CA => INVALID_CA,
        lib::X509_V_ERR_INVALID_CALL => INVALID_CALL,
        lib::X509_V_ERR_STORE_LOOKUP => STORE_LOOKUP,
        // OpenSSL has no such rule any more.
        lib::X509_V_ERR_NAME_CONSTRAINTS_WITHOUT_SANS => {
            lib::X509_V_ERR_PERMITTED_VIOLATION.unsigned_abs()
        }
        // A leaf whose key can't be read is too weak for OpenSSL.
        lib::X509_V_ERR_EE_KEY_TOO_SMALL | lib::X509_V_UNABLE_TO_GET_CERTS_PUBLIC_KEY => {
            EE_KEY_TOO_SMALL
        }
        lib::X509_V_ERR_CA_KEY_TOO_SMALL => CA_KEY_TOO_SMALL,
        lib::X509_V_ERR_CA_MD_TOO_WEAK => CA_MD_TOO_WEAK,
        lib::X509_V_ERR_EC_KEY_EXPLICIT_PARAMS => EC_KEY_EXPLICIT_PARAMS,
        // Errors without a number, or with one that is not known here.
        ..=0 | 65.. => UNSPECIFIED,
        other => other.unsigned_abs(),
    }
}

fn stage(code: u32) -> Stage {
    match code {
        EE_KEY_TOO_SMALL => Stage::LeafKey,
        2 | 18..=20 | 22 | 27 | 28 => Stage::Path,
        25 | 26 | 34 | 37..=42 | INVALID_CA | EC_KEY_EXPLICIT_PARAMS => Stage::Extensions,
        CA_KEY_TOO_SMALL | CA_MD_TOO_WEAK => Stage::Strength,
        3 | 5 | 8 | 11 | 12 | 15 | 16 | 23 | 33 | 35 | 36 | 44 | 54 => Stage::Revocation,
        47..=49 | 51..=53 => Stage::Names,
        // Signatures and times, and whatever has no place of its own.
        _ => Stage::Signatures,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_step_wins_and_extensions_count_upwards() {
        let rule = Finding::of_rule;
        assert_eq!(last(&[]), None);
        for (findings, code) in [
            (vec![rule(26, 0), rule(25, 2), rule(26, 1)], 25),
            (vec![rule(10, 0), rule(25, 2)], 10),
            (vec![rule(7, 1), rule(10, 1)], 10),
            (vec![rule(10, 1), rule(7, 1)], 7),
            (vec![rule(47, 0), rule(68, 0), rule(20, 0)], 47),
        ] {
            assert_eq!(last(&findings), Some(Refusal { code }), "{findings:?}");
        }
    }

    #[test]
    fn the_librarys_own_numbers_become_openssls() {
        assert_eq!(
            Finding::of_library(lib::X509_V_ERR_CERT_REVOKED, 0).code,
            23
        );
        assert_eq!(
            Finding::of_library(lib::X509_V_ERR_EC_KEY_EXPLICIT_PARAMS, 1).code,
            94
        );
        // No finding is ever the number of success.
        for number in -2..=200 {
            assert_ne!(Finding::of_library(number, 0).code, 0);
        }
    }
}
