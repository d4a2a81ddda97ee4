//! The two ends of a channel.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use super::memory::{Capacity, SharedMemory};
use super::open_error::OpenError;
use super::stream::{Direction, StreamReader, StreamWriter};
use crate::Sleeper;

/// The host's end: writes events, reads commands.
#[derive(Debug)]
pub struct HostEnd {
    /// Event records to the application.
    pub events: StreamWriter,
    /// Command records of the application.
    pub commands: StreamReader,
    memory: Arc<SharedMemory>,
}

/// The application's end: reads events, writes commands.
#[derive(Debug)]
pub struct ApplicationEnd {
    /// Event records of the host.
    pub events: StreamReader,
    /// Command records to the host.
    pub commands: StreamWriter,
    memory: Arc<SharedMemory>,
}

impl HostEnd {
    /// Makes a channel. Returns the descriptor of its memory, to be handed to the application.
    ///
    /// # Errors
    /// As [`SharedMemory::create`].
    pub fn create(capacity: Capacity) -> io::Result<(Self, OwnedFd)> {
        let (memory, fd) = SharedMemory::create(capacity)?;
        let memory = Arc::new(memory);
        let end = Self {
            events: StreamWriter::new(Arc::clone(&memory), Direction::Events),
            commands: StreamReader::new(Arc::clone(&memory), Direction::Commands),
            memory,
        };
        Ok((end, fd))
    }

    /// Whether the application sleeps.
    #[must_use]
    pub fn application(&self) -> &Sleeper {
        &self.memory.header().application.0
    }

    /// Whether this side sleeps.
    #[must_use]
    pub fn host(&self) -> &Sleeper {
        &self.memory.header().host.0
    }

    /// Whether this side waits for room among the events: the application wakes it.
    #[must_use]
    pub fn wants_room(&self) -> &Sleeper {
        &self.memory.header().host_wants_room.0
    }

    /// Whether the application waits for room among the commands: this side wakes it.
    #[must_use]
    pub fn application_wants_room(&self) -> &Sleeper {
        &self.memory.header().application_wants_room.0
    }
}

/// Both ends on one mapping: under the model checker the positions are objects, not memory.
///
/// # Errors
/// As [`HostEnd::create`].
#[cfg(loom)]
pub fn pair(capacity: Capacity) -> io::Result<(HostEnd, ApplicationEnd)> {
    let (host, _) = HostEnd::create(capacity)?;
    let memory = Arc::clone(&host.memory);
    let application = ApplicationEnd {
        events: StreamReader::new(Arc::clone(&memory), Direction::Events),
        commands: StreamWriter::new(Arc::clone(&memory), Direction::Commands),
        memory,
    };
    Ok((host, application))
}

impl ApplicationEnd {
    /// Takes the application's end of a channel that a host made.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(fd: impl AsFd) -> Result<Self, OpenError> {
        let memory = Arc::new(SharedMemory::open(fd)?);
        Ok(Self {
            events: StreamReader::new(Arc::clone(&memory), Direction::Events),
            commands: StreamWriter::new(Arc::clone(&memory), Direction::Commands),
            memory,
        })
    }

    /// Whether this side sleeps.
    #[must_use]
    pub fn application(&self) -> &Sleeper {
        &self.memory.header().application.0
    }

    /// Whether the host's shard sleeps.
    #[must_use]
    pub fn host(&self) -> &Sleeper {
        &self.memory.header().host.0
    }

    /// Whether the host waits for room among the events: this side wakes it.
    #[must_use]
    pub fn host_wants_room(&self) -> &Sleeper {
        &self.memory.header().host_wants_room.0
    }

    /// Whether this side waits for room among the commands: the host wakes it.
    #[must_use]
    pub fn wants_room(&self) -> &Sleeper {
        &self.memory.header().application_wants_room.0
    }
}
