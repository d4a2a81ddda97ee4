//! Sending.

use std::io::IoSlice;

use portico_sys::{Errno, socket};

use super::{AfterFlush, Connection, Stop};
use crate::core::Core;
use crate::limits::CLIENT_ERROR_MS;

impl Connection {
    /// Has the output sent before the turn or the submission ends.
    #[inline]
    pub(super) fn mark_dirty(&mut self, core: &mut Core) {
        if !self.output.dirty {
            self.output.dirty = true;
            core.dirty.push(self.token);
        }
    }

    /// Sends what the kernel takes, and does what is to follow when all is sent.
    pub(crate) fn flush(&mut self, core: &mut Core) -> Result<(), Stop> {
        self.output.dirty = false;
        self.send_queued(core)?;
        if self.output.after != AfterFlush::Continue
            && self.queued() == 0
            && let Some(tls) = &mut self.tls
            && tls.close_notify(&mut core.buffers)
        {
            self.send_queued(core)?;
        }
        self.output.tidy(&mut core.buffers);
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
            return Ok(());
        }
        self.after_flush(core)
    }

    /// Sends until nothing is queued or the kernel takes no more.
    fn send_queued(&mut self, core: &mut Core) -> Result<(), Stop> {
        loop {
            self.encrypt(core)?;
            let bytes = match &self.tls {
                Some(tls) => tls.unsent(),
                None => self.output.unsent(),
            };
            if bytes.is_empty() || self.output.blocked {
                return Ok(());
            }
            match socket::send(&self.socket, bytes) {
                Ok(count) => self.sent(core, count),
                Err(Errno::AGAIN) => self.output.blocked = true,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Stop::Close(errno.raw_os_error())),
            }
        }
    }

    /// The connection is about to be dropped: a TLS peer learns that this is the end, if the kernel takes it at once.
    pub(crate) fn say_goodbye(&mut self, core: &mut Core) {
        if self.queued() == 0
            && let Some(tls) = &mut self.tls
            && tls.close_notify(&mut core.buffers)
        {
            let _ = self.send_queued(core);
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

    /// Offers queued output, `body` and `tail` to the kernel at once; what it does not take is queued.
    pub(super) fn send_directly(&mut self, core: &mut Core, body: &[u8], tail: &[u8]) {
        let queued = self.output.queued();
        let pieces = [
            IoSlice::new(self.output.unsent()),
            IoSlice::new(body),
            IoSlice::new(tail),
        ];
        // An error shows again when the rest is sent.
        let count = socket::send_vectored(&self.socket, &pieces).unwrap_or(0);
        let of_queued = count.min(queued);
        let of_body = (count - of_queued).min(body.len());
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
        let out = self.output.buffer(&mut core.buffers);
        out.extend_from_slice(body.get(of_body..).unwrap_or_default());
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
