//! Sending.

use std::io::IoSlice;

use portico_channel::External;
use portico_sys::{Errno, socket};

use super::Transport;
use super::output::AfterFlush;
use crate::answer::Payload;
use crate::core::Core;
use crate::file_range::FileRange;
use crate::limits::{EXTERNAL_COPY_BYTES, FLUSH_BYTES, SEND_PIECES};
use crate::segments::{Run, Segments};
use crate::stop::Stop;

impl Transport {
    /// Has the output sent before the turn or the submission ends.
    #[inline]
    pub(crate) fn flush_later(&mut self, core: &mut Core) {
        if !self.output.set_entered(true) {
            core.agenda.send(self.token);
        }
    }

    /// The same, if something is queued that the kernel may take.
    pub(crate) fn flush_if_possible(&mut self, core: &mut Core) {
        if self.queued() > 0 && !self.output.is_blocked() {
            self.flush_later(core);
        }
    }

    /// Whether nothing but session tickets is to be sent. Says so once.
    pub(crate) fn take_tickets(&mut self) -> bool {
        match &mut self.tls {
            Some(tls) => tls.take_tickets() && self.output.queue().is_empty(),
            None => false,
        }
    }

    /// Sends what the kernel takes, about `most` bytes. Returns whether it may take more.
    pub(crate) fn send(&mut self, core: &mut Core, most: usize) -> Result<bool, Stop> {
        self.output.set_entered(false);
        let mut more = self.send_queued(core, most)?;
        if self.output.after() != AfterFlush::Continue
            && self.queued() == 0
            && let Some(tls) = &mut self.tls
            && tls.close_notify(&mut core.buffers)
        {
            more = self.send_queued(core, most)?;
        }
        self.output.tidy(&mut core.buffers);
        let on_the_wire = self.tls.as_mut().map_or(0, |tls| {
            tls.tidy(&mut core.buffers);
            tls.queued()
        });
        if on_the_wire == 0 && self.output.collect_acks() {
            self.schedule(core);
        }
        Ok(more)
    }

