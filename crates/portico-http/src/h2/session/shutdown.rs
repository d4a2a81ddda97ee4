//! The end of a connection: in two steps where nothing may be lost, or at once (RFC 9113, sections 5.4.1 and 6.8).

use super::core::Session;
use super::event::Event;
use super::receiving::Phase;
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::{write_goaway, write_ping};

/// How far a graceful end has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shutdown {
    None,
    /// The client has been told to open no more streams, at this time. What it sends before it knows is still taken.
    Announced(u64),
    /// No stream above this one is taken.
    Final(u32),
}

/// What the ping of a graceful end says; its answer shows that the client has read GOAWAY.
const SHUTDOWN_PING: [u8; 8] = *b"goodbye!";

/// The largest number of a stream.
const LAST_STREAM: u32 = 0x7fff_ffff;

impl Shutdown {
    pub(super) fn has_begun(self) -> bool {
        self != Shutdown::None
    }

    /// Whether a new stream comes too late.
    pub(super) fn refuses(self, id: u32) -> bool {
        matches!(self, Shutdown::Final(last) if id > last)
    }
}

impl Session {
    /// Lets the client finish: it is told to open no more streams, and a round trip later which one was the last, so
    /// that no request is lost on the way (RFC 9113, section 6.8).
    pub fn shut_down(&mut self, out: &mut Vec<u8>) {
        if self.shutdown == Shutdown::None {
            self.shutdown = Shutdown::Announced(self.now_ms);
            write_goaway(out, LAST_STREAM, ErrorCode::NO_ERROR, b"");
            write_ping(out, false, SHUTDOWN_PING);
        }
    }

    /// Whether the connection has nothing left to do: a graceful end has come to its last step, and all streams have
    /// ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self.shutdown, Shutdown::Final(_)) && self.streams.len() == 0
    }

    /// Sends GOAWAY: streams of the peer above `last_stream`, or above those it has opened, are not taken.
    pub fn go_away(&mut self, last_stream: u32, code: ErrorCode, debug: &[u8], out: &mut Vec<u8>) {
        let last = match self.shutdown {
            Shutdown::Final(last) => last.min(last_stream),
            _ => last_stream.max(self.seen.last()),
        };
        self.shutdown = Shutdown::Final(last);
        write_goaway(out, last, code, debug);
    }

    /// Sends a ping; its answer comes as [`Event::PingAnswered`].
    pub fn ping(&self, data: [u8; 8], out: &mut Vec<u8>) {
        write_ping(out, false, data);
    }

    pub(super) fn ping_answered(&mut self, data: [u8; 8], out: &mut Vec<u8>) -> Option<Event> {
        if data == SHUTDOWN_PING && matches!(self.shutdown, Shutdown::Announced(_)) {
            self.finish_shutdown(out);
            return None;
        }
        Some(Event::PingAnswered(data))
    }

    /// The second step.
    pub(super) fn finish_shutdown(&mut self, out: &mut Vec<u8>) {
        self.go_away(self.seen.last(), ErrorCode::NO_ERROR, b"", out);
    }

    /// An error of the connection (RFC 9113, section 5.4.1): nothing more is received.
    pub(super) fn fail(&mut self, error: ConnectionError, out: &mut Vec<u8>) {
        self.phase = Phase::Failed;
        self.body = None;
        write_goaway(out, self.seen.last(), error.code, error.reason.as_bytes());
    }
}
