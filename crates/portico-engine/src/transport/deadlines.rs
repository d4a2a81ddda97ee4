//! The timers of a connection, in one table: times by which something must have happened.
//!
//! | timer | armed | fires | what it does |
//! |---|---|---|---|
//! | `Close` | the peer broke the protocol, or our side has ended | [`CLIENT_ERROR_MS`] later, counted anew from each byte that moves | the connection closes |
//! | `Handshake` | a TLS connection is accepted | after `handshake_timeout`, unless the handshake is complete | `TIMEOUT`, `HANDSHAKE` |
//! | `KeepAlive` | every request is answered | after `keep_alive_timeout` and its buffer without a byte, unless a request's head is there | `TIMEOUT`, `KEEP_ALIVE`; of a connection that the application never heard of: closes |
//! | `UnreadEnd` | the peer has ended its side behind requests that are not read for now | after [`UNREAD_END_MS`] without a byte | `PEER_END`, `UNREAD`, if that is still so |
//! | `Inactivity` | always, if `timeout` or `SET_TIMEOUT` asks for it | after so long without a byte | `TIMEOUT`, `INACTIVE`, once until bytes move again |
//!
//! They stand in the order in which they are looked at. Times are milliseconds of the monotonic clock; 0 means none.
//!
//! Other times of a connection are no timers of its own: `headers_timeout`, `request_timeout` (`H1::is_request_late`)
//! and `min_bytes_per_second` ([`crate::pace`]) are checked in intervals for all connections of a listener, as in Node;
//! a socket that [lingers](super::lingering) has its time there.

use crate::limits::{CLIENT_ERROR_MS, UNREAD_END_MS};

/// A timer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    Close,
    Handshake,
    KeepAlive,
    UnreadEnd,
    Inactivity,
}

impl Timer {
    const ALL: [Self; 5] = [
        Self::Close,
        Self::Handshake,
        Self::KeepAlive,
        Self::UnreadEnd,
        Self::Inactivity,
    ];
}

/// What the timers depend on besides their own state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// The inactivity timeout of the listener, 0: none.
    pub(super) listener_inactivity_ms: u64,
    /// Whether the last answers are still on their way.
    pub(super) has_output: bool,
}

/// The timers' state.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// Earliest entry in the shard's timers, 0: none.
    entered_ms: u64,
    /// When the connection is closed.
    close_ms: u64,
    /// When the TLS handshake must be complete.
    handshake_ms: u64,
    /// From when on the connection has waited for its next request, 0: it does not. What moves later counts anew.
    idle_from_ms: u64,
    /// How long it may wait.
    idle_wait_ms: u32,
    /// Since when the peer's end is known and can't be read, 0: it isn't so. What moves later counts anew.
    unread_end_from_ms: u64,
    /// `SET_TIMEOUT`; `None`: the listener's.
    inactivity_ms: Option<u32>,
    /// Whether inactivity has been told since bytes moved last.
    inactivity_told: bool,
    /// Last time bytes moved.
    active_ms: u64,
}

