//! What an engine answers whoever drives it: how a turn ended, and why commands were refused. The same whether the engine
//! is in the process, on threads of it, or behind a host's channel.

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnOutcome {
    /// Nothing is left: wait until the descriptor is readable.
    Idle,
    /// There may be more work: call again soon.
    More,
    /// Call again with at least so many free bytes.
    NeedSpace(usize),
}

/// Why commands were refused. What came before the named record has been applied, nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// The bytes at this offset are not a record, or its payload lies outside of it.
    Malformed {
        /// Byte offset of the record in the submission.
        offset: usize,
    },
    /// The record's kind is not known.
    UnknownKind {
        /// Byte offset of the record in the submission.
        offset: usize,
        /// The kind.
        kind: u32,
    },
    /// A value of the record is out of its range.
    OutOfRange {
        /// Byte offset of the record in the submission.
        offset: usize,
        /// Name of the word.
        word: &'static str,
    },
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed { offset } => write!(f, "malformed command record at byte {offset}"),
            Self::UnknownKind { offset, kind } => {
                write!(f, "unknown command kind {kind} at byte {offset}")
            }
            Self::OutOfRange { offset, word } => {
                write!(
                    f,
                    "{word} of the command record at byte {offset} is out of range"
                )
            }
        }
    }
}

impl std::error::Error for CommandError {}
