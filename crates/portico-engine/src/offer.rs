//! The one step between a request and the application in which a request may be answered without it.
//!
//! ```text
//! begin ──▶ offer ──▶ tell
//!             └──▶ Answer
//! ```
//!
//! A request's exchange begins, so it has its number. Then it is offered to the shard's [`Responder`], if the drive has
//! given one. What the responder does not answer, the application is told (`REQUEST`).

use std::rc::Rc;

use portico_channel::{EventWriter, External, LentBytes};
use portico_http::semantics::RequestHead;
use portico_sys::Address;

use crate::ListenerId;
use crate::answer::Payload;
use crate::transport::Transport;

/// Answers requests before the application is told of them.
pub trait Responder {
    /// The answer to a request; `None`: it is for the application.
    ///
    /// Runs on the shard's thread and must not block. A request that the application could not be told of, for want of
    /// event memory, is offered again.
    fn offer(&mut self, offer: &Offer<'_>) -> Option<Answer>;
}

/// A request that has begun, and the connection that it came by.
#[derive(Debug)]
pub struct Offer<'a> {
    pub(crate) sequence: u32,
    pub(crate) head: RequestHead<'a>,
    pub(crate) transport: &'a Transport,
    /// The address at which the listener accepts, if it is one.
    pub(crate) accepted_at: Option<Address>,
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
        self.transport.local_address(self.accepted_at)
    }

    /// The server name of the TLS handshake, until the application has been told of that (`SECURE`).
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.transport.server_name()
    }
}

/// An answer that is given whole.
#[derive(Debug)]
pub struct Answer {
    /// Status code, 200 to 999.
    pub status: u16,
    /// Field lines, each with CR LF. `Date`, `Content-Length` and what belongs to the connection are added.
    pub fields: Vec<u8>,
    /// The body. To a HEAD request none of it is sent, but its length is.
    pub body: Vec<Segment>,
    /// Whether the connection may go on behind the answer. It ends all the same if the request announced that, or has a
    /// body: of that nothing is read.
    pub keep_alive: bool,
}

/// A part of a body.
#[derive(Clone, Debug)]
pub enum Segment {
    /// Bytes that are copied into the output.
    Owned(Vec<u8>),
    /// Bytes that are sent from where they lie.
    Shared(Rc<dyn LentBytes>),
}

impl Segment {
    /// Its length in bytes; 0 once its owner has taken it away.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Shared(owner) => owner.bytes().map_or(0, <[u8]>::len),
        }
    }

    /// Gives its bytes to `send`, which may keep what is shared.
    pub(crate) fn lend(&self, send: impl FnOnce(Payload<'_>)) {
        match self {
            Self::Owned(bytes) => send(Payload {
                bytes,
                external: None,
            }),
            Self::Shared(owner) => {
                let bytes = owner.bytes().unwrap_or_default();
                let keep = || Some(Rc::clone(owner));
                send(Payload {
                    bytes,
                    external: Some(External::lent(bytes, &keep)),
                });
            }
        }
    }
}

/// What a turn of the shard lends to the connection in work, for what it has to say.
pub(crate) struct Turn<'a, 'm> {
    pub(crate) events: &'a mut EventWriter<'m>,
    pub(crate) responder: Option<&'a mut (dyn Responder + 'a)>,
}
