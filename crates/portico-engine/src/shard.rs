//! One epoll, its listeners, connections and timers, driven by one thread.

mod accepting;
mod commands;
mod ending;
mod inspection;
mod listening;
mod own_requests;
mod pace_check;
mod pending;
mod sending;
#[cfg(test)]
mod streams;
mod turn;
mod waiting;

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use portico_channel::token::SLOT_MASK;
use portico_channel::{EventWriter, External};
use portico_sys::{Bell, Interest, ReadyList, Wake};

use crate::connection_table::ConnectionTable;
use crate::core::Core;
use crate::limits::READY_PER_TURN;
use crate::offer::{Offered, Responder, Turn};
use crate::output_cache::{CacheSite, OutputCache, ShardCache};
use crate::protocol::Protocol;
use crate::transport::lingering::Lingering;
use crate::{CommandError, Counters, Http2Load, TurnOutcome};

/// One epoll, its listeners, connections and timers. Driven by one thread; nothing in it blocks but
/// [`Shard::turn`] with a timeout. Dropping it closes everything.
pub struct Shard {
    core: Core,
    connections: ConnectionTable,
    lingering: Lingering,
    ready: ReadyList,
    /// Tokens of what became ready besides connections; empty between turns.
    others: Vec<u64>,
    /// Whether the last turn stopped for want of event memory.
    starved: bool,
    /// Numbers of wake-ups that came.
    rung: Vec<u32>,
    /// New connections that are not in the epoll yet.
    unwatched: Vec<u32>,
    /// What a new connection speaks; the argument is when it may begin.
    first_protocol: fn(u64) -> Protocol,
    /// Whether the application answers between two turns, on this thread.
    answers_follow: bool,
    /// Of an embedded engine that keeps answers.
    cache: Option<Box<ShardCache>>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard")
            .field("connections", &self.connections.open())
            .finish_non_exhaustive()
    }
}

impl Shard {
    /// A shard without listeners.
    ///
    /// # Errors
    /// Those of epoll_create(2) and timerfd_create(2).
    pub fn new() -> io::Result<Self> {
        Self::with_slots(0, SLOT_MASK as usize)
    }

    /// A shard whose connections have the slots `base..base + count`, so that tokens of several shards differ.
    ///
    /// # Errors
    /// As [`Shard::new`].
    pub fn with_slots(base: u32, count: usize) -> io::Result<Self> {
        let core = Core::new()?;
        core.epoll
            .add(core.timers.descriptor(), turn::TIMER, Interest::Readable)?;
        Ok(Self {
            core,
            connections: ConnectionTable::new(base, count),
            lingering: Lingering::default(),
            ready: ReadyList::new(READY_PER_TURN),
            others: Vec::new(),
            starved: false,
            rung: Vec::new(),
            unwatched: Vec::new(),
            first_protocol: Protocol::h1,
            answers_follow: false,
            cache: None,
        })
    }

    /// Hands over at most so many requests of one connection before the first of them is answered; 1,024 if this
    /// is not called. For an application that keeps more of each answer than Node does.
    pub fn limit_pipelining(&mut self, requests: usize) {
        self.core.pipelined_requests = requests.max(1);
    }

    /// For an application that handles the events of each turn, on this thread, before the next: session tickets wait
    /// for the answer to the request that was read with the end of the handshake, and go with it in one send. Without
    /// an answer they go in the next turn, for which [`Shard::has_pending_events`] asks.
    pub fn expect_answers_after_turns(&mut self) {
        self.answers_follow = true;
    }

    /// The epoll descriptor: readable when [`Shard::turn`] has work; deadlines included.
    #[must_use]
    pub fn poll_fd(&self) -> RawFd {
        self.core.epoll.as_fd().as_raw_fd()
    }

    /// Handles what is ready and writes event records. Waits at most `timeout` (`None`: not at all).
    pub fn turn(&mut self, timeout: Option<Duration>, events: &mut EventWriter<'_>) -> TurnOutcome {
        let Some(mut cache) = self.cache.take() else {
            return self.turn_in(timeout, Turn::new(events, None));
        };
        cache.settle(|token, sequence, offered| {
            self.settle(token, sequence, offered);
        });
        let outcome = self.turn_in(timeout, Turn::new(events, Some(&mut *cache)));
        self.cache = Some(cache);
        outcome
    }

    /// Keeps answers from now on, of each listener apart from those of others: what [`Shard::turn`] offers goes to a
    /// [`ShardCache`] of its own. Once more: another rule.
    ///
    /// # Errors
    /// Those of making a descriptor and of epoll_ctl(2).
    pub fn use_cache(&mut self, cache: Arc<OutputCache>, site: CacheSite) -> io::Result<()> {
        if let Some(cache) = &mut self.cache {
            cache.set_rule(site.rule);
            return Ok(());
        }
        let cache = ShardCache::new(cache, site)?;
        self.watch(cache.wake())?;
        self.cache = Some(Box::new(cache));
        Ok(())
    }

    /// As [`Shard::turn`]. Each request is offered to `responder` before the application is told of it.
    pub fn turn_with(
        &mut self,
        timeout: Option<Duration>,
        events: &mut EventWriter<'_>,
        responder: &mut dyn Responder,
    ) -> TurnOutcome {
        self.turn_in(timeout, Turn::new(events, Some(responder)))
    }

