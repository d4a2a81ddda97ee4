//! The protocol of a connection: between the bytes of its transport and exchanges.

use crate::h1::H1;

/// What a connection speaks, by version. All offer the same methods, called through [`on_protocol`].
#[derive(Debug)]
pub(crate) enum Protocol {
    /// HTTP/1.0 and 1.1, and a byte stream after an upgrade.
    H1(H1),
}

/// Calls a method of whichever protocol it is.
macro_rules! on_protocol {
    ($protocol:expr, $name:ident => $call:expr) => {
        match $protocol {
            $crate::protocol::Protocol::H1($name) => $call,
        }
    };
}
pub(crate) use on_protocol;
