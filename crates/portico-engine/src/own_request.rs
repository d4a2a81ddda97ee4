//! Requests that the engine makes by itself, for answers that only a filter wants: a cache that asks in the background.
//!
//! To the application such a request comes by a connection of its own, from the address of the client on whose behalf it
//! is made, and the connection ends behind it. Nothing goes over a network: the connection's socket is one end of a pair,
//! and the connection keeps the other end too. What it sends fits into the kernel's memory, since the filter leaves
//! nothing of the answer but its status.

use std::cell::RefCell;
use std::os::fd::OwnedFd;

use portico_channel::layout::event;
use portico_channel::schema::{Range, Record};
use portico_channel::{EventWriter, NeedSpace};
use portico_sys::Address;

use crate::ListenerId;
use crate::filter::AnswerFilter;

/// A request without a client.
#[derive(Debug)]
pub struct OwnRequest {
    /// Where it seems to have come in.
    pub listener: ListenerId,
    /// Whether it seems to have come by TLS.
    pub is_secure: bool,
    /// From where, and at which address of ours.
    pub remote: Address,
    /// See `remote`.
    pub local: Address,
    /// The head, in HTTP/1.1, with `Connection: close`. There is no body.
    pub head: Vec<u8>,
    /// What gets the answer. It lets nothing of the body pass, and no fields.
    pub filter: Box<dyn AnswerFilter + Send>,
}

/// What the connection of such a request pretends.
#[derive(Debug)]
pub(crate) struct Pretended {
    pub(crate) is_secure: bool,
    pub(crate) local: Address,
    /// What gets the answer, until the request is offered.
    pub(crate) filter: RefCell<Option<Box<dyn AnswerFilter + Send>>>,
    /// The other end of the socket, which lives as long.
    #[expect(dead_code, reason = "it is there to be open")]
    pub(crate) peer: OwnedFd,
}

/// Writes `SECURE`, as of a client that speaks TLS 1.3 and shows no certificate.
pub(crate) fn write_pretended_secure(
    token: u32,
    events: &mut EventWriter<'_>,
) -> Result<(), NeedSpace> {
    let nothing = Range {
        offset: event::Secure::payload_offset(0),
        length: 0,
    };
    let words = event::Secure {
        token,
        version: TLS_1_3,
        cipher_suite: AES_128_GCM_SHA256,
        verify_error: 0,
        server_name: nothing,
        alpn: nothing,
        certificate_count: 0,
        named_group: 0,
        keying: nothing,
        finished_bytes: 0,
        secret_bytes: 0,
    };
    events.tell(0, words)
}

/// RFC 8446, sections 4.1.2 and B.4.
const TLS_1_3: u16 = 0x0304;
const AES_128_GCM_SHA256: u16 = 0x1301;
