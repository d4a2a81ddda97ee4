//! Arms the timers of a connection, and says what has expired.

use portico_channel::layout::timeout_kind;

use super::Transport;
use super::deadlines::{Situation, Timer};
use crate::core::Core;

/// What has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing yet.
    Nothing,
    /// Tell the application ([`timeout_kind`]).
    Tell(u32),
    /// Tell the application of the peer's end, if it still can't be read.
    TellUnreadEnd,
    /// Close: the application has nothing to say about it.
    Close,
}

impl Transport {
    /// Bytes have moved.
    #[inline]
    pub(crate) fn touch(&mut self, core: &mut Core) {
        if self.deadlines.touch(core.clock.now_ms()) {
            self.enter_deadline(core);
        }
    }

    /// All requests are answered: the connection waits for the next one from now on, or from when the last byte of the
    /// answers has been handed to the kernel. As in Node, it may be reading a body that the application has no use for.
    #[inline]
    pub(crate) fn become_idle(&mut self, core: &mut Core) {
        let Some(listener) = core.listeners.find(self.listener) else {
            return;
        };
        let keep_alive = listener.options.keep_alive_timeout;
        if !keep_alive.is_zero() {
            let wait = keep_alive + listener.options.keep_alive_timeout_buffer;
            let wait_ms = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
            self.deadlines.arm_keep_alive(core.clock.now_ms(), wait_ms);
            self.enter_deadline(core);
        }
    }

    /// A request's head is there. As in Node, one that is still coming has the connection idle, each byte anew.
    #[inline]
    pub(crate) fn become_busy(&mut self) {
        self.deadlines.disarm_keep_alive();
    }

    /// Closes the connection when the peer has moved nothing for a time.
    pub(crate) fn arm_close(&mut self, core: &mut Core) {
        self.deadlines.arm_close(core.clock.now_ms());
        self.enter_deadline(core);
    }

    /// The peer has ended its side, and what it sent before waits for answers: gives these a time.
    pub(crate) fn arm_unread_end(&mut self, core: &mut Core) {
        if self.deadlines.arm_unread_end(core.clock.now_ms()) {
            self.enter_deadline(core);
        }
    }

    /// The connection has been accepted: arms what holds from then on.
    pub(crate) fn arm_first(&mut self, core: &mut Core) {
        let timeout = core
            .listeners
            .find(self.listener)
            .map_or(0, |listener| millis(listener.options.handshake_timeout));
        if self.is_handshaking() && timeout != 0 {
            self.deadlines.set_handshake(core.clock.now_ms() + timeout);
        }
        self.enter_deadline(core);
    }

    /// The TLS handshake is complete.
    pub(super) fn handshake_done(&mut self, core: &mut Core) {
        self.deadlines.set_handshake(0);
        self.enter_deadline(core);
    }

    /// `SET_TIMEOUT`.
    pub(crate) fn set_inactivity(&mut self, core: &mut Core, inactivity_ms: u32) {
        self.deadlines
            .arm_inactivity(core.clock.now_ms(), inactivity_ms);
        self.enter_deadline(core);
    }

    /// Makes sure that there is an entry in the timers for the earliest deadline.
    pub(crate) fn enter_deadline(&mut self, core: &mut Core) {
        let situation = self.situation(core);
        if let Some(deadline_ms) = self.deadlines.enter(situation) {
            core.timers.enter(deadline_ms, u64::from(self.token));
        }
    }

    /// An entry's time has come: says what has expired, and enters the next deadline.
    pub(crate) fn deadline_passed(&mut self, core: &mut Core, entry_ms: u64) -> Expired {
        if !self.deadlines.take_entry(entry_ms) {
            return Expired::Nothing;
        }
        let situation = self.situation(core);
        let expired = match self.deadlines.expire(core.clock.now_ms(), situation) {
            None => Expired::Nothing,
            Some(Timer::Close) => return Expired::Close,
            Some(Timer::KeepAlive) if !self.announced => return Expired::Close,
            Some(Timer::KeepAlive) => Expired::Tell(timeout_kind::KEEP_ALIVE),
            Some(Timer::Handshake) => Expired::Tell(timeout_kind::HANDSHAKE),
            Some(Timer::UnreadEnd) => Expired::TellUnreadEnd,
            Some(Timer::Inactivity) => Expired::Tell(timeout_kind::INACTIVE),
        };
        self.enter_deadline(core);
        expired
    }

    #[inline]
    fn situation(&self, core: &Core) -> Situation {
        Situation {
            listener_inactivity_ms: core
                .listeners
                .find(self.listener)
                .map_or(0, |listener| millis(listener.options.timeout)),
            has_output: self.queued() > 0,
        }
    }
}

/// Whole milliseconds of a setting, rounded down.
pub(crate) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 4)
        .min(u64::MAX / 4)
}
