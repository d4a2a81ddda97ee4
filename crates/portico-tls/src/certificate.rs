//! A certificate (RFC 5280) with what the verification of clients looks at. Versions 1 and 3 are read: the
//! `openssl x509 -req` of many tutorials makes version 1, which webpki refuses.

use rustls::pki_types::SignatureVerificationAlgorithm;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry as oid;
use x509_parser::prelude::FromDer;

use crate::der::{PublicKey, Signed};
use crate::name_constraints::{self, NameConstraints};

/// The signature algorithms of the crypto library.
pub(crate) type Algorithms = &'static [&'static dyn SignatureVerificationAlgorithm];

/// A parsed certificate.
pub(crate) struct Certificate {
    pub(crate) der: Vec<u8>,
    pub(crate) subject: Vec<u8>,
    pub(crate) issuer: Vec<u8>,
    /// As [`serial`] gives it.
    pub(crate) serial: Vec<u8>,
    /// Seconds since 1970.
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
    pub(crate) public_key: PublicKey,
    pub(crate) signed: Signed,
    pub(crate) authority: Authority,
    pub(crate) path_length: Option<u32>,
    pub(crate) subject_key_id: Option<Vec<u8>>,
    pub(crate) authority_key_id: Option<Vec<u8>>,
    /// Its keyUsage, extKeyUsage and nsCertType allow TLS clients.
    pub(crate) for_client: bool,
    /// Its extKeyUsage (if any) allows TLS clients, which counts for issuers, too.
    pub(crate) issues_clients: bool,
    pub(crate) may_sign_crls: bool,
    pub(crate) unknown_critical: bool,
    pub(crate) name_constraints: Option<NameConstraints>,
    /// Names in the subject that stand for the DNS names that the certificate does not have elsewhere.
    pub(crate) host_names: Vec<String>,
}

/// May it issue certificates (OpenSSL's `X509_check_ca`)?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    No,
    Yes,
    /// Version 1 knows no such mark: as trust anchors such certificates count, elsewhere not.
    Unmarked,
}

