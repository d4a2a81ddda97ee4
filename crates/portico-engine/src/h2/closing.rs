//! The end of a connection: by the peer's error, by the application, or because all has been said.

use portico_channel::EventWriter;
use portico_http::h2::ErrorCode;
use portico_sys::Errno;

use super::H2;
use crate::core::Core;
use crate::stop::Stop;
use crate::transport::{AfterFlush, Transport};

impl H2 {
    /// Nothing can be read or written any more.
    pub(crate) fn abandon(&mut self) {
        self.ending.has_failed = true;
        self.exchanges.clear();
        self.rest = Vec::new();
        self.held = false;
    }

    /// The session has ended with an error, which is among the output.
    pub(super) fn fail(&mut self, transport: &mut Transport, core: &mut Core) {
        self.abandon();
        transport.set_after_flush(AfterFlush::Close);
        transport.arm_close(core);
        transport.flush_later(core);
    }

    /// The peer has ended its side: with it go the windows that answers need, and whoever would read them.
    pub(crate) fn handle_end(
        &mut self,
        transport: &mut Transport,
        _: &mut Core,
        _: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if !transport.has_peer_ended() || self.has_held_input() {
            return Ok(());
        }
        if self.exchanges.is_empty() && transport.queued() > 0 {
            transport.set_after_flush(AfterFlush::Close);
            return Ok(());
        }
        Err(Stop::Close(0))
    }

    /// Closes where that can't wait for what is queued.
    pub(crate) fn close_if_done(&self, transport: &Transport) -> Result<(), Stop> {
        if self.ending.is_body_gone {
            transport.reset_on_close();
            return Err(Stop::Close(Errno::CANCELED.raw_os_error()));
        }
        Ok(())
    }

    /// How to close when all is sent. What the peer still sends must not reset the last that we said.
    #[expect(clippy::unused_self, reason = "a protocol's question")]
    pub(crate) fn how_to_close(&self, transport: &Transport, _: &mut Core) -> Stop {
        match transport.has_peer_ended() {
            true => Stop::Close(0),
            false => Stop::Linger,
        }
    }

    /// `SHUTDOWN`: answers that are given whole are sent, other streams are given up.
    pub(crate) fn shutdown(&mut self, _: &mut Transport, _close: bool) {
        self.ending.is_closing = true;
    }

    /// Lets the client finish: it opens no more streams (RFC 9113, section 6.8).
    pub(crate) fn retire(&mut self, transport: &mut Transport, core: &mut Core) {
        self.session.shut_down(transport.buffer(core));
        transport.flush_later(core);
    }

    /// The connection is about to end without waiting for anything.
    pub(crate) fn send_goaway(&mut self, transport: &mut Transport, core: &mut Core) {
        if self.is_started && !self.ending.has_failed && !self.ending.is_said {
            self.ending.is_said = true;
            let last = self.session.last_stream();
            let out = transport.buffer(core);
            self.session.go_away(last, ErrorCode::NO_ERROR, b"", out);
        }
    }

    pub(super) fn send_goaway_if_closing(&mut self, transport: &mut Transport, core: &mut Core) {
        if !self.ending.is_closing || self.ending.is_said {
            return;
        }
        let unanswered = self.exchanges.iter().filter(|(_, it)| !it.is_answered);
        let unanswered: Vec<u32> = unanswered.map(|(sequence, _)| sequence).collect();
        for sequence in unanswered {
            self.reset(transport, core, sequence, ErrorCode::CANCEL.0);
        }
        self.send_goaway(transport, core);
    }

    /// The connection ends behind what is queued, if there is nothing more to say.
    pub(super) fn close_if_finished(&mut self, transport: &mut Transport) {
        let is_over = match self.ending.is_closing {
            // What is left of requests is not wanted.
            true => self.exchanges.iter().all(|(_, exchange)| exchange.is_sent),
            false => self.session.is_finished() && self.exchanges.is_empty(),
        };
        if is_over && transport.takes_output() {
            transport.set_after_flush(AfterFlush::Close);
        }
    }
}
