//! What the application says of what a connection receives.

use portico_channel::layout::take_over_flag;

use super::H1;
use super::input::{Phase, TakenOver};
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::transport::Transport;

impl H1 {
    /// `FEED`: bytes to parse from somewhere else than the socket.
    pub(crate) fn feed(&mut self, transport: &mut Transport, core: &mut Core, bytes: &[u8]) {
        if matches!(self.input.phase, Phase::Stopped) || bytes.is_empty() {
            return;
        }
        self.input.hold(bytes);
        transport.schedule(core);
    }

    /// `TAKE_OVER`: the connection is a byte stream from now on. Answers to earlier requests may still be given; they
    /// mix with the stream as the application writes both, as in Node. With `BEHIND_BODY` the stream begins where the
    /// request ends, and nothing of the request is the application's yet but its head.
    pub(crate) fn take_over(&mut self, transport: &mut Transport, core: &mut Core, flags: u32) {
        let Phase::Upgrade { framing, attached } = self.input.phase else {
            return;
        };
        transport.become_busy();
        if flags & take_over_flag::BEHIND_BODY == 0 {
            self.become_raw();
            self.input.drop_used(attached);
            self.look_again(transport, core);
            return;
        }
        self.input.taken_over = Some(TakenOver::Untold);
        if self.input.begin_body(framing) {
            self.input.start_message(core.clock.now_ms());
        } else {
            self.become_raw();
        }
        // There is something to tell even if there is nothing to parse.
        transport.schedule(core);
    }

    /// `PROCEED`: the upgrade is an ordinary request.
    pub(crate) fn proceed(&mut self, transport: &mut Transport, core: &mut Core) {
        if let Phase::Upgrade { framing, .. } = self.input.phase {
            if self.input.begin_body(framing) {
                self.input.start_message(core.clock.now_ms());
            } else {
                self.message_complete();
            }
            self.look_again(transport, core);
        }
    }

    /// `PAUSE`, `RESUME` and `DISCARD` of a body. What crossed with the body's end is about nothing any more; what is
    /// discarded stays so.
    pub(crate) fn set_body_wish(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        sequence: u32,
        wish: BodyWish,
    ) {
        let is_arriving = sequence == self.exchanges.last();
        if let Some(exchange) = self.exchanges.arriving_mut()
            && is_arriving
            && exchange.body != BodyWish::End
        {
            exchange.body = wish;
            let pauses = u32::from(wish == BodyWish::Nothing);
            self.input.pauses = self.input.pauses.wrapping_add(pauses);
            self.look_again(transport, core);
        }
    }

    /// Has the connection driven in the next turn: what stopped it may be gone.
    #[inline]
    pub(crate) fn look_again(&self, transport: &mut Transport, core: &mut Core) {
        if self.input.held || transport.is_readable() || transport.has_peer_ended() {
            transport.schedule(core);
        }
    }
}
