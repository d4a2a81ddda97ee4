//! What a step of parsing did.

/// Why parsing paused without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// Everything that can be used without further bytes is used.
    NeedMore,
    /// The application has to do something first: answer, resume, decide on an upgrade.
    Blocked,
    /// Enough for a turn.
    Turn,
}

/// What one step of parsing did.
pub(super) enum Step {
    /// So many bytes are used; go on.
    Used(usize),
    /// Pause.
    Pause(Pause),
}
