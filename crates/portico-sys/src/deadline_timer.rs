//! One deadline as a descriptor: readable when it has passed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::Result;

/// A timerfd on the monotonic clock, armed for one absolute time.
#[derive(Debug)]
pub struct DeadlineTimer {
    descriptor: OwnedFd,
}

impl DeadlineTimer {
    /// A timer that is not armed.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`, `ENOMEM`.
    pub fn new() -> Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self {
            descriptor: timerfd_create(TimerfdClockId::Monotonic, flags)?,
        })
    }

    /// Fires at `deadline_ms` of the monotonic clock; a time that has passed fires at once. Arming anew takes back
    /// an earlier expiry.
    ///
    /// # Errors
    /// None in practice.
    pub fn arm(&self, deadline_ms: u64) -> Result<()> {
        // Zero would disarm.
        let deadline_ms = deadline_ms.max(1);
        let it_value = Timespec {
            tv_sec: i64::try_from(deadline_ms / 1000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(deadline_ms % 1000).unwrap_or(0) * 1_000_000,
        };
        let it_interval = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let value = Itimerspec {
            it_interval,
            it_value,
        };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::ABSTIME, &value)?;
        Ok(())
    }

    /// Takes back the expiry, so that the descriptor is no longer readable.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // Nothing to do about an error: EAGAIN means that it had not expired.
        let _ = rustix::io::read(&self.descriptor, &mut count);
    }
}

impl AsFd for DeadlineTimer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
