//! Sequences of operations on a virtual clock, held against a world that keeps what the actions say.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use portico_supervisor::{Action, Adopted, Application, Condition, Exit, Phase, Policy, WorkerId};
use proptest::prelude::*;

/// What is known of a process from the actions alone.
#[derive(Clone, Debug)]
struct Process {
    slot: u32,
    is_ready: bool,
    drained_at: Option<Instant>,
    has_nothing_left: bool,
    terminated_at: Option<Instant>,
    is_killed: bool,
}

impl Process {
    fn serves(&self) -> bool {
        self.is_ready && self.drained_at.is_none() && self.terminated_at.is_none()
    }

    fn is_starting(&self) -> bool {
        !self.is_ready && self.terminated_at.is_none()
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Start,
    Stop,
    Restart,
    Scale(u32),
    Recycle,
    RecycleOne(usize),
    Ready(usize),
    Drained(usize),
    Exit(usize, bool),
    Advance(u64),
    /// Another host takes over.
    TakeOver,
}

struct World {
    application: Application,
    policy: Policy,
    now: Instant,
    processes: BTreeMap<WorkerId, Process>,
    /// Slots whose last server was told to leave, and that have had none since.
    vacated: BTreeMap<u32, ()>,
    last: WorkerId,
    /// A restart makes all slots vacant at once, as asked.
    has_restarted: bool,
}

impl World {
    fn new(policy: Policy, instances: u32) -> Self {
        Self {
            application: Application::new(policy.clone(), instances, WorkerId(0)),
            policy,
            now: Instant::now(),
            processes: BTreeMap::new(),
            vacated: BTreeMap::new(),
            last: WorkerId(0),
            has_restarted: false,
        }
    }

    fn serving(&self, slot: u32) -> usize {
        let serves = |process: &&Process| process.slot == slot && process.serves();
        self.processes.values().filter(serves).count()
    }

    fn carry_out(&mut self) {
        while let Some(action) = self.application.poll_action() {
            match action {
                Action::Spawn { worker, slot } => self.spawn(worker, slot),
                Action::Drain(worker) => self.drain(worker),
                Action::Terminate(worker) => self.terminate(worker),
                Action::Kill(worker) => self.kill(worker),
                Action::GiveUp => {
                    assert_eq!(self.application.condition(), Condition::Failed);
                    assert!(self.processes.values().all(|process| !process.serves()));
                }
                Action::Finished => {
                    assert_eq!(self.application.condition(), Condition::Finished);
                }
            }
        }
        for slot in 0..16 {
            assert!(self.serving(slot) <= 1, "two lives of slot {slot} serve");
        }
        assert_eq!(self.application.workers().count(), self.processes.len());
        for worker in self.application.workers() {
            let process = &self.processes[&worker.id];
            assert_eq!(worker.phase == Phase::Ready, process.serves());
        }
    }

    fn spawn(&mut self, worker: WorkerId, slot: u32) {
        assert!(worker > self.last, "numbers are given once");
        self.last = worker;
        assert_eq!(self.application.condition(), Condition::Running);
        assert!(slot < self.application.instances());
        if !self.policy.overlapped {
            let mut others = self.processes.values();
            assert!(others.all(|process| process.slot != slot), "lives overlap");
        }
        let process = Process {
            slot,
            is_ready: false,
            drained_at: None,
            has_nothing_left: false,
            terminated_at: None,
            is_killed: false,
        };
        self.processes.insert(worker, process);
        let starting = self.processes.values().filter(|it| it.is_starting());
        assert!(starting.count() <= usize::try_from(self.policy.max_starting).unwrap());
        let replaced = |process: &&Process| process.is_starting() && self.serving(process.slot) > 0;
        let count = self.processes.values().filter(replaced).count();
        assert!(count <= usize::try_from(self.policy.max_unavailable).unwrap());
    }

