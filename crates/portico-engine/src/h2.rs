//! HTTP/2 on a connection: a [`Session`] between the bytes of the transport and exchanges (RFC 9113).
//!
//! An exchange has its stream's number. The session keeps frames, windows and priorities; what is here tells the
//! application of its events, keeps the bodies that wait for one of the two, and asks it for frames whenever the transport
//! is about to send.
//!
//! * [`exchanges`]: the streams that are not over
//! * [`parsing`]: received bytes into events, which [`events`] writes; [`waiting`] those that wait for their responder
//! * [`receiving`]: what the application says of bodies, and those that it had paused
//! * [`responding`]: the application's records about answers; [`output`] frames their bodies
//! * [`session`]: what is said of the session itself, both ways; [`pushing`]: answers that nobody has asked for
//! * [`closing`]: the end of a connection, [`ending`] how far it has got
//! * [`timeouts`]: what its peer must do in time, [`clocks`] since when

mod clocks;
mod closing;
mod ending;
mod events;
mod exchanges;
mod output;
mod parsing;
mod pushing;
mod receiving;
mod responding;
mod session;
mod timeouts;
mod waiting;

use portico_http::h2::{Session, SessionOptions, StreamKey};

use crate::core::Core;
use crate::limits::H2_QUEUED_BYTES;
use crate::options::ListenerOptions;
use crate::transport::Transport;
use clocks::Clocks;
use ending::Ending;
use events::Untold;
use exchanges::Exchanges;

/// How much of what is open is HTTP/2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Http2Load {
    /// Connections.
    pub connections: u64,
    /// Their streams that are not over.
    pub streams: u64,
}

/// HTTP/2 on one connection.
#[derive(Debug)]
pub(crate) struct H2 {
    session: Session,
    /// Whether the application is told of the session itself.
    notifies: bool,
    /// Whether our settings have been sent.
    is_started: bool,
    /// Received, and not done with: a part of a frame, or what came while there was no event memory.
    rest: Vec<u8>,
    /// Whether `rest` can be parsed as it is.
    held: bool,
    untold: Untold,
    /// A request for which there was none: it is offered again. The session keeps its head until more is received.
    request_again: Option<StreamKey>,
    exchanges: Exchanges,
    /// Requests since the start.
    requests: u32,
    /// Whether the application has been asked for something since the connection was idle last, or at all.
    is_busy: bool,
    ending: Ending,
    clocks: Clocks,
}

impl H2 {
    /// A connection that has received nothing.
    pub(crate) fn new(options: &ListenerOptions, now_ms: u64) -> Self {
        let session = SessionOptions {
            strict_host: options.strict_host,
            answers_large_fields: !options.notify_session,
            ..options.http2
        };
        Self {
            session: Session::new(&session, now_ms),
            notifies: options.notify_session,
            is_started: false,
            rest: Vec::new(),
            held: false,
            untold: Untold::default(),
            request_again: None,
            exchanges: Exchanges::default(),
            requests: 0,
            is_busy: true,
            ending: Ending::default(),
            clocks: Clocks::new(now_ms),
        }
    }

    /// Of a connection that begins with a handshake: it has been one of HTTP/1 until then.
    pub(crate) fn start(&mut self, _now_ms: u64) {}

    /// Whether it waits for a request: none is in flight or has begun.
    pub(crate) fn is_idle(&self) -> bool {
        self.exchanges.is_empty() && !self.session.is_in_field_block()
    }

    /// Whether the application has been told of a request whose exchange is not over.
    pub(crate) fn has_request(&self) -> bool {
        !self.exchanges.is_empty()
    }

    /// Exchanges that are not over.
    pub(crate) fn exchange_count(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether not a byte of a request has come since the last, or at all.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_idle() && self.rest.is_empty()
    }

    /// Whether a stream has an exchange that is not over.
    pub(crate) fn has_exchange(&self, sequence: u32) -> bool {
        self.exchanges.has(sequence)
    }

    /// Always: a tunnel is one stream's.
    #[expect(clippy::unused_self, reason = "a protocol's question")]
    pub(crate) fn is_http(&self) -> bool {
        true
    }

    /// Whether what is received is used, not dropped.
    pub(crate) fn wants_input(&self) -> bool {
        !self.ending.has_failed
    }

    /// Whether the end of a request is still to be read.
    pub(crate) fn is_receiving(&self) -> bool {
        self.exchanges.iter().any(|(_, it)| !it.is_received)
    }

    /// Whether there is something to do before anything is read.
    pub(crate) fn has_held_input(&self) -> bool {
        self.held
            || !self.untold.is_empty()
            || self.request_again.is_some()
            || self.exchanges.has_due()
            || self.clocks.is_due
    }

    /// Reading never waits for answers: a client has so many streams, and no more.
    #[expect(clippy::unused_self, reason = "a protocol's question")]
    pub(crate) fn waits_for_answers(&self, _: &Transport, _: &Core) -> bool {
        false
    }

    pub(crate) fn keeps_input(&self) -> bool {
        self.has_held_input()
    }

    /// A packet is handed over to its end: it can't have more requests than there may be streams.
    #[expect(clippy::unused_self, reason = "a protocol's question")]
    pub(crate) fn has_more_for_a_turn(&self) -> bool {
        false
    }

    #[expect(clippy::unused_self, reason = "a protocol's question")]
    pub(crate) fn begin_turn(&mut self) {}

    /// Whether nothing is read: the application has paused the connection, or its peer does not take what it made us
    /// say. A stream that is held holds no other.
    pub(crate) fn is_blocked(&self, transport: &Transport, _: &Core) -> bool {
        transport.is_paused() || transport.queued() > H2_QUEUED_BYTES
    }
}
