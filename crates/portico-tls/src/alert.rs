//! Alerts: their numbers (RFC 8446, 6), and how OpenSSL calls the error of a peer that sent one.

use crate::{TlsError, VerifyError};

/// Alerts that this crate sends itself. Those of the handshake are rustls' affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Alert {
    CloseNotify = 0,
    UnexpectedMessage = 10,
    BadRecordMac = 20,
    RecordOverflow = 22,
    HandshakeFailure = 40,
    BadCertificate = 42,
    CertificateRevoked = 44,
    CertificateExpired = 45,
    IllegalParameter = 47,
    UnknownCa = 48,
    DecodeError = 50,
    ProtocolVersion = 70,
    InternalError = 80,
    InappropriateFallback = 86,
    NoRenegotiation = 100,
    MissingExtension = 109,
    UnsupportedExtension = 110,
    UnrecognizedName = 112,
    CertificateRequired = 116,
    NoApplicationProtocol = 120,
}

/// Alert levels.
pub(crate) const WARNING: u8 = 1;
pub(crate) const FATAL: u8 = 2;

impl Alert {
    /// The alert to a client whose certificate is refused (RFC 8446, 6.2).
    pub(crate) fn for_certificate(why: VerifyError, version: u16) -> Self {
        match why {
            // RFC 5246, 7.4.6: TLS 1.2 has no certificate_required.
            VerifyError::NoCertificate if version == 0x0303 => Self::HandshakeFailure,
            VerifyError::NoCertificate => Self::CertificateRequired,
            VerifyError::CertHasExpired | VerifyError::CertNotYetValid => Self::CertificateExpired,
            VerifyError::CertRevoked => Self::CertificateRevoked,
            VerifyError::UnableToGetIssuerCert
            | VerifyError::UnableToGetIssuerCertLocally
            | VerifyError::UnableToVerifyLeafSignature
            | VerifyError::DepthZeroSelfSignedCert
            | VerifyError::SelfSignedCertInChain => Self::UnknownCa,
            _ => Self::BadCertificate,
        }
    }

    /// The two bytes of the alert.
    pub(crate) fn message(self) -> [u8; 2] {
        let level = match self {
            Self::CloseNotify | Self::NoRenegotiation => WARNING,
            _ => FATAL,
        };
        [level, self as u8]
    }

    /// The alert as a record without encryption, for before the handshake.
    pub(crate) fn plain_record(self) -> [u8; 7] {
        let [level, description] = self.message();
        [21, 3, 3, 0, 2, level, description]
    }

    /// The error of a peer that made us send this alert.
    pub(crate) fn error(self) -> TlsError {
        let (code, message) = match self {
            Self::UnexpectedMessage => (
                "ERR_SSL_UNEXPECTED_MESSAGE",
                "error:0A0000F4:SSL routines::unexpected message",
            ),
            Self::BadRecordMac => (
                "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
                "error:0A000119:SSL routines::decryption failed or bad record mac",
            ),
            Self::RecordOverflow => (
                "ERR_SSL_PACKET_LENGTH_TOO_LONG",
                "error:0A0000C6:SSL routines::packet length too long",
            ),
            Self::DecodeError => (
                "ERR_SSL_BAD_PACKET",
                "error:0A000199:SSL routines::bad packet",
            ),
            Self::IllegalParameter => (
                "ERR_SSL_BAD_KEY_UPDATE",
                "error:0A00007A:SSL routines::bad key update",
            ),
            Self::NoRenegotiation => (
                "ERR_SSL_NO_RENEGOTIATION",
                "error:0A000153:SSL routines::no renegotiation",
            ),
            _ => (
                "ERR_SSL_INTERNAL_ERROR",
                "error:0A080044:SSL routines::internal error",
            ),
        };
        TlsError::new(code, message)
    }
}

/// The error for an alert that the peer sent. OpenSSL names those that SSL 3 had after it, the others after TLS 1.
pub(crate) fn received(description: u8) -> TlsError {
    for (number, code, text) in RECEIVED {
        if *number == description {
            let reason = 1000 + u32::from(description);
            let message = format!("error:0A{reason:06X}:SSL routines::{text}");
            return TlsError::new(code, message);
        }
    }
    let message =
        format!("error:0A0000F6:SSL routines::unknown alert type (alert number {description})");
    TlsError::new("ERR_SSL_UNKNOWN_ALERT_TYPE", message)
}