    fn drain(&mut self, worker: WorkerId) {
        let process = self.processes.get_mut(&worker).unwrap();
        assert!(process.serves());
        process.drained_at = Some(self.now);
        let slot = process.slot;
        let is_wanted = self.application.condition() == Condition::Running
            && slot < self.application.instances();
        if !is_wanted || self.has_restarted {
            return;
        }
        if self.policy.overlapped {
            assert_eq!(self.serving(slot), 1, "a successor serves first");
            return;
        }
        self.vacated.insert(slot, ());
        let instances = self.application.instances();
        let vacant = |slot: &&u32| **slot < instances && self.serving(**slot) == 0;
        let count = self.vacated.keys().filter(vacant).count();
        assert!(count <= usize::try_from(self.policy.max_unavailable).unwrap());
    }

    fn terminate(&mut self, worker: WorkerId) {
        let process = self.processes.get_mut(&worker).unwrap();
        assert!(process.terminated_at.is_none());
        match process.drained_at {
            Some(at) => {
                let waited = self.now.duration_since(at);
                assert!(process.has_nothing_left || waited >= self.policy.drain_timeout);
            }
            None => assert!(!process.is_ready, "what serves is drained first"),
        }
        process.terminated_at = Some(self.now);
    }

    fn kill(&mut self, worker: WorkerId) {
        let process = self.processes.get_mut(&worker).unwrap();
        assert!(!process.is_killed);
        let waited = self.now.duration_since(process.terminated_at.unwrap());
        assert!(waited >= self.policy.stop_timeout);
        process.is_killed = true;
    }

    fn choose(&self, choice: usize) -> Option<WorkerId> {
        let count = self.processes.len();
        (count > 0).then(|| *self.processes.keys().nth(choice % count).unwrap())
    }

    fn apply(&mut self, operation: &Operation) {
        let now = self.now;
        match operation {
            Operation::Start => self.application.start(now),
            Operation::Stop => self.application.stop(now),
            Operation::Restart => {
                self.has_restarted = true;
                self.application.restart(now);
            }
            Operation::Scale(count) => self.application.scale(now, *count),
            Operation::Recycle => self.application.recycle(now),
            Operation::RecycleOne(choice) => {
                let worker = self.choose(*choice).unwrap_or(WorkerId(999));
                self.application.recycle_worker(now, worker);
            }
            Operation::Ready(choice) => self.ready(*choice),
            Operation::Drained(choice) => self.drained(*choice),
            Operation::Exit(choice, success) => self.exit(*choice, *success),
            Operation::Advance(milliseconds) => self.advance(Duration::from_millis(*milliseconds)),
            Operation::TakeOver => self.take_over(),
        }
        self.carry_out();
    }

    fn take_over(&mut self) {
        let before = &self.application;
        let instances = before.instances();
        let mut next = Application::new(self.policy.clone(), instances, self.last);
        for worker in before.workers() {
            let adopted = Adopted {
                id: worker.id,
                slot: worker.slot,
                phase: worker.phase,
                started: worker.started,
                is_outdated: before.is_outdated(worker.id),
            };
            next.adopt(self.now, adopted);
        }
        if before.condition() == Condition::Running {
            next.start(self.now);
        }
        self.application = next;
    }

    fn ready(&mut self, choice: usize) {
        let worker = self.choose(choice).unwrap_or(WorkerId(999));
        if let Some(process) = self.processes.get_mut(&worker) {
            // Late: it may have been told to go already.
            process.is_ready |= process.terminated_at.is_none();
            if process.serves() {
                self.vacated.remove(&process.slot);
            }
        }
        self.application.handle_ready(self.now, worker);
    }

    fn drained(&mut self, choice: usize) {
        let worker = self.choose(choice).unwrap_or(WorkerId(999));
        if let Some(process) = self.processes.get_mut(&worker) {
            process.has_nothing_left = process.drained_at.is_some();
        }
        self.application.handle_drained(self.now, worker);
    }

    fn exit(&mut self, choice: usize, success: bool) {
        let Some(worker) = self.choose(choice) else {
            return;
        };
        self.processes.remove(&worker);
        let exit = if success {
            Exit::Success
        } else {
            Exit::Failure
        };
        self.application.handle_exited(self.now, worker, exit);
    }