    fn turn_in(&mut self, timeout: Option<Duration>, mut turn: Turn<'_, '_>) -> TurnOutcome {
        match self.run_turn(timeout, &mut turn) {
            // What fits is delivered first; the next turn may start with a fresh piece of memory.
            Err(bytes) => {
                self.starved = true;
                TurnOutcome::NeedSpace(bytes)
            }
            Ok(outcome) => {
                self.starved = false;
                outcome
            }
        }
    }

    /// Applies the application's commands; `external` is the body of the record flagged `EXTERNAL`, which is kept where
    /// it lies if it can't be sent at once. Output is sent at the end, one send for each connection that has some.
    ///
    /// # Errors
    /// [`CommandError`] names the first bad record.
    pub fn apply(
        &mut self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> Result<(), CommandError> {
        self.core.clock.update();
        let result = self.apply_records(commands, external);
        self.flush_unsent();
        result
    }

    /// Whether the kernel has taken all output of a connection that was given in its turn. `false` if it has gone, and for
    /// streams that interleave: they have turns of their own.
    #[must_use]
    pub fn has_sent(&mut self, token: u32) -> bool {
        self.connections
            .find(token)
            .is_some_and(|connection| connection.has_sent())
    }

    /// As [`Shard::apply`], for one of several applications: template numbers count in its own `space` (a small
    /// number; [`Shard::apply`] uses space 0).
    ///
    /// # Errors
    /// As [`Shard::apply`].
    pub fn apply_in(&mut self, space: usize, commands: &[u8]) -> Result<(), CommandError> {
        self.core.templates.select(space);
        let result = self.apply(commands, None);
        self.core.templates.select(0);
        result
    }

    /// Forgets the templates of a space whose application has gone.
    pub fn forget_space(&mut self, space: usize) {
        self.core.templates.forget(space);
    }

    /// Says what becomes of a request that waits for its responder ([`Offered::Waits`]); the next turn does it. `false`: the
    /// request does not wait, it has gone or has been settled before.
    pub fn settle(&mut self, token: u32, sequence: u32, offered: Offered) -> bool {
        self.connections
            .find(token)
            .is_some_and(|connection| connection.settle(&mut self.core, sequence, offered))
    }

    /// Whether events wait that arose outside of [`Shard::turn`] (`CLOSED` after `DESTROY`, `FLUSHED`, ...), new
    /// connections are not watched yet, or session tickets wait for an answer. The descriptor doesn't show them: call
    /// `turn` again before waiting for it.
    #[must_use]
    pub fn has_pending_events(&self) -> bool {
        self.has_work() || self.core.agenda.has_unsent()
    }

    /// Whether the next turn has something to do before it asks the kernel.
    fn has_work(&self) -> bool {
        self.core.agenda.has_work() || !self.unwatched.is_empty()
    }

    /// Has a wake-up end the wait of [`Shard::turn`].
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn watch(&self, wake: &Wake) -> io::Result<()> {
        Ok(self.core.epoll.add(wake, turn::WAKE, Interest::Wake)?)
    }

    /// The same for the bell of another process; its `number`, above 0, is then among [`Shard::take_rung`].
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn watch_bell(&self, bell: &Bell, number: u32) -> io::Result<()> {
        let token = turn::WAKE | u64::from(number);
        Ok(self.core.epoll.add(bell, token, Interest::Wake)?)
    }

    /// Watches a bell no longer.
    pub fn unwatch(&self, bell: &Bell) {
        // It was watched; should it not have been, nothing is lost.
        let _ = self.core.epoll.remove(bell);
    }

    /// Numbers of the bells that were rung since the last call.
    pub fn take_rung(&mut self) -> std::vec::Drain<'_, u32> {
        self.rung.drain(..)
    }

    /// Counters since the start.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let connections_open = u64::try_from(self.connections.open()).unwrap_or(0);
        Counters {
            connections_open,
            ..self.core.counters
        }
    }

    /// Connections that speak HTTP/2 now, and their streams that are not over. It looks at every connection.
    pub fn http2_load(&mut self) -> Http2Load {
        let mut load = Http2Load::default();
        for connection in self.connections.iter_mut() {
            if let Some(streams) = connection.streams() {
                load.connections += 1;
                load.streams += u64::try_from(streams).unwrap_or(0);
            }
        }
        load
    }

    /// Whether a connection counts in [`Shard::referenced_connections`]. It does from the start.
    pub fn set_connection_ref(&mut self, token: u32, referenced: bool) {
        if let Some(connection) = self.connections.find(token)
            && connection.transport.is_referenced() != referenced
        {
            connection.transport.set_referenced(referenced);
            if referenced {
                self.core.unreferenced -= 1;
            } else {
                self.core.unreferenced += 1;
            }
        }
    }

    /// Bytes that a connection has read and that the kernel has taken of it; `None` if it has gone.
    pub fn connection_traffic(&mut self, token: u32) -> Option<(u64, u64)> {
        self.connections
            .find(token)
            .map(|connection| connection.transport.traffic())
    }

    /// Connections that should keep the application's process alive.
    #[must_use]
    pub fn referenced_connections(&self) -> usize {
        self.connections.open() - self.core.unreferenced
    }
}
