//! What the application's records say of a connection.

use portico_channel::layout::command;
use portico_channel::schema::View;

use super::Connection;
use crate::answer::{AnswerHead, InterimHead, Payload};
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::protocol::{Protocol, on_protocol};

impl Connection {
    /// `RESPOND`.
    #[inline]
    pub(crate) fn respond(
        &mut self,
        core: &mut Core,
        sequence: u32,
        head: &AnswerHead<'_>,
        body: Payload<'_>,
    ) {
        if self.filters.is_some() {
            return self.respond_filtered(core, sequence, head, body);
        }
        on_protocol!(&mut self.protocol, protocol => {
            protocol.respond(&mut self.transport, core, sequence, head, body);
        });
    }

    /// `DATA`.
    pub(crate) fn data(&mut self, core: &mut Core, sequence: u32, flags: u32, body: Payload<'_>) {
        if self.filters.is_some() {
            return self.data_filtered(core, sequence, flags, body);
        }
        on_protocol!(&mut self.protocol, protocol => {
            protocol.data(&mut self.transport, core, sequence, flags, body);
        });
    }

    /// `END`, with trailer lines.
    pub(crate) fn end(&mut self, core: &mut Core, sequence: u32, flags: u32, trailers: &[u8]) {
        if self.filters.is_some() && !self.end_filtered(core, sequence, flags) {
            return;
        }
        on_protocol!(&mut self.protocol, protocol => {
            protocol.end(&mut self.transport, core, sequence, flags, trailers);
        });
    }

    /// `INFORM`.
    pub(crate) fn inform(
        &mut self,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        head: &InterimHead<'_>,
    ) {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.inform(&mut self.transport, core, sequence, flags, head);
        });
    }

    /// `RAW`.
    pub(crate) fn raw(&mut self, core: &mut Core, flags: u32, body: Payload<'_>) {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.raw(&mut self.transport, core, flags, body);
        });
    }

    /// `FEED`.
    pub(crate) fn feed(&mut self, core: &mut Core, bytes: &[u8]) {
        on_protocol!(&mut self.protocol, protocol => protocol.feed(&mut self.transport, core, bytes));
    }

    /// `TAKE_OVER`.
    pub(crate) fn take_over(&mut self, core: &mut Core, flags: u32) {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.take_over(&mut self.transport, core, flags);
        });
    }

    /// `PROCEED`.
    pub(crate) fn proceed(&mut self, core: &mut Core) {
        on_protocol!(&mut self.protocol, protocol => protocol.proceed(&mut self.transport, core));
    }

    /// `PAUSE` and `RESUME` of the connection.
    pub(crate) fn set_paused(&mut self, core: &mut Core, paused: bool) {
        self.transport.set_paused(paused);
        if !paused {
            on_protocol!(&mut self.protocol, protocol => {
                protocol.look_again(&mut self.transport, core);
            });
        }
    }

    /// `PAUSE`, `RESUME` and `DISCARD` of a body.
    pub(crate) fn set_body_wish(&mut self, core: &mut Core, sequence: u32, wish: BodyWish) {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.set_body_wish(&mut self.transport, core, sequence, wish);
        });
    }

    /// `RESET`.
    pub(crate) fn reset(&mut self, core: &mut Core, sequence: u32, code: u32) {
        let keep_alive = self.is_h2();
        if self.filters.is_some() && self.stand_in(core, sequence, keep_alive) {
            return;
        }
        if let Some(filters) = &mut self.filters {
            filters.drop_one(sequence);
        }
        on_protocol!(&mut self.protocol, protocol => {
            protocol.reset(&mut self.transport, core, sequence, code);
        });
    }

    /// `SESSION`.
    pub(crate) fn session_command(
        &mut self,
        core: &mut Core,
        (subject, stream, code): (u32, u32, u32),
        bytes: &[u8],
    ) {
        if let Protocol::H2(protocol) = &mut self.protocol {
            protocol.session_command(&mut self.transport, core, (subject, stream, code), bytes);
        }
    }

    /// `PUSH`.
    pub(crate) fn push(&mut self, core: &mut Core, words: &View<'_, command::Push>) {
        if let Protocol::H2(protocol) = &mut self.protocol {
            protocol.push(&mut self.transport, core, words);
        }
    }

    /// Whether the end of a request is still to be read.
    pub(crate) fn is_receiving(&self) -> bool {
        on_protocol!(&self.protocol, protocol => protocol.is_receiving())
    }

    /// `SHUTDOWN`.
    pub(crate) fn shutdown(&mut self, core: &mut Core, close: bool) {
        on_protocol!(&mut self.protocol, protocol => protocol.shutdown(&mut self.transport, close));
        self.transport.flush_later(core);
    }

    /// `SERVER_NAME`: a context's number, 0 for the listener's own choice, all ones to refuse.
    pub(crate) fn choose_context(&mut self, core: &mut Core, number: u32) {
        let mut plaintext = Vec::new();
        let change = self.transport.choose_context(core, number, &mut plaintext);
        self.note_tls(core, change);
        on_protocol!(&mut self.protocol, protocol => protocol.hold_input(&plaintext));
    }

    /// `ALPN`: the protocol, `None` to go on without.
    pub(crate) fn choose_protocol(&mut self, core: &mut Core, protocol: Option<&[u8]>) {
        let mut plaintext = Vec::new();
        let change = self
            .transport
            .choose_protocol(core, protocol, &mut plaintext);
        self.note_tls(core, change);
        on_protocol!(&mut self.protocol, protocol => protocol.hold_input(&plaintext));
    }
}
