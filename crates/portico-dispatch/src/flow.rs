//! How much output of an application the host takes before its client has read some.
//!
//! Each answer, and each tunnel, has a window. The application's end holds back what is beyond it, for that answer
//! alone, so that a slow client holds up no other; it is told by `CREDIT` when the window has moved. The host asks
//! the engine for an acknowledgement twice in each window. An application that sends more than it may breaks the rules.

use portico_channel::shared::ANSWER_WINDOW_BYTES;

use crate::client::MemberIndex;

/// Output of one answer or tunnel. Bytes of whole records are counted, so that both sides count the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Taken.
    given: u64,
    /// Up to where more is taken.
    granted: u64,
    /// Where an acknowledgement was last asked for.
    marked: u64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            given: 0,
            granted: ANSWER_WINDOW_BYTES,
            marked: 0,
        }
    }
}

/// Beyond its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond;

impl Flow {
    /// Takes a record. `Some`: an acknowledgement is due, and it moves the window to there.
    pub(crate) fn take(&mut self, record_bytes: usize) -> Result<Option<u64>, Beyond> {
        if self.given > self.granted {
            return Err(Beyond);
        }
        self.given += u64::try_from(record_bytes).unwrap_or(u64::MAX / 2);
        if self.given - self.marked < ANSWER_WINDOW_BYTES / 2 {
            return Ok(None);
        }
        self.marked = self.given;
        Ok(Some(self.given + ANSWER_WINDOW_BYTES))
    }

    /// The client has got what was acknowledged.
    pub(crate) fn grant(&mut self, up_to: u64) {
        self.granted = self.granted.max(up_to);
    }
}

/// An acknowledgement that the engine was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The request; 0: a tunnel.
    pub(crate) sequence: u32,
    pub(crate) member: MemberIndex,
    /// Whether the member asked for it too.
    pub(crate) told: bool,
    /// Up to where it moves the window; 0: it doesn't.
    pub(crate) grants: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_moves_with_what_the_client_has_got() {
        let half = usize::try_from(ANSWER_WINDOW_BYTES / 2).unwrap();
        let mut flow = Flow::default();
        assert_eq!(flow.take(half - 4), Ok(None));
        let first = flow.take(half).unwrap().unwrap();
        assert_eq!(first, 2 * ANSWER_WINDOW_BYTES - 4);
        assert!(flow.take(8).is_ok());
        assert_eq!(flow.take(4), Err(Beyond));
        flow.grant(first);
        assert!(flow.take(4).is_ok());
    }
}
