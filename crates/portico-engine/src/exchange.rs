//! Exchanges: a request and its answer, whatever the version of HTTP.
//!
//! An exchange is named by its sequence number, which is never given again on its connection: what is said about one
//! that is over finds nothing. In HTTP/1 the numbers count requests from 1. A protocol with streams takes numbers that
//! grow with its streams', so that one look-up serves the peer's frames and the application's records.
//!
//! Where they are kept is for each protocol to say. HTTP/1 ends its exchanges in their order, so a ring in which the
//! place is the distance from the first costs least (`h1/exchanges.rs`). Streams end in any order, and one may outlive
//! thousands: they are in an [`IdMap`](portico_channel::IdMap), found in O(1) and as many as there are alive. A map for
//! both would cost HTTP/1 a hash for each record.

/// What the application wants of a request's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BodyWish {
    /// Its bytes, as they come.
    #[default]
    Bytes,
    /// No bytes for now (`PAUSE`): the reader is behind.
    Nothing,
    /// Its end alone (`DISCARD`).
    End,
}
