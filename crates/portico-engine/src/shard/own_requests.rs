//! Connections of requests that the engine makes by itself.

use std::cell::RefCell;

use portico_sys::socket;

use super::Shard;
use crate::agenda::PendingEvent;
use crate::connection::Connection;
use crate::limits::{OWN_REQUEST_MS, OWN_REQUESTS};
use crate::offer::Turn;
use crate::own_request::{OwnRequest, Pretended};
use crate::protocol::Protocol;
use crate::transport::Transport;

impl Shard {
    /// Makes the requests that the responder wants made, as many as there may be at once. Those beyond are given up.
    pub(super) fn make_own_requests(&mut self, turn: &mut Turn<'_, '_>) {
        let Some(responder) = &mut turn.responder else {
            return;
        };
        while let Some(request) = responder.poll_own_request() {
            if self.core.own_requests.len() < OWN_REQUESTS {
                // For want of descriptors or slots: it is as if it had failed.
                let _ = self.make_own_request(request);
            }
        }
    }

    fn make_own_request(&mut self, request: OwnRequest) -> portico_sys::Result<()> {
        let listener = request.listener.0;
        let entry = self.core.listeners.find_mut(listener);
        let Some(entry) = entry.filter(|entry| entry.options.protocols.http1) else {
            return Ok(());
        };
        let (ours, peer) = socket::pair()?;
        if !entry.admit() {
            return Ok(());
        }
        let notify_open = entry.options.notify_open;
        let now_ms = self.core.clock.now_ms();
        let token = self.connections.insert(|token| {
            let transport = Transport::new(ours, token, listener, request.remote, None, now_ms);
            let mut protocol = Protocol::h1(now_ms);
            if let Protocol::H1(h1) = &mut protocol {
                h1.hold_input(&request.head);
            }
            Box::new(Connection::new(transport, protocol))
        });
        let Some(token) = token else {
            self.core.listeners.connection_gone(listener);
            return Ok(());
        };
        let pretended = Pretended {
            is_secure: request.is_secure,
            local: request.local,
            filter: RefCell::new(Some(request.filter)),
            peer,
        };
        self.core.own_requests.insert(token, pretended);
        if notify_open {
            self.core.agenda.tell(PendingEvent::Opened { token });
        }
        if let Some(connection) = self.connections.find(token) {
            let transport = &mut connection.transport;
            transport.schedule(&mut self.core);
            transport.set_inactivity(&mut self.core, OWN_REQUEST_MS);
        }
        Ok(())
    }
}
