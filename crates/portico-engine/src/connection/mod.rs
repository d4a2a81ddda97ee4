//! A connection, as a struct of sub-states. Each has its file:
//!
//! * [`input`]: where in the stream of requests the peer is; [`receiving`] reads the socket, [`parsing`] turns bytes
//!   into events
//! * [`exchanges`]: requests in flight, and the order of their answers; [`answering`] applies the application's records
//! * [`output`]: bytes to be sent, a queue of [`segments`]; [`sending`] sends them
//! * [`deadlines`]: times by which something must have happened
//! * [`pace`]: whether the peer is too slow
//! * [`telling`]: events about the connection itself; [`telling_requests`]: about requests,
//!   [`telling_tls`]: about TLS
//! * [`tls`]: the layer between the socket and all of this, where there is one

mod answering;
mod deadlines;
mod exchanges;
mod input;
mod output;
mod pace;
mod parsing;
mod receiving;
mod segments;
mod sending;
mod state;
mod telling;
mod telling_requests;
mod telling_tls;
mod tls;

pub(crate) use answering::{Answer, Payload};
pub(crate) use deadlines::{Expired, millis};
pub(crate) use input::BodyWish;
pub(crate) use output::AfterFlush;
pub(crate) use pace::{Pace, TooSlow};
pub(crate) use state::{Connection, Stop};
pub(crate) use telling::write_address_words;
pub(crate) use tls::TlsState;
