//! Times by which something must have happened on a connection.
//!
//! Times are milliseconds of the monotonic clock; 0 means none. Head and request timeouts are not here: as in Node they
//! are looked at in intervals for all connections of a listener.

use portico_channel::layout::timeout_kind;

use super::Connection;
use crate::core::Core;
use crate::limits::CLIENT_ERROR_MS;

/// Deadlines of one connection.
#[derive(Debug)]
pub(crate) struct Deadlines {
    /// Earliest entry in the shard's timers, 0: none.
    entered_ms: u64,
    /// From when on the connection has waited for its next request, 0: it does not. What moves later counts anew.
    idle_from_ms: u64,
    /// How long it may wait.
    idle_wait_ms: u32,
    /// When the TLS handshake must be complete.
    handshake_ms: u64,
    /// When the connection is closed whatever happens.
    guard_ms: u64,
    /// Last time bytes moved.
    active_ms: u64,
    /// `SET_TIMEOUT`; `None`: the listener's.
    inactivity_ms: Option<u32>,
    /// Whether inactivity has been told since bytes moved last.
    inactivity_told: bool,
}

/// What has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing yet.
    Nothing,
    /// Tell the application ([`timeout_kind`]).
    Tell(u32),
    /// Close: the application has nothing to say about it.
    Close,
}

impl Deadlines {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            entered_ms: 0,
            idle_from_ms: 0,
            idle_wait_ms: 0,
            handshake_ms: 0,
            guard_ms: 0,
            active_ms: now_ms,
            inactivity_ms: None,
            inactivity_told: false,
        }
    }

    /// When an idle connection is given up.
    fn idle_deadline(&self) -> Option<u64> {
        let from = self.idle_from_ms.max(self.active_ms);
        (self.idle_from_ms != 0).then(|| from + u64::from(self.idle_wait_ms))
    }

    /// The earliest deadline. `has_output`: the last answers are still on their way.
    fn next(&self, listener_inactivity_ms: u64, has_output: bool) -> Option<u64> {
        let guard = (self.guard_ms != 0).then_some(self.guard_ms);
        if self.handshake_ms != 0 {
            return earlier(Some(self.handshake_ms), guard);
        }
        let inactivity_ms = self.inactivity_ms.map_or(listener_inactivity_ms, u64::from);
        let inactivity =
            (inactivity_ms != 0 && !self.inactivity_told).then(|| self.active_ms + inactivity_ms);
        // As in Node, the keep-alive timeout takes the place of the inactivity timeout while a connection is idle.
        let waiting = match self.idle_deadline() {
            Some(idle) if has_output => earlier(Some(idle), inactivity),
            Some(idle) => Some(idle),
            None => inactivity,
        };
        earlier(waiting, guard)
    }
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Connection {
    /// Bytes have moved.
    #[inline]
    pub(super) fn touch(&mut self, core: &mut Core) {
        self.deadlines.active_ms = core.clock.now_ms();
        if self.deadlines.inactivity_told {
            self.deadlines.inactivity_told = false;
            self.enter_deadline(core);
        }
    }

    /// All requests are answered: the connection waits for the next one from now on, or from when the last byte of the
    /// answers has been handed to the kernel. As in Node, it may be reading a body of which nobody wants more.
    #[inline]
    pub(super) fn become_idle(&mut self, core: &mut Core) {
        // A connection that was taken over has no requests to wait for.
        if !self.is_http() {
            return;
        }
        let Some(listener) = core.listeners.find(self.listener) else {
            return;
        };
        let keep_alive = listener.options.keep_alive_timeout;
        if !keep_alive.is_zero() {
            let wait = keep_alive + listener.options.keep_alive_timeout_buffer;
            self.deadlines.idle_from_ms = core.clock.now_ms();
            self.deadlines.idle_wait_ms = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
            self.enter_deadline(core);
        }
    }

    /// A request's head is there. As in Node, one that is still coming has the connection idle, each byte anew.
    #[inline]
    pub(super) fn become_busy(&mut self) {
        self.deadlines.idle_from_ms = 0;
    }

    /// Closes the connection after so many milliseconds, whatever happens.
    pub(super) fn guard(&mut self, core: &mut Core, after_ms: u64) {
        self.deadlines.guard_ms = core.clock.now_ms() + after_ms;
        self.enter_deadline(core);
    }

    /// Starts the time for the TLS handshake.
    pub(crate) fn begin_handshake(&mut self, core: &mut Core) {
        if !self.is_handshaking() {
            return;
        }
        let timeout = core
            .listeners
            .find(self.listener)
            .map_or(0, |listener| millis(listener.options.handshake_timeout));
        if timeout != 0 {
            self.deadlines.handshake_ms = core.clock.now_ms() + timeout;
        }
    }

    /// The TLS handshake is complete.
    pub(super) fn handshake_done(&mut self, core: &mut Core) {
        self.deadlines.handshake_ms = 0;
        self.enter_deadline(core);
    }

    /// `SET_TIMEOUT`.
    pub(crate) fn set_inactivity(&mut self, core: &mut Core, inactivity_ms: u32) {
        self.deadlines.inactivity_ms = Some(inactivity_ms);
        self.deadlines.inactivity_told = false;
        self.deadlines.active_ms = core.clock.now_ms();
        self.enter_deadline(core);
    }

    /// Makes sure that there is an entry in the timers for the earliest deadline.
    pub(crate) fn enter_deadline(&mut self, core: &mut Core) {
        let inactivity = core
            .listeners
            .find(self.listener)
            .map_or(0, |listener| millis(listener.options.timeout));
        let Some(deadline) = self.deadlines.next(inactivity, self.has_output()) else {
            return;
        };
        if self.deadlines.entered_ms == 0 || deadline < self.deadlines.entered_ms {
            self.deadlines.entered_ms = deadline;
            core.timers.enter(deadline, u64::from(self.token));
        }
    }

    /// An entry's time has come: says what has expired, and enters the next deadline.
    pub(crate) fn deadline_passed(&mut self, core: &mut Core, entry_ms: u64) -> Expired {
        // An entry that an earlier one has replaced.
        if entry_ms != self.deadlines.entered_ms {
            return Expired::Nothing;
        }
        self.deadlines.entered_ms = 0;
        let now = core.clock.now_ms();
        let expired = if self.deadlines.guard_ms != 0 && self.deadlines.guard_ms <= now {
            self.guard_expired(now)
        } else if self.deadlines.handshake_ms != 0 {
            self.handshake_expired(now)
        } else if self.deadlines.idle_from_ms != 0 && !self.has_output() {
            self.idle_expired(now)
        } else {
            // The last answer is on its way to a peer that reads slowly: its time begins when that is out.
            if self.deadlines.idle_from_ms != 0 {
                self.deadlines.idle_from_ms = now;
            }
            self.inactivity_expired(core, now)
        };
        if expired != Expired::Close {
            self.enter_deadline(core);
        }
        expired
    }

    fn handshake_expired(&mut self, now: u64) -> Expired {
        if self.deadlines.handshake_ms > now {
            return Expired::Nothing;
        }
        self.deadlines.handshake_ms = 0;
        Expired::Tell(timeout_kind::HANDSHAKE)
    }

    /// A peer that still takes what it was sent before, or sends what is still wanted, is not cut off.
    fn guard_expired(&mut self, now: u64) -> Expired {
        let until = self.deadlines.active_ms + CLIENT_ERROR_MS;
        if until <= now {
            return Expired::Close;
        }
        self.deadlines.guard_ms = until;
        Expired::Nothing
    }

    fn idle_expired(&mut self, now: u64) -> Expired {
        if self
            .deadlines
            .idle_deadline()
            .is_some_and(|deadline| deadline > now)
        {
            return Expired::Nothing;
        }
        if !self.open_told {
            return Expired::Close;
        }
        self.deadlines.idle_from_ms = 0;
        self.deadlines.inactivity_told = true;
        Expired::Tell(timeout_kind::KEEP_ALIVE)
    }

    fn inactivity_expired(&mut self, core: &Core, now: u64) -> Expired {
        let listener = core
            .listeners
            .find(self.listener)
            .map_or(0, |listener| millis(listener.options.timeout));
        let inactivity = self.deadlines.inactivity_ms.map_or(listener, u64::from);
        if inactivity == 0
            || self.deadlines.inactivity_told
            || self.deadlines.active_ms + inactivity > now
        {
            return Expired::Nothing;
        }
        self.deadlines.inactivity_told = true;
        Expired::Tell(timeout_kind::INACTIVE)
    }

    /// Whether the head or the whole request has taken too long. Told once for a request.
    pub(crate) fn request_expired(
        &mut self,
        now_ms: u64,
        headers_ms: u64,
        request_ms: u64,
    ) -> bool {
        let started = self.input.message_started_ms;
        if started == 0 {
            return false;
        }
        let in_head = matches!(self.input.phase, super::input::Phase::Head);
        let late = |limit: u64| limit != 0 && started + limit <= now_ms;
        let expired = (in_head && late(headers_ms)) || late(request_ms);
        if expired {
            self.input.message_started_ms = 0;
        }
        expired
    }
}

