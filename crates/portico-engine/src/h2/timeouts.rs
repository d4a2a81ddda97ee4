//! What a peer must do in time: acknowledge settings, open windows, end frames, heads and requests.

use portico_channel::EventWriter;
use portico_http::h2::{ErrorCode, Event};

use super::H2;
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::stop::Stop;
use crate::timers::SESSION_KEY;
use crate::transport::Transport;

impl H2 {
    /// Looks for what has taken too long; `true` would have the application told, which has nothing to say about streams:
    /// they are reset in the next turn, and a connection whose frame or head is late ends then.
    pub(crate) fn is_request_late(
        &mut self,
        now_ms: u64,
        headers_ms: u64,
        request_ms: u64,
    ) -> bool {
        let is_late = |since_ms: u64, limit_ms: u64| {
            since_ms != 0 && limit_ms != 0 && since_ms + limit_ms <= now_ms
        };
        if is_late(self.clocks.input_ms, headers_ms) {
            self.clocks.is_input_late = true;
            self.clocks.is_due = true;
        }
        let mut late = Vec::new();
        for (sequence, exchange) in self.exchanges.iter_mut() {
            let is_awaited = !exchange.is_received
                && !exchange.is_tunnel
                && exchange.kept_end.is_none()
                && exchange.gone.is_none();
            if is_awaited && is_late(exchange.started_ms, request_ms) {
                exchange.gone = Some(ErrorCode::CANCEL);
                late.push(sequence);
            }
        }
        for sequence in late {
            self.exchanges.make_due(sequence);
        }
        false
    }

    /// A number that tells the body that the peer is waited for from others. `None`: the peer is not waited for.
    pub(crate) fn awaited_body(&self, transport: &Transport) -> Option<u64> {
        if transport.is_paused() {
            return None;
        }
        let awaited = self.exchanges.iter().filter(|(_, exchange)| {
            !exchange.is_received
                && !exchange.is_tunnel
                && exchange.wish != BodyWish::Nothing
                && exchange.waiting.is_none()
        });
        awaited.map(|(sequence, _)| u64::from(sequence)).min()
    }

    /// Makes sure that there is an entry in the shard's timers for the session's deadline.
    pub(super) fn enter_deadline(&mut self, transport: &Transport, core: &mut Core) {
        let Some(deadline_ms) = self.session.deadline_ms() else {
            return;
        };
        let entered_ms = self.clocks.entered_ms;
        if entered_ms == 0 || deadline_ms < entered_ms {
            self.clocks.entered_ms = deadline_ms;
            let key = SESSION_KEY | u64::from(transport.token());
            core.timers.enter(deadline_ms, key);
        }
    }

    /// An entry's time has come.
    pub(crate) fn deadline_passed(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        entry_ms: u64,
    ) {
        // An earlier one has replaced others.
        if entry_ms == self.clocks.entered_ms {
            self.clocks.entered_ms = 0;
            self.clocks.is_due = true;
            transport.schedule(core);
        }
    }

    /// Does what is due.
    pub(super) fn handle_timeouts(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if !self.clocks.is_due || self.ending.has_failed {
            self.clocks.is_due = false;
            return Ok(());
        }
        if self.clocks.is_input_late {
            let reason = "a frame or a field block takes too long";
            let (code, last) = (ErrorCode::ENHANCE_YOUR_CALM, self.session.last_stream());
            let out = transport.buffer(core);
            self.session.go_away(last, code, reason.as_bytes(), out);
            self.clocks.is_due = false;
            return self.session_failed(transport, core, events, (code, reason));
        }
        loop {
            let now_ms = core.clock.now_ms();
            let done = self.session.handle_timeout(now_ms, transport.buffer(core));
            match done {
                Ok(Some(Event::Reset { stream, code, .. })) => {
                    self.stream_gone(transport, core, events, stream, code)?;
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    self.clocks.is_due = false;
                    let why = (error.code, error.reason);
                    return self.session_failed(transport, core, events, why);
                }
            }
        }
        self.clocks.is_due = false;
        self.enter_deadline(transport, core);
        transport.flush_later(core);
        Ok(())
    }
}
