//! Parts of an answer as the application's records bring them.

use portico_channel::External;

use crate::limits::EXTERNAL_COPY_BYTES;

/// The head of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerHead<'a> {
    pub(crate) status: u16,
    /// [`portico_channel::layout::response_flag`].
    pub(crate) flags: u32,
    /// Number of the kept reason and fields to use instead, 0: none.
    pub(crate) template: u32,
    pub(crate) reason: &'a [u8],
    /// Field lines, each with CR LF.
    pub(crate) fields: &'a [u8],
    pub(crate) content_length: u64,
}

/// The head of an interim (1xx) response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterimHead<'a> {
    pub(crate) status: u16,
    pub(crate) reason: &'a [u8],
    /// Field lines, each with CR LF.
    pub(crate) fields: &'a [u8],
}

/// Body bytes, and the same where they lie outside of the record, so that they need not be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) external: Option<External<'a>>,
}

impl<'a> Payload<'a> {
    /// Bytes that are better sent from where they lie.
    #[inline]
    pub(crate) fn outside(&self) -> Option<External<'a>> {
        self.external
            .filter(|external| external.bytes().len() > EXTERNAL_COPY_BYTES)
    }
}