/// Whole milliseconds of a setting, at least 1 unless it is zero.
pub(crate) fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis())
        .unwrap_or(u64::MAX / 4)
        .min(u64::MAX / 4)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::buffer_pool::BufferPool;

    fn connection() -> Connection {
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        Connection::new(socket.into(), 1, 0, portico_sys::Address::default(), 0)
    }

    #[test]
    fn the_guard_waits_for_a_peer_that_still_takes_what_it_was_sent() {
        let mut connection = connection();
        let mut pool = BufferPool::default();
        connection
            .output
            .buffer(&mut pool)
            .extend_from_slice(b"an earlier answer");
        connection.deadlines.guard_ms = CLIENT_ERROR_MS;
        connection.deadlines.active_ms = 50_000;
        assert_eq!(connection.guard_expired(CLIENT_ERROR_MS), Expired::Nothing);
        // It has taken nothing more.
        let later_ms = 50_000 + CLIENT_ERROR_MS;
        assert_eq!(connection.deadlines.guard_ms, later_ms);
        assert_eq!(connection.guard_expired(later_ms), Expired::Close);
    }

    #[test]
    fn the_guard_waits_for_nobody_who_does_nothing() {
        let mut connection = connection();
        assert_eq!(connection.guard_expired(CLIENT_ERROR_MS), Expired::Close);
    }
}
