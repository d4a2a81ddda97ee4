//! A connection: a [`Transport`] and the [`Protocol`] on top of it, and who calls which of the two when.
//!
//! * [`commands`]: what the application says of it; [`filtering`]: what its responder does with that
//! * [`sending`]: its output, at the end of a turn

mod commands;
mod filtering;
mod sending;

use portico_channel::EventWriter;
use portico_channel::layout::peer_end_flag;

use crate::core::Core;
use crate::filter::Filters;
use crate::limits::{READ_ROOM_BYTES, READS_PER_TURN};
use crate::offer::Turn;
use crate::pace::{Pace, TooSlow, Waiting};
use crate::protocol::{Protocol, on_protocol};
use crate::stop::Stop;
use crate::transport::{Received, TlsChange, Transport};

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    protocol: Protocol,
    /// `None` while no answer has one.
    filters: Option<Box<Filters>>,
}

impl Connection {
    /// A connection that has received nothing.
    pub(crate) fn new(transport: Transport, protocol: Protocol) -> Self {
        Self {
            transport,
            protocol,
            filters: None,
        }
    }

    /// Does what can be done now: sends, tells, reads and parses. Returns whether there is more to do at once.
    pub(crate) fn drive(&mut self, core: &mut Core, turn: &mut Turn<'_, '_>) -> Result<bool, Stop> {
        self.transport.write_flushed(core, turn.events)?;
        self.transport.write_tls_events(core, turn.events)?;
        self.transport.close_if_tls_failed(core);
        if on_protocol!(&self.protocol, protocol => protocol.holds_output()) {
            self.transport.flush_later(core);
        } else {
            self.transport.flush_if_possible(core);
        }
        let more = match self.receive(core, turn) {
            Err(Stop::Preface) => {
                self.become_h2(core);
                self.receive(core, turn)?
            }
            received => received?,
        };
        on_protocol!(&mut self.protocol, protocol => {
            protocol.handle_end(&mut self.transport, core, turn.events)?;
        });
        Ok(more)
    }

