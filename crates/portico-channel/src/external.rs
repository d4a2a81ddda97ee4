//! Bodies that stay where they are: in the application's memory, until they have been sent.

use std::rc::Rc;

/// Bytes that belong to the application and are kept from being freed until this is dropped.
///
/// The bytes are those of the moment in which they are asked for: an application that changes them before they are
/// sent changes what is sent, as with a write of Node's own.
pub trait LentBytes: std::fmt::Debug {
    /// The bytes as they are now; `None` once the application has taken the memory away (a detached `ArrayBuffer`).
    ///
    /// The slice is to be used at once: not after the call into the engine (`apply`, `turn`) in which it was asked
    /// for, since the application may run then and move the memory.
    fn bytes(&self) -> Option<&[u8]>;
}

impl LentBytes for Vec<u8> {
    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }
}

/// The body of a record flagged `EXTERNAL`: bytes beside the record, valid during the submission, and a way to keep
/// them beyond it.
#[derive(Clone, Copy)]
pub struct External<'a> {
    bytes: &'a [u8],
    keep: Option<&'a dyn Fn() -> Option<Rc<dyn LentBytes>>>,
}

impl<'a> External<'a> {
    /// Bytes that `keep` keeps where they are. Where it can't (`None`), they are copied.
    #[must_use]
    pub fn lent(bytes: &'a [u8], keep: &'a dyn Fn() -> Option<Rc<dyn LentBytes>>) -> Self {
        Self {
            bytes,
            keep: Some(keep),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All of the bytes, for longer than the submission.
    #[must_use]
    pub fn keep(&self) -> Rc<dyn LentBytes> {
        self.keep
            .and_then(|keep| keep())
            .unwrap_or_else(|| Rc::new(self.bytes.to_vec()))
    }
}

impl<'a> From<&'a [u8]> for External<'a> {
    /// Bytes that are copied if they must be kept.
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, keep: None }
    }
}

impl std::fmt::Debug for External<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("External")
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
