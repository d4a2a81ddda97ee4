//! The workers of one application: what is asked for, what happened to them, and what follows from it
//! ([`reconciling`]).

mod adopting;
mod reconciling;

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

pub use adopting::Adopted;

use crate::action::{Action, Exit};
use crate::failures::Failures;
use crate::policy::Policy;
use crate::slot::Slot;
use crate::worker::{Phase, Worker, WorkerId};

/// What an application's owner wants of it, and what became of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Its workers run, or are being started.
    Running,
    /// It was told to stop; its last workers may not have ended yet.
    Stopped,
    /// Too many starts have failed in a row.
    Failed,
    /// Its program has ended by itself.
    Finished,
}

/// The workers of one application.
#[derive(Debug)]
pub struct Application {
    policy: Policy,
    condition: Condition,
    instances: u32,
    slots: Vec<Slot>,
    workers: BTreeMap<WorkerId, Worker>,
    last_worker: WorkerId,
    failures: Failures,
    actions: VecDeque<Action>,
}

impl Application {
    /// An application that does not run yet. The first worker's number is one more than `last_worker`.
    #[must_use]
    pub fn new(policy: Policy, instances: u32, last_worker: WorkerId) -> Self {
        Self {
            policy,
            condition: Condition::Stopped,
            instances,
            slots: Vec::new(),
            workers: BTreeMap::new(),
            last_worker,
            failures: Failures::default(),
            actions: VecDeque::new(),
        }
    }

    /// What its owner wants, and what became of that.
    #[must_use]
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// How many workers it is to have.
    #[must_use]
    pub fn instances(&self) -> u32 {
        self.instances
    }

