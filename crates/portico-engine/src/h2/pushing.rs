//! Answers to requests that the client has not made (RFC 9113, section 8.4).

use portico_channel::layout::command;
use portico_channel::schema::View;
use portico_http::Method;
use portico_http::h2::hpack::OutgoingField;

use super::H2;
use super::exchanges::Exchange;
use super::responding::fields;
use crate::agenda::PendingEvent;
use crate::core::Core;
use crate::transport::Transport;

impl H2 {
    /// `PUSH`. The exchange has no request to receive, and is known by the promised stream's number.
    pub(crate) fn push(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        words: &View<'_, command::Push>,
    ) {
        let promised = self.promise(transport, core, words).unwrap_or(0);
        core.agenda.tell(PendingEvent::Pushed {
            token: words.token,
            stream: words.sequence,
            promised,
        });
        transport.flush_later(core);
        transport.schedule(core);
    }

    fn promise(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        words: &View<'_, command::Push>,
    ) -> Option<u32> {
        if !transport.takes_output() {
            return None;
        }
        let parent = self.exchanges.find(words.sequence)?.key;
        let pseudo = [
            OutgoingField::new(b":method", words.method()),
            OutgoingField::new(b":scheme", words.scheme()),
            OutgoingField::new(b":authority", words.authority()),
            OutgoingField::new(b":path", words.path()),
        ];
        let all = pseudo.into_iter().chain(fields(words.fields()));
        let out = transport.buffer(core);
        let key = self.session.push(parent, all, out).ok()?;
        let mut exchange = Exchange::new(key, core.clock.now_ms());
        exchange.is_head = words.method() == Method::Head.as_str().as_bytes();
        exchange.is_received = true;
        self.exchanges.insert(key.id, exchange);
        Some(key.id)
    }
}
