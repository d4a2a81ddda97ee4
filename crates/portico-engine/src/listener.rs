//! Listeners: their sockets, settings and numbers of connections.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use portico_http::h1::{HeadLimits, InvalidHosts};
use portico_tls::{Context, ServerNames};

use portico_sys::{Address, socket};

use crate::pace::Pace;
use crate::{ListenerId, ListenerOptions};

/// A listening socket with its settings; or the settings alone, for connections that are adopted.
pub(crate) struct Listener {
    /// `None`: not accepting (any more).
    pub(crate) socket: Option<OwnedFd>,
    pub(crate) options: ListenerOptions,
    pub(crate) head_limits: HeadLimits,
    pub(crate) is_unix: bool,
    /// Our address on every connection, where the socket is bound to one address: it need not be asked for again.
    pub(crate) accepted_at: Option<Address>,
    /// TLS contexts by server name; `None` on a plain listener.
    pub(crate) names: Option<Arc<ServerNames>>,
    /// Open connections of this shard.
    connections: u32,
    /// Open connections of all shards that accept for this listener.
    total: Arc<AtomicU32>,
    /// Until when accepting pauses after an error, 0: it does not.
    pub(crate) paused_until_ms: u64,
    /// When request timeouts are checked next, 0: no check is entered in the timers.
    pub(crate) check_ms: u64,
    /// When the pace of peers is looked at next, 0: no look is entered in the timers.
    pub(crate) pace_ms: u64,
    /// What was found at the last look, by token.
    pub(crate) paces: HashMap<u32, Pace>,
    closed: bool,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl Listener {
    pub(crate) fn new(
        socket: Option<OwnedFd>,
        options: ListenerOptions,
        is_unix: bool,
        total: Arc<AtomicU32>,
    ) -> Self {
        let head_limits = head_limits(&options);
        let accepted_at = socket.as_ref().and_then(|socket| {
            let bound = socket::local_address(socket);
            (is_unix || !bound.is_unspecified()).then_some(bound)
        });
        Self {
            accepted_at,
            socket,
            options,
            head_limits,
            is_unix,
            names: None,
            connections: 0,
            total,
            paused_until_ms: 0,
            check_ms: 0,
            pace_ms: 0,
            paces: HashMap::new(),
            closed: false,
        }
    }

    /// Whether it has stopped accepting for good.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Open connections of this shard.
    pub(crate) fn connections(&self) -> u32 {
        self.connections
    }

    /// Open connections of all shards.
    pub(crate) fn total_connections(&self) -> u32 {
        self.total.load(Ordering::Relaxed)
    }

    /// Counts a new connection; false if there are as many as there may be, on all shards together.
    pub(crate) fn admit(&mut self) -> bool {
        let max = self.options.max_connections.unwrap_or(u32::MAX);
        let admitted = self
            .total
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |total| {
                (total < max).then_some(total.wrapping_add(1))
            })
            .is_ok();
        self.connections += u32::from(admitted);
        admitted
    }

    /// Sets the context for names that no pattern matches.
    pub(crate) fn set_default_context(&mut self, context: Context) {
        match &mut self.names {
            Some(names) => Arc::make_mut(names).set_default(context),
            None => self.names = Some(Arc::new(ServerNames::new(context))),
        }
    }

    /// Uses a context for the names that match a pattern.
    pub(crate) fn add_server_name(&mut self, pattern: &str, context: Context) {
        if let Some(names) = &mut self.names {
            Arc::make_mut(names).add(pattern, context);
        }
    }
}

/// The listeners of a shard by number. Numbers are not used again.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    entries: Vec<Option<Box<Listener>>>,
}

impl Listeners {
    pub(crate) fn add(&mut self, listener: Listener) -> ListenerId {
        self.entries.push(Some(Box::new(listener)));
        ListenerId(u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX))
    }

    #[inline]
    pub(crate) fn find(&self, listener: u32) -> Option<&Listener> {
        self.entries
            .get(usize::try_from(listener).ok()?)?
            .as_deref()
    }

    pub(crate) fn find_mut(&mut self, listener: u32) -> Option<&mut Listener> {
        self.entries
            .get_mut(usize::try_from(listener).ok()?)?
            .as_deref_mut()
    }

    pub(crate) fn update(&mut self, listener: u32, options: ListenerOptions) {
        if let Some(listener) = self.find_mut(listener) {
            listener.head_limits = head_limits(&options);
            listener.options = options;
        }
    }

    /// Ends accepting and gives the socket back. The settings stay while there are connections.
    pub(crate) fn close(&mut self, listener: u32) -> Option<OwnedFd> {
        let entry = self.find_mut(listener)?;
        entry.closed = true;
        let socket = entry.socket.take();
        self.forget_if_unused(listener);
        socket
    }

    /// Counts a connection that has gone. Returns whether it was the last of a closed listener.
    pub(crate) fn connection_gone(&mut self, listener: u32) -> bool {
        if let Some(entry) = self.find_mut(listener) {
            entry.connections = entry.connections.saturating_sub(1);
            entry.total.fetch_sub(1, Ordering::Relaxed);
        }
        self.forget_if_unused(listener)
    }

    fn forget_if_unused(&mut self, listener: u32) -> bool {
        let unused = self
            .find(listener)
            .is_some_and(|entry| entry.closed && entry.connections == 0);
        if unused
            && let Some(entry) = usize::try_from(listener)
                .ok()
                .and_then(|index| self.entries.get_mut(index))
        {
            *entry = None;
        }
        unused
    }
}

fn head_limits(options: &ListenerOptions) -> HeadLimits {
    let default = HeadLimits::default();
    let max_header_size = match options.max_header_size {
        0 => default.max_header_size,
        bytes => u32::try_from(bytes)
            .unwrap_or(u32::MAX)
            .min(crate::limits::MAX_HEADER_SIZE),
    };
    // A head's event counts its fields in 16 bits.
    let max_headers_count = match options.max_headers_count {
        0 => u32::from(u16::MAX),
        count => count.min(u32::from(u16::MAX)),
    };
    HeadLimits {
        max_header_size,
        max_headers_count,
        invalid_hosts: if options.strict_host {
            InvalidHosts::Refuse
        } else {
            InvalidHosts::Accept
        },
        ..default
    }
}