const RECEIVED: &[(u8, &str, &str)] = &[
    (
        10,
        "ERR_SSL_SSLV3_ALERT_UNEXPECTED_MESSAGE",
        "ssl/tls alert unexpected message",
    ),
    (
        20,
        "ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC",
        "ssl/tls alert bad record mac",
    ),
    (
        21,
        "ERR_SSL_TLSV1_ALERT_DECRYPTION_FAILED",
        "tlsv1 alert decryption failed",
    ),
    (
        22,
        "ERR_SSL_TLSV1_ALERT_RECORD_OVERFLOW",
        "tlsv1 alert record overflow",
    ),
    (
        30,
        "ERR_SSL_SSLV3_ALERT_DECOMPRESSION_FAILURE",
        "ssl/tls alert decompression failure",
    ),
    (
        40,
        "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
        "ssl/tls alert handshake failure",
    ),
    (
        41,
        "ERR_SSL_SSLV3_ALERT_NO_CERTIFICATE",
        "ssl/tls alert no certificate",
    ),
    (
        42,
        "ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE",
        "ssl/tls alert bad certificate",
    ),
    (
        43,
        "ERR_SSL_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
        "ssl/tls alert unsupported certificate",
    ),
    (
        44,
        "ERR_SSL_SSLV3_ALERT_CERTIFICATE_REVOKED",
        "ssl/tls alert certificate revoked",
    ),
    (
        45,
        "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "ssl/tls alert certificate expired",
    ),
    (
        46,
        "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "ssl/tls alert certificate unknown",
    ),
    (
        47,
        "ERR_SSL_SSLV3_ALERT_ILLEGAL_PARAMETER",
        "ssl/tls alert illegal parameter",
    ),
    (
        48,
        "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
        "tlsv1 alert unknown ca",
    ),
    (
        49,
        "ERR_SSL_TLSV1_ALERT_ACCESS_DENIED",
        "tlsv1 alert access denied",
    ),
    (
        50,
        "ERR_SSL_TLSV1_ALERT_DECODE_ERROR",
        "tlsv1 alert decode error",
    ),
    (
        51,
        "ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR",
        "tlsv1 alert decrypt error",
    ),
    (
        60,
        "ERR_SSL_TLSV1_ALERT_EXPORT_RESTRICTION",
        "tlsv1 alert export restriction",
    ),
    (
        70,
        "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
        "tlsv1 alert protocol version",
    ),
    (
        71,
        "ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY",
        "tlsv1 alert insufficient security",
    ),
    (
        80,
        "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR",
        "tlsv1 alert internal error",
    ),
    (
        86,
        "ERR_SSL_TLSV1_ALERT_INAPPROPRIATE_FALLBACK",
        "tlsv1 alert inappropriate fallback",
    ),
    (
        90,
        "ERR_SSL_TLSV1_ALERT_USER_CANCELLED",
        "tlsv1 alert user cancelled",
    ),
    (
        100,
        "ERR_SSL_TLSV1_ALERT_NO_RENEGOTIATION",
        "tlsv1 alert no renegotiation",
    ),
    (
        109,
        "ERR_SSL_TLSV13_ALERT_MISSING_EXTENSION",
        "tlsv13 alert missing extension",
    ),
    (
        110,
        "ERR_SSL_TLSV1_UNSUPPORTED_EXTENSION",
        "tlsv1 unsupported extension",
    ),
    (
        111,
        "ERR_SSL_TLSV1_CERTIFICATE_UNOBTAINABLE",
        "tlsv1 certificate unobtainable",
    ),
    (
        112,
        "ERR_SSL_TLSV1_UNRECOGNIZED_NAME",
        "tlsv1 unrecognized name",
    ),
    (
        113,
        "ERR_SSL_TLSV1_BAD_CERTIFICATE_STATUS_RESPONSE",
        "tlsv1 bad certificate status response",
    ),
    (
        114,
        "ERR_SSL_TLSV1_BAD_CERTIFICATE_HASH_VALUE",
        "tlsv1 bad certificate hash value",
    ),
    (
        115,
        "ERR_SSL_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY",
        "tlsv1 alert unknown psk identity",
    ),
    (
        116,
        "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "tlsv13 alert certificate required",
    ),
    (
        120,
        "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL",
        "tlsv1 alert no application protocol",
    ),
];
