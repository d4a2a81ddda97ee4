//! One epoll, its listeners, connections and timers, driven by one thread.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

use portico_channel::EventWriter;

use crate::{Counters, ListenerOptions};

/// Number of a listener of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub u32);

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnOutcome {
    /// Nothing is left: wait until the descriptor is readable.
    Idle,
    /// There may be more work: call again soon.
    More,
    /// Call again with at least so many free bytes.
    NeedSpace(usize),
}

/// Why commands were refused. What came before the named record has been applied, nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// The bytes at this offset are not a record, or its payload lies outside of it.
    Malformed {
        /// Byte offset of the record in the submission.
        offset: usize,
    },
    /// The record's kind is not known.
    UnknownKind {
        /// Byte offset of the record in the submission.
        offset: usize,
        /// The kind.
        kind: u32,
    },
    /// A value of the record is out of its range.
    OutOfRange {
        /// Byte offset of the record in the submission.
        offset: usize,
        /// Index of the word.
        word: usize,
    },
}

/// One epoll, its listeners, connections and timers. Driven by one thread.
#[derive(Debug)]
pub struct Shard {}

impl Shard {
    /// A shard without listeners.
    ///
    /// # Errors
    /// Those of epoll_create(2) and timerfd_create(2).
    pub fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    /// The epoll descriptor: readable when [`Shard::turn`] has work; deadlines included.
    #[must_use]
    pub fn poll_fd(&self) -> RawFd {
        -1
    }

    /// Handles what is ready and writes event records. Waits at most `timeout` (`None`: not at all).
    pub fn turn(&mut self, timeout: Option<Duration>, events: &mut EventWriter<'_>) -> TurnOutcome {
        let _ = (timeout, events);
        TurnOutcome::Idle
    }

    /// Applies the application's commands; `external` is the body of the record flagged `EXTERNAL`. Output is sent at
    /// the end, one send for each connection that has some.
    ///
    /// # Errors
    /// [`CommandError`] names the first bad record.
    pub fn apply(&mut self, commands: &[u8], external: Option<&[u8]>) -> Result<(), CommandError> {
        let _ = (commands, external);
        Ok(())
    }

    /// Whether events wait that arose outside of [`Shard::turn`] (`CLOSED` after `DESTROY`, `FLUSHED`, ...). The
    /// descriptor doesn't show them: call `turn` again before waiting for it.
    #[must_use]
    pub fn has_pending_events(&self) -> bool {
        false
    }

    /// Listens on a bound socket and accepts. The shard owns the descriptor.
    ///
    /// # Errors
    /// Those of listen(2).
    pub fn listen(
        &mut self,
        fd: OwnedFd,
        backlog: i32,
        options: ListenerOptions,
    ) -> io::Result<ListenerId> {
        let _ = (fd, backlog, options);
        Ok(ListenerId(0))
    }

    /// A listener without a socket: connections come by [`Shard::adopt`].
    pub fn create_listener(&mut self, options: ListenerOptions) -> ListenerId {
        let _ = options;
        ListenerId(0)
    }

    /// Takes a connected socket as a new connection of the listener.
    ///
    /// # Errors
    /// `EINVAL` if there is no such listener; those of epoll_ctl(2).
    pub fn adopt(&mut self, listener: ListenerId, fd: OwnedFd) -> io::Result<()> {
        let _ = (listener, fd);
        Ok(())
    }

    /// Changes settings, for existing connections too.
    pub fn update_listener(&mut self, listener: ListenerId, options: ListenerOptions) {
        let _ = (listener, options);
    }

    /// Stops accepting. Its connections live on.
    pub fn close_listener(&mut self, listener: ListenerId) {
        let _ = listener;
    }

    /// Open connections of a listener.
    #[must_use]
    pub fn connection_count(&self, listener: ListenerId) -> usize {
        let _ = listener;
        0
    }

    /// Counters since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Whether a connection counts in [`Shard::referenced_connections`]. It does from the start.
    pub fn set_connection_ref(&mut self, token: u32, referenced: bool) {
        let _ = (token, referenced);
    }

    /// Connections that should keep the application's process alive.
    #[must_use]
    pub fn referenced_connections(&self) -> usize {
        0
    }
}