    /// Time passes, and each timeout is heard when it is due.
    fn advance(&mut self, time: Duration) {
        let end = self.now + time;
        for round in 0.. {
            assert!(round < 10_000, "timeouts do not come to an end");
            match self.application.next_timeout() {
                Some(at) if at <= end => {
                    self.now = self.now.max(at);
                    self.application.handle_timeout(self.now);
                    self.carry_out();
                    let next = self.application.next_timeout();
                    assert!(next.is_none_or(|next| next > self.now));
                }
                _ => break,
            }
        }
        self.now = end;
    }

    /// Those that were killed end; those that were only asked do not.
    fn bury(&mut self) {
        let killed = self.processes.iter().filter(|(_, it)| it.is_killed);
        let killed: Vec<_> = killed.map(|(id, _)| *id).collect();
        for worker in killed {
            self.processes.remove(&worker);
            self.application
                .handle_exited(self.now, worker, Exit::Failure);
            self.carry_out();
        }
    }

    /// Nothing obeys, and nothing has ever finished: all the same everything ends.
    fn stop_ends(&mut self) {
        self.application.stop(self.now);
        self.carry_out();
        self.advance(self.policy.drain_timeout + self.policy.stop_timeout * 2);
        self.bury();
        assert!(self.processes.is_empty(), "{:?}", self.processes);
        assert_eq!(self.application.next_timeout(), None);
        assert!(self.application.is_settled());
    }

    /// What is well from now on comes up, after the longest wait at most.
    fn comes_up(&mut self) {
        self.application.start(self.now);
        self.carry_out();
        for _ in 0..200 {
            let starting = self.processes.iter().filter(|(_, it)| it.is_starting());
            let starting: Vec<_> = starting.map(|(id, _)| *id).collect();
            for worker in starting {
                let Some(process) = self.processes.get_mut(&worker) else {
                    continue;
                };
                process.is_ready = true;
                self.application.handle_ready(self.now, worker);
                self.carry_out();
            }
            self.advance(self.policy.longest_backoff);
            self.bury();
        }
        assert!(self.application.is_settled(), "{:?}", self.application);
        let instances = self.application.instances();
        for slot in 0..instances {
            assert_eq!(self.serving(slot), 1);
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let choice = 0_usize..8;
    prop_oneof![
        2 => Just(Operation::Start),
        1 => Just(Operation::Stop),
        1 => Just(Operation::Restart),
        2 => (0_u32..6).prop_map(Operation::Scale),
        3 => Just(Operation::Recycle),
        3 => choice.clone().prop_map(Operation::RecycleOne),
        12 => choice.clone().prop_map(Operation::Ready),
        6 => choice.clone().prop_map(Operation::Drained),
        6 => (choice, any::<bool>()).prop_map(|(choice, success)| Operation::Exit(choice, success)),
        8 => (0_u64..40_000).prop_map(Operation::Advance),
        2 => Just(Operation::TakeOver),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let limit = || proptest::option::of(1_u32..6);
    (
        1_u32..4,
        1_u32..3,
        any::<bool>(),
        limit(),
        limit(),
        any::<bool>(),
    )
        .prop_map(
            |(max_starting, max_unavailable, overlapped, later, at_start, has_start_timeout)| {
                Policy {
                    max_starting,
                    max_unavailable,
                    overlapped,
                    give_up_after: later,
                    give_up_at_start_after: at_start,
                    start_timeout: has_start_timeout.then_some(Duration::from_secs(20)),
                    ..Policy::default()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_two_lives_serve_nothing_goes_too_early_and_every_stop_ends(
        policy in policy(),
        instances in 0_u32..5,
        operations in proptest::collection::vec(operation(), 1..80),
    ) {
        let mut world = World::new(policy, instances);
        for operation in &operations {
            world.apply(operation);
        }
        world.stop_ends();
    }

    #[test]
    fn whatever_has_happened_an_application_that_is_well_comes_up(
        policy in policy(),
        instances in 0_u32..5,
        operations in proptest::collection::vec(operation(), 1..60),
    ) {
        let mut world = World::new(policy, instances);
        for operation in &operations {
            world.apply(operation);
        }
        world.comes_up();
    }
}
