//! Deadlines of a shard.
//!
//! A connection has at most one live entry here. Deadlines mostly move later (each request pushes the keep-alive
//! deadline back), and then nothing is done: when the entry's time comes, its owner looks at what its deadline really
//! is and enters that. So a request costs no work in the heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::BorrowedFd;

use portico_sys::DeadlineTimer;

/// Who an entry belongs to: a connection's token, or a listener with [`LISTENER_KEY`].
pub(crate) type Key = u64;

/// Marks a listener's number in a key.
pub(crate) const LISTENER_KEY: Key = 1 << 32;
/// The look at requests that wait for their responder.
pub(crate) const WAITING_KEY: Key = 1 << 36;

/// Marks the token of a connection whose session has a deadline (HTTP/2). It is an entry of its own, so that other
/// connections pay nothing for it.
pub(crate) const SESSION_KEY: Key = 1 << 37;

/// Deadlines in order, with the descriptor that becomes readable for the first.
#[derive(Debug)]
pub(crate) struct Timers {
    entries: BinaryHeap<Reverse<(u64, Key)>>,
    timer: DeadlineTimer,
    /// What the descriptor is armed for; `u64::MAX`: not armed.
    armed_ms: u64,
}

impl Timers {
    pub(crate) fn new() -> portico_sys::Result<Self> {
        Ok(Self {
            entries: BinaryHeap::new(),
            timer: DeadlineTimer::new()?,
            armed_ms: u64::MAX,
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.timer.as_fd()
    }

    /// Enters a deadline. The descriptor is armed anew only if this is the earliest.
    pub(crate) fn enter(&mut self, deadline_ms: u64, key: Key) {
        self.entries.push(Reverse((deadline_ms, key)));
        self.arm(deadline_ms);
    }

    /// Takes an entry whose time has come.
    pub(crate) fn expired(&mut self, now_ms: u64) -> Option<(u64, Key)> {
        let &Reverse((deadline_ms, _)) = self.entries.peek()?;
        if deadline_ms > now_ms {
            return None;
        }
        self.entries.pop().map(|Reverse(entry)| entry)
    }

    /// To be called when the descriptor was readable and the expired entries have been taken.
    pub(crate) fn rearm(&mut self) {
        self.timer.clear();
        self.armed_ms = u64::MAX;
        if let Some(&Reverse((deadline_ms, _))) = self.entries.peek() {
            self.arm(deadline_ms);
        }
    }

    fn arm(&mut self, deadline_ms: u64) {
        if deadline_ms < self.armed_ms && self.timer.arm(deadline_ms).is_ok() {
            self.armed_ms = deadline_ms;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_order_and_not_before_their_time() {
        let mut timers = Timers::new().unwrap();
        for (deadline, key) in [(30, 3), (10, 1), (20, 2)] {
            timers.enter(deadline, key);
        }
        assert_eq!(timers.expired(9), None);
        assert_eq!(timers.expired(25), Some((10, 1)));
        assert_eq!(timers.expired(25), Some((20, 2)));
        assert_eq!(timers.expired(25), None);
        timers.rearm();
        assert_eq!(timers.armed_ms, 30);
    }
}
