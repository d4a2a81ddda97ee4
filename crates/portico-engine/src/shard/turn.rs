//! A turn: what is ready, what has expired, what was left over; and the sends at its end.

use std::time::Duration;

use portico_channel::layout::timeout_kind;

use super::Shard;
use crate::TurnOutcome;
use crate::agenda::PendingEvent;
use crate::core::Core;
use crate::limits::READY_PER_TURN;
use crate::offer::Turn;
use crate::stop::Stop;
use crate::timers::{Key, LISTENER_KEY, SESSION_KEY, WAITING_KEY};
use crate::transport::{Expired, millis};

/// Epoll token of the timers' descriptor. Tokens below 2^32 are connections.
pub(super) const TIMER: u64 = 1 << 33;
/// Epoll tokens and timer keys of listeners: this and the listener's number.
pub(super) const LISTENER: u64 = LISTENER_KEY;
/// Epoll tokens of wake-ups: this and a number, 0 where there is nothing to do but to return.
pub(super) const WAKE: u64 = 1 << 35;
/// Epoll tokens and timer keys of lingering sockets: this and the index.
pub(super) const LINGERING: u64 = 1 << 34;

impl Shard {
    /// One turn. The error is the number of bytes that an event lacks.
    pub(super) fn run_turn(
        &mut self,
        timeout: Option<Duration>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<TurnOutcome, usize> {
        self.core.clock.update();
        if self.core.agenda.has_cancelled() {
            self.tell_cancelled(turn);
        }
        self.write_pending(turn.events)?;
        let mut full = false;
        if !self.starved {
            self.watch_new();
            let idle = !self.has_work() && turn.events.is_empty();
            let wait = if idle {
                timeout.unwrap_or(Duration::ZERO)
            } else {
                Duration::ZERO
            };
            full = self.gather_ready(wait);
            self.write_pending(turn.events)?;
        }
        let result = self.drive_work(turn);
        self.make_own_requests(turn);
        self.flush(self.answers_follow);
        result?;
        self.write_pending(turn.events)?;
        Ok(if full || self.has_work() {
            TurnOutcome::More
        } else {
            TurnOutcome::Idle
        })
    }

    /// Asks the kernel. Returns whether there may be more than was asked for.
    fn gather_ready(&mut self, wait: Duration) -> bool {
        let Self {
            core,
            connections,
            ready,
            others,
            ..
        } = self;
        let Core { epoll, agenda, .. } = core;
        let count = epoll.wait(ready, Some(wait), |ready| {
            let Ok(token) = u32::try_from(ready.token) else {
                others.push(ready.token);
                return;
            };
            if let Some(connection) = connections.find(token) {
                connection.transport.note_ready(ready);
                connection.transport.schedule_in(agenda);
            }
        });
        if !wait.is_zero() {
            core.clock.update();
        }
        let mut others = std::mem::take(&mut self.others);
        for token in others.drain(..) {
            self.handle_other(token);
        }
        self.others = others;
        count.is_ok_and(|count| count == READY_PER_TURN)
    }

    /// Waits, notes what is ready and sends where there is room, but reads nothing: for a time without event memory.
    pub(crate) fn wait_only(&mut self, timeout: Duration) {
        self.watch_new();
        // What a turn's bound left unsent does not become ready again.
        let wait = if self.mark_sendable() {
            Duration::ZERO
        } else {
            timeout
        };
        self.gather_ready(wait);
        self.mark_sendable();
        self.flush_unsent();
    }

    /// Has what is queued on connections with work sent next. Returns whether there is anything.
    fn mark_sendable(&mut self) -> bool {
        let Self {
            core, connections, ..
        } = self;
        for index in 0..core.agenda.work_len() {
            if let Some(token) = core.agenda.work_at(index)
                && let Some(connection) = connections.find(token)
            {
                connection.transport.flush_if_possible(core);
            }
        }
        core.agenda.has_unsent()
    }

    /// Readiness of what is not a connection.
    fn handle_other(&mut self, token: u64) {
        if token == TIMER {
            self.handle_expired();
        } else if token & LINGERING != 0 {
            let mut buffer = std::mem::take(&mut self.core.receive);
            self.lingering.drain(index_of(token), &mut buffer);
            self.core.receive = buffer;
        } else if token & LISTENER != 0 {
            self.accept(number_of(token));
        } else if token & WAKE != 0 && number_of(token) != 0 {
            self.rung.push(number_of(token));
        }
    }

    /// Drives each connection on the list of work once.
    fn drive_work(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), usize> {
        for _ in 0..self.core.agenda.work_len() {
            let Some(token) = self.core.agenda.take_work() else {
                break;
            };
            let Some(connection) = self.connections.find(token) else {
                continue;
            };
            connection.transport.unschedule();
            let driven = connection.drive(&mut self.core, turn);
            if !turn.filters.is_empty() {
                connection.filter_answers(&mut turn.filters);
            }
            connection.drop_filters_of_gone();
            match driven {
                Ok(false) => {}
                Ok(true) => connection.transport.schedule(&mut self.core),
                Err(Stop::NeedSpace(bytes)) => {
                    connection.transport.schedule_first(&mut self.core);
                    return Err(bytes);
                }
                Err(stop) => self.end_connection(token, stop),
            }
        }
        Ok(())
    }

    pub(super) fn handle_expired(&mut self) {
        self.core.clock.update();
        let now_ms = self.core.clock.now_ms();
        while let Some((deadline_ms, key)) = self.core.timers.expired(now_ms) {
            self.handle_deadline(deadline_ms, key);
        }
        self.core.timers.rearm();
    }

    fn handle_deadline(&mut self, deadline_ms: u64, key: Key) {
        if key == WAITING_KEY {
            self.check_waiting();
        } else if key & LINGERING != 0 {
            let now_ms = self.core.clock.now_ms();
            if let Some(next_ms) = self.lingering.expire(index_of(key), now_ms) {
                self.core.timers.enter(next_ms, key);
            }
        } else if key & LISTENER != 0 {
            self.listener_deadline(number_of(key), deadline_ms);
        } else if key & SESSION_KEY != 0 {
            if let Some(connection) = self.connections.find(number_of(key)) {
                connection.session_deadline_passed(&mut self.core, deadline_ms);
            }
        } else if let Some(connection) = self.connections.find(number_of(key)) {
            let token = connection.transport.token();
            match connection
                .transport
                .deadline_passed(&mut self.core, deadline_ms)
            {
                Expired::Nothing => {}
                Expired::Tell(kind) => self.core.agenda.tell(PendingEvent::Timeout { token, kind }),
                Expired::TellUnreadEnd => self.core.agenda.tell(PendingEvent::UnreadEnd { token }),
                Expired::Close => self.end_connection(token, Stop::Close(0)),
            }
        }
    }

    /// Either the end of a pause in accepting, or the check of request timeouts.
    fn listener_deadline(&mut self, listener: u32, deadline_ms: u64) {
        let Some(entry) = self.core.listeners.find_mut(listener) else {
            return;
        };
        if entry.paused_until_ms != 0 && entry.paused_until_ms <= self.core.clock.now_ms() {
            entry.paused_until_ms = 0;
            self.resume_accepting(listener);
            return;
        }
        if entry.check_ms == deadline_ms {
            entry.check_ms = 0;
            self.check_requests(listener);
            self.enter_check(listener);
        }
        if self
            .core
            .listeners
            .find(listener)
            .is_some_and(|entry| entry.pace_ms == deadline_ms)
        {
            self.check_pace(listener);
            self.enter_pace_check(listener);
        }
    }

    /// Tells of every connection of a listener whose request takes too long.
    fn check_requests(&mut self, listener: u32) {
        let Some(entry) = self.core.listeners.find(listener) else {
            return;
        };
        let headers_ms = millis(entry.options.headers_timeout);
        let request_ms = millis(entry.options.request_timeout);
        let Self {
            core, connections, ..
        } = self;
        for connection in connections
            .iter_mut()
            .filter(|connection| connection.transport.listener() == listener)
        {
            if connection.is_request_late(core, headers_ms, request_ms) {
                let kind = timeout_kind::REQUEST;
                core.agenda.tell(PendingEvent::Timeout {
                    token: connection.transport.token(),
                    kind,
                });
            }
        }
    }

    /// Enters the next check of a listener's requests, if there is anything to check.
    pub(super) fn enter_check(&mut self, listener: u32) {
        let Some(entry) = self.core.listeners.find_mut(listener) else {
            return;
        };
        let interval = millis(entry.options.connections_checking_interval);
        let options = &entry.options;
        if interval == 0 || (options.headers_timeout.is_zero() && options.request_timeout.is_zero())
        {
            return;
        }
        let next_ms = self.core.clock.now_ms() + interval;
        // An entry from before a change of the interval is replaced only by an earlier one.
        if entry.connections() > 0 && (entry.check_ms == 0 || next_ms < entry.check_ms) {
            entry.check_ms = next_ms;
            self.core
                .timers
                .enter(next_ms, LISTENER | u64::from(listener));
        }
    }

    /// Enters the deadlines of a listener's connections after its settings have changed.
    pub(super) fn enter_deadlines_of(&mut self, listener: u32) {
        let Self {
            core, connections, ..
        } = self;
        for connection in connections
            .iter_mut()
            .filter(|connection| connection.transport.listener() == listener)
        {
            connection.transport.enter_deadline(core);
        }
    }
}

fn number_of(key: u64) -> u32 {
    u32::try_from(key & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

fn index_of(key: u64) -> usize {
    usize::try_from(key & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unread_ends;
