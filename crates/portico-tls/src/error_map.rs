//! From rustls' errors to the codes and words that Node's users know from OpenSSL.

use rustls::{Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};

use crate::alert::{self, Alert};
use crate::{TlsError, VerifyError};

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
const RENEGOTIATION_MISMATCH: Reason = Reason(
    "ERR_SSL_RENEGOTIATION_MISMATCH",
    0x151,
    "renegotiation mismatch",
);
const NO_SIGALGS: Reason = Reason(
    "ERR_SSL_MISSING_SIGALGS_EXTENSION",
    0x70,
    "missing sigalgs extension",
);
const NO_GROUPS: Reason = Reason(
    "ERR_SSL_MISSING_SUPPORTED_GROUPS_EXTENSION",
    0xd1,
    "missing supported groups extension",
);
const TOO_MUCH_EARLY_DATA: Reason =
    Reason("ERR_SSL_TOO_MUCH_EARLY_DATA", 0xa4, "too much early data");
const TOO_MANY_ALERTS: Reason = Reason(
    "ERR_SSL_TOO_MANY_WARN_ALERTS",
    0x199,
    "too many warn alerts",
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
        error if lacks_scheme(error) => NO_SHARED_SIGNATURE,
        _ => INTERNAL,
    }
}

/// What rustls says where no scheme of a TLS 1.2 client fits the key.
fn lacks_scheme(error: &Error) -> bool {
    matches!(error, Error::General(text) if text == "incompatible signing key")
}

/// The alert for an error that rustls gave without one. `None`: none is due.
pub(crate) fn alert(error: &Error) -> Option<Alert> {
    Some(match error {
        // RFC 8446, 6: who has sent one knows.
        Error::AlertReceived(_) => return None,
        Error::PeerMisbehaved(what) => misbehaviour_alert(what),
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            Alert::UnexpectedMessage
        }
        // As OpenSSL.
        Error::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge) => Alert::IllegalParameter,
        Error::InvalidMessage(_) => Alert::DecodeError,
        Error::PeerIncompatible(_) => Alert::HandshakeFailure,
        Error::NoApplicationProtocol => Alert::NoApplicationProtocol,
        Error::DecryptError => Alert::BadRecordMac,
        Error::PeerSentOversizedRecord => Alert::RecordOverflow,
        Error::InvalidCertificate(_) => Alert::BadCertificate,
        error if lacks_scheme(error) => Alert::HandshakeFailure,
        _ => Alert::InternalError,
    })
}

fn misbehaviour_alert(what: &PeerMisbehaved) -> Alert {
    match what {
        PeerMisbehaved::MessageInterleavedWithHandshakeMessage
        | PeerMisbehaved::RejectedEarlyDataInterleavedWithHandshakeMessage
        | PeerMisbehaved::KeyEpochWithPendingFragment
        | PeerMisbehaved::IllegalTlsInnerPlaintext
        | PeerMisbehaved::IllegalMiddleboxChangeCipherSpec
        | PeerMisbehaved::TooManyEmptyFragments
        | PeerMisbehaved::TooManyWarningAlertsReceived
        | PeerMisbehaved::TooManyRenegotiationRequests
        | PeerMisbehaved::TooMuchEarlyDataReceived => Alert::UnexpectedMessage,
        PeerMisbehaved::UnsolicitedCertExtension => Alert::UnsupportedExtension,
        _ => Alert::IllegalParameter,
    }
}

/// The alert that RFC 8446 says, where rustls has sent another one in the clear.
pub(crate) fn corrected_alert(error: &Error) -> Option<Alert> {
    match error {
        // RFC 8446, 9.2.
        Error::PeerIncompatible(PeerIncompatible::KeyShareExtensionRequired) => {
            Some(Alert::MissingExtension)
        }
        // RFC 5246, 7.4.6: TLS 1.2, where nothing is sealed yet, has no certificate_required.
        Error::NoCertificatesPresented => Some(Alert::HandshakeFailure),
        _ => None,
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
        PeerMisbehaved::TooManyWarningAlertsReceived => TOO_MANY_ALERTS,
        PeerMisbehaved::TooMuchEarlyDataReceived => TOO_MUCH_EARLY_DATA,
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
    (Some(Alert::DecodeError), WRONG_VERSION_NUMBER.error(""))
}

/// A context without a certificate.
pub(crate) fn no_identity() -> TlsError {
    NO_SHARED_CIPHER.error("the server has no certificate: give `key` and `cert`, or `pfx`")
}

/// A client that was kept from a higher version.
pub(crate) fn inappropriate_fallback() -> TlsError {
    INAPPROPRIATE_FALLBACK.error("")
}

/// A first ClientHello that continues another connection.
pub(crate) fn renegotiation_mismatch() -> TlsError {
    RENEGOTIATION_MISMATCH.error("")
}

/// A TLS 1.3 client without signature_algorithms.
pub(crate) fn no_signature_algorithms() -> TlsError {
    NO_SIGALGS.error("")
}

/// A TLS 1.3 client without supported_groups.
pub(crate) fn no_supported_groups() -> TlsError {
    NO_GROUPS.error("")
}

/// A TLS 1.3 client without key_share.
pub(crate) fn no_key_share() -> TlsError {
    NO_SHARED_GROUP.error("")
}

/// More early data than is skipped.
pub(crate) fn too_much_early_data() -> TlsError {
    TOO_MUCH_EARLY_DATA.error("")
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

/// The error of a client whose certificate is refused. Node destroys such a connection after the handshake, and its
/// users see the code `ECONNRESET`; the reason is told besides.
pub(crate) fn rejected(why: VerifyError) -> TlsError {
    if why == VerifyError::NoCertificate {
        return no_certificate();
    }
    let name = why.openssl_name();
    TlsError::new(
        "ECONNRESET",
        format!("socket hang up: client certificate refused: {name}, {why}"),
    )
}
