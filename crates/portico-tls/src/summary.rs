//! What people want to know of a certificate: for whom, and until when.

use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// Facts of a certificate for lists, warnings and the choice by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateSummary {
    /// DNS names of the subject alternative names (RFC 5280, section 4.2.1.6), lower case, as they stand there. The
    /// subject's common name counts for nothing (RFC 9525, section 2).
    pub dns_names: Vec<String>,
    /// End of the validity, seconds since 1970.
    pub not_after: i64,
}

impl CertificateSummary {
    /// Reads a certificate; `None` if it isn't one.
    #[must_use]
    pub fn read(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = certificate.subject_alternative_name().ok().flatten();
        let dns_names = names.map_or_else(Vec::new, |names| {
            names
                .value
                .general_names
                .iter()
                .filter_map(|name| match name {
                    GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
                    _ => None,
                })
                .collect()
        });
        Some(Self {
            dns_names,
            not_after: certificate.validity().not_after.timestamp(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_extension() {
        let names = ["Example.test".to_owned(), "*.example.test".to_owned()];
        let issued = rcgen::generate_simple_self_signed(names).unwrap();
        let summary = CertificateSummary::read(issued.cert.der()).unwrap();
        assert_eq!(summary.dns_names, ["example.test", "*.example.test"]);
        assert!(summary.not_after > 1_700_000_000);
        assert_eq!(CertificateSummary::read(b"0\x03abc"), None);
    }
}
