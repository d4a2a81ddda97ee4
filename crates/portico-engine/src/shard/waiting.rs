//! Requests that wait for their responder: those that are gone, and those that have waited long enough.

use super::Shard;
use crate::limits::OFFER_WAIT_MS;
use crate::offer::{Offered, Turn};

impl Shard {
    /// Tells the responder of requests that have gone.
    pub(super) fn tell_cancelled(&mut self, turn: &mut Turn<'_, '_>) {
        for (token, sequence) in self.core.agenda.take_cancelled() {
            if let Some(responder) = &mut turn.responder {
                responder.cancelled(token, sequence);
            }
        }
    }

    /// Passes requests that have waited long enough.
    pub(super) fn check_waiting(&mut self) {
        self.core.waiting_check_ms = 0;
        let now_ms = self.core.clock.now_ms();
        let Self {
            core, connections, ..
        } = self;
        let mut late = Vec::new();
        for connection in connections.iter_mut() {
            let token = connection.transport.token();
            connection.each_waiting(|sequence, since_ms| {
                if since_ms + OFFER_WAIT_MS <= now_ms {
                    late.push((token, sequence));
                } else {
                    core.watch_waiting();
                }
            });
        }
        for (token, sequence) in late {
            self.settle(token, sequence, Offered::Passed);
        }
    }
}
