//! The protocol of a connection: between the bytes of its transport and exchanges.
//!
//! A protocol is an owner of state with the methods that [`Connection`](crate::connection::Connection) calls. What comes:
//! `handle_input` and `parse_held` (received bytes), `handle_end`, `start` and `abandon` (TLS). What the application says:
//! `respond`, `data`, `end`, `inform`, `reset`, `set_body_wish`, `raw`, `feed`, `take_over`, `proceed`, `shutdown`. What
//! goes: `fill_output`, by which it frames what it holds whenever the transport is about to send. The rest are questions.
//!
//! It tells the application by events of `portico_channel::layout`, in which nothing depends on the version; so what is
//! above a connection (shard, dispatch, the application's end) need not know which protocol it has. The tests' `Echo`,
//! with interleaved streams, holds this interface to what HTTP/2 needs of it.

use crate::h1::H1;
use crate::h2::H2;
use crate::options::ListenerOptions;

/// What a connection speaks, by version. All offer the same methods, called through [`on_protocol`].
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "HTTP/1 is what every connection begins with, and lies in it"
)]
pub(crate) enum Protocol {
    /// HTTP/1.0 and 1.1, and a byte stream after an upgrade.
    H1(H1),
    /// HTTP/2: streams that interleave.
    H2(Box<H2>),
    /// Streams that interleave, in frames of our own.
    #[cfg(test)]
    Echo(Box<crate::echo::Echo>),
}

impl Protocol {
    /// HTTP/1, from `now_ms` on; 0: from the end of the TLS handshake on.
    pub(crate) fn h1(now_ms: u64) -> Self {
        Self::H1(H1::new(now_ms))
    }

    /// HTTP/2, from `now_ms` on.
    pub(crate) fn h2(options: &ListenerOptions, now_ms: u64) -> Self {
        Self::H2(Box::new(H2::new(options, now_ms)))
    }
}

/// Calls a method of whichever protocol it is.
macro_rules! on_protocol {
    ($protocol:expr, $name:ident => $call:expr) => {
        match $protocol {
            $crate::protocol::Protocol::H1($name) => $call,
            $crate::protocol::Protocol::H2($name) => $call,
            #[cfg(test)]
            $crate::protocol::Protocol::Echo($name) => $call,
        }
    };
}
pub(crate) use on_protocol;
