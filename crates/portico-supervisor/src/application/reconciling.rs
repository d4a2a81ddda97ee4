//! From what an application should have to what it has: which worker is ended, which one is started next.

use std::time::Instant;

use super::{Application, index};
use crate::action::Action;
use crate::slot::Slot;
use crate::worker::{Phase, Worker, WorkerId};

impl Application {
    /// Ends what should not be, and starts what should.
    pub(super) fn reconcile(&mut self, now: Instant) {
        let goal = self.goal();
        let wanted = index(goal).max(self.slots.len());
        self.slots.resize_with(wanted, Slot::default);
        self.end_unwanted(now, goal);
        for slot in 0..goal {
            self.tend(now, slot);
        }
    }

    fn end_unwanted(&mut self, now: Instant, goal: u32) {
        let unwanted = |worker: &&Worker| {
            let restarting = self.slots.get(index(worker.slot));
            let restarting = restarting.is_some_and(|slot| slot.is_restarting);
            let outdated = !self.is_fresh(worker);
            // One that has not served yet is not waited for.
            let replaced = outdated && (restarting || worker.phase == Phase::Starting);
            !worker.is_leaving() && (worker.slot >= goal || replaced)
        };
        let unwanted: Vec<_> = self.workers.values().filter(unwanted).cloned().collect();
        for worker in unwanted {
            self.retire(now, worker.id);
        }
    }

    /// One slot that should have a worker.
    fn tend(&mut self, now: Instant, number: u32) {
        let Some(entry) = self.slots.get_mut(index(number)) else {
            return;
        };
        entry.retry_at = entry.retry_at.filter(|at| now < *at);
        let slot = entry.clone();
        let of_slot = || self.workers.values().filter(|worker| worker.slot == number);
        let serving =
            of_slot().find(|worker| worker.phase == Phase::Ready && !self.is_fresh(worker));
        let outdated = serving.map(|worker| worker.id);
        let fresh = of_slot().find(|worker| !worker.is_leaving() && self.is_fresh(worker));
        let fresh_phase = fresh.map(|worker| worker.phase);
        let is_empty = of_slot().next().is_none();
        match (fresh_phase, outdated) {
            (Some(Phase::Ready), Some(old)) => self.retire(now, old),
            (Some(_), _) => {}
            (None, _) if slot.is_finished || slot.retry_at.is_some() => {}
            (None, Some(old)) if !self.policy.overlapped => {
                let goal = self.goal();
                let ready = self.count(|worker| worker.phase == Phase::Ready);
                if goal.saturating_sub(ready) < self.policy.max_unavailable.max(1) {
                    self.retire(now, old);
                }
            }
            (None, Some(_)) if self.replacements() >= self.policy.max_unavailable.max(1) => {}
            (None, None) if !is_empty && (slot.is_restarting || !self.policy.overlapped) => {}
            (None, _) => self.spawn(now, number),
        }
    }

    /// Successors on their way to workers that still serve.
    fn replacements(&self) -> u32 {
        let serves = |slot: u32| {
            let mut workers = self.workers.values();
            workers.any(|worker| worker.slot == slot && worker.phase == Phase::Ready)
        };
        self.count(|worker| worker.phase == Phase::Starting && serves(worker.slot))
    }

    pub(super) fn count(&self, matches: impl Fn(&Worker) -> bool) -> u32 {
        let count = self
            .workers
            .values()
            .filter(|worker| matches(worker))
            .count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn spawn(&mut self, now: Instant, slot: u32) {
        if self.count(|worker| worker.phase == Phase::Starting) >= self.policy.max_starting.max(1) {
            return;
        }
        self.last_worker.0 += 1;
        let id = self.last_worker;
        let until = self.policy.start_timeout.map(|time| now + time);
        let worker = Worker {
            id,
            slot,
            phase: Phase::Starting,
            started: now,
            until,
        };
        self.workers.insert(id, worker);
        if let Some(entry) = self.slots.get_mut(index(slot)) {
            entry.retry_at = None;
            entry.is_restarting = false;
        }
        self.actions.push_back(Action::Spawn { worker: id, slot });
    }

    /// A worker that serves finishes first; one that starts has nothing to finish.
    fn retire(&mut self, now: Instant, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else {
            return;
        };
        match worker.phase {
            Phase::Starting => self.terminate(now, id),
            Phase::Ready => {
                worker.phase = Phase::Draining;
                worker.until = Some(now + self.policy.drain_timeout);
                self.actions.push_back(Action::Drain(id));
            }
            Phase::Draining | Phase::Stopping | Phase::Killed => {}
        }
    }
}