impl Certificate {
    /// Reads a certificate; `None` if it makes no sense.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let (rest, parsed) = X509Certificate::from_der(der).ok()?;
        // RFC 5280, 4.1.1.2: the algorithm is told twice, and must be the same.
        if !rest.is_empty() || parsed.signature_algorithm != parsed.tbs_certificate.signature {
            return None;
        }
        let mut certificate = Self {
            der: der.to_vec(),
            subject: parsed.subject().as_raw().to_vec(),
            issuer: parsed.issuer().as_raw().to_vec(),
            serial: serial(parsed.raw_serial()).to_vec(),
            not_before: parsed.validity().not_before.timestamp(),
            not_after: parsed.validity().not_after.timestamp(),
            public_key: PublicKey::read(parsed.public_key().raw)?,
            signed: Signed::read(der)?,
            authority: Authority::No,
            path_length: None,
            subject_key_id: None,
            authority_key_id: None,
            for_client: true,
            issues_clients: true,
            may_sign_crls: true,
            unknown_critical: false,
            name_constraints: None,
            host_names: Vec::new(),
        };
        certificate.read_extensions(&parsed);
        Some(certificate)
    }

    /// Subject and issuer are the same: issued by itself.
    pub(crate) fn is_self_issued(&self) -> bool {
        self.subject == self.issuer
            && self
                .authority_key_id
                .as_ref()
                .is_none_or(|id| self.subject_key_id.as_ref().is_none_or(|own| own == id))
    }

    /// Whether names and key ids say that `issuer` issued this one.
    pub(crate) fn names_issuer(&self, issuer: &Self) -> bool {
        let ids = (&self.authority_key_id, &issuer.subject_key_id);
        self.issuer == issuer.subject
            && match ids {
                (Some(wanted), Some(found)) => wanted == found,
                _ => true,
            }
    }

    /// Whether this key made the signature.
    pub(crate) fn signed_by(&self, issuer: &Self, algorithms: Algorithms) -> bool {
        verify(&self.signed, &issuer.public_key, algorithms)
    }

    fn read_extensions(&mut self, parsed: &X509Certificate<'_>) {
        let mut basic_constraints = None;
        let mut key_usage = None;
        let mut has_dns_names = false;
        // A repeated extension (RFC 5280, 4.2) would let the last one win.
        self.unknown_critical = parsed.extensions_map().is_err();
        for extension in parsed.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::BasicConstraints(value) => {
                    basic_constraints = Some(value.ca);
                    self.path_length = value.path_len_constraint;
                }
                ParsedExtension::KeyUsage(value) => key_usage = Some(*value),
                ParsedExtension::ExtendedKeyUsage(value) => {
                    // As OpenSSL, which does not take anyExtendedKeyUsage for it.
                    self.issues_clients = value.client_auth;
                    self.for_client &= value.client_auth;
                }
                ParsedExtension::SubjectKeyIdentifier(id) => {
                    self.subject_key_id = Some(id.0.to_vec());
                }
                ParsedExtension::AuthorityKeyIdentifier(id) => {
                    self.authority_key_id = id.key_identifier.as_ref().map(|id| id.0.to_vec());
                }
                ParsedExtension::NameConstraints(value) => {
                    self.name_constraints = Some(NameConstraints::new(value));
                }
                ParsedExtension::SubjectAlternativeName(names) => {
                    let broken = |name: &GeneralName<'_>| matches!(name, GeneralName::Invalid(..));
                    self.unknown_critical |=
                        extension.critical && names.general_names.iter().any(broken);
                    let is_dns = |name: &GeneralName<'_>| matches!(name, GeneralName::DNSName(_));
                    has_dns_names |= names.general_names.iter().any(is_dns);
                }
                ParsedExtension::CertificatePolicies(_)
                | ParsedExtension::PolicyMappings(_)
                | ParsedExtension::PolicyConstraints(_)
                | ParsedExtension::InhibitAnyPolicy(_)
                | ParsedExtension::CRLDistributionPoints(_) => {}
                ParsedExtension::NSCertType(value) => self.for_client &= value.ssl_client(),
                // Unreadable, critical or not: what it forbids is not known.
                ParsedExtension::ParseError { .. } => self.unknown_critical = true,
                _ => self.unknown_critical |= extension.critical && !is_known(&extension.oid),
            }
        }
        if !has_dns_names {
            self.host_names = name_constraints::host_names(parsed.subject());
        }
        let signs = key_usage.as_ref().is_none_or(|usage| usage.key_cert_sign());
        self.authority = match basic_constraints {
            Some(ca) => {
                if ca && signs {
                    Authority::Yes
                } else {
                    Authority::No
                }
            }
            None if parsed.version().0 == 0 => Authority::Unmarked,
            // As OpenSSL: without basicConstraints, a keyUsage with keyCertSign makes an issuer.
            None if key_usage.is_some() && signs => Authority::Yes,
            None => Authority::No,
        };
        if let Some(usage) = &key_usage {
            self.for_client &= usage.digital_signature() || usage.key_agreement();
            self.may_sign_crls = usage.crl_sign();
        }
    }
}

/// A serial number without leading zeros: one that is written with too many is the same number.
pub(crate) fn serial(content: &[u8]) -> &[u8] {
    let zeros = content.iter().take_while(|byte| **byte == 0).count();
    content.get(zeros..).unwrap_or_default()
}

/// Extensions without influence here.
fn is_known(id: &oid::asn1_rs::Oid<'_>) -> bool {
    *id == oid::OID_X509_EXT_ISSUER_ALT_NAME || *id == oid::OID_PKIX_AUTHORITY_INFO_ACCESS
}

/// Verifies a signature with whichever algorithm fits both identifiers.
pub(crate) fn verify(signed: &Signed, key: &PublicKey, algorithms: Algorithms) -> bool {
    algorithms
        .iter()
        .filter(|algorithm| {
            algorithm.signature_alg_id().as_ref() == signed.algorithm
                && algorithm.public_key_alg_id().as_ref() == key.algorithm
        })
        .any(|algorithm| {
            algorithm
                .verify_signature(&key.bits, &signed.message, &signed.signature)
                .is_ok()
        })
}
