//! The connection's struct, and how work on it stops.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use portico_channel::NeedSpace;
use portico_sys::Address;

use super::deadlines::Deadlines;
use super::exchanges::Exchanges;
use super::input::{Input, Phase};
use super::output::Output;
use super::tls::TlsState;
use crate::core::Core;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    pub(crate) token: u32,
    pub(crate) listener: u32,
    pub(crate) remote: Address,
    pub(super) input: Input,
    pub(super) exchanges: Exchanges,
    pub(super) output: Output,
    pub(super) deadlines: Deadlines,
    /// `None` on a plain connection.
    pub(super) tls: Option<Box<TlsState>>,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    /// Whether `OPEN` has been written.
    pub(super) open_told: bool,
    /// Whether the token is in the shard's list of work.
    pub(super) in_work: bool,
    /// Whether it keeps the application's process alive.
    pub(crate) referenced: bool,
}

/// Why work on a connection can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// An event did not fit. Nothing is lost: the work is taken up again when there is room.
    NeedSpace(usize),
    /// The connection is over, with an errno or 0.
    Close(i32),
    /// Our answers are out and the connection is over, but the peer may still be sending: linger.
    Linger,
}

impl From<NeedSpace> for Stop {
    fn from(need: NeedSpace) -> Self {
        Self::NeedSpace(need.bytes)
    }
}

impl Connection {
    pub(crate) fn new(
        socket: OwnedFd,
        token: u32,
        listener: u32,
        remote: Address,
        now_ms: u64,
    ) -> Self {
        Self {
            socket,
            token,
            listener,
            remote,
            input: Input::new(now_ms),
            exchanges: Exchanges::default(),
            output: Output::default(),
            deadlines: Deadlines::new(now_ms),
            tls: None,
            bytes_read: 0,
            bytes_written: 0,
            open_told: false,
            in_work: false,
            referenced: true,
        }
    }

    /// Puts the connection on the list of work.
    #[inline]
    pub(crate) fn schedule(&mut self, core: &mut Core) {
        self.schedule_in(&mut core.work);
    }

    /// As [`Connection::schedule`], where the core is not at hand.
    #[inline]
    pub(crate) fn schedule_in(&mut self, work: &mut VecDeque<u32>) {
        if !self.in_work {
            self.in_work = true;
            work.push_back(self.token);
        }
    }

    /// Puts the connection at the front of the list of work.
    pub(crate) fn schedule_first(&mut self, core: &mut Core) {
        self.in_work = true;
        core.work.push_front(self.token);
    }

    /// The connection has been taken from the list of work.
    #[inline]
    pub(crate) fn unscheduled(&mut self) {
        self.in_work = false;
    }

    /// Whether it waits for a request: none is in flight or has begun. The last answer may still be on its way.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.input.phase, Phase::Head)
            && !self.is_handshaking()
            && self.input.message_started_ms == 0
            && self.exchanges.is_empty()
    }

    /// Whether not a byte of a request has come since the last, or at all.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self.input.phase, Phase::Head)
            && !self.is_handshaking()
            && self.input.rest.is_empty()
            && self.exchanges.is_empty()
    }

    /// Whether bytes wait for the kernel.
    pub(crate) fn has_output(&self) -> bool {
        self.queued() > 0
    }

    /// Whether it has not been taken over as a byte stream.
    pub(crate) fn is_http(&self) -> bool {
        !matches!(self.input.phase, Phase::Raw)
    }

    /// Puts a TLS layer under a connection that has received nothing.
    pub(crate) fn with_tls(mut self, tls: TlsState) -> Self {
        self.tls = Some(Box::new(tls));
        // Until the handshake is complete, its own deadline holds.
        self.input.message_started_ms = 0;
        self
    }

    /// Bytes that wait for the kernel.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        self.output.queued() + self.tls.as_ref().map_or(0, |tls| tls.queued())
    }

    /// Whether `OPEN` has been written.
    pub(crate) fn is_open_told(&self) -> bool {
        self.open_told
    }

    /// Acknowledgements that have come true and were not told.
    pub(crate) fn take_acks(&mut self) -> u32 {
        std::mem::take(&mut self.output.acked)
    }

    /// Bytes read and written.
    pub(crate) fn traffic(&self) -> (u64, u64) {
        (self.bytes_read, self.bytes_written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_a_few_hundred_bytes() {
        assert!(
            size_of::<Connection>() <= 456,
            "{} bytes",
            size_of::<Connection>()
        );
    }
}
