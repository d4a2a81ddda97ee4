//! Request heads: bytes in, [`Head`] and [`Field`]s out (RFC 9112, sections 2 to 6).
//!
//! A head that is there as a whole, as nearly all are, is parsed in one pass: `request_line`, then `field_lines`, which
//! hands the few fields that matter for framing and for the connection to `facts`. [`Progress`] carries a head that
//! comes in pieces.

mod facts;
mod field_lines;
mod host;
mod progress;
mod request_line;
mod target;

pub use progress::Progress;

use progress::Stage;

use super::error::{ParseError, ParseErrorCode};
use super::field::Field;
use super::head::Head;
use super::limits::HeadLimits;

/// Parses request heads. Holds nothing of a connection but the fields of the last head, so one parser serves all
/// connections of a shard.
#[derive(Debug, Default)]
pub struct HeadParser {
    fields: Vec<Field>,
}

/// Fields for which room is made at the start; more make it grow.
const ORDINARY_FIELD_COUNT: usize = 64;

impl HeadParser {
    /// A parser with room for an ordinary number of fields.
    #[must_use]
    pub fn new() -> Self {
        Self {
            fields: Vec::with_capacity(ORDINARY_FIELD_COUNT),
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
        let bytes = within_limit(bytes, limits);
        if !progress.is_fresh() {
            return self.resume(bytes, progress, limits);
        }
        let mut state = Progress {
            start: progress.start,
            ..Progress::default()
        };
        match self.parse_from(bytes, &mut state, limits) {
            Ok(Some(end)) => {
                progress.start = 0;
                state.facts.head(&state, end).map(Some)
            }
            outcome => self.stop(outcome, state, progress),
        }
    }

    /// Goes on with a head that came in pieces.
    #[cold]
    fn resume(
        &mut self,
        bytes: &[u8],
        progress: &mut Progress,
        limits: &HeadLimits,
    ) -> Result<Option<Head>, ParseError> {
        let mut state = *progress;
        match self.parse_from(bytes, &mut state, limits) {
            Ok(Some(_)) => {
                // The fields of the earlier pieces were checked but not kept.
                *progress = Progress::default();
                self.parse(bytes, progress, limits)
            }
            outcome => self.stop(outcome, state, progress),
        }
    }

    /// Leaves a head that is not complete, or wrong.
    #[cold]
    fn stop(
        &mut self,
        outcome: Result<Option<usize>, ParseError>,
        state: Progress,
        progress: &mut Progress,
    ) -> Result<Option<Head>, ParseError> {
        self.fields.clear();
        *progress = if outcome.is_ok() {
            state
        } else {
            Progress::default()
        };
        outcome.map(|_| None)
    }

    /// Parses the trailer section at the start of `bytes`, likewise. Returns its length.
    pub(super) fn parse_trailers(
        &mut self,
        bytes: &[u8],
        progress: &mut Progress,
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
        self.fields_from(bytes, &mut Progress::trailers(), limits, true)
    }

    /// Makes the fields' offsets count from `by` bytes earlier.
    pub(super) fn move_fields(&mut self, by: usize) {
        for field in &mut self.fields {
            field.name_offset += by as u32;
            field.value_offset += by as u32;
        }
    }

    /// Fields of the head (or trailer section) that was parsed last, in the order they were sent. Empty after
    /// anything but a complete one.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Parses on from `state`. Returns the length of a complete head.
    #[inline]
    fn parse_from(
        &mut self,
        bytes: &[u8],
        state: &mut Progress,
        limits: &HeadLimits,
    ) -> Result<Option<usize>, ParseError> {
        let fresh = state.is_fresh();
        if state.stage != Stage::Fields
            && !request_line::parse_ordinary(bytes, state, limits)
            && !request_line::parse(bytes, state, limits)?
        {
            self.fields.clear();
            return incomplete(bytes, limits);
        }
        self.fields_from(bytes, state, limits, fresh)
    }

    /// Parses field lines on from `state`, and keeps the fields if `keep` says so.
    #[inline]
    fn fields_from(
        &mut self,
        bytes: &[u8],
        state: &mut Progress,
        limits: &HeadLimits,
        keep: bool,
    ) -> Result<Option<usize>, ParseError> {
        self.fields.clear();
        if !field_lines::may_continue(bytes, state, limits)? {
            return incomplete(bytes, limits);
        }
        match field_lines::parse(bytes, state, limits, keep, &mut self.fields)? {
            Some(end) => Ok(Some(end)),
            None => {
                self.fields.clear();
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
#[inline]
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
