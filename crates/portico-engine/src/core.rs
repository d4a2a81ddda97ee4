//! What the connections of a shard share: clock, timers, buffers, listeners, and the lists of what is to be done.

use portico_channel::IdMap;
use portico_http::h1::HeadParser;
use portico_sys::Epoll;

use crate::Counters;
use crate::agenda::Agenda;
use crate::buffer_pool::BufferPool;
use crate::clock::Clock;
use crate::limits::{OFFER_CHECK_MS, PIPELINED_REQUESTS, RECEIVE_BYTES};
use crate::listener::Listeners;
use crate::own_request::Pretended;
use crate::templates::Templates;
use crate::timers::{Timers, WAITING_KEY};
use crate::tls_contexts::TlsContexts;

/// State of a shard other than the connections themselves, lent to the connection in work.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) epoll: Epoll,
    pub(crate) clock: Clock,
    pub(crate) timers: Timers,
    pub(crate) listeners: Listeners,
    pub(crate) templates: Templates,
    pub(crate) buffers: BufferPool,
    pub(crate) parser: HeadParser,
    pub(crate) counters: Counters,
    /// Where sockets are read into; taken out while in use.
    pub(crate) receive: Box<[u8]>,
    /// Where TLS is decrypted into; taken out while in use.
    pub(crate) plaintext: Vec<u8>,
    /// Where files are read into that are to be encrypted; empty until the first.
    pub(crate) file_bytes: Vec<u8>,
    pub(crate) contexts: TlsContexts,
    pub(crate) agenda: Agenda,
    /// When requests that wait for their responder are looked at; 0: none wait.
    pub(crate) waiting_check_ms: u64,
    /// Connections that don't keep the application's process alive.
    pub(crate) unreferenced: usize,
    /// Requests of one connection that may wait for their answers; parsing stops beyond.
    pub(crate) pipelined_requests: usize,
    /// Requests that the engine has made by itself, by their connections' tokens.
    pub(crate) own_requests: IdMap<u32, Pretended>,
}

impl Core {
    pub(crate) fn new() -> portico_sys::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            clock: Clock::new(),
            timers: Timers::new()?,
            listeners: Listeners::default(),
            templates: Templates::default(),
            buffers: BufferPool::default(),
            parser: HeadParser::new(),
            counters: Counters::default(),
            receive: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            plaintext: Vec::new(),
            file_bytes: Vec::new(),
            contexts: TlsContexts::default(),
            agenda: Agenda::default(),
            waiting_check_ms: 0,
            unreferenced: 0,
            pipelined_requests: PIPELINED_REQUESTS,
            own_requests: IdMap::default(),
        })
    }

    /// Has the requests that wait for their responder looked at in a while.
    pub(crate) fn watch_waiting(&mut self) {
        if self.waiting_check_ms == 0 {
            self.waiting_check_ms = self.clock.now_ms() + OFFER_CHECK_MS;
            self.timers.enter(self.waiting_check_ms, WAITING_KEY);
        }
    }
}
