//! From rustls' errors to the codes and words that Node's users know from OpenSSL.

use rustls::{Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

use crate::TlsError;
use crate::alert::{self, Alert};

/// OpenSSL's reasons: code of the JavaScript error, number, words.
struct Reason(&'static str, u32, &'static str);

const UNSUPPORTED_PROTOCOL: Reason = Reason(
    "ERR_SSL_UNSUPPORTED_PROTOCOL",
    0x102,
    "unsupported protocol",
);
const WRONG_VERSION_NUMBER: Reason = Reason(
    "ERR_SSL_WRONG_VERSION_NUMBER",
    0x10b,
    "wrong version number",
);
const NO_SHARED_CIPHER: Reason = Reason("ERR_SSL_NO_SHARED_CIPHER", 0xc1, "no shared cipher");
const NO_SHARED_GROUP: Reason = Reason(
    "ERR_SSL_NO_SUITABLE_KEY_SHARE",
    0x65,
    "no suitable key share",
);
const NO_SHARED_SIGNATURE: Reason = Reason(
    "ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM",
    0x76,
    "no suitable signature algorithm",
);
const NO_CERTIFICATE: Reason = Reason(
    "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE",
    0xc7,
    "peer did not return a certificate",
);
const NO_PROTOCOL: Reason = Reason(
    "ERR_SSL_NO_APPLICATION_PROTOCOL",
    0xeb,
    "no application protocol",
);
const UNEXPECTED_MESSAGE: Reason = Reason("ERR_SSL_UNEXPECTED_MESSAGE", 0xf4, "unexpected message");
const BAD_RECORD: Reason = Reason(
    "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
    0x119,
    "decryption failed or bad record mac",
);
const TOO_LONG: Reason = Reason(
    "ERR_SSL_PACKET_LENGTH_TOO_LONG",
    0xc6,
    "packet length too long",
);
const MESSAGE_TOO_LONG: Reason = Reason(
    "ERR_SSL_EXCESSIVE_MESSAGE_SIZE",
    0x98,
    "excessive message size",
);
const BAD_SIGNATURE: Reason = Reason("ERR_SSL_BAD_SIGNATURE", 0x7b, "bad signature");
const BAD_EXTENSION: Reason = Reason("ERR_SSL_BAD_EXTENSION", 0x6e, "bad extension");
const BAD_KEY_SHARE: Reason = Reason("ERR_SSL_BAD_KEY_SHARE", 0x6c, "bad key share");
const BINDER: Reason = Reason(
    "ERR_SSL_BINDER_DOES_NOT_VERIFY",
    0xfd,
    "binder does not verify",
);
const INAPPROPRIATE_FALLBACK: Reason = Reason(
    "ERR_SSL_INAPPROPRIATE_FALLBACK",
    0x175,
    "inappropriate fallback",
);
const COMPRESSION: Reason = Reason(
    "ERR_SSL_REQUIRED_COMPRESSION_ALGORITHM_MISSING",
    0x156,
    "required compression algorithm missing",
);
const LENGTH_MISMATCH: Reason = Reason("ERR_SSL_LENGTH_MISMATCH", 0x9f, "length mismatch");
const HTTP_REQUEST: Reason = Reason("ERR_SSL_HTTP_REQUEST", 0x9c, "http request");
const HTTPS_PROXY_REQUEST: Reason =
    Reason("ERR_SSL_HTTPS_PROXY_REQUEST", 0x9b, "https proxy request");
const INTERNAL: Reason = Reason("ERR_SSL_INTERNAL_ERROR", 0x44, "internal error");

impl Reason {
    /// The words with rustls' own in brackets, which say more.
    fn error(&self, detail: &str) -> TlsError {
        let Self(code, number, words) = self;
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(" ({detail})")
        };
        TlsError::new(
            code,
            format!("error:0A{number:06X}:SSL routines::{words}{detail}"),
        )
    }
}

/// The error to report for one of rustls'.
pub(crate) fn tls_error(error: &Error) -> TlsError {
    if let Error::AlertReceived(description) = error {
        return alert::received(u8::from(*description));
    }
    reason(error).error(&error.to_string())
}

fn reason(error: &Error) -> Reason {
    match error {
        Error::PeerIncompatible(what) => incompatible(what),
        Error::PeerMisbehaved(what) => misbehaved(what),
        Error::InvalidMessage(what) => invalid(what),
        Error::NoCertificatesPresented => NO_CERTIFICATE,
        Error::NoApplicationProtocol => NO_PROTOCOL,
        Error::DecryptError => BAD_RECORD,
        Error::PeerSentOversizedRecord => TOO_LONG,
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            UNEXPECTED_MESSAGE
        }
        Error::InvalidCertificate(_) => BAD_SIGNATURE,
        _ => INTERNAL,
    }
}

