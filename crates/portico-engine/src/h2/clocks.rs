//! Since when a peer owes something; [`timeouts`](super::timeouts) looks at it.

/// Times of a connection, in milliseconds of the monotonic clock; 0: none.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Earliest entry in the shard's timers.
    pub(super) entered_ms: u64,
    /// Its time has come: the session is to be asked.
    pub(super) is_due: bool,
    /// Since when the peer has been sending a frame or a field block, or owes its preface.
    pub(super) input_ms: u64,
    /// That has taken too long.
    pub(super) is_input_late: bool,
    /// The peer's settings have come.
    pub(super) is_open: bool,
}

impl Clocks {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            entered_ms: 0,
            is_due: false,
            input_ms: now_ms,
            is_input_late: false,
            is_open: false,
        }
    }

    /// What was received ends in the middle of something, or does not.
    pub(super) fn note_input(&mut self, has_begun: bool, now_ms: u64) {
        if !has_begun && self.is_open {
            self.input_ms = 0;
        } else if self.input_ms == 0 {
            self.input_ms = now_ms;
        }
    }
}
