//! The suites and groups this crate has, under their IANA numbers and the names OpenSSL and the RFCs give them.
//! The one truth: the TypeScript tables are generated from it.

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CipherSuite {
    /// IANA number.
    pub number: u16,
    /// OpenSSL's name (`ECDHE-RSA-AES128-GCM-SHA256`), which Node's `getCipher().name` gives.
    pub openssl_name: &'static str,
    /// The RFCs' name (`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`), Node's `getCipher().standardName`.
    pub standard_name: &'static str,
    /// The lowest version as Node's `getCipher().version` gives it.
    pub version: &'static str,
}

/// A group for the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedGroup {
    /// IANA number.
    pub number: u16,
    /// OpenSSL's name (`prime256v1`).
    pub openssl_name: &'static str,
    /// IANA's name (`secp256r1`).
    pub standard_name: &'static str,
}

const fn suite(
    number: u16,
    openssl_name: &'static str,
    standard_name: &'static str,
    version: &'static str,
) -> CipherSuite {
    CipherSuite {
        number,
        openssl_name,
        standard_name,
        version,
    }
}

const fn group(number: u16, openssl_name: &'static str, standard_name: &'static str) -> NamedGroup {
    NamedGroup {
        number,
        openssl_name,
        standard_name,
    }
}

/// All suites, in the default order of preference: Node's (`tls.DEFAULT_CIPHERS`).
#[rustfmt::skip]
pub const CIPHER_SUITES: &[CipherSuite] = &[
    suite(0x1302, "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", "TLSv1.3"),
    suite(0x1303, "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "TLSv1.3"),
    suite(0x1301, "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", "TLSv1.3"),
    suite(0xc02f, "ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLSv1.2"),
    suite(0xc02b, "ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLSv1.2"),
    suite(0xc030, "ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLSv1.2"),
    suite(0xc02c, "ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLSv1.2"),
    suite(0xcca8, "ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLSv1.2"),
    suite(0xcca9, "ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLSv1.2"),
];

/// All groups, in the default order of preference.
pub const NAMED_GROUPS: &[NamedGroup] = &[
    group(0x11ec, "X25519MLKEM768", "X25519MLKEM768"),
    group(0x001d, "X25519", "x25519"),
    group(0x0017, "prime256v1", "secp256r1"),
    group(0x0018, "secp384r1", "secp384r1"),
];

/// All signature schemes, by IANA number, in OpenSSL's order of preference: ECDSA, Ed25519, RSA-PSS, RSA with PKCS#1.
pub const SIGNATURE_SCHEMES: &[u16] = &[
    0x0403, 0x0503, 0x0603, 0x0807, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601,
];

/// The suite with this IANA number.
#[must_use]
pub fn cipher_suite(number: u16) -> Option<&'static CipherSuite> {
    CIPHER_SUITES.iter().find(|suite| suite.number == number)
}

/// The group with this IANA number.
#[must_use]
pub fn named_group(number: u16) -> Option<&'static NamedGroup> {
    NAMED_GROUPS.iter().find(|group| group.number == number)
}
