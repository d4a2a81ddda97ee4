//! Accepting.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use portico_sys::{Address, Errno, Interest, Ready, socket};

use super::Shard;
use super::turn::LISTENER;
use crate::agenda::PendingEvent;
use crate::connection::Connection;
use crate::limits::{ACCEPT_PAUSE_MS, ACCEPTS_PER_TURN};
use crate::protocol::Protocol;
use crate::stop::Stop;
use crate::transport::{TlsLayer, Transport};
use crate::{ListenerId, ListenerOptions};

impl Shard {
    pub(super) fn watch_listener(&mut self, listener: ListenerId) -> io::Result<()> {
        if let Some(entry) = self.core.listeners.find(listener.0)
            && let Some(socket) = &entry.socket
        {
            self.core
                .epoll
                .add(socket, LISTENER | u64::from(listener.0), Interest::Listener)?;
        }
        Ok(())
    }

    /// Takes waiting connections, a bounded number: the descriptor is level-triggered.
    pub(super) fn accept(&mut self, listener: u32) {
        for _ in 0..ACCEPTS_PER_TURN {
            let Some(entry) = self.core.listeners.find_mut(listener) else {
                return;
            };
            let Some(listening) = &entry.socket else {
                return;
            };
            match socket::accept(listening) {
                Ok((socket, remote)) if entry.admit() => {
                    // None only for want of slots: the peer sees its connection closed.
                    if let Ok(token) = self.enter_connection(listener, socket, remote) {
                        self.look_before_watching(token);
                    }
                }
                Ok((socket, remote)) => self.drop_connection(listener, &socket, remote),
                Err(Errno::AGAIN) => return,
                Err(errno) if is_of_connection(errno) => {}
                Err(errno) => return self.pause_accepting(listener, errno),
            }
        }
    }

    /// Accepting failed for want of descriptors or memory: trying again at once would only burn time.
    fn pause_accepting(&mut self, listener: u32, errno: Errno) {
        let errno = errno.raw_os_error();
        self.core
            .agenda
            .tell(PendingEvent::AcceptError { listener, errno });
        let until_ms = self.core.clock.now_ms() + ACCEPT_PAUSE_MS;
        if let Some(entry) = self.core.listeners.find_mut(listener) {
            entry.paused_until_ms = until_ms;
            if let Some(socket) = &entry.socket {
                let _ = self.core.epoll.remove(socket);
            }
            self.core
                .timers
                .enter(until_ms, LISTENER | u64::from(listener));
        }
    }

    pub(super) fn resume_accepting(&mut self, listener: u32) {
        if self.watch_listener(ListenerId(listener)).is_err() {
            self.pause_accepting(listener, Errno::NOMEM);
        }
    }

    /// There are as many connections as there may be: the peer sees its connection closed.
    fn drop_connection(&mut self, listener: u32, socket: &OwnedFd, remote: Address) {
        let local = socket::local_address(socket);
        self.core.agenda.tell(PendingEvent::Dropped {
            listener,
            remote,
            local,
        });
    }

    /// Takes a connected socket from elsewhere.
    pub(super) fn adopt_socket(&mut self, listener: u32, socket: OwnedFd) -> io::Result<()> {
        let Some(entry) = self.core.listeners.find_mut(listener) else {
            return Err(io::Error::from_raw_os_error(Errno::INVAL.raw_os_error()));
        };
        let remote = socket::remote_address(&socket);
        entry.accepted_at = None;
        if !entry.admit() {
            self.drop_connection(listener, &socket, remote);
            return Ok(());
        }
        if !socket::is_unix(&socket) {
            set_tcp_options(&socket, &entry.options);
        }
        let token = self.enter_connection(listener, socket, remote)?;
        self.watch_connection(token).map_err(io::Error::from)
    }

    /// Has a new connection read in this turn, and entered in the epoll before the next wait: its request is mostly
    /// there already, and a connection that ends with its first answer is never entered (7 % of the CPU of one).
    fn look_before_watching(&mut self, token: u32) {
        if let Some(connection) = self.connections.find(token) {
            connection.transport.note_ready(Ready {
                token: u64::from(token),
                readable: true,
                writable: true,
                hang_up: false,
                failed: false,
            });
            connection.transport.schedule(&mut self.core);
            self.unwatched.push(token);
        }
    }

    /// Enters what [`Shard::look_before_watching`] has put off, if it still lives.
    pub(super) fn watch_new(&mut self) {
        while let Some(token) = self.unwatched.pop() {
            // An error has ended the connection.
            let _ = self.watch_connection(token);
        }
    }

    /// Enters a connection in the epoll, which reports at once what is there already.
    fn watch_connection(&mut self, token: u32) -> Result<(), Errno> {
        let Some(connection) = self.connections.find(token) else {
            return Ok(());
        };
        let added = self.core.epoll.add(
            connection.transport.socket(),
            u64::from(token),
            Interest::Connection,
        );
        if let Err(errno) = added {
            self.end_connection(token, Stop::Close(errno.raw_os_error()));
        }
        added
    }

    /// Makes a connection of a socket that its listener has admitted.
    fn enter_connection(
        &mut self,
        listener: u32,
        socket: OwnedFd,
        remote: Address,
    ) -> io::Result<u32> {
        let now_ms = self.core.clock.now_ms();
        let tls = self.core.listeners.find(listener).and_then(|entry| {
            let ask = entry.options.ask_server_name || entry.options.ask_alpn;
            entry
                .names
                .as_ref()
                .map(|names| TlsLayer::new(Arc::clone(names), ask))
        });
        let listener_options = self
            .core
            .listeners
            .find(listener)
            .map(|entry| &entry.options);
        let speaks_h2_only = listener_options
            .filter(|options| !options.protocols.http1 && tls.is_none())
            .cloned();
        let first_protocol = self.first_protocol;
        let token = self.connections.insert(|token| {
            let transport = Transport::new(socket, token, listener, remote, tls, now_ms);
            // Until a TLS handshake is complete, its own deadline holds.
            let started_ms = if transport.is_tls() { 0 } else { now_ms };
            let protocol = match &speaks_h2_only {
                Some(options) => Protocol::h2(options, now_ms),
                None => first_protocol(started_ms),
            };
            Box::new(Connection::new(transport, protocol))
        });
        let Some(token) = token else {
            self.core.listeners.connection_gone(listener);
            return Err(io::Error::from_raw_os_error(Errno::NFILE.raw_os_error()));
        };
        self.core.counters.connections_accepted += 1;
        let notify_open = self
            .core
            .listeners
            .find(listener)
            .is_some_and(|entry| entry.options.notify_open);
        self.enter_check(listener);
        self.enter_pace_check(listener);
        if let Some(connection) = self.connections.find(token) {
            connection.transport.arm_first(&mut self.core);
        }
        if notify_open {
            self.core.agenda.tell(PendingEvent::Opened { token });
        }
        Ok(token)
    }
}

/// Whether only the connection has failed that was to be taken, before it was: the next one may not. accept(2) tells errors
/// of the network as if they were its own.
fn is_of_connection(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::INTR
            | Errno::CONNABORTED
            | Errno::PROTO
            | Errno::PERM
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
    )
}

/// Sets what accepted connections inherit from their listening socket.
pub(super) fn set_tcp_options(socket: impl AsFd, options: &ListenerOptions) {
    // A socket that is no TCP one refuses; nothing depends on it.
    let _ = socket::set_no_delay(&socket, options.no_delay);
    let _ = socket::set_keep_alive(
        &socket,
        options.keep_alive,
        options.keep_alive_initial_delay,
    );
}
