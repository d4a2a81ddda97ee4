//! A wake-up between threads as a descriptor. Between processes: [`crate::Bell`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

use crate::Result;

/// An eventfd: readable from [`Wake::wake`] until [`Wake::clear`]. No other process may get a copy: it could make ours
/// wait.
#[derive(Debug)]
pub struct Wake {
    descriptor: OwnedFd,
}

impl Wake {
    /// One that is not set.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`, `ENOMEM`.
    pub fn new() -> Result<Self> {
        Ok(Self {
            descriptor: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        })
    }

    /// Makes the descriptor readable.
    pub fn wake(&self) {
        // EAGAIN means that the counter is full, so the descriptor is readable already.
        let _ = rustix::io::write(&self.descriptor, &1u64.to_ne_bytes());
    }

    /// Takes the wake-ups back.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&self.descriptor, &mut count);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
