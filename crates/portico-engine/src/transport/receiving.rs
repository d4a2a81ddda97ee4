//! Reading the socket.

use portico_sys::{Errno, socket};

use super::Transport;
use crate::core::Core;
use crate::stop::Stop;

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// So many bytes, at least one.
    Bytes(usize),
    /// No bytes: there are none, or the peer has ended its side.
    Nothing,
}

impl Transport {
    /// Reads once into `buffer`.
    #[inline]
    pub(crate) fn receive(&mut self, core: &mut Core, buffer: &mut [u8]) -> Result<Received, Stop> {
        match socket::receive(&self.socket, buffer) {
            Ok(0) => self.end_input(),
            Ok(count) => {
                // A short read has emptied the socket, and the next byte makes a new edge. The peer's end does
                // not if it has been seen already: it must be read.
                self.readable = count == buffer.len() || self.hang_up;
                let bytes = u64::try_from(count).unwrap_or(0);
                self.bytes_read += bytes;
                core.counters.bytes_read += bytes;
                return Ok(Received::Bytes(count));
            }
            Err(Errno::AGAIN) => self.readable = false,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Stop::Close(errno.raw_os_error())),
        }
        Ok(Received::Nothing)
    }

    /// The peer has ended its side.
    pub(super) fn end_input(&mut self) {
        self.ended = true;
        self.readable = false;
    }

    /// Whether the kernel may have more.
    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        self.readable
    }

    /// Ends a broken connection although its bytes are not read for now. A read reports the same error behind them.
    #[inline]
    pub(crate) fn end_if_failed(&mut self) -> Result<(), Stop> {
        if std::mem::take(&mut self.failed) {
            let errno = socket::pending_error(&self.socket);
            if errno != 0 {
                return Err(Stop::Close(errno));
            }
        }
        Ok(())
    }

    /// Whether the kernel has reported the peer's end, or it has been read.
    #[inline]
    pub(crate) fn is_ending(&self) -> bool {
        self.hang_up || self.ended
    }

    /// Whether something lies before the peer's end, with `is_kept` of what has been read. Else the end is read if it is next.
    pub(crate) fn is_end_behind_input(&mut self, is_kept: bool) -> bool {
        if !is_kept && self.is_ending() && socket::unread(&self.socket) == 0 {
            self.end_input();
            return false;
        }
        self.is_ending()
    }

    /// Whether the peer's end has been read.
    #[inline]
    pub(crate) fn has_peer_ended(&self) -> bool {
        self.ended
    }

    /// Whether the peer sends more although nothing more is wanted: reads once, and drops what comes.
    pub(crate) fn has_unwanted_input(&self, core: &mut Core) -> bool {
        matches!(socket::receive(&self.socket, &mut core.receive), Ok(count) if count > 0)
    }
}
