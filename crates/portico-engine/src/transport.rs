//! The transport of a connection: its socket, the TLS layer where there is one, what waits to be sent, and deadlines.
//!
//! It moves bytes and knows nothing of HTTP: what they mean is the protocol's part, who calls which of the two the
//! connection's. Its fields are seen in this folder alone:
//!
//! * [`output`]: what waits to be sent; [`sending`] sends it
//! * [`receiving`]: reads the socket
//! * [`tls`]: the TLS layer; [`encryption`] puts it between the socket and the rest
//! * [`deadlines`]: the table of timers; [`expiry`] arms them and says which has expired
//! * [`events`], [`tls_events`]: what the application learns of it
//! * [`lingering`]: sockets whose connections are over

mod deadlines;
mod encryption;
mod events;
mod expiry;
pub(crate) mod lingering;
mod output;
mod receiving;
mod sending;
mod tls;
mod tls_events;

use std::os::fd::OwnedFd;

use portico_sys::{Address, Ready};

use crate::agenda::Agenda;
use crate::core::Core;
use crate::own_request::Pretended;
use deadlines::Deadlines;
use output::Output;

pub(crate) use encryption::TlsChange;
pub(crate) use events::{endpoints, write_flushed};
pub(crate) use expiry::{Expired, millis};
pub(crate) use output::AfterFlush;
pub(crate) use receiving::Received;
pub(crate) use tls::TlsLayer;

/// Socket, TLS layer, output and deadlines of a connection.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: OwnedFd,
    token: u32,
    listener: u32,
    remote: Address,
    /// `None` on a plain connection.
    tls: Option<Box<TlsLayer>>,
    output: Output,
    deadlines: Deadlines,
    bytes_read: u64,
    bytes_written: u64,
    /// How often reading has been paused.
    pauses: u32,
    /// Whether the kernel may have more.
    readable: bool,
    /// Whether the kernel has reported the peer's end: read until it shows.
    hang_up: bool,
    /// Whether the kernel has reported that the connection is broken.
    failed: bool,
    /// Whether the peer's end (FIN or close_notify) has been read.
    ended: bool,
    /// `PAUSE` of the connection itself: a byte stream, or a socket that the program has paused.
    paused: bool,
    /// Whether `OPEN` has been written.
    announced: bool,
    /// Whether the token is in the shard's list of work.
    scheduled: bool,
    /// Whether the connection keeps the application's process alive.
    referenced: bool,
}

impl Transport {
    /// A connected socket, with a TLS layer on top of it if there is one, that has received nothing.
    pub(crate) fn new(
        socket: OwnedFd,
        token: u32,
        listener: u32,
        remote: Address,
        tls: Option<TlsLayer>,
        now_ms: u64,
    ) -> Self {
        Self {
            socket,
            token,
            listener,
            remote,
            tls: tls.map(Box::new),
            output: Output::default(),
            deadlines: Deadlines::new(now_ms),
            bytes_read: 0,
            bytes_written: 0,
            pauses: 0,
            readable: false,
            hang_up: false,
            failed: false,
            ended: false,
            paused: false,
            announced: false,
            scheduled: false,
            referenced: true,
        }
    }

    /// Number of the connection in records.
    #[inline]
    pub(crate) fn token(&self) -> u32 {
        self.token
    }

    /// Number of the listener that it came through.
    #[inline]
    pub(crate) fn listener(&self) -> u32 {
        self.listener
    }

    /// The client's address.
    pub(crate) fn remote_address(&self) -> Address {
        self.remote
    }

    /// What it pretends, if it has no client.
    #[inline]
    pub(crate) fn pretended<'a>(&self, core: &'a Core) -> Option<&'a Pretended> {
        if core.own_requests.is_empty() {
            return None;
        }
        core.own_requests.get(&self.token)
    }

    /// Whether its requests came by TLS, or pretend to.
    #[inline]
    pub(crate) fn is_secure(&self, core: &Core) -> bool {
        let pretended = || self.pretended(core);
        self.is_tls() || pretended().is_some_and(|pretended| pretended.is_secure)
    }

    /// The socket, to watch it and to set its options.
    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The socket of a connection that is over.
    pub(crate) fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Notes what the kernel says.
    #[inline]
    pub(crate) fn note_ready(&mut self, ready: Ready) {
        self.readable |= ready.readable;
        self.hang_up |= ready.hang_up;
        self.failed |= ready.failed;
        if ready.writable {
            self.output.set_blocked(false);
        }
    }

    /// Puts the connection on the list of work.
    #[inline]
    pub(crate) fn schedule(&mut self, core: &mut Core) {
        self.schedule_in(&mut core.agenda);
    }

    /// As [`Transport::schedule`], where the core is not at hand.
    #[inline]
    pub(crate) fn schedule_in(&mut self, agenda: &mut Agenda) {
        if !self.scheduled {
            self.scheduled = true;
            agenda.drive(self.token);
        }
    }

    /// Puts the connection at the front of the list of work.
    pub(crate) fn schedule_first(&mut self, core: &mut Core) {
        self.scheduled = true;
        core.agenda.drive_first(self.token);
    }

    /// The connection has been taken from the list of work.
    #[inline]
    pub(crate) fn unschedule(&mut self) {
        self.scheduled = false;
    }

    /// Whether the connection is in the list of work.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// `PAUSE` and `RESUME` of the connection.
    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.pauses = self.pauses.wrapping_add(u32::from(paused));
        self.paused = paused;
    }

    /// Whether the application wants no bytes for now.
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// How often reading has been paused.
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }

    /// Whether the application knows the connection: `OPEN` has been written.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced
    }

    /// Whether the connection keeps the application's process alive.
    pub(crate) fn is_referenced(&self) -> bool {
        self.referenced
    }

    /// Sets whether it does.
    pub(crate) fn set_referenced(&mut self, referenced: bool) {
        self.referenced = referenced;
    }

    /// Bytes read and written.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.bytes_read, self.bytes_written)
    }
}
