//! Request heads: bytes in, [`Head`] and [`Field`]s out (RFC 9112, sections 2 to 6).

use super::error::ParseError;
use super::field::Field;
use super::head::Head;
use super::limits::HeadLimits;

/// Parses request heads. Holds nothing of a connection but the fields of the last head, so one parser serves all
/// connections of a shard.
#[derive(Debug, Default)]
pub struct HeadParser {
    fields: Vec<Field>,
}

/// How far the incomplete head of one connection has been checked, so that no byte is looked at again for each byte
/// that arrives. A new head starts with `Progress::default()`; after a complete head or an error it is reset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {}

impl HeadParser {
    /// A parser with room for an ordinary number of fields.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fields: Vec::with_capacity(64),
        }
    }

    /// Parses the head at the start of `bytes`.
    ///
    /// `Ok(None)`: it is not complete. Call again with the same bytes and more after them, and the same `progress`.
    /// Blank lines before the request line are skipped (RFC 9112, section 2.2).
    ///
    /// Never blocks, never allocates in steady state, never panics.
    ///
    /// # Errors
    /// The first thing that is wrong, as soon as its bytes are there.
    pub fn parse(
        &mut self,
        bytes: &[u8],
        progress: &mut Progress,
        limits: &HeadLimits,
    ) -> Result<Option<Head>, ParseError> {
        let _ = (bytes, progress, limits);
        self.fields.clear();
        Ok(None)
    }

    /// Fields of the head (or trailer section) that was parsed last, in the order they were sent.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// Number of CR and LF bytes at the start. Before the first byte of a head a connection can drop them, so that blank
/// lines never fill a buffer.
#[must_use]
pub fn leading_blank(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|&&byte| byte == b'\r' || byte == b'\n')
        .count()
}
