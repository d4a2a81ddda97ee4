//! How work on a connection stops.

use portico_channel::NeedSpace;

/// Why work on a connection can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// An event did not fit. Nothing is lost: the work is taken up again when there is room.
    NeedSpace(usize),
    /// The connection is over, with an errno or 0.
    Close(i32),
    /// Our answers are out and the connection is over, but the peer may still be sending: linger.
    Linger,
    /// The peer speaks HTTP/2: its preface has come. The connection takes that protocol and goes on.
    Preface,
}

impl From<NeedSpace> for Stop {
    fn from(need: NeedSpace) -> Self {
        Self::NeedSpace(need.bytes)
    }
}
