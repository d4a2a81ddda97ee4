//! What a session tells its owner.

use core::ops::Range;

use super::streams::StreamKey;
use crate::h2::error::ErrorCode;

/// What became of some input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Number of bytes that are done with. The rest must be given again, with more behind it if the event is
    /// [`Event::NeedMore`].
    pub consumed: usize,
    /// What happened.
    pub event: Event,
}

/// Something that happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Nothing more, until more bytes come.
    NeedMore,
    /// A request: [`super::Session::head`] and [`super::Session::section`] have it until bytes are received again.
    Request(StreamKey),
    /// A part of a request's body.
    Data {
        /// The request.
        stream: StreamKey,
        /// Where it lies in the input; perhaps empty. The peer gets credit for these bytes by
        /// [`super::Session::release`].
        bytes: Range<usize>,
        /// Nothing follows.
        is_last: bool,
    },
    /// A request has ended with trailers, which are in [`super::Session::section`] until bytes are received again.
    Trailers(StreamKey),
    /// A stream has ended by an error. Its place is kept until [`super::Session::let_go`].
    Reset {
        /// The stream.
        stream: StreamKey,
        /// Why.
        code: ErrorCode,
        /// The peer reset it; else the session did, because of what the peer sent.
        by_peer: bool,
    },
    /// The peer's settings have changed: [`super::Session::peer_settings`].
    PeerSettings {
        /// Where in the input the entries lie that it has sent, unknown ones too.
        entries: Range<usize>,
    },
    /// The peer has acknowledged settings of ours: [`super::Session::local_settings`].
    LocalSettings,
    /// The peer sent a ping, which has been answered.
    Ping([u8; 8]),
    /// The answer to a ping of ours.
    PingAnswered([u8; 8]),
    /// The peer opens no more streams, and takes no pushed one after this.
    GoAway {
        /// The last stream of ours that it handles.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
        /// Where in the input its debug data lie.
        debug: Range<usize>,
    },
}
