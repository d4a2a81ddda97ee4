//! How the one application of `portico run` ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What the host's own exit code should say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program has ended by itself, with success.
    Finished,
    /// It could not be started, or kept failing: its last exit code (128 and the signal's number for a signal).
    Failed(u8),
}

impl Verdict {
    /// After a failure with this status; none: it could not be started at all.
    pub(crate) fn failed(status: Option<ExitStatus>) -> Self {
        // What shells say of a command that can't be started.
        const NOT_STARTED: i32 = 127;
        let of_status = |status: ExitStatus| {
            let signal = status.signal().map(|number| 128 + number);
            status.code().or(signal).unwrap_or(1)
        };
        let code = status.map_or(NOT_STARTED, of_status);
        Self::Failed(
            u8::try_from(code)
                .ok()
                .filter(|code| *code > 0)
                .unwrap_or(1),
        )
    }
}
