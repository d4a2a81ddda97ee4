//! Reading the socket.

use portico_channel::EventWriter;
use portico_sys::{Errno, Ready, socket};

use super::input::Phase;
use super::parsing::Pause;
use super::{Connection, Stop};
use crate::core::Core;
use crate::limits::{READ_ROOM_BYTES, READS_PER_TURN};

impl Connection {
    /// Notes what the kernel says.
    pub(crate) fn note_ready(&mut self, ready: Ready) {
        self.input.readable |= ready.readable;
        self.input.hang_up |= ready.hang_up;
        if ready.writable {
            self.output.blocked = false;
        }
    }

    /// Does what can be done now: sends, tells, reads and parses. Returns whether there is more to do at once.
    pub(crate) fn drive(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<bool, Stop> {
        self.tell_flushed(core, events)?;
        self.tell_tls(core, events)?;
        self.close_if_tls_failed(core);
        self.send_if_possible(core);
        let more = self.receive(core, events)?;
        self.handle_end(core, events)?;
        Ok(more)
    }

    /// Has queued output sent before the turn ends, if the kernel may take some.
    pub(crate) fn send_if_possible(&mut self, core: &mut Core) {
        if self.queued() > 0 && !self.output.blocked {
            self.mark_dirty(core);
        }
    }

    fn receive(&mut self, core: &mut Core, events: &mut EventWriter<'_>) -> Result<bool, Stop> {
        self.input.told_in_turn = 0;
        if self.input.held {
            self.parse_rest(core, events, 0)?;
        }
        for _ in 0..READS_PER_TURN {
            let blocked = self.is_blocked(core) && !self.is_handshaking();
            if !self.input.readable || self.input.held || blocked {
                return Ok(self.input.held && self.has_told_enough());
            }
            if events.remaining() < READ_ROOM_BYTES {
                return Err(Stop::NeedSpace(READ_ROOM_BYTES));
            }
            let mut buffer = std::mem::take(&mut core.receive);
            let received = socket::receive(&self.socket, &mut buffer);
            let result = match received {
                Ok(0) => {
                    self.input.ended = true;
                    self.input.readable = false;
                    Ok(())
                }
                Ok(count) => {
                    // A short read has emptied the socket, and the next byte makes a new edge. The peer's end does
                    // not if it has been seen already: it must be read.
                    self.input.readable = count == buffer.len() || self.input.hang_up;
                    self.received(core, events, buffer.get_mut(..count).unwrap_or_default())
                }
                Err(Errno::AGAIN) => {
                    self.input.readable = false;
                    Ok(())
                }
                Err(Errno::INTR) => Ok(()),
                Err(errno) => Err(Stop::Close(errno.raw_os_error())),
            };
            core.receive = buffer;
            result?;
        }
        Ok(self.input.readable || self.input.held && self.has_told_enough())
    }

    /// Bytes of the peer.
    fn received(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Stop> {
        let count = u64::try_from(bytes.len()).unwrap_or(0);
        self.bytes_read += count;
        core.counters.bytes_read += count;
        // Bytes that nobody wants keep nothing alive.
        if !matches!(self.input.phase, Phase::Ignored { .. }) {
            self.touch(core);
        }
        if self.tls.is_none() {
            return self.take_input(core, events, bytes);
        }
        let mut plaintext = std::mem::take(&mut core.plaintext);
        plaintext.clear();
        self.decrypt(core, bytes, &mut plaintext);
        let result = match self.tell_tls(core, events) {
            Ok(()) => self.take_input(core, events, &plaintext),
            Err(stop) => {
                self.input.rest.extend_from_slice(&plaintext);
                self.input.held = !self.input.rest.is_empty();
                Err(stop)
            }
        };
        core.plaintext = plaintext;
        self.close_if_tls_failed(core);
        result
    }

    /// Bytes of HTTP, or of a tunnel.
    fn take_input(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.input.rest.is_empty() {
            let packet_at = self.input.rest.len();
            self.input.rest.extend_from_slice(bytes);
            return self.parse_rest(core, events, packet_at);
        }
        let mut used = 0;
        let result = self.parse(core, events, bytes, &mut used, 0);
        if let Some(rest) = bytes.get(used..)
            && !rest.is_empty()
            && self.wants_rest()
        {
            self.input.rest.extend_from_slice(rest);
        }
        self.note_pause(result)
    }

    /// Parses what is kept; `packet_at` is where in it begins what was received last.
    fn parse_rest(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        packet_at: usize,
    ) -> Result<(), Stop> {
        let rest = std::mem::take(&mut self.input.rest);
        let mut used = 0;
        let result = self.parse(core, events, &rest, &mut used, packet_at);
        if self.wants_rest() {
            self.input.rest = rest;
            self.input.drop_used(used);
        }
        self.note_pause(result)
    }

    fn wants_rest(&self) -> bool {
        !matches!(self.input.phase, Phase::Stopped) && self.input.refused.is_none()
    }

    fn note_pause(&mut self, result: Result<Pause, Stop>) -> Result<(), Stop> {
        self.input.held = !self.input.rest.is_empty() && result != Ok(Pause::NeedMore);
        result.map(|_| ())
    }

    /// The peer has ended its side and everything before has been dealt with.
    fn handle_end(&mut self, core: &mut Core, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        if !self.input.ended || self.input.end_handled || self.input.held {
            return Ok(());
        }
        match self.input.phase {
            _ if self.input.refused.is_some() => self.tell_peer_end(core, events)?,
            Phase::Head if !self.input.rest.is_empty() => self.refuse_end(core, events)?,
            Phase::Sized { .. } | Phase::Chunked(_) => self.refuse_end(core, events)?,
            Phase::Upgrade { .. } | Phase::Raw => self.tell_peer_end(core, events)?,
            Phase::Stopped => {}
            _ if !self.exchanges.is_empty() => self.tell_peer_end(core, events)?,
            _ => {}
        }
        self.input.end_handled = true;
        self.close_if_done()
    }

    /// Closes when both sides have said all: the peer has ended, no answer is outstanding and all is sent.
    pub(super) fn close_if_done(&mut self) -> Result<(), Stop> {
        // In a byte stream nobody waits for answers that were never given, nor where our side has ended.
        let is_answered = self.exchanges.is_empty()
            || matches!(self.input.phase, Phase::Raw)
            || self.output.ended;
        if !self.input.end_handled || !is_answered || self.queued() > 0 {
            return Ok(());
        }
        let undecided = matches!(
            self.input.phase,
            Phase::Raw | Phase::Stopped | Phase::Upgrade { .. }
        );
        if (undecided || self.input.refused.is_some()) && !self.output.ended {
            return Ok(());
        }
        Err(Stop::Close(0))
    }
}
