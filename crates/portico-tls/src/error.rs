//! Errors of contexts (the application's fault) and of connections (mostly the peer's).

use std::borrow::Cow;
use std::fmt;

/// A [`crate::Context`] can't be made: which option is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextError {
    code: &'static str,
    field: &'static str,
    message: String,
}

impl ContextError {
    pub(crate) fn new(code: &'static str, field: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            field,
            message: message.into(),
        }
    }

    /// The `code` of the JavaScript error, such as `ERR_OSSL_X509_KEY_VALUES_MISMATCH`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The option that is wrong, in Node's words (`key`, `cert`, `pfx`, `ca`, `crl`, `ticketKeys`, ...).
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// What is wrong with it and what to do.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ContextError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ContextError {}

/// A connection failed. It can only be closed after what was put into the output buffer (an alert) has been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    code: &'static str,
    message: Cow<'static, str>,
}

impl TlsError {
    pub(crate) fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The `code` that Node's users know, such as `ERR_SSL_NO_SHARED_CIPHER`. Never empty.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// A sentence for people. Never empty.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for TlsError {}
