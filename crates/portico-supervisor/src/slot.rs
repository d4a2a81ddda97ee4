//! A place for one worker at a time.

use std::time::Instant;

use crate::worker::WorkerId;

/// A slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot {
    /// Workers before this one are to be replaced.
    pub(crate) fresh_from: WorkerId,
    /// No start before that.
    pub(crate) retry_at: Option<Instant>,
    /// The worker before must have ended when the next one starts, this once.
    pub(crate) is_restarting: bool,
    /// Its worker has ended by itself and is not to be started again.
    pub(crate) is_finished: bool,
}
