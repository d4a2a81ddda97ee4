//! Error codes, and how far an error reaches (RFC 9113, sections 5.4 and 7).

use core::fmt;

/// Why a stream or a connection ends (RFC 9113, section 7). Codes that are not known are kept as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// There is no error.
    pub const NO_ERROR: Self = Self(0);
    /// The peer broke the protocol, in a way that no other code names.
    pub const PROTOCOL_ERROR: Self = Self(1);
    /// Something went wrong here.
    pub const INTERNAL_ERROR: Self = Self(2);
    /// More was sent than a window allowed, or a window grew too large.
    pub const FLOW_CONTROL_ERROR: Self = Self(3);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(4);
    /// A frame for a stream whose peer had ended it.
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame of a size that it can't have.
    pub const FRAME_SIZE_ERROR: Self = Self(6);
    /// The request was not looked at and may be sent again.
    pub const REFUSED_STREAM: Self = Self(7);
    /// The stream is not needed any more.
    pub const CANCEL: Self = Self(8);
    /// A field block can't be decoded.
    pub const COMPRESSION_ERROR: Self = Self(9);
    /// The connection of a CONNECT request broke.
    pub const CONNECT_ERROR: Self = Self(10);
    /// The peer causes too much load.
    pub const ENHANCE_YOUR_CALM: Self = Self(11);
    /// TLS below what HTTP/2 demands.
    pub const INADEQUATE_SECURITY: Self = Self(12);
    /// HTTP/1.1 must be used instead.
    pub const HTTP_1_1_REQUIRED: Self = Self(13);

    /// The name that RFC 9113, section 7 gives it; `None` for a code that it does not know.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(self.0 as usize).copied()
    }
}

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The connection must end: GOAWAY with this code has been or is to be sent (RFC 9113, section 5.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionError {
    /// The code to be sent.
    pub code: ErrorCode,
    /// What the peer did: for GOAWAY's debug data and for logs.
    pub reason: &'static str,
}

impl ConnectionError {
    pub(super) const fn new(code: ErrorCode, reason: &'static str) -> Self {
        Self { code, reason }
    }

    pub(super) const fn protocol(reason: &'static str) -> Self {
        Self::new(ErrorCode::PROTOCOL_ERROR, reason)
    }

    pub(super) const fn frame_size(reason: &'static str) -> Self {
        Self::new(ErrorCode::FRAME_SIZE_ERROR, reason)
    }

    pub(super) const fn calm(reason: &'static str) -> Self {
        Self::new(ErrorCode::ENHANCE_YOUR_CALM, reason)
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.reason)
    }
}

impl std::error::Error for ConnectionError {}
