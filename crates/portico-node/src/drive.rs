//! Who turns the engine, behind one set of methods.

use std::os::fd::RawFd;
use std::sync::Arc;

use portico_channel::{EventWriter, External};
use portico_engine::{CacheSite, OutputCache, Shard, ThreadedEngine, TurnOutcome};

use crate::attached::Attached;

/// Who turns the engine.
pub(crate) enum Drive {
    /// This environment's event loop.
    Inline(Box<Shard>),
    /// Threads of its own; events come through rings.
    Threads(Box<ThreadedEngine>),
    /// A host's threads, in another process.
    Attached(Box<Attached>),
}

/// Calls the same method on any drive.
macro_rules! on {
    ($drive:ident . $method:ident ( $($argument:expr),* )) => {
        match $drive {
            $crate::drive::Drive::Inline(shard) => shard.$method($($argument),*),
            $crate::drive::Drive::Threads(engine) => engine.$method($($argument),*),
            $crate::drive::Drive::Attached(engine) => engine.$method($($argument),*),
        }
    };
}
pub(crate) use on;

impl Drive {
    /// Readable when `turn` has work.
    pub(crate) fn poll_fd(&self) -> RawFd {
        on!(self.poll_fd())
    }

    /// Does the work that is ready, or fetches the events of those who did; does not block.
    pub(crate) fn turn(&mut self, events: &mut EventWriter<'_>) -> TurnOutcome {
        match self {
            Self::Inline(shard) => shard.turn(None, events),
            Self::Threads(engine) => engine.take(events),
            Self::Attached(engine) => engine.take(events),
        }
    }

    /// Applies commands; the text of an error says which record was malformed.
    pub(crate) fn apply(
        &mut self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> std::result::Result<(), String> {
        match self {
            Self::Inline(shard) => shard
                .apply(commands, external)
                .map_err(|error| format!("{error:?}")),
            Self::Threads(engine) => engine
                .submit(commands, external)
                .map_err(|error| format!("{error:?}")),
            Self::Attached(engine) => engine
                .submit(commands, external)
                .map_err(|error| format!("{error:?}")),
        }
    }

    /// Keeps answers from now on. What is kept of a host's engine is the host's to say.
    pub(crate) fn use_cache(
        &mut self,
        cache: &Arc<OutputCache>,
        site: CacheSite,
    ) -> std::io::Result<()> {
        match self {
            Self::Inline(shard) => shard.use_cache(Arc::clone(cache), site),
            Self::Threads(engine) => engine.use_cache(cache, site),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Whether the kernel has all output of a connection. Only the event loop's own drive knows at once.
    pub(crate) fn has_sent(&mut self, connection: u32) -> bool {
        match self {
            Self::Inline(shard) => shard.has_sent(connection),
            Self::Threads(_) | Self::Attached(_) => false,
        }
    }

    /// Whether events wait although `poll_fd` may not be readable.
    pub(crate) fn has_pending_events(&self) -> bool {
        on!(self.has_pending_events())
    }

    /// Connections that keep the event loop alive.
    pub(crate) fn referenced_connections(&self) -> usize {
        on!(self.referenced_connections())
    }
}
