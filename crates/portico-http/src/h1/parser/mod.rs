//! Request heads: bytes in, [`Head`] and [`Field`]s out (RFC 9112, sections 2 to 6).
//!
//! `ordinary` takes the whole heads of the usual form that nearly all are. What it leaves goes to the careful parser:
//! `request_line`, `target`, `field_lines`, with [`HeadProgress`] for heads that come in pieces. Both hand the few fields
//! that matter for framing and for the connection to `framing_state`.

mod field_lines;
mod framing_state;
mod ordinary;
mod progress;
mod request_line;
mod target;

pub use progress::HeadProgress;

use progress::Stage;

use super::error::{ParseError, ParseErrorCode};
use super::field::FieldList;
use super::head::Head;
use super::limits::HeadLimits;
use crate::semantics::Field;

/// Parses request heads. Holds nothing of a connection but the fields of the last head, so one parser serves all
/// connections of a shard.
#[derive(Debug, Default)]
pub struct HeadParser {
    fields: FieldList,
}

/// Fields for which room is made at the start; more make it grow.
const ORDINARY_FIELD_COUNT: usize = 64;

impl HeadParser {
    /// A parser with room for an ordinary number of fields.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fields: FieldList::with_capacity(ORDINARY_FIELD_COUNT),
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
        progress: &mut HeadProgress,
        limits: &HeadLimits,
    ) -> Result<Option<Head>, ParseError> {
        if progress.is_fresh()
            && let Some(head) = ordinary::parse(bytes, limits, &mut self.fields)
        {
            return Ok(Some(head));
        }
        self.parse_carefully(bytes, progress, limits)
    }

    /// Parses heads of every form, whole or in pieces.
    #[cold]
    fn parse_carefully(
        &mut self,
        bytes: &[u8],
        progress: &mut HeadProgress,
        limits: &HeadLimits,
    ) -> Result<Option<Head>, ParseError> {
        let bytes = within_limit(bytes, limits);
        let mut state = *progress;
        let mut outcome = self.parse_from(bytes, &mut state, limits);
        if matches!(outcome, Ok(Some(_))) && !progress.is_fresh() {
            // The fields of the earlier pieces were checked but not kept.
            state = HeadProgress::default();
            outcome = self.parse_from(bytes, &mut state, limits);
        }
        let result = outcome.and_then(|end| {
            end.map(|end| state.framing.head(&state.request, end))
                .transpose()
        });
        *progress = if result == Ok(None) {
            state
        } else {
            HeadProgress::default()
        };
        if !matches!(result, Ok(Some(_))) {
            self.fields.start(0);
        }
        result
    }

    /// Parses the trailer section at the start of `bytes`, likewise. Returns its length.
    pub(super) fn parse_trailers(
        &mut self,
        bytes: &[u8],
        progress: &mut HeadProgress,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, ParseError> {
        let bytes = within_limit(bytes, limits);
        let fresh = progress.line == 0 && progress.scanned == 0;
        let Some(end) = self.fields_from(bytes, progress, limits, fresh)? else {
            return Ok(None);
        };
        if fresh {
            return Ok(Some(end));
        }
        self.fields_from(bytes, &mut HeadProgress::trailers(), limits, true)
    }

    /// Makes the fields' offsets count from `by` bytes earlier.
    pub(super) fn move_fields(&mut self, by: usize) {
        self.fields.move_by(by as u32);
    }

    /// Fields of the head (or trailer section) that was parsed last, in the order they were sent. Empty after
    /// anything but a complete one.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        self.fields.as_slice()
    }

    /// Parses on from `state`. Returns the length of a complete head.
    fn parse_from(
        &mut self,
        bytes: &[u8],
        state: &mut HeadProgress,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, ParseError> {
        let fresh = state.is_fresh();
        if state.stage != Stage::Fields && !request_line::parse(bytes, state, limits)? {
            self.fields.start(0);
            return incomplete(bytes, limits);
        }
        self.fields_from(bytes, state, limits, fresh)
    }

    /// Parses field lines on from `state`, and keeps the fields if `keep` says so.
    fn fields_from(
        &mut self,
        bytes: &[u8],
        state: &mut HeadProgress,
        limits: &HeadLimits,
        keep: bool,
    ) -> Result<Option<usize>, ParseError> {
        self.fields.start(match limits.max_headers_count {
            _ if !keep => 0,
            0 => usize::MAX,
            count => count as usize,
        });
        if !field_lines::may_continue(bytes, state, limits) {
            return incomplete(bytes, limits);
        }
        match field_lines::parse(bytes, state, limits, &mut self.fields)? {
            Some(end) => Ok(Some(end)),
            None => {
                self.fields.start(0);
                incomplete(bytes, limits)
            }
        }
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

/// The bytes that a head may have; indices into them fit 32 bits.
fn within_limit<'a>(bytes: &'a [u8], limits: &HeadLimits) -> &'a [u8] {
    bytes
        .get(..limits.max_head_bytes() as usize)
        .unwrap_or(bytes)
}

/// More bytes are needed: an error if there may be no more.
#[cold]
fn incomplete(bytes: &[u8], limits: &HeadLimits) -> Result<Option<usize>, ParseError> {
    if bytes.len() >= limits.max_head_bytes() as usize {
        return Err(ParseError::at(ParseErrorCode::HeaderOverflow, bytes.len()));
    }
    Ok(None)
}
