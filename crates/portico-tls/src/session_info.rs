//! What a handshake settled.

use crate::{Keying, VerifyError};

/// Everything that Node tells about a secured connection (`getProtocol()`, `getCipher()`, `servername`,
/// `alpnProtocol`, `isSessionReused()`, `getPeerCertificate()`, `authorizationError`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInfo {
    /// 0x0303 (TLS 1.2) or 0x0304 (TLS 1.3).
    pub version: u16,
    /// IANA number; see [`crate::names::cipher_suite`].
    pub cipher_suite: u16,
    /// IANA number of the key exchange's group; 0 if a TLS 1.2 session was resumed without key exchange. See
    /// [`crate::names::named_group`].
    pub named_group: u16,
    /// The name that the client sent.
    pub server_name: Option<String>,
    /// The protocol that was chosen.
    pub alpn: Option<Vec<u8>>,
    /// An earlier session was resumed.
    pub resumed: bool,
    /// Signature schemes of the client's that this crate has, by IANA number, in the client's order; from the last
    /// ClientHello.
    pub client_schemes: Vec<u16>,
    /// For questions that come later.
    pub keying: Keying,
    /// A client certificate was asked for.
    pub certificate_requested: bool,
    /// The client's certificates as sent, leaf first, DER. Kept with the session, so present after resumption too.
    pub peer_certificates: Vec<Vec<u8>>,
    /// Result of the verification of the client's certificates; [`VerifyError::Ok`] also when none was asked for,
    /// [`VerifyError::NoCertificate`] when none was sent.
    pub verify_error: VerifyError,
}