    /// The rules.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The workers whose end has not been seen.
    pub fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.workers.values()
    }

    /// The worker of this number, until its end has been seen.
    #[must_use]
    pub fn worker(&self, id: WorkerId) -> Option<&Worker> {
        self.workers.get(&id)
    }

    /// When the slot's next worker is started, if it waits after failures.
    #[must_use]
    pub fn retry_at(&self, slot: u32) -> Option<Instant> {
        self.slots.get(index(slot))?.retry_at
    }

    /// Whether what was asked for is done: each slot has a ready worker that is not to be replaced. Workers before them may
    /// still finish what they have, unless there is to be none at all.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let goal = self.goal();
        let serves = |worker: &Worker| worker.phase == Phase::Ready && self.is_fresh(worker);
        if goal == 0 {
            return self.workers.is_empty();
        }
        self.count(serves) == goal && self.count(|worker| !worker.is_leaving()) == goal
    }

    /// Starts it, also after it has failed. What has failed before is forgotten.
    pub fn start(&mut self, now: Instant) {
        if self.condition != Condition::Running {
            self.condition = Condition::Running;
            self.failures = Failures::default();
            for slot in &mut self.slots {
                slot.retry_at = None;
                slot.is_finished = false;
            }
        }
        self.reconcile(now);
    }

    /// Ends all workers.
    pub fn stop(&mut self, now: Instant) {
        self.condition = Condition::Stopped;
        self.reconcile(now);
    }

    /// From now on it has so many workers.
    pub fn scale(&mut self, now: Instant, instances: u32) {
        self.instances = instances;
        self.reconcile(now);
    }

    /// Puts other rules into force. Times that run go on as they were set.
    pub fn set_policy(&mut self, now: Instant, policy: Policy) {
        self.policy = policy;
        self.reconcile(now);
    }

    /// Replaces every worker, `Policy::max_unavailable` at a time.
    pub fn recycle(&mut self, now: Instant) {
        let fresh_from = WorkerId(self.last_worker.0 + 1);
        for slot in &mut self.slots {
            slot.fresh_from = fresh_from;
            // What has been changed may be the remedy.
            slot.retry_at = None;
        }
        self.start(now);
    }

    /// Replaces one worker.
    pub fn recycle_worker(&mut self, now: Instant, worker: WorkerId) {
        if let Some(slot) = self.workers.get(&worker).map(|worker| worker.slot)
            && let Some(slot) = self.slots.get_mut(index(slot))
        {
            slot.fresh_from = slot.fresh_from.max(WorkerId(worker.0 + 1));
        }
        self.reconcile(now);
    }

    /// Ends all workers, and starts each slot's next one when the one before has ended.
    pub fn restart(&mut self, now: Instant) {
        for slot in &mut self.slots {
            slot.is_restarting = true;
        }
        self.recycle(now);
    }

    /// The worker takes requests.
    pub fn handle_ready(&mut self, now: Instant, worker: WorkerId) {
        let Some(entry) = self.workers.get_mut(&worker) else {
            return;
        };
        if entry.phase == Phase::Starting {
            entry.phase = Phase::Ready;
            entry.until = None;
            self.failures.ready();
            self.reconcile(now);
        }
    }

    /// The worker has nothing in flight, and gets nothing new.
    pub fn handle_drained(&mut self, now: Instant, worker: WorkerId) {
        let phase = self.workers.get(&worker).map(|worker| worker.phase);
        if phase == Some(Phase::Draining) {
            self.terminate(now, worker);
        }
    }

    /// The worker has ended, or could not be started.
    pub fn handle_exited(&mut self, now: Instant, worker: WorkerId, exit: Exit) {
        let Some(ended) = self.workers.remove(&worker) else {
            return;
        };
        let is_done = ended.phase == Phase::Starting && exit == Exit::Success;
        if self.policy.may_finish && is_done {
            if let Some(slot) = self.slots.get_mut(index(ended.slot)) {
                slot.is_finished = true;
            }
        } else if !ended.is_leaving() {
            self.note_failure(now, ended.slot);
        }
        self.reconcile(now);
        self.notice_the_end();
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |worker: &&Worker| worker.until.is_some_and(|until| until <= now);
        let due: Vec<_> = self.workers.values().filter(is_due).cloned().collect();
        for worker in due {
            match worker.phase {
                Phase::Starting => {
                    self.note_failure(now, worker.slot);
                    self.terminate(now, worker.id);
                }
                Phase::Draining => self.terminate(now, worker.id),
                Phase::Stopping => self.kill(worker.id),
                Phase::Ready | Phase::Killed => {}
            }
        }
        self.reconcile(now);
    }

    /// When [`Application::handle_timeout`] is to be called.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let workers = self.workers.values().filter_map(|worker| worker.until);
        let goal = index(self.goal());
        let waits = self.slots.iter().take(goal);
        workers.chain(waits.filter_map(|slot| slot.retry_at)).min()
    }

    /// What is to be done next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// How many workers there should be now.
    fn goal(&self) -> u32 {
        if self.condition == Condition::Running {
            self.instances
        } else {
            0
        }
    }

    fn is_fresh(&self, worker: &Worker) -> bool {
        let slot = self.slots.get(index(worker.slot));
        slot.is_some_and(|slot| worker.id >= slot.fresh_from)
    }

    fn terminate(&mut self, now: Instant, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.phase = Phase::Stopping;
            worker.until = Some(now + self.policy.stop_timeout);
            self.actions.push_back(Action::Terminate(id));
        }
    }

    fn kill(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.phase = Phase::Killed;
            worker.until = None;
            self.actions.push_back(Action::Kill(id));
        }
    }

    fn note_failure(&mut self, now: Instant, slot: u32) {
        let wait = self.failures.add(now, &self.policy);
        if let Some(slot) = self.slots.get_mut(index(slot)) {
            slot.retry_at = Some(now + wait);
        }
        // Workers that serve are worth more than one that could be started again.
        let serves = self
            .workers
            .values()
            .any(|worker| worker.phase == Phase::Ready);
        if self.condition == Condition::Running
            && !serves
            && self.failures.are_too_many(&self.policy)
        {
            self.condition = Condition::Failed;
            self.actions.push_back(Action::GiveUp);
        }
    }

    fn notice_the_end(&mut self) {
        let mut slots = self.slots.iter().take(index(self.goal()));
        let all_done = self.goal() > 0 && slots.all(|slot| slot.is_finished);
        if all_done && self.workers.is_empty() {
            self.condition = Condition::Finished;
            self.actions.push_back(Action::Finished);
        }
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
