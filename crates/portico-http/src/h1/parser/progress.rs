//! How far an incomplete head has been checked.

use super::framing_state::FramingState;
use super::target::TargetState;
use crate::semantics::Method;
use crate::semantics::Span;

/// How far the incomplete head of one connection has been checked, so that bytes are not looked at again for each
/// byte that arrives. A new head starts with `HeadProgress::default()`; after a complete head or an error it is that again.
///
/// Only checked, not kept: the fields of a head that came in pieces are collected in one more pass when it is complete,
/// so that a connection in waiting holds these few words and no list of fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadProgress {
    pub(super) stage: Stage,
    pub(super) target_state: TargetState,
    pub(super) request: RequestLine,
    /// Index of the first byte that the present token has not been checked to.
    pub(super) scanned: u32,
    /// Start of the field line in work.
    pub(super) line: u32,
    /// Index of that line's colon, 0 if not seen.
    pub(super) colon: u32,
    /// Index of the first byte of that line's value, 0 if not seen.
    pub(super) value: u32,
    /// Bytes that count for `max_header_size`, up to `line`.
    pub(super) counted: u32,
    /// Fields up to `line`.
    pub(super) field_count: u32,
    pub(super) framing: FramingState,
}

/// What the request line says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestLine {
    pub(super) method: Option<Method>,
    pub(super) minor_version: u8,
    /// Index of the method's first byte.
    pub(super) start: u32,
    pub(super) target: Span,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Blank lines, then the method and the space after it.
    #[default]
    Method,
    /// More spaces, then the target.
    BeforeTarget,
    /// The rest of the target.
    Target,
    /// Spaces, then the version and the end of the line.
    AfterTarget,
    /// Field lines.
    Fields,
}

impl HeadProgress {
    /// Whether nothing of the head has been seen, blank lines apart.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.stage == Stage::Method
    }

    /// The start of a trailer section.
    pub(in crate::h1) fn trailers() -> Self {
        Self {
            stage: Stage::Fields,
            framing: FramingState::trailers(),
            ..Self::default()
        }
    }

    /// Bytes that count for `max_header_size`, with those of the line in work before `end`.
    pub(super) fn counted_up_to(&self, end: usize) -> u64 {
        let end = end as u64;
        let name_end = if self.colon == 0 {
            end
        } else {
            end.min(self.colon.into())
        };
        let name = name_end.saturating_sub(self.line.into());
        let value = if self.value == 0 {
            0
        } else {
            end.saturating_sub(self.value.into())
        };
        u64::from(self.counted) + name + value
    }
}
