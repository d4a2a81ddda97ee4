//! Certificates: commands about them, and how one is written.

use serde::{Deserialize, Serialize};

/// Certificates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Certificate {
    /// Use a certificate.
    Add(CertificateRecord),
    /// Use it no more.
    Remove {
        /// Its certificate file, as in the list.
        certificate: String,
        /// The port it is bound to, if it is bound to one.
        #[serde(default)]
        port: Option<u16>,
    },
    /// [`super::Answer::certificates`].
    List,
}

/// A certificate and what it is bound to. Also what the state file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertificateRecord {
    /// PEM file with the certificate and its chain. Absolute.
    pub certificate: String,
    /// PEM file with the private key. Absolute.
    pub key: String,
    /// The port it is for; absent: all `https` ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Names of clients' SNI it is for; empty: the certificate's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// PEM file with the authorities of client certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<String>,
    /// Whether clients are asked for a certificate. The application decides what one without may do.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_client_certificate: bool,
    /// Whether a client must have a certificate of these authorities.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub require_client_certificate: bool,
    /// Whether it stands in the configuration file (and is changed there). Only in lists.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub configured: bool,
    /// End of its validity, seconds since 1970; 0 if it could not be read. Only in lists.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_after: i64,
    /// What is wrong with its files now (an earlier version of it may be in use). Only in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}
