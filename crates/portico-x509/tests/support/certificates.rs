//! Certificates and revocation lists whose every part can be chosen, for tests and the fuzzer.
//!
//! `rcgen` signs; extensions are written here, because a test wants those that no sensible issuer writes.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "tests"
)]

use std::sync::LazyLock;

use rcgen::{
    CertificateParams, CertificateRevocationListParams, CustomExtension, DistinguishedName, DnType,
    Issuer, KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber, SigningKey,
};

/// Keys are made once. Ed25519 signs the same bytes alike, so equal recipes make equal certificates.
pub const KEYS: usize = 6;
static KEY_FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let make = |_| KeyPair::generate_for(&rcgen::PKCS_ED25519);
    (0..KEYS)
        .map(make)
        .map(|key| key.unwrap().serialize_der())
        .collect()
});

pub fn key(index: usize) -> KeyPair {
    KeyPair::try_from(KEY_FILES[index % KEYS].as_slice()).unwrap()
}

/// 2026-07-01, the time at which chains are judged.
pub const NOW: u64 = 1_782_864_000;

/// What a certificate says.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub subject: String,
    pub issuer: String,
    pub key: usize,
    pub signed_by: usize,
    pub serial: u8,
    /// Years.
    pub valid: (i32, i32),
    pub basic_constraints: Option<(bool, Option<u8>)>,
    /// Bits as in the extension's first byte: 0x80 digitalSignature, 0x04 keyCertSign, 0x02 cRLSign.
    pub key_usage: Option<u8>,
    /// Last arcs of id-kp: 1 servers, 2 clients; 0 stands for any.
    pub extended_key_usage: Vec<u8>,
    pub subject_key_id: Option<u8>,
    pub authority_key_id: Option<AuthorityKeyId>,
    pub names: Vec<Name>,
    pub permitted: Vec<Name>,
    pub excluded: Vec<Name>,
    /// Further extensions: object identifier, criticality, content.
    pub extensions: Vec<(Vec<u64>, bool, Vec<u8>)>,
}

#[derive(Clone, Debug)]
pub struct AuthorityKeyId {
    pub key_id: Option<u8>,
    pub issuer_and_serial: Option<(String, u8)>,
}

#[derive(Clone, Debug)]
pub enum Name {
    Dns(String),
    Mail(String),
    Directory(String),
}

pub fn dns(name: &str) -> Name {
    Name::Dns(name.to_owned())
}

pub fn mail(name: &str) -> Name {
    Name::Mail(name.to_owned())
}

/// A leaf for clients.
pub fn leaf(subject: &str, key: usize, issuer: &Recipe) -> Recipe {
    Recipe {
        subject: subject.to_owned(),
        issuer: issuer.subject.clone(),
        key,
        signed_by: issuer.key,
        serial: 7,
        valid: (2025, 2030),
        basic_constraints: Some((false, None)),
        key_usage: Some(0x80),
        extended_key_usage: vec![2],
        subject_key_id: Some(key as u8),
        authority_key_id: issuer.subject_key_id.map(|id| AuthorityKeyId {
            key_id: Some(id),
            issuer_and_serial: None,
        }),
        names: Vec::new(),
        permitted: Vec::new(),
        excluded: Vec::new(),
        extensions: Vec::new(),
    }
}

/// An authority below another one.
pub fn authority(subject: &str, key: usize, issuer: &Recipe) -> Recipe {
    Recipe {
        basic_constraints: Some((true, None)),
        key_usage: Some(0x06),
        extended_key_usage: Vec::new(),
        serial: 11,
        ..leaf(subject, key, issuer)
    }
}

/// An authority that signed itself.
pub fn root(subject: &str, key: usize) -> Recipe {
    let mut root = Recipe {
        subject: subject.to_owned(),
        key,
        subject_key_id: Some(key as u8),
        ..leaf(subject, key, &placeholder())
    };
    root.authority_key_id = None;
    root.issuer = subject.to_owned();
    root.signed_by = key;
    Recipe {
        basic_constraints: Some((true, None)),
        key_usage: Some(0x06),
        extended_key_usage: Vec::new(),
        serial: 1,
        ..root
    }
}

fn placeholder() -> Recipe {
    Recipe {
        subject: String::new(),
        issuer: String::new(),
        key: 0,
        signed_by: 0,
        serial: 0,
        valid: (2025, 2030),
        basic_constraints: None,
        key_usage: None,
        extended_key_usage: Vec::new(),
        subject_key_id: None,
        authority_key_id: None,
        names: Vec::new(),
        permitted: Vec::new(),
        excluded: Vec::new(),
        extensions: Vec::new(),
    }
}

impl Recipe {
    /// The certificate's bytes.
    pub fn der(&self) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished(&self.subject);
        params.serial_number = Some(SerialNumber::from_slice(&[self.serial.max(1)]));
        params.not_before = rcgen::date_time_ymd(self.valid.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(self.valid.1, 1, 1);
        params.custom_extensions = self.all_extensions();
        let issuer = issuer(&self.issuer, self.signed_by);
        let own = key(self.key);
        params.signed_by(&own, &issuer).unwrap().der().to_vec()
    }