fn incompatible(what: &PeerIncompatible) -> Reason {
    match what {
        PeerIncompatible::NoCipherSuitesInCommon => NO_SHARED_CIPHER,
        PeerIncompatible::NoKxGroupsInCommon
        | PeerIncompatible::KeyShareExtensionRequired
        | PeerIncompatible::NamedGroupsExtensionRequired => NO_SHARED_GROUP,
        PeerIncompatible::NoSignatureSchemesInCommon
        | PeerIncompatible::SignatureAlgorithmsExtensionRequired
        | PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon => NO_SHARED_SIGNATURE,
        PeerIncompatible::NullCompressionRequired => COMPRESSION,
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::SupportedVersionsExtensionRequired
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled => UNSUPPORTED_PROTOCOL,
        _ => BAD_EXTENSION,
    }
}

fn misbehaved(what: &PeerMisbehaved) -> Reason {
    match what {
        PeerMisbehaved::IncorrectBinder => BINDER,
        PeerMisbehaved::InvalidKeyShare | PeerMisbehaved::OfferedDuplicateKeyShares => {
            BAD_KEY_SHARE
        }
        PeerMisbehaved::AttemptedDowngradeToTls12WhenTls13IsSupported => INAPPROPRIATE_FALLBACK,
        PeerMisbehaved::SignedKxWithWrongAlgorithm
        | PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme => BAD_SIGNATURE,
        PeerMisbehaved::DuplicateClientHelloExtensions
        | PeerMisbehaved::DuplicateServerNameTypes
        | PeerMisbehaved::ServerNameMustContainOneHostName
        | PeerMisbehaved::PskExtensionMustBeLast
        | PeerMisbehaved::MissingPskModesExtension
        | PeerMisbehaved::OfferedEmptyApplicationProtocol => BAD_EXTENSION,
        _ => UNEXPECTED_MESSAGE,
    }
}

fn invalid(what: &InvalidMessage) -> Reason {
    match what {
        InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion => {
            WRONG_VERSION_NUMBER
        }
        InvalidMessage::MessageTooLarge => TOO_LONG,
        InvalidMessage::HandshakePayloadTooLarge | InvalidMessage::CertificatePayloadTooLarge => {
            MESSAGE_TOO_LONG
        }
        InvalidMessage::UnexpectedMessage(_) | InvalidMessage::InvalidCcs => UNEXPECTED_MESSAGE,
        InvalidMessage::DuplicateExtension(_)
        | InvalidMessage::PreSharedKeyIsNotFinalExtension
        | InvalidMessage::InvalidServerName => BAD_EXTENSION,
        _ => LENGTH_MISMATCH,
    }
}

/// The alert and the error for bytes that are no TLS record. Plain HTTP is told apart, and gets no alert, as with
/// OpenSSL.
pub(crate) fn not_a_record(bytes: &[u8]) -> (Option<Alert>, TlsError) {
    const METHODS: [&[u8]; 4] = [b"GET ", b"POST", b"HEAD", b"PUT "];
    if METHODS.iter().any(|method| bytes.starts_with(method)) {
        return (None, HTTP_REQUEST.error(""));
    }
    if bytes.starts_with(b"CONNE") {
        return (None, HTTPS_PROXY_REQUEST.error(""));
    }
    if (20..=23).contains(&bytes.first().copied().unwrap_or_default()) && bytes.get(1) == Some(&3) {
        return (Some(Alert::RecordOverflow), TOO_LONG.error(""));
    }
    (Some(Alert::DecodeError), WRONG_VERSION_NUMBER.error(""))
}

/// A context without a certificate.
pub(crate) fn no_identity() -> TlsError {
    NO_SHARED_CIPHER.error("the server has no certificate: give `key` and `cert`, or `pfx`")
}

/// A client from before TLS 1.2.
pub(crate) fn unsupported_protocol() -> TlsError {
    UNSUPPORTED_PROTOCOL.error("the client speaks TLS 1.1 at most")
}

/// The application refused the offered protocols.
pub(crate) fn no_protocol() -> TlsError {
    NO_PROTOCOL.error("")
}

/// A client that must show a certificate came back with a session that has none.
pub(crate) fn no_certificate() -> TlsError {
    NO_CERTIFICATE.error("")
}
