//! The one step between a request and the application, in which the engine may do something about it by itself.
//!
//! ```text
//! begin ──▶ offer ──▶ tell              Passed, Filtered
//!             ├─────▶ Answer            Answered
//!             └─────▶ wait ──▶ settle   Waits: tell or Answer, later
//! ```
//!
//! A request's exchange begins, so it has its number. Then it is offered to the shard's [`Responder`], if the drive has
//! given one. What the responder does not answer, the application is told (`REQUEST`).

use portico_channel::EventWriter;
use portico_http::semantics::RequestHead;
use portico_sys::Address;

use crate::ListenerId;
use crate::answer::Answer;
use crate::core::Core;
use crate::filter::AnswerFilter;
use crate::own_request::{OwnRequest, Pretended};
use crate::transport::Transport;

/// Is offered each request before the application is told of it.
pub trait Responder {
    /// What becomes of a request.
    ///
    /// Runs on the shard's thread and must not block. A request that the application could not be told of, for want of
    /// event memory, is offered again.
    fn offer(&mut self, offer: &Offer<'_>) -> Offered;

    /// A request that [waits](Offered::Waits) has gone with its connection: nobody wants what is being done for it.
    fn cancelled(&mut self, token: u32, sequence: u32) {
        let _ = (token, sequence);
    }

    /// A request that the engine is to make by itself; asked for behind each turn's offers, until there is none.
    fn poll_own_request(&mut self) -> Option<OwnRequest> {
        None
    }
}

/// What becomes of a request that was offered.
#[derive(Debug)]
pub enum Offered {
    /// It is for the application.
    Passed,
    /// The same, and the application's answer goes through a filter, which may also have it told
    /// [otherwise](AnswerFilter::request_changes).
    Filtered(Box<dyn AnswerFilter>),
    /// It is answered, and the application is not told of it.
    Answered(Answer),
    /// Its responder says later ([`Shard::settle`](crate::Shard::settle)): it waits for something that is slow. Meanwhile the
    /// connection keeps the request's head and reads no body; in HTTP/1 it hands over no request behind this one. A
    /// request for which nothing has been said after 30 s is passed.
    Waits,
}

/// A request that has begun, and the connection that it came by.
#[derive(Debug)]
pub struct Offer<'a> {
    pub(crate) sequence: u32,
    pub(crate) head: RequestHead<'a>,
    pub(crate) transport: &'a Transport,
    /// The address at which the listener accepts, if it is one.
    pub(crate) accepted_at: Option<Address>,
    /// What the connection pretends, if it has no client.
    pub(crate) pretended: Option<&'a Pretended>,
}

impl<'a> Offer<'a> {
    /// The request's head.
    #[must_use]
    pub fn head(&self) -> &RequestHead<'a> {
        &self.head
    }

    /// Number of the request on its connection.
    #[must_use]
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The connection's token.
    #[must_use]
    pub fn token(&self) -> u32 {
        self.transport.token()
    }

    /// The listener that the connection came through.
    #[must_use]
    pub fn listener(&self) -> ListenerId {
        ListenerId(self.transport.listener())
    }

    /// Our address on the connection. May cost a system call.
    #[must_use]
    pub fn local_address(&self) -> Address {
        match self.pretended {
            Some(pretended) => pretended.local,
            None => self.transport.local_address(self.accepted_at),
        }
    }

    /// The client's address.
    #[must_use]
    pub fn remote_address(&self) -> Address {
        self.transport.remote_address()
    }

    /// Whether the engine makes this request by itself ([`OwnRequest`]).
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.pretended.is_some()
    }

    /// The filter that was given with it; once.
    #[must_use]
    pub fn take_own_filter(&self) -> Option<Box<dyn AnswerFilter>> {
        let filter: Box<dyn AnswerFilter> = self.pretended?.filter.take()?;
        Some(filter)
    }

    /// The server name of the TLS handshake, until the application has been told of that (`SECURE`).
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.transport.server_name()
    }
}

/// What a turn of the shard lends to the connection in work, for what it has to say.
pub(crate) struct Turn<'a, 'm> {
    pub(crate) events: &'a mut EventWriter<'m>,
    pub(crate) responder: Option<&'a mut (dyn Responder + 'a)>,
    /// Filters of answers to requests that the connection in work has passed; it takes them when its work is done.
    pub(crate) filters: Vec<(u32, Box<dyn AnswerFilter>)>,
}

impl<'a, 'm> Turn<'a, 'm> {
    pub(crate) fn new(
        events: &'a mut EventWriter<'m>,
        responder: Option<&'a mut (dyn Responder + 'a)>,
    ) -> Self {
        Self {
            events,
            responder,
            filters: Vec::new(),
        }
    }

    /// Offers a request that has begun.
    #[inline(never)]
    pub(crate) fn offer(
        &mut self,
        transport: &Transport,
        core: &Core,
        sequence: u32,
        head: RequestHead<'_>,
    ) -> Offered {
        let Some(responder) = &mut self.responder else {
            return Offered::Passed;
        };
        let listener = core.listeners.find(transport.listener());
        responder.offer(&Offer {
            sequence,
            head,
            transport,
            accepted_at: listener.and_then(|listener| listener.accepted_at),
            pretended: transport.pretended(core),
        })
    }
}

/// A request that waits for its responder.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) sequence: u32,
    pub(crate) since_ms: u64,
    /// What becomes of it, from when that has been said until it is done.
    pub(crate) settled: Option<Offered>,
}

impl Waiting {
    /// From now on. Has the shard look after it.
    pub(crate) fn begin(core: &mut Core, sequence: u32) -> Self {
        core.watch_waiting();
        Self {
            sequence,
            since_ms: core.clock.now_ms(),
            settled: None,
        }
    }

    /// Notes what becomes of it; `false` if that has been said before.
    pub(crate) fn settle(&mut self, sequence: u32, offered: Offered) -> bool {
        let is_open = self.sequence == sequence && self.settled.is_none();
        if is_open && !matches!(offered, Offered::Waits) {
            self.settled = Some(offered);
        }
        is_open
    }

    /// Whether nothing has been said yet.
    pub(crate) fn is_open(&self) -> bool {
        self.settled.is_none()
    }
}
