//! Why something asked of the host was refused: a stable code for programs, a sentence for people.

use std::borrow::Cow;
use std::fmt;

/// A refusal. Travels as `{"type":"error","code":...,"message":...}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of [`code`], or an errno's name.
    pub code: Cow<'static, str>,
    /// What was wrong, where, and what to do.
    pub message: String,
}

/// The codes that applications see as `error.code`.
pub mod code {
    /// The prefix does not follow the grammar.
    pub const PREFIX_INVALID: &str = "ERR_PORTICO_PREFIX_INVALID";
    /// Another user has the prefix, or one that it would take requests from.
    pub const PREFIX_TAKEN: &str = "ERR_PORTICO_PREFIX_TAKEN";
    /// The prefix is reserved for others.
    pub const PREFIX_RESERVED: &str = "ERR_PORTICO_PREFIX_RESERVED";
    /// The port has prefixes of the other scheme.
    pub const SCHEME_CONFLICT: &str = "ERR_PORTICO_SCHEME_CONFLICT";
    /// The host has no certificate for this port.
    pub const NO_CERTIFICATE: &str = "ERR_PORTICO_NO_CERTIFICATE";
    /// A certificate, or its key, can't be used.
    pub const CERTIFICATE: &str = "ERR_PORTICO_CERTIFICATE";
    /// The two programs speak different versions of the protocol or of the channel.
    pub const PROTOCOL: &str = "ERR_PORTICO_PROTOCOL";
    /// The host is about to end.
    pub const HOST_STOPPING: &str = "ERR_PORTICO_HOST_STOPPING";
    /// A line of the control protocol that can't be understood.
    pub const REQUEST: &str = "ERR_PORTICO_REQUEST";
    /// More registrations than there may be.
    pub const LIMIT: &str = "ERR_PORTICO_LIMIT";
    /// The application wrote something into its channel that is not allowed.
    pub const CHANNEL: &str = "ERR_PORTICO_CHANNEL";
    /// The file of run-time reservations and certificates can't be understood.
    pub const STATE: &str = "ERR_PORTICO_STATE";
    /// The configuration can't be used.
    pub const CONFIGURATION: &str = "ERR_PORTICO_CONFIGURATION";
    /// The new program did not take over.
    pub const UPGRADE: &str = "ERR_PORTICO_UPGRADE";
    /// Others could have put things into a folder of the host's.
    pub const HOST_FOLDER: &str = "ERR_PORTICO_HOST_FOLDER";
    /// There is no such application, or its workers fail.
    pub const APPLICATION: &str = "ERR_PORTICO_APPLICATION";
    /// Something of the system failed.
    pub const SYSTEM: &str = "ERR_PORTICO_SYSTEM";
    /// Not for this user.
    pub const EACCES: &str = "EACCES";
    /// Another program has the port.
    pub const EADDRINUSE: &str = "EADDRINUSE";
    /// This machine does not have the address.
    pub const EADDRNOTAVAIL: &str = "EADDRNOTAVAIL";
}

impl Failure {
    /// A failure.
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code: Cow::Borrowed(code),
            message: message.into(),
        }
    }

    /// A failure of the system, with what was being done.
    #[must_use]
    pub fn system(doing: &str, error: impl fmt::Display) -> Self {
        Self::new(code::SYSTEM, format!("{doing}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Failure {}
