//! Sending.

use std::io::IoSlice;

use portico_channel::External;
use portico_sys::{Errno, socket};

use super::{AfterFlush, Connection, Stop};
use crate::core::Core;
use crate::limits::{CLIENT_ERROR_MS, EXTERNAL_COPY_BYTES, FLUSH_BYTES, SEND_PIECES};

impl Connection {
    /// Has the output sent before the turn or the submission ends.
    #[inline]
    pub(super) fn mark_dirty(&mut self, core: &mut Core) {
        if !self.output.dirty {
            self.output.dirty = true;
            core.dirty.push(self.token);
        }
    }

    /// Sends what the kernel takes, within a turn's bound, and does what is to follow when all is sent.
    pub(crate) fn flush(&mut self, core: &mut Core) -> Result<(), Stop> {
        self.flush_within(core, FLUSH_BYTES)
    }

    /// As [`Connection::flush`], without the bound: nothing will be sent later.
    pub(crate) fn flush_last(&mut self, core: &mut Core) -> Result<(), Stop> {
        self.flush_within(core, usize::MAX)
    }

    fn flush_within(&mut self, core: &mut Core, most: usize) -> Result<(), Stop> {
        self.output.dirty = false;
        let mut more = self.send_queued(core, most)?;
        if self.output.after != AfterFlush::Continue
            && self.queued() == 0
            && let Some(tls) = &mut self.tls
            && tls.close_notify(&mut core.buffers)
        {
            more = self.send_queued(core, most)?;
        }
        self.output.queue.tidy(&mut core.buffers);
        let on_the_wire = self.tls.as_mut().map_or(0, |tls| {
            tls.tidy(&mut core.buffers);
            tls.queued()
        });
        if on_the_wire == 0 && self.output.collect_acks() {
            self.schedule(core);
        }
        if (self.input.held || self.input.readable) && !self.is_blocked(core) {
            self.schedule(core);
        }
        if self.queued() > 0 {
            if more {
                self.schedule(core);
            }
            return Ok(());
        }
        self.after_flush(core)
    }

