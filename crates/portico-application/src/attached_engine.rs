//! The engine of a host, as its application uses it.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use portico_channel::shared::{ApplicationEnd, OpenError};
use portico_channel::token::Division;
use portico_channel::{CommandError, Counters, EventWriter, External, TurnOutcome};
use portico_sys::{Bell, Ringer};

use crate::scan::Taken;
use crate::shard_link::ShardLink;

/// The shards of a host, as one registration sees them. Has the methods of an engine that an application needs once
/// it is attached; everything about listening is the host's.
///
/// Tokens of connections tell the shard: its index stands in the highest bits of the slot.
#[derive(Debug)]
pub struct AttachedEngine {
    links: Vec<ShardLink>,
    division: Division,
    bell: Bell,
    /// Which link `take` looks at first.
    turn: usize,
    open: usize,
    unreferenced: HashSet<u32>,
    connections: u64,
    requests: u64,
}

/// The application's ends of a host's channels, before they are used. An engine is bound to the thread that it is
/// made on, since it keeps the application's memory; this is not.
#[derive(Debug)]
pub struct Channels {
    bell: Bell,
    ends: Vec<(ApplicationEnd, Ringer)>,
}

impl Channels {
    /// Maps the memory of each shard, which comes with what rings it. `bell` is the application's own.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(bell: Bell, channels: Vec<(OwnedFd, Ringer)>) -> Result<Self, OpenError> {
        let ends = channels
            .into_iter()
            .map(|(memory, ringer)| Ok((ApplicationEnd::open(memory)?, ringer)))
            .collect::<Result<Vec<_>, OpenError>>()?;
        Ok(Self { bell, ends })
    }
}

impl From<Channels> for AttachedEngine {
    fn from(channels: Channels) -> Self {
        let Channels { bell, ends } = channels;
        let division = Division::among(ends.len());
        let links = ends
            .into_iter()
            .map(|(end, ringer)| ShardLink::new(end, ringer, division))
            .collect();
        // The host rings for the first event already: to it this side sleeps from the start.
        Self {
            links,
            division,
            bell,
            turn: 0,
            open: 0,
            unreferenced: HashSet::new(),
            connections: 0,
            requests: 0,
        }
    }
}

/// The descriptor of [`AttachedEngine::poll_fd`].
impl AsFd for AttachedEngine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl AttachedEngine {
    /// Takes the application's ends of the channels: its bell, which all shards ring, and of each shard the memory and
    /// what rings it.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(bell: Bell, channels: Vec<(OwnedFd, Ringer)>) -> Result<Self, OpenError> {
        Channels::open(bell, channels).map(Self::from)
    }

    /// A descriptor that is readable when [`AttachedEngine::take`] has something.
    #[must_use]
    pub fn poll_fd(&self) -> RawFd {
        self.bell.as_fd().as_raw_fd()
    }

    /// Takes event records. After [`TurnOutcome::Idle`] the descriptor tells when there are more.
    pub fn take(&mut self, events: &mut EventWriter<'_>) -> TurnOutcome {
        for link in &self.links {
            link.wake_up();
        }
        self.bell.clear();
        for step in 0..self.links.len() {
            let index = (self.turn + step) % self.links.len();
            let Some(link) = self.links.get_mut(index) else {
                continue;
            };
            link.send_waiting();
            let Self {
                open, unreferenced, ..
            } = self;
            let Taken {
                opened,
                requests,
                lacking,
            } = link.take(events, |token| {
                *open = open.saturating_sub(1);
                unreferenced.remove(&token);
            });
            self.open += opened;
            self.connections += u64::try_from(opened).unwrap_or(0);
            self.requests += requests;
            if let Some(bytes) = lacking {
                // The next call begins here, with fresh memory.
                self.turn = index;
                return TurnOutcome::NeedSpace(bytes);
            }
        }
        self.turn = (self.turn + 1) % self.links.len().max(1);
        for link in &self.links {
            link.fall_asleep();
        }
        if self.has_pending_events() {
            return TurnOutcome::More;
        }
        TurnOutcome::Idle
    }

    /// Hands commands to the shards they concern. `external` is the body of the last record (flag `EXTERNAL`); it is
    /// copied as far as the host takes it, and kept where it is beyond.
    ///
    /// # Errors
    /// [`CommandError`]: the records can't be told apart.
    pub fn submit(
        &mut self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> Result<(), CommandError> {
        let links = &mut self.links;
        let result = self
            .division
            .distribute(commands, external, links, ShardLink::queue);
        for link in &mut self.links {
            link.send_waiting();
            link.ring_if_asleep();
        }
        result
    }

    /// Bytes that this process has read and written on a connection so far: heads, bodies and raw bytes, without chunk
    /// framing and without what the host adds. `None` of a connection of which nothing has come.
    #[must_use]
    pub fn connection_traffic(&self, token: u32) -> Option<(u64, u64)> {
        self.links
            .get(self.division.thread_of(token))?
            .traffic(token)
    }

    /// Whether [`AttachedEngine::take`] would find something now.
    #[must_use]
    pub fn has_pending_events(&self) -> bool {
        self.links.iter().any(|link| !link.is_empty())
    }

    /// Whether the host has written what no host writes: the channel is of no more use.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.links.iter().any(|link| link.broken)
    }

    /// Connections that this registration knows and that have not closed for it.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.open
    }

    /// Connections that should keep the application's process alive.
    #[must_use]
    pub fn referenced_connections(&self) -> usize {
        self.open.saturating_sub(self.unreferenced.len())
    }

    /// Whether a connection counts among [`AttachedEngine::referenced_connections`]. It does from the start.
    pub fn set_connection_ref(&mut self, token: u32, referenced: bool) {
        if referenced {
            self.unreferenced.remove(&token);
        } else {
            self.unreferenced.insert(token);
        }
    }

    /// What this registration has seen; bytes are not counted here.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            connections_accepted: self.connections,
            connections_open: u64::try_from(self.open).unwrap_or(0),
            requests: self.requests,
            ..Counters::default()
        }
    }

    /// The error of everything that only an engine of one's own can do.
    #[must_use]
    pub fn unsupported() -> io::Error {
        portico_sys::Errno::OPNOTSUPP.into()
    }
}
