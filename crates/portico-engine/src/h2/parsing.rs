//! Received bytes into events: what the session makes of them, and who is told.

use portico_channel::EventWriter;
use portico_http::Method;
use portico_http::h2::hpack::OutgoingField;
use portico_http::h2::{ErrorCode, Event, StreamKey};
use portico_http::semantics::Scheme;

use super::H2;
use super::events::{record, write_body, write_end, write_request, write_reset, write_trailers};
use super::exchanges::{Exchange, KeptEnd};
use crate::core::Core;
use crate::exchange::BodyWish;
use crate::offer::{Offered, Turn, Waiting};
use crate::request_changes::RequestChanges;
use crate::stop::Stop;
use crate::transport::Transport;

impl H2 {
    /// Keeps received bytes, to be parsed in the next turn.
    pub(crate) fn hold_input(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        self.held = !self.rest.is_empty();
    }

    /// Frames are to be parsed: nothing is read to where its event lies.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "a protocol's question"
    )]
    pub(crate) fn receive_in_place(
        &mut self,
        _: &mut Transport,
        _: &mut Core,
        _: &mut EventWriter<'_>,
    ) -> Result<bool, Stop> {
        Ok(false)
    }

    /// Takes received bytes.
    pub(crate) fn handle_input(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &[u8],
    ) -> Result<(), Stop> {
        if !self.wants_input() {
            return Ok(());
        }
        if !self.rest.is_empty() || self.has_held_input() {
            self.rest.extend_from_slice(bytes);
            return self.parse_held(transport, core, turn);
        }
        self.begin(transport, core);
        let mut used = 0;
        let result = self.parse(transport, core, turn, bytes, &mut used);
        if self.wants_input() {
            let rest = bytes.get(used..).unwrap_or_default();
            self.rest.extend_from_slice(rest);
        }
        self.after_parsing(transport, core, result)
    }

    /// Does what could not be done before, and parses what was received then.
    pub(crate) fn parse_held(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
    ) -> Result<(), Stop> {
        self.begin(transport, core);
        self.untold.flush(transport, core, turn.events)?;
        if std::mem::take(&mut self.ending.fails_when_told) {
            self.fail(transport, core);
        }
        self.handle_timeouts(transport, core, turn.events)?;
        while let Some(sequence) = self.exchanges.first_due() {
            self.look_at(transport, core, turn, sequence)?;
            self.exchanges.done();
        }
        if let Some(key) = self.request_again.take() {
            self.request(transport, core, turn, key)?;
        }
        let mut rest = std::mem::take(&mut self.rest);
        let mut used = 0;
        let result = self.parse(transport, core, turn, &rest, &mut used);
        if used < rest.len() && self.wants_input() {
            rest.drain(..used);
            self.rest = rest;
        }
        self.after_parsing(transport, core, result)
    }

    /// Sends our settings.
    pub(super) fn begin(&mut self, transport: &mut Transport, core: &mut Core) {
        if !self.is_started {
            self.is_started = true;
            self.session.start(transport.buffer(core));
        }
    }

    fn after_parsing(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        result: Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.held = result.is_err() && !self.rest.is_empty();
        let has_begun = !self.rest.is_empty() || self.session.is_in_field_block();
        self.clocks.note_input(has_begun, core.clock.now_ms());
        self.enter_deadline(transport, core);
        transport.flush_later(core);
        result
    }

    /// Parses `bytes` from `used` on, and moves `used` behind what is done with.
    fn parse(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        bytes: &[u8],
        used: &mut usize,
    ) -> Result<(), Stop> {
        while self.wants_input() {
            let input = bytes.get(*used..).unwrap_or_default();
            let now_ms = core.clock.now_ms();
            let received = self.session.receive(input, now_ms, transport.buffer(core));
            let received = match received {
                Ok(received) => received,
                // GOAWAY is among the output, and says why.
                Err(error) => {
                    let why = (error.code, error.reason);
                    return self.session_failed(transport, core, turn.events, why);
                }
            };
            *used += received.consumed;
            match received.event {
                Event::NeedMore => break,
                Event::Request(key) => self.request(transport, core, turn, key)?,
                Event::Data {
                    stream,
                    bytes,
                    is_last,
                } => {
                    let bytes = input.get(bytes).unwrap_or_default();
                    self.body(transport, core, turn.events, stream, bytes, is_last)?;
                }
                Event::Trailers(key) => self.trailers(transport, core, turn.events, key)?,
                Event::Reset { stream, code, .. } => {
                    self.stream_gone(transport, core, turn.events, stream, code)?;
                }
                event => self.session_event(transport, core, turn.events, input, event)?,
            }
        }
        Ok(())
    }

    /// begin → offer → tell.
    fn request(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        turn: &mut Turn<'_, '_>,
        key: StreamKey,
    ) -> Result<(), Stop> {
        let Some(head) = self.session.head().copied() else {
            return Ok(());
        };
        let is_tls = transport.is_tls();
        if head.method.is_none() && !self.notifies {
            // Applications that know HTTP/1 name methods by number. RFC 9110, section 9.1
            self.count_request(transport, core);
            self.refuse(transport, core, key, 501);
            return Ok(());
        }
        let (name, section) = ((transport.token(), key.id), self.session.section());
        let scheme = if is_tls { Scheme::Https } else { Scheme::Http };
        let offered = match head.request(section, scheme) {
            Some(head) if turn.responder.is_some() => turn.offer(transport, core, key.id, head),
            _ => Offered::Passed,
        };
        let mut exchange = Exchange::new(key, core.clock.now_ms());
        exchange.is_tunnel = head.method == Some(Method::Connect);
        exchange.is_head = head.method == Some(Method::Head);
        exchange.is_received = head.is_complete;
        let write =
            |events: &mut EventWriter<'_>| write_request(events, name, is_tls, &head, section);
        let told = match &offered {
            Offered::Passed | Offered::Filtered(_) => {
                let changes = changes_of(&offered);
                transport
                    .announce(core, turn.events)
                    .and_then(|()| match changes {
                        None => Ok(write(turn.events)?),
                        Some(changes) => Ok(changes.write(&record(write), turn.events)?),
                    })
            }
            Offered::Answered(_) => transport.announce(core, turn.events),
            Offered::Waits => {
                let waiting = Waiting::begin(core, key.id);
                exchange.waiting = Some(Box::new((waiting, record(write))));
                Ok(())
            }
        };
        if told.is_err() {
            self.request_again = Some(key);
            return told;
        }
        self.exchanges.insert(key.id, exchange);
        self.count_request(transport, core);
        match offered {
            Offered::Answered(answer) => self.answer(transport, core, key.id, &answer),
            Offered::Filtered(filter) => turn.filters.push((key.id, filter)),
            Offered::Passed | Offered::Waits => {}
        }
        Ok(())
    }

    fn count_request(&mut self, transport: &mut Transport, core: &mut Core) {
        core.counters.requests += 1;
        transport.become_busy();
        self.is_busy = true;
        self.requests = self.requests.wrapping_add(1);
        let listener = core.listeners.find(transport.listener());
        let limit = listener.map_or(0, |listener| listener.options.max_requests_per_socket);
        if limit != 0 && self.requests == limit {
            self.session.shut_down(transport.buffer(core));
        }
    }

    /// Answers a request that nobody is told of.
    fn refuse(&mut self, transport: &mut Transport, core: &mut Core, key: StreamKey, status: u16) {
        core.counters.responses += 1;
        let out = transport.buffer(core);
        let fields = [OutgoingField::new(b"content-length", b"0")];
        // Both fail only where the stream has gone.
        let _ = self.session.respond(key, status, fields, true, out);
        let _ = self.session.reset(key, ErrorCode::NO_ERROR, out);
    }

    fn body(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        key: StreamKey,
        bytes: &[u8],
        is_last: bool,
    ) -> Result<(), Stop> {
        let name = (transport.token(), key.id);
        let (session, untold) = (&mut self.session, &mut self.untold);
        let exchange = self.exchanges.find(key.id).filter(|it| !it.is_received);
        let Some(exchange) = exchange else {
            session.release(key, to_word(bytes.len()), transport.buffer(core));
            return Ok(());
        };
        if exchange.is_held() && exchange.wish != BodyWish::End {
            exchange.kept.extend_from_slice(bytes);
            if is_last {
                exchange.kept_end = Some(KeptEnd::Plain);
            }
            return Ok(());
        }
        let is_told = exchange.wish == BodyWish::Bytes && !bytes.is_empty();
        let is_end_told = is_last && !exchange.is_untold;
        let told = if is_told {
            let write = |events: &mut EventWriter<'_>| write_body(events, name, bytes, is_last);
            untold.tell(transport, core, events, write)
        } else if is_end_told {
            untold.tell(transport, core, events, |events| write_end(events, name))
        } else {
            Ok(())
        };
        exchange.is_received = is_last;
        session.release(key, to_word(bytes.len()), transport.buffer(core));
        if !self.exchanges.remove_if_over(key.id) {
            self.drop_unwanted(transport, core, key.id, bytes.len());
        }
        told
    }

    fn trailers(
        &mut self,
        transport: &mut Transport,
        core: &Core,
        events: &mut EventWriter<'_>,
        key: StreamKey,
    ) -> Result<(), Stop> {
        let (name, section) = ((transport.token(), key.id), self.session.section());
        let exchange = self.exchanges.find(key.id).filter(|it| !it.is_received);
        let Some(exchange) = exchange else {
            return Ok(());
        };
        let write = |events: &mut EventWriter<'_>| write_trailers(events, name, section);
        if exchange.is_held() && exchange.wish != BodyWish::End {
            exchange.kept_end = Some(KeptEnd::Record(record(write)));
            return Ok(());
        }
        exchange.is_received = true;
        let told = match exchange.is_untold {
            true => Ok(()),
            false => self.untold.tell(transport, core, events, write),
        };
        self.exchanges.remove_if_over(key.id);
        told
    }

    /// A stream has ended by an error: its exchange is over.
    pub(super) fn stream_gone(
        &mut self,
        transport: &mut Transport,
        core: &mut Core,
        events: &mut EventWriter<'_>,
        key: StreamKey,
        code: ErrorCode,
    ) -> Result<(), Stop> {
        let name = (transport.token(), key.id);
        self.session.let_go(key, transport.buffer(core));
        let Some(exchange) = self.exchanges.remove(key.id) else {
            return Ok(());
        };
        if exchange.waiting.is_some() {
            core.agenda.cancel(name.0, name.1);
        }
        if exchange.waiting.is_some() || exchange.is_untold {
            return Ok(());
        }
        let write = |events: &mut EventWriter<'_>| write_reset(events, name, code.0);
        self.untold.tell(transport, core, events, write)
    }
}

/// What the application is told otherwise of a request.
fn changes_of(offered: &Offered) -> Option<&RequestChanges> {
    match offered {
        Offered::Filtered(filter) => filter.request_changes(),
        _ => None,
    }
}

/// A length of received bytes, which is far below 4 GB.
pub(super) fn to_word(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
