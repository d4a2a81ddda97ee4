//! The client's end of its side (`PEER_END`), which the engine tells of once.
//!
//! Such a client may still read: its requests stay in their queues, and each member learns of the end right behind the
//! records of the request that it is given. What it means for the answer is for the member to say.

use portico_channel::EventWriter;
use portico_channel::layout::event;
use portico_channel::schema::Record;

use crate::dispatcher::Dispatcher;

/// How far the end of a client's side is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PeerEnd {
    /// It may send more.
    #[default]
    Open,
    /// It has ended, and a member that has a say in the connection has not been told.
    Due,
    /// It has ended, and the members have been told.
    Told,
}

impl Dispatcher {
    /// The engine tells of the end.
    pub(crate) fn peer_ended(&mut self, token: u32) {
        if let Some(client) = self.clients.find(token) {
            client.peer_end = PeerEnd::Due;
        }
        self.tell_peer_end(token);
    }

    /// The engine tells of an end behind requests that it does not read: members have answered none for a time. Those that
    /// have some are told, as node:http tells them at once; not where a request waits in its queue, whose patience bounds
    /// the time. It may still be that answers come, so nothing is kept: the engine tells again.
    pub(crate) fn unread_end(&mut self, token: u32, bytes: &[u8]) {
        if !self.has_waiting(token) {
            self.tell_users(token, bytes);
        }
    }

    /// Whether a request of the connection waits in its queue.
    pub(crate) fn has_waiting(&mut self, token: u32) -> bool {
        self.clients.find(token).is_some_and(|client| {
            let mut exchanges = client.exchanges.iter();
            exchanges.any(|exchange| exchange.is_waiting())
        })
    }

    /// A member has been given a request, perhaps after the end.
    pub(crate) fn peer_end_is_due(&mut self, token: u32) {
        if let Some(client) = self.clients.find(token)
            && client.peer_end != PeerEnd::Open
        {
            client.peer_end = PeerEnd::Due;
            self.tell_peer_end(token);
        }
    }

    /// Tells the members of the end, if it is due. Not while a request waits in its queue: a member that is told closes the
    /// connection, and that request would have no answer. Its patience bounds the time. An upgrade behind other requests
    /// (`Stage::Behind`) has none, and does not count.
    pub(crate) fn tell_peer_end(&mut self, token: u32) {
        let waits = self.has_waiting(token);
        let Some(client) = self.clients.find(token) else {
            return;
        };
        if client.peer_end != PeerEnd::Due || waits {
            return;
        }
        client.peer_end = PeerEnd::Told;
        let mut memory = [0u8; event::PeerEnd::BYTES];
        let mut writer = EventWriter::new(&mut memory);
        if writer.tell(0, event::PeerEnd { token }).is_ok() {
            self.tell_users(token, writer.written());
        }
    }
}