    /// Sends until nothing is queued, the kernel takes no more, or `most` bytes have been sent. Returns whether the
    /// kernel may take more: it is the others' turn.
    fn send_queued(&mut self, core: &mut Core, most: usize) -> Result<bool, Stop> {
        let mut left = most;
        loop {
            self.encrypt(core)?;
            if self.output.blocked || self.queued() == 0 {
                return Ok(false);
            }
            if left == 0 {
                return Ok(true);
            }
            match self.send_once()? {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    left = left.saturating_sub(count);
                    self.sent(core, count);
                }
                Err(Errno::AGAIN) => self.output.blocked = true,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Stop::Close(errno.raw_os_error())),
            }
        }
    }

    /// Offers the front of the queue to the kernel. The outer error is a stop, the inner one the kernel's; 0: there was
    /// nothing to offer.
    fn send_once(&mut self) -> Result<portico_sys::Result<usize>, Stop> {
        if let Some(tls) = &self.tls {
            let bytes = tls.unsent();
            if bytes.is_empty() {
                return Ok(Ok(0));
            }
            return Ok(socket::send(&self.socket, bytes));
        }
        if let Some(bytes) = self.output.queue.only_run() {
            let bytes = bytes.get(..FLUSH_BYTES).unwrap_or(bytes);
            return Ok(socket::send(&self.socket, bytes));
        }
        let mut pieces = [IoSlice::new(&[]); SEND_PIECES];
        let Ok(count) = self.output.queue.fill(&mut pieces, FLUSH_BYTES) else {
            return Err(self.body_gone());
        };
        let pieces = pieces.get(..count).unwrap_or_default();
        Ok(socket::send_vectored(&self.socket, pieces))
    }

    /// The application has taken away the memory of a body that was not sent. The peer must not take what it has got
    /// for the whole.
    pub(super) fn body_gone(&self) -> Stop {
        let _ = socket::reset_on_close(&self.socket);
        Stop::Close(Errno::CANCELED.raw_os_error())
    }

    /// The connection is about to be dropped: a TLS peer learns that this is the end, if the kernel takes it at once.
    pub(crate) fn say_goodbye(&mut self, core: &mut Core) {
        if self.queued() == 0
            && let Some(tls) = &mut self.tls
            && tls.close_notify(&mut core.buffers)
        {
            let _ = self.send_queued(core, FLUSH_BYTES);
        }
    }

    fn after_flush(&mut self, core: &mut Core) -> Result<(), Stop> {
        match self.output.after {
            AfterFlush::Continue => {}
            AfterFlush::End => {
                if !self.output.ended {
                    self.output.ended = true;
                    if self.is_http() {
                        // Nothing more can be answered: the peer is to end its side.
                        self.guard(core, CLIENT_ERROR_MS);
                    }
                    // ENOTCONN: the peer has reset the connection, which reading will tell.
                    let _ = socket::end(&self.socket);
                }
            }
            AfterFlush::Close => return Err(self.how_to_close(core)),
        }
        self.close_if_done()
    }

    /// Closing a socket with unread bytes resets the connection, and the reset may overtake our answer on its way to
    /// the peer's application. So the socket lingers if there are any (RFC 9112, 9.6).
    fn how_to_close(&mut self, core: &mut Core) -> Stop {
        if self.input.ended {
            return Stop::Close(0);
        }
        if self.input.unread_at_close {
            return Stop::Linger;
        }
        // A client that has announced the end sends no more (RFC 9112, 9.6), and the last read took all it had sent.
        if self.input.announced_end() && self.tls.is_none() {
            return Stop::Close(0);
        }
        match socket::receive(&self.socket, &mut core.receive) {
            Ok(count) if count > 0 => Stop::Linger,
            _ => Stop::Close(0),
        }
    }

    pub(super) fn can_send_directly(&self) -> bool {
        !self.output.blocked && self.tls.is_none()
    }

    /// Offers queued output, `body` and `tail` to the kernel at once; what it does not take is queued. Of the body only
    /// a small rest is copied.
    pub(super) fn send_directly(&mut self, core: &mut Core, body: External<'_>, tail: &[u8]) {
        let queued = self.output.queued();
        let bytes = body.bytes();
        let length = bytes.len();
        let count = if length <= FLUSH_BYTES
            && let Some(unsent) = self.output.queue.only_run()
        {
            let pieces = [
                IoSlice::new(unsent),
                IoSlice::new(bytes),
                IoSlice::new(tail),
            ];
            // An error shows again when the rest is sent.
            socket::send_vectored(&self.socket, &pieces).unwrap_or(0)
        } else {
            0
        };
        let of_queued = count.min(queued);
        let of_body = (count - of_queued).min(length);
        let of_tail = (count - of_queued - of_body).min(tail.len());
        if of_queued > 0 {
            self.sent(core, of_queued);
        }
        let direct = of_body + of_tail;
        self.output.sent_directly(direct);
        self.count_written(core, direct);
        if direct > 0 {
            self.touch(core);
        }
        let rest = bytes.get(of_body..).unwrap_or_default();
        if rest.len() > EXTERNAL_COPY_BYTES {
            self.output.queue.push_lent(body.keep(), of_body, length);
        }
        let out = self.output.buffer(&mut core.buffers);
        if rest.len() <= EXTERNAL_COPY_BYTES {
            out.extend_from_slice(rest);
        }
        out.extend_from_slice(tail.get(of_tail..).unwrap_or_default());
    }

    fn sent(&mut self, core: &mut Core, count: usize) {
        match &mut self.tls {
            Some(tls) => tls.advance(count),
            None => self.output.advance(count),
        }
        self.count_written(core, count);
        self.touch(core);
    }

    fn count_written(&mut self, core: &mut Core, count: usize) {
        let count = u64::try_from(count).unwrap_or(0);
        self.bytes_written += count;
        core.counters.bytes_written += count;
    }
}
