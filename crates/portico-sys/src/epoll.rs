//! Readiness.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};

use crate::{Errno, Result};

/// How a descriptor is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Both directions and the peer's end, edge-triggered: for connections. One registration for the connection's
    /// life; an `EPOLLOUT` edge comes only after a send found no room, so it costs nothing.
    Connection,
    /// Readable, level-triggered: for timers.
    Readable,
    /// Readable, edge-triggered: for wake-ups whose descriptor is never read.
    Wake,
    /// Readable, level-triggered, and only some of the waiters of a descriptor that several watch are woken.
    Listener,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        use epoll::EventFlags as Flags;
        match self {
            Self::Connection => Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET,
            Self::Readable => Flags::IN,
            Self::Wake => Flags::IN | Flags::ET,
            Self::Listener => Flags::IN | Flags::EXCLUSIVE,
        }
    }
}

/// What has become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The number given with [`Epoll::add`].
    pub token: u64,
    /// There is something to read, or the peer has ended, or there is an error to fetch.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The peer has ended its side, or the connection is broken: read to the end.
    pub hang_up: bool,
    /// There is an error to fetch: the connection is broken, whether or not what came before has been read.
    pub failed: bool,
}

/// Room for the result of [`Epoll::wait`].
pub struct ReadyList {
    events: Box<[MaybeUninit<epoll::Event>]>,
}

impl ReadyList {
    /// Room for `capacity` events a call.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            events: Box::new_uninit_slice(capacity),
        }
    }

    /// Most events that one call returns.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.events.len()
    }
}

/// An epoll instance.
#[derive(Debug)]
pub struct Epoll {
    descriptor: OwnedFd,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE`, `ENOMEM`.
    pub fn new() -> Result<Self> {
        Ok(Self {
            descriptor: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        })
    }

    /// Watches a descriptor until it is closed or removed. `token` comes back in [`Ready`].
    ///
    /// # Errors
    /// `EEXIST`, `ENOMEM`, `ENOSPC`, `EPERM` (not pollable).
    pub fn add(&self, source: impl AsFd, token: u64, interest: Interest) -> Result<()> {
        epoll::add(
            &self.descriptor,
            source,
            epoll::EventData::new_u64(token),
            interest.flags(),
        )
    }

    /// Watches no longer.
    ///
    /// # Errors
    /// `ENOENT`.
    pub fn remove(&self, source: impl AsFd) -> Result<()> {
        epoll::delete(&self.descriptor, source)
    }

    /// Waits until something is ready or the timeout passes (`None`: for ever), and gives each to `each`.
    /// An interrupted wait counts as one without result. Returns the number of events.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait(
        &self,
        list: &mut ReadyList,
        timeout: Option<Duration>,
        mut each: impl FnMut(Ready),
    ) -> Result<usize> {
        use epoll::EventFlags as Flags;
        let timeout = timeout.map(|duration| Timespec {
            tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(duration.subsec_nanos()),
        });
        let ready = match epoll::wait(&self.descriptor, &mut list.events[..], timeout.as_ref()) {
            Ok((ready, _)) => ready,
            Err(Errno::INTR) => return Ok(0),
            Err(error) => return Err(error),
        };
        for event in ready.iter() {
            let flags = event.flags;
            each(Ready {
                token: event.data.u64(),
                readable: flags.intersects(Flags::IN | Flags::RDHUP | Flags::HUP | Flags::ERR),
                writable: flags.intersects(Flags::OUT | Flags::HUP | Flags::ERR),
                hang_up: flags.intersects(Flags::RDHUP | Flags::HUP | Flags::ERR),
                failed: flags.contains(Flags::ERR),
            });
        }
        Ok(ready.len())
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