    fn receive(&mut self, core: &mut Core, turn: &mut Turn<'_, '_>) -> Result<bool, Stop> {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.begin_turn();
            if protocol.has_held_input() {
                protocol.parse_held(&mut self.transport, core, turn)?;
            }
            protocol.tell_taken_over(&self.transport, turn.events)?;
        });
        for _ in 0..READS_PER_TURN {
            let has_more = self.has_more_for_a_turn();
            if !self.transport.is_readable() || !self.may_read(core) {
                // A peer that has reset the connection can get no answer, so nothing that it sent is kept waiting.
                // The bytes of a tunnel are of use without an answer.
                if !has_more && self.transport.is_ending() && self.is_http() {
                    self.transport.end_if_failed()?;
                    if self.is_end_unread(core) {
                        self.transport.arm_unread_end(core);
                    }
                }
                return Ok(has_more);
            }
            if turn.events.remaining() < READ_ROOM_BYTES {
                return Err(Stop::NeedSpace(READ_ROOM_BYTES));
            }
            let is_read = on_protocol!(&mut self.protocol, protocol => {
                protocol.receive_in_place(&mut self.transport, core, turn.events)?
            });
            if !is_read {
                self.receive_and_parse(core, turn)?;
            }
        }
        Ok(self.transport.is_readable() || self.has_more_for_a_turn())
    }

    /// Reads once, into the shard's buffer.
    #[inline]
    fn receive_and_parse(&mut self, core: &mut Core, turn: &mut Turn<'_, '_>) -> Result<(), Stop> {
        let mut buffer = std::mem::take(&mut core.receive);
        let result = match self.transport.receive(core, &mut buffer) {
            Ok(Received::Bytes(count)) => {
                let bytes = buffer.get_mut(..count).unwrap_or_default();
                self.handle_received(core, turn, bytes)
            }
            Ok(Received::Nothing) => Ok(()),
            Err(stop) => Err(stop),
        };
        core.receive = buffer;
        result
    }

    /// Whether what the socket has can be used.
    #[inline]
    fn may_read(&self, core: &Core) -> bool {
        on_protocol!(&self.protocol, protocol => {
            !protocol.has_held_input()
                && (!protocol.is_blocked(&self.transport, core) || self.transport.is_handshaking())
        })
    }

    /// Whether the peer has ended its side behind requests that wait for answers, and nothing can be read for now.
    fn is_end_unread(&mut self, core: &Core) -> bool {
        on_protocol!(&self.protocol, protocol => {
            protocol.waits_for_answers(&self.transport, core)
                && self.transport.is_end_behind_input(protocol.keeps_input())
        })
    }

    /// Writes `PEER_END` of a peer whose time is over, if its end still can't be read.
    pub(crate) fn write_unread_end(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if !self.is_end_unread(core) {
            return Ok(());
        }
        // A peer that is sent something takes it at its pace.
        if !self.has_output() {
            let flags = peer_end_flag::UNREAD;
            self.transport.write_peer_end(core, events, flags)?;
        }
        self.transport.arm_unread_end(core);
        Ok(())
    }

    #[inline]
    fn has_more_for_a_turn(&self) -> bool {
        on_protocol!(&self.protocol, protocol => protocol.has_more_for_a_turn())
    }

    /// Bytes of the socket.
    #[inline]
    fn handle_received(
        &mut self,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &mut [u8],
    ) -> Result<(), Stop> {
        // Bytes that are dropped keep nothing alive.
        if on_protocol!(&self.protocol, protocol => protocol.wants_input()) {
            self.transport.touch(core);
        }
        if self.transport.is_tls() {
            return self.handle_encrypted(core, turn, bytes);
        }
        on_protocol!(&mut self.protocol, protocol => {
            protocol.handle_input(&mut self.transport, core, turn, bytes)
        })
    }

    fn handle_encrypted(
        &mut self,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &mut [u8],
    ) -> Result<(), Stop> {
        let mut plaintext = std::mem::take(&mut core.plaintext);
        plaintext.clear();
        let change = self.transport.decrypt(core, bytes, &mut plaintext);
        self.note_tls(core, change);
        let written = self.transport.write_tls_events(core, turn.events);
        let result = on_protocol!(&mut self.protocol, protocol => match written {
            Ok(()) => protocol.handle_input(&mut self.transport, core, turn, &plaintext),
            Err(stop) => {
                protocol.hold_input(&plaintext);
                Err(stop)
            }
        });
        core.plaintext = plaintext;
        self.transport.close_if_tls_failed(core);
        result
    }

    /// Notes what a step of the TLS layer means for the protocol.
    fn note_tls(&mut self, core: &Core, change: TlsChange) {
        if change == TlsChange::Established {
            self.choose_after_handshake(core);
        }
        on_protocol!(&mut self.protocol, protocol => match change {
            TlsChange::Nothing => {}
            TlsChange::Established => protocol.start(core.clock.now_ms()),
            TlsChange::Failed => protocol.abandon(),
        });
    }

    /// The handshake has chosen the protocol (RFC 9113, section 3.2).
    fn choose_after_handshake(&mut self, core: &Core) {
        let Some(listener) = core.listeners.find(self.transport.listener()) else {
            return;
        };
        let protocols = listener.options.protocols;
        let is_chosen = self.transport.alpn() == Some(b"h2") && protocols.http2;
        if is_chosen || !protocols.http1 {
            self.protocol = Protocol::h2(&listener.options, core.clock.now_ms());
        }
    }

    /// Whether it waits for a request: none is in flight or has begun. The last answer may still be on its way.
    pub(crate) fn is_idle(&self) -> bool {
        !self.transport.is_handshaking()
            && on_protocol!(&self.protocol, protocol => protocol.is_idle())
    }

    /// Whether not a byte of a request has come since the last, or at all.
    pub(crate) fn is_silent(&self) -> bool {
        !self.transport.is_handshaking()
            && on_protocol!(&self.protocol, protocol => protocol.is_silent())
    }

    /// Whether bytes wait for the kernel, or to be framed.
    #[inline]
    pub(crate) fn has_output(&self) -> bool {
        self.transport.queued() > 0
            || on_protocol!(&self.protocol, protocol => protocol.holds_output())
    }

    /// Whether the kernel has all that was given in its turn. Not of streams that interleave.
    pub(crate) fn has_sent(&self) -> bool {
        matches!(self.protocol, Protocol::H1(_)) && self.transport.queued() == 0
    }

    /// Where its protocol stands, in words.
    pub(crate) fn inspect_protocol(&self) -> String {
        match &self.protocol {
            Protocol::H1(protocol) => protocol.inspect(),
            _ => "HTTP/2".into(),
        }
    }

    /// Whether it has not been taken over as a byte stream.
    pub(crate) fn is_http(&self) -> bool {
        on_protocol!(&self.protocol, protocol => protocol.is_http())
    }

    /// Whether the head or the whole of the request in work has taken too long. Said once for a request.
    pub(crate) fn is_request_late(
        &mut self,
        core: &mut Core,
        headers_ms: u64,
        request_ms: u64,
    ) -> bool {
        let now_ms = core.clock.now_ms();
        on_protocol!(&mut self.protocol, protocol => {
            let is_late = protocol.is_request_late(now_ms, headers_ms, request_ms);
            protocol.look_again(&mut self.transport, core);
            is_late
        })
    }

    /// An entry of the session of HTTP/2 in the timers has come.
    pub(crate) fn session_deadline_passed(&mut self, core: &mut Core, entry_ms: u64) {
        if let Protocol::H2(protocol) = &mut self.protocol {
            protocol.deadline_passed(&mut self.transport, core, entry_ms);
        }
    }

    /// Whether it speaks HTTP/2.
    pub(crate) fn is_h2(&self) -> bool {
        matches!(self.protocol, Protocol::H2(_))
    }

    /// Its streams, where it speaks HTTP/2.
    pub(crate) fn streams(&self) -> Option<usize> {
        match &self.protocol {
            Protocol::H2(protocol) => Some(protocol.exchange_count()),
            _ => None,
        }
    }

    /// Has a peer of HTTP/2 open no more streams, and the connection end behind those that there are.
    pub(crate) fn retire(&mut self, core: &mut Core) {
        if let Protocol::H2(protocol) = &mut self.protocol {
            protocol.retire(&mut self.transport, core);
        }
    }

    /// The connection is about to end: a peer of HTTP/2 learns which streams were looked at.
    pub(crate) fn send_goaway(&mut self, core: &mut Core) {
        if let Protocol::H2(protocol) = &mut self.protocol {
            protocol.send_goaway(&mut self.transport, core);
        }
    }

    /// The peer has sent the preface of HTTP/2 where a request of HTTP/1 would begin.
    #[cold]
    fn become_h2(&mut self, core: &Core) {
        let now_ms = core.clock.now_ms();
        let options = core.listeners.find(self.transport.listener());
        let options = options
            .map(|listener| listener.options.clone())
            .unwrap_or_default();
        let before = std::mem::replace(&mut self.protocol, Protocol::h2(&options, now_ms));
        if let Protocol::H1(mut h1) = before {
            let input = h1.take_input();
            on_protocol!(&mut self.protocol, protocol => protocol.hold_input(&input));
        }
    }

    /// What the peer is waited for now, given what was at the last look. `rate` in bytes per second, not 0.
    pub(crate) fn pace(&self, before: Pace, now_ms: u64, rate: u32) -> Result<Pace, TooSlow> {
        let (bytes_read, _) = self.transport.traffic();
        let body = on_protocol!(&self.protocol, protocol => protocol.awaited_body(&self.transport));
        let waiting = Waiting {
            sender: body
                .filter(|_| !self.transport.has_peer_ended())
                .map(|body| (body, bytes_read)),
            reader: if self.is_http() {
                self.transport.taken_while_blocked()
            } else {
                None
            },
        };
        before.next(waiting, now_ms, rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_a_few_hundred_bytes() {
        assert!(
            size_of::<Connection>() <= 480,
            "{} bytes",
            size_of::<Connection>()
        );
    }
}
