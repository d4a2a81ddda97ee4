//! Workers that run already when their application begins: another host has started them.

use std::time::Instant;

use super::{Application, index};
use crate::slot::Slot;
use crate::worker::{Phase, Worker, WorkerId};

/// What is known of such a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// Its number, larger than those of earlier workers.
    pub id: WorkerId,
    /// Its slot.
    pub slot: u32,
    /// Where it is in its life.
    pub phase: Phase,
    /// When it was started.
    pub started: Instant,
    /// Whether it was to be replaced.
    pub is_outdated: bool,
}

impl Application {
    /// Whether a worker is to be replaced by another one.
    #[must_use]
    pub fn is_outdated(&self, id: WorkerId) -> bool {
        let worker = self.workers.get(&id);
        worker.is_some_and(|worker| !self.is_fresh(worker))
    }

    /// Takes over a worker, before [`Application::start`]. The time of its phase begins anew.
    pub fn adopt(&mut self, now: Instant, adopted: Adopted) {
        let Adopted {
            id,
            slot,
            phase,
            started,
            is_outdated,
        } = adopted;
        let wanted = self.slots.len().max(index(slot).saturating_add(1));
        self.slots.resize_with(wanted, Slot::default);
        self.last_worker = self.last_worker.max(id);
        let until = match phase {
            Phase::Starting => self.policy.start_timeout.map(|time| now + time),
            Phase::Draining => Some(now + self.policy.drain_timeout),
            Phase::Stopping => Some(now + self.policy.stop_timeout),
            Phase::Ready | Phase::Killed => None,
        };
        let worker = Worker {
            id,
            slot,
            phase,
            started,
            until,
        };
        self.workers.insert(id, worker);
        // Of two that stay the later one is the successor of the other.
        let of_slot = self.workers.values().filter(|worker| worker.slot == slot);
        let staying = of_slot.filter(|worker| !worker.is_leaving());
        let newest = staying.map(|worker| worker.id).max().unwrap_or_default();
        if let Some(entry) = self.slots.get_mut(index(slot)) {
            let after = if is_outdated {
                WorkerId(id.0 + 1)
            } else {
                newest
            };
            entry.fresh_from = entry.fresh_from.max(after);
        }
    }
}