    fn all_extensions(&self) -> Vec<CustomExtension> {
        let mut all = Vec::new();
        let mut add = |arcs: &[u64], critical: bool, content: Vec<u8>| {
            let mut extension = CustomExtension::from_oid_content(arcs, content);
            extension.set_criticality(critical);
            all.push(extension);
        };
        if let Some((is_ca, most)) = self.basic_constraints {
            let mut content = Vec::new();
            if is_ca {
                content.extend(element(1, &[0xff]));
            }
            if let Some(most) = most {
                content.extend(element(2, &[most & 0x7f]));
            }
            add(&[2, 5, 29, 19], true, element(0x30, &content));
        }
        if let Some(bits) = self.key_usage {
            add(&[2, 5, 29, 15], true, element(3, &[0, bits]));
        }
        if !self.extended_key_usage.is_empty() {
            let uses = self.extended_key_usage.iter().flat_map(|last| match last {
                0 => element(6, &[0x55, 0x1d, 0x25, 0]),
                last => element(6, &[0x2b, 6, 1, 5, 5, 7, 3, *last]),
            });
            add(
                &[2, 5, 29, 37],
                false,
                element(0x30, &uses.collect::<Vec<_>>()),
            );
        }
        if let Some(id) = self.subject_key_id {
            add(&[2, 5, 29, 14], false, element(4, &[id; 20]));
        }
        if let Some(id) = &self.authority_key_id {
            add(&[2, 5, 29, 35], false, id.der());
        }
        if !self.names.is_empty() {
            let names: Vec<_> = self.names.iter().flat_map(Name::der).collect();
            add(&[2, 5, 29, 17], false, element(0x30, &names));
        }
        let trees = |tag: u8, names: &[Name]| {
            let trees = names.iter().flat_map(|name| element(0x30, &name.der()));
            let trees: Vec<_> = trees.collect();
            if trees.is_empty() {
                trees
            } else {
                element(tag, &trees)
            }
        };
        let constraints = [trees(0xa0, &self.permitted), trees(0xa1, &self.excluded)].concat();
        if !constraints.is_empty() {
            add(&[2, 5, 29, 30], true, element(0x30, &constraints));
        }
        for (arcs, critical, content) in &self.extensions {
            add(arcs, *critical, content.clone());
        }
        all
    }

    /// A list of what this authority has revoked.
    pub fn revocation_list(&self, revoked: &[u8], years: (i32, i32)) -> Vec<u8> {
        let revoked = revoked.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from_slice(&[*serial]),
            revocation_time: rcgen::date_time_ymd(2025, 6, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(years.0, 1, 1),
            next_update: rcgen::date_time_ymd(years.1, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::PreSpecified(vec![self.key as u8; 20]),
        };
        let list = params.signed_by(&issuer(&self.subject, self.key));
        list.unwrap().der().to_vec()
    }
}

/// A revocation list with one extension, which `rcgen` would not write.
pub fn list_with_extension(by: &Recipe, arcs: &[u8], critical: bool, content: &[u8]) -> Vec<u8> {
    let mut extension = element(6, arcs);
    if critical {
        extension.extend(element(1, &[0xff]));
    }
    extension.extend(element(4, content));
    let algorithm = element(0x30, &element(6, &[0x2b, 0x65, 0x70]));
    let signed = [
        element(2, &[1]),
        algorithm.clone(),
        directory(&by.subject),
        element(0x17, b"260101000000Z"),
        element(0x17, b"300101000000Z"),
        element(0xa0, &element(0x30, &element(0x30, &extension))),
    ];
    let signed = element(0x30, &signed.concat());
    let signature = key(by.key).sign(&signed).unwrap();
    let signature = element(3, &[vec![0], signature].concat());
    element(0x30, &[signed, algorithm, signature].concat())
}

impl AuthorityKeyId {
    fn der(&self) -> Vec<u8> {
        let mut content = Vec::new();
        if let Some(id) = self.key_id {
            content.extend(element(0x80, &[id; 20]));
        }
        if let Some((issuer, serial)) = &self.issuer_and_serial {
            content.extend(element(0xa1, &element(0xa4, &directory(issuer))));
            content.extend(element(0x82, &[*serial]));
        }
        element(0x30, &content)
    }
}

impl Name {
    fn der(&self) -> Vec<u8> {
        match self {
            Self::Mail(name) => element(0x81, name.as_bytes()),
            Self::Dns(name) => element(0x82, name.as_bytes()),
            Self::Directory(name) => element(0xa4, &directory(name)),
        }
    }
}

fn issuer(name: &str, by: usize) -> Issuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.distinguished_name = distinguished(name);
    Issuer::new(params, key(by))
}

fn distinguished(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// A `Name` with a common name only.
fn directory(name: &str) -> Vec<u8> {
    let attribute = [element(6, &[0x55, 4, 3]), element(0x0c, name.as_bytes())].concat();
    element(0x30, &element(0x31, &element(0x30, &attribute)))
}

/// One DER element of up to 65,535 bytes.
pub fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut all = match length {
        0..0x80 => vec![tag, length as u8],
        0x80..0x100 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    all.extend_from_slice(content);
    all
}
