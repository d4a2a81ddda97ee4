//! The engine of a host behind the methods that every drive has.
//!
//! What only an engine of one's own can do is refused; what a host decides for its applications (settings of
//! listeners, certificates) changes nothing.

use std::io;
use std::os::fd::{OwnedFd, RawFd};

use portico_application::AttachedEngine;
use portico_channel::{EventWriter, External};
use portico_engine::{CommandError, Counters, ListenerId, ListenerOptions, TurnOutcome};

/// An attached engine with the interface of a shard.
pub(crate) struct Attached(pub(crate) AttachedEngine);

impl Attached {
    pub(crate) fn poll_fd(&self) -> RawFd {
        self.0.poll_fd()
    }

    pub(crate) fn take(&mut self, events: &mut EventWriter<'_>) -> TurnOutcome {
        self.0.take(events)
    }

    pub(crate) fn submit(
        &mut self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> Result<(), CommandError> {
        self.0.submit(commands, external)
    }

    pub(crate) fn has_pending_events(&self) -> bool {
        self.0.has_pending_events()
    }

    pub(crate) fn referenced_connections(&self) -> usize {
        self.0.referenced_connections()
    }

    pub(crate) fn set_connection_ref(&mut self, token: u32, referenced: bool) {
        self.0.set_connection_ref(token, referenced);
    }

    pub(crate) fn counters(&self) -> Counters {
        self.0.counters()
    }

    /// There is one listener, the registration.
    pub(crate) fn connection_count(&self, _listener: ListenerId) -> usize {
        self.0.open_connections()
    }

    pub(crate) fn listen(
        &mut self,
        _fd: OwnedFd,
        _backlog: i32,
        _options: ListenerOptions,
    ) -> io::Result<ListenerId> {
        Err(AttachedEngine::unsupported())
    }

    /// Number 0 stands for the registration.
    pub(crate) fn create_listener(&mut self, _options: ListenerOptions) -> ListenerId {
        ListenerId(0)
    }

    pub(crate) fn adopt(&mut self, _listener: ListenerId, _fd: OwnedFd) -> io::Result<()> {
        Err(AttachedEngine::unsupported())
    }

    pub(crate) fn update_listener(&mut self, _listener: ListenerId, _options: ListenerOptions) {}

    pub(crate) fn close_listener(&mut self, _listener: ListenerId) {}

    /// What this process has read and written; the host's exact figures come with the end.
    pub(crate) fn connection_traffic(&mut self, token: u32) -> Option<(u64, u64)> {
        self.0.connection_traffic(token)
    }

    pub(crate) fn add_tls_context(&mut self, _context: portico_tls::Context) -> u32 {
        0
    }

    pub(crate) fn release_tls_context(&mut self, _context: u32) {}

    pub(crate) fn add_server_name(&mut self, _listener: ListenerId, _pattern: &str, _context: u32) {
    }
}