    /// Sends until nothing is queued, the kernel takes no more, or `most` bytes have been sent. Returns whether the
    /// kernel may take more: it is the others' turn.
    fn send_queued(&mut self, core: &mut Core, most: usize) -> Result<bool, Stop> {
        let mut left = most;
        loop {
            self.encrypt(core)?;
            if self.output.is_blocked() || self.queued() == 0 {
                return Ok(false);
            }
            if left == 0 {
                return Ok(true);
            }
            match self.send_once(left)? {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    left = left.saturating_sub(count);
                    self.sent(core, count);
                }
                Err(Errno::AGAIN) => self.output.set_blocked(true),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Stop::Close(errno.raw_os_error())),
            }
        }
    }

    /// Offers the front of the queue to the kernel, of a file `most` bytes at most. The outer error is a stop, the inner one the kernel's; 0: there was
    /// nothing to offer.
    fn send_once(&mut self, most: usize) -> Result<portico_sys::Result<usize>, Stop> {
        if let Some(tls) = &self.tls {
            let bytes = tls.unsent();
            if bytes.is_empty() {
                return Ok(Ok(0));
            }
            return Ok(socket::send(&self.socket, bytes));
        }
        if let Some(bytes) = self.output.queue().only_run() {
            let bytes = bytes.get(..FLUSH_BYTES).unwrap_or(bytes);
            return Ok(socket::send(&self.socket, bytes));
        }
        let queue = self.output.queue();
        if let Ok(Run::File(range)) = queue.front() {
            return self.send_file(range, most.min(FLUSH_BYTES));
        }
        let mut pieces = [IoSlice::new(&[]); SEND_PIECES];
        let Ok(filled) = queue.fill(&mut pieces, FLUSH_BYTES) else {
            return Err(self.body_gone());
        };
        let pieces = pieces.get(..filled.count).unwrap_or_default();
        Ok(if filled.is_before_file {
            socket::send_vectored_before_more(&self.socket, pieces)
        } else {
            socket::send_vectored(&self.socket, pieces)
        })
    }

    /// As [`Transport::send_once`], of a file.
    fn send_file(
        &self,
        range: &FileRange,
        most: usize,
    ) -> Result<portico_sys::Result<usize>, Stop> {
        match range.send(&self.socket, most) {
            Ok(0) => Err(self.body_gone()),
            Err(errno) if !matches!(errno, Errno::AGAIN | Errno::INTR) => {
                // It may be the file's.
                self.reset_on_close();
                Err(Stop::Close(errno.raw_os_error()))
            }
            sent => Ok(sent),
        }
    }

    /// The application has taken away the memory of a body that was not sent, or a file ends before its range. The peer must not take what it has got
    /// for the whole.
    pub(super) fn body_gone(&self) -> Stop {
        let _ = socket::reset_on_close(&self.socket);
        Stop::Close(Errno::CANCELED.raw_os_error())
    }

    /// The connection is about to be dropped: a TLS peer learns that this is the end, if the kernel takes it at once.
    pub(crate) fn send_close_notify(&mut self, core: &mut Core) {
        if self.queued() == 0
            && let Some(tls) = &mut self.tls
            && tls.close_notify(&mut core.buffers)
        {
            let _ = self.send_queued(core, FLUSH_BYTES);
        }
    }

    /// Ends our side (FIN); the peer may go on.
    pub(crate) fn end_output(&mut self) {
        self.output.end();
        // ENOTCONN: the peer has reset the connection, which reading will tell.
        let _ = socket::end(&self.socket);
    }

    /// Has the peer see a reset when the socket is closed.
    pub(crate) fn reset_on_close(&self) {
        let _ = socket::reset_on_close(&self.socket);
    }

    /// Appends body bytes and what follows them to the output. Large outside bytes are offered to the kernel first, and
    /// kept where they are if it does not take them.
    pub(crate) fn append(&mut self, core: &mut Core, body: Payload<'_>, tail: &[u8]) {
        match body.outside() {
            Some(external) if self.can_send_directly() => {
                self.send_directly(core, external, tail);
            }
            _ => self.output.push(body, tail, &mut core.buffers),
        }
    }

    /// Appends a range of a file.
    pub(crate) fn append_file(&mut self, range: FileRange) {
        self.output.push_file(range);
    }

    /// Appends segments. Returns the position in the stream of all output at which they begin.
    pub(crate) fn append_segments(&mut self, core: &mut Core, segments: Segments) -> u64 {
        self.output.append(segments, &mut core.buffers)
    }

    /// The end of the output, to append to.
    #[inline]
    pub(crate) fn buffer(&mut self, core: &mut Core) -> &mut Vec<u8> {
        self.output.buffer(&mut core.buffers)
    }

    /// Asks for an acknowledgement (`FLUSHED`) when everything up to a position has been handed to the kernel: of an
    /// exchange, or of the oldest that has asked (0).
    #[inline]
    pub(crate) fn acknowledge(&mut self, position: u64, sequence: u32) {
        self.output.acknowledge(position, sequence);
    }

    /// Position of the output's end in the stream of all output.
    #[inline]
    pub(crate) fn position(&self) -> u64 {
        self.output.position()
    }

    /// What follows when everything queued has been sent.
    #[inline]
    pub(crate) fn after_flush(&self) -> AfterFlush {
        self.output.after()
    }

    /// Whether nothing but the connection's going on follows what is queued: more may be appended.
    #[inline]
    pub(crate) fn takes_output(&self) -> bool {
        self.output.after() == AfterFlush::Continue
    }

    /// Ends our side, or the connection, behind what is queued. An end of the connection is not taken back.
    pub(crate) fn set_after_flush(&mut self, after: AfterFlush) {
        self.output.set_after(after);
    }

    /// Whether our side has ended.
    pub(crate) fn has_output_ended(&self) -> bool {
        self.output.has_ended()
    }

    /// Bytes that wait for the kernel, encrypted or not yet.
    #[inline]
    pub(crate) fn queued(&self) -> usize {
        self.output.queued() + self.tls.as_ref().map_or(0, |tls| tls.queued())
    }

    /// Takes the first acknowledgements that have come true and were not told: whose they are, and how many.
    pub(crate) fn take_acked(&mut self) -> Option<(u32, u32)> {
        let acked = self.output.acked()?;
        self.output.forget_acked(acked.1);
        Some(acked)
    }

    /// Bytes that the kernel has been given and the peer has taken, while output waits because the kernel holds as much
    /// as it may: what the peer has acknowledged counts, for the kernel takes more in large steps only. `None` while the
    /// peer is not waited for.
    pub(crate) fn taken_while_blocked(&self) -> Option<u64> {
        if !self.output.is_blocked() || self.queued() == 0 {
            return None;
        }
        let unacknowledged = socket::unacknowledged(&self.socket).unwrap_or(0);
        Some(self.bytes_written.saturating_sub(unacknowledged))
    }

    fn can_send_directly(&self) -> bool {
        !self.output.is_blocked() && self.tls.is_none()
    }

    /// Offers queued output, `body` and `tail` to the kernel at once; what it does not take is queued. Of the body only
    /// a small rest is copied.
    fn send_directly(&mut self, core: &mut Core, body: External<'_>, tail: &[u8]) {
        let queued = self.output.queued();
        let bytes = body.bytes();
        let length = bytes.len();
        let count = if length <= FLUSH_BYTES
            && let Some(unsent) = self.output.queue().only_run()
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
            self.output.push_lent(body.keep(), of_body, length);
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
