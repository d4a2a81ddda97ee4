//! From a request to its queue. (From the queue to a member: `placing`.)
//!
//! It is found when the engine offers the request, before anything is written about it: what no queue gets is
//! answered there and then, and never becomes an event.

use std::sync::Arc;

use portico_engine::{Offer, Offered, OwnRequest, Responder};
use portico_router::{Lookup, Match};

use crate::answers::Refusal;
use crate::client::ip_address;
use crate::dispatcher::Dispatcher;
use crate::{QueueId, Routes};

/// How long a client is asked to wait where only a reservation matches.
pub(crate) const RESERVED_RETRY_SECONDS: u32 = 5;

/// A request that was offered, until the event comes that tells of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routed {
    pub(crate) token: u32,
    pub(crate) sequence: u32,
    pub(crate) queue: QueueId,
}

impl Responder for Dispatcher {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        let (token, sequence) = (offer.token(), offer.sequence());
        let refusal = match self.route(offer) {
            Ok(queue) => {
                let mut offered = self.offer_to_cache(offer, queue);
                match &mut offered {
                    Offered::Answered(answer) => answer.keep_alive = self.may_go_on(token),
                    Offered::Waits => {}
                    Offered::Passed | Offered::Filtered(_) => self.routed.push_back(Routed {
                        token,
                        sequence,
                        queue,
                    }),
                }
                return offered;
            }
            Err(refusal) => refusal,
        };
        self.refusals.count(refusal);
        Offered::Answered(refusal.answer(self.may_go_on(token)))
    }

    fn cancelled(&mut self, token: u32, sequence: u32) {
        self.caching.gone(token, sequence);
    }

    fn poll_own_request(&mut self) -> Option<OwnRequest> {
        self.caching.cache.poll_own_request()
    }
}

impl Dispatcher {
    /// Whether a connection goes on behind an answer of ours.
    fn may_go_on(&mut self, token: u32) -> bool {
        let client = self.clients.find(token);
        let is_last = client.is_none_or(|client| client.exchanges.is_empty());
        !(self.draining && is_last)
    }

    /// The queue of a request that is offered.
    fn route(&mut self, offer: &Offer<'_>) -> Result<QueueId, Refusal> {
        let listening = self
            .listeners
            .get(&offer.listener().0)
            .ok_or(Refusal::NotFound)?;
        let endpoint = listening.endpoint;
        let (local_address, admission) = match self.clients.find(offer.token()) {
            Some(client) => (client.local, client.admission.clone()),
            // Its first request: the events that tell of the connection come behind it.
            None => {
                let mut admission = listening.admission();
                if let Some(admission) = &mut admission {
                    let server_name = offer.server_name().unwrap_or_default();
                    admission.secured(server_name.as_bytes());
                }
                (ip_address(offer.local_address()), admission)
            }
        };
        let head = offer.head();
        let lookup = Lookup {
            scheme: endpoint.scheme,
            port: endpoint.port,
            host: head.authority().map_err(|_| Refusal::BadTarget)?,
            local_address,
            target: head.target(),
        };
        if let Some(admission) = admission {
            admission.check(&lookup)?;
        }
        match self.routes.table.find(&lookup) {
            Ok(Some(Match::Registered { value, .. })) => Ok(*value),
            Ok(Some(Match::Reserved { .. })) => Err(Refusal::Unavailable(RESERVED_RETRY_SECONDS)),
            Ok(None) => Err(Refusal::NotFound),
            Err(error) if error.status() == 421 => Err(Refusal::Misdirected),
            Err(_) => Err(Refusal::BadTarget),
        }
    }

    /// The queue of a request that was passed in this turn.
    pub(crate) fn take_routed(&mut self, token: u32, sequence: u32) -> Option<QueueId> {
        if !self.caching.waiting.is_empty()
            && let Some(queue) = self.caching.waiting.remove(&(token, sequence))
        {
            return Some(queue);
        }
        // What stands before it was offered, and could not be told.
        while let Some(routed) = self.routed.pop_front() {
            if (routed.token, routed.sequence) == (token, sequence) {
                return Some(routed.queue);
            }
        }
        None
    }

    /// New settings and prefixes. Requests in flight keep what they have.
    pub(crate) fn set_routes(&mut self, routes: Arc<Routes>) {
        self.routes = routes;
        let routes = Arc::clone(&self.routes);
        for (id, options) in &routes.queues {
            self.queue_mut(*id).options = options.clone();
            // There may be more room than before.
            self.note_room(*id);
        }
        self.queues.retain(|id, queue| {
            routes.queues.contains_key(id) || !queue.members.is_empty() || !queue.waiting.is_empty()
        });
        self.update_response_timeouts();
    }
}