impl Deadlines {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            entered_ms: 0,
            close_ms: 0,
            handshake_ms: 0,
            idle_from_ms: 0,
            idle_wait_ms: 0,
            unread_end_from_ms: 0,
            inactivity_ms: None,
            inactivity_told: false,
            active_ms: now_ms,
        }
    }

    /// When a timer fires, as things stand; `None`: it does not.
    #[inline]
    fn at(&self, timer: Timer, situation: Situation) -> Option<u64> {
        // Until the handshake is complete, its own deadline holds.
        let is_handshaking = self.handshake_ms != 0;
        let is_idle = self.idle_from_ms != 0;
        match timer {
            Timer::Close => (self.close_ms != 0).then_some(self.close_ms),
            Timer::Handshake => is_handshaking.then_some(self.handshake_ms),
            Timer::KeepAlive => (is_idle && !is_handshaking)
                .then(|| self.idle_from_ms.max(self.active_ms) + u64::from(self.idle_wait_ms)),
            Timer::UnreadEnd => (self.unread_end_from_ms != 0)
                .then(|| self.unread_end_from_ms.max(self.active_ms) + UNREAD_END_MS),
            // As in Node, the keep-alive timeout takes its place while a connection is idle.
            Timer::Inactivity if is_handshaking || is_idle && !situation.has_output => None,
            Timer::Inactivity => {
                let listener_ms = situation.listener_inactivity_ms;
                let inactivity_ms = self.inactivity_ms.map_or(listener_ms, u64::from);
                (inactivity_ms != 0 && !self.inactivity_told)
                    .then(|| self.active_ms + inactivity_ms)
            }
        }
    }

    /// The earliest deadline, if the shard's timers have no entry that is as early. There is one now.
    #[inline]
    pub(super) fn enter(&mut self, situation: Situation) -> Option<u64> {
        let deadline_ms = Timer::ALL
            .into_iter()
            .filter_map(|timer| self.at(timer, situation))
            .min()?;
        if self.entered_ms != 0 && self.entered_ms <= deadline_ms {
            return None;
        }
        self.entered_ms = deadline_ms;
        Some(deadline_ms)
    }

    /// Takes the entry whose time has come. `false`: an earlier one has replaced it.
    pub(super) fn take_entry(&mut self, entry_ms: u64) -> bool {
        if entry_ms != self.entered_ms {
            return false;
        }
        self.entered_ms = 0;
        true
    }

    /// The timer that has expired, the first of the table; it will not fire again by itself.
    pub(super) fn expire(&mut self, now_ms: u64, situation: Situation) -> Option<Timer> {
        for timer in Timer::ALL {
            if self
                .at(timer, situation)
                .is_none_or(|deadline_ms| deadline_ms > now_ms)
            {
                continue;
            }
            match timer {
                // A peer that still takes what it was sent before, or sends what is still wanted, is not cut off.
                Timer::Close if self.active_ms + CLIENT_ERROR_MS > now_ms => {
                    self.close_ms = self.active_ms + CLIENT_ERROR_MS;
                    continue;
                }
                Timer::Close => {}
                Timer::Handshake => self.handshake_ms = 0,
                // The last answer is on its way to a peer that reads slowly: its time begins when that is out.
                Timer::KeepAlive if situation.has_output => {
                    self.idle_from_ms = now_ms;
                    continue;
                }
                Timer::KeepAlive => {
                    self.idle_from_ms = 0;
                    self.inactivity_told = true;
                }
                Timer::UnreadEnd => self.unread_end_from_ms = 0,
                Timer::Inactivity => self.inactivity_told = true,
            }
            return Some(timer);
        }
        None
    }

    /// Bytes have moved. Returns whether the inactivity timer has to be entered anew.
    #[inline]
    pub(super) fn touch(&mut self, now_ms: u64) -> bool {
        self.active_ms = now_ms;
        std::mem::take(&mut self.inactivity_told)
    }

    /// Arms `Close`.
    pub(super) fn arm_close(&mut self, now_ms: u64) {
        self.close_ms = now_ms + CLIENT_ERROR_MS;
    }

    /// Arms `Handshake`; 0 disarms it.
    pub(super) fn set_handshake(&mut self, deadline_ms: u64) {
        self.handshake_ms = deadline_ms;
    }

    /// Arms `KeepAlive`.
    #[inline]
    pub(super) fn arm_keep_alive(&mut self, now_ms: u64, wait_ms: u32) {
        self.idle_from_ms = now_ms;
        self.idle_wait_ms = wait_ms;
    }

    /// Disarms `KeepAlive`.
    #[inline]
    pub(super) fn disarm_keep_alive(&mut self) {
        self.idle_from_ms = 0;
    }

    /// Arms `UnreadEnd`. False: it is.
    pub(super) fn arm_unread_end(&mut self, now_ms: u64) -> bool {
        let is_new = self.unread_end_from_ms == 0;
        if is_new {
            self.unread_end_from_ms = now_ms;
        }
        is_new
    }

    /// Arms `Inactivity` with a time of the connection's own; 0 disarms it.
    pub(super) fn arm_inactivity(&mut self, now_ms: u64, inactivity_ms: u32) {
        self.inactivity_ms = Some(inactivity_ms);
        self.inactivity_told = false;
        self.active_ms = now_ms;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const QUIET: Situation = Situation {
        listener_inactivity_ms: 0,
        has_output: false,
    };
    const SENDING: Situation = Situation {
        has_output: true,
        ..QUIET
    };

    #[test]
    fn a_close_waits_for_a_peer_that_still_takes_what_it_was_sent() {
        let mut deadlines = Deadlines::new(0);
        deadlines.arm_close(0);
        deadlines.touch(50_000);
        assert_eq!(deadlines.expire(CLIENT_ERROR_MS, SENDING), None);
        // It has taken nothing more.
        let later_ms = 50_000 + CLIENT_ERROR_MS;
        assert_eq!(deadlines.enter(SENDING), Some(later_ms));
        assert_eq!(deadlines.expire(later_ms - 1, SENDING), None);
        assert_eq!(deadlines.expire(later_ms, SENDING), Some(Timer::Close));
    }

    #[test]
    fn a_close_does_not_wait_for_a_peer_that_does_nothing() {
        let mut deadlines = Deadlines::new(0);
        deadlines.arm_close(0);
        assert_eq!(deadlines.expire(CLIENT_ERROR_MS, QUIET), Some(Timer::Close));
    }

    #[test]
    fn the_time_of_an_idle_connection_begins_when_the_last_answer_is_out() {
        let mut deadlines = Deadlines::new(0);
        deadlines.arm_keep_alive(1, 1000);
        assert_eq!(deadlines.expire(1001, SENDING), None);
        deadlines.touch(1500);
        assert_eq!(deadlines.expire(2499, QUIET), None);
        assert_eq!(deadlines.expire(2500, QUIET), Some(Timer::KeepAlive));
        assert_eq!(deadlines.expire(9999, QUIET), None);
    }

    #[test]
    fn an_idle_connection_is_not_inactive_unless_its_answer_is_on_its_way() {
        let mut deadlines = Deadlines::new(0);
        deadlines.arm_inactivity(0, 500);
        deadlines.arm_keep_alive(1, 1000);
        assert_eq!(deadlines.enter(QUIET), Some(1001));
        assert_eq!(deadlines.expire(500, QUIET), None);
        assert_eq!(deadlines.expire(500, SENDING), Some(Timer::Inactivity));
        // Once, until bytes move again.
        assert_eq!(deadlines.expire(900, SENDING), None);
        assert!(deadlines.touch(900));
        assert_eq!(deadlines.expire(1400, SENDING), Some(Timer::Inactivity));
    }

    #[test]
    fn an_end_that_cannot_be_read_is_told_when_nothing_has_moved_for_a_time() {
        let mut deadlines = Deadlines::new(0);
        assert!(deadlines.arm_unread_end(1000) && !deadlines.arm_unread_end(2000));
        assert_eq!(deadlines.enter(QUIET), Some(1000 + UNREAD_END_MS));
        deadlines.touch(3000);
        assert_eq!(deadlines.expire(2999 + UNREAD_END_MS, QUIET), None);
        let due_ms = 3000 + UNREAD_END_MS;
        assert_eq!(deadlines.expire(due_ms, QUIET), Some(Timer::UnreadEnd));
        assert_eq!(
            deadlines.expire(2 * due_ms, QUIET),
            None,
            "until it is armed again"
        );
    }

    #[test]
    fn while_a_handshake_lasts_its_timer_and_that_of_the_close_count() {
        let mut deadlines = Deadlines::new(0);
        deadlines.arm_inactivity(0, 500);
        deadlines.set_handshake(3000);
        assert_eq!(deadlines.enter(QUIET), Some(3000));
        // There is an entry that is as early.
        assert_eq!(deadlines.enter(QUIET), None);
        assert!(!deadlines.take_entry(2000) && deadlines.take_entry(3000));
        assert_eq!(deadlines.expire(3000, QUIET), Some(Timer::Handshake));
        assert_eq!(deadlines.expire(3000, QUIET), Some(Timer::Inactivity));
    }
}
