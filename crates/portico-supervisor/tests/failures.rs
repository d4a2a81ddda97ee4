//! Crash loops, and programs that end by themselves.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use portico_supervisor::{Action, Application, Condition, Exit, Policy, WorkerId};

fn actions(application: &mut Application) -> Vec<Action> {
    std::iter::from_fn(|| application.poll_action()).collect()
}

fn spawned(application: &mut Application) -> Option<WorkerId> {
    let actions = actions(application);
    actions.iter().find_map(|action| match action {
        Action::Spawn { worker, .. } => Some(*worker),
        _ => None,
    })
}

#[test]
fn four_crashes_are_replaced_at_once_and_the_fifth_waits_longer_and_longer() {
    let start = Instant::now();
    let mut now = start;
    let policy = Policy {
        start_timeout: None,
        ..Policy::default()
    };
    let mut application = Application::new(policy, 1, WorkerId(0));
    application.start(now);
    let mut waits = Vec::new();
    for _ in 0..14 {
        let worker = spawned(&mut application).unwrap();
        application.handle_ready(now, worker);
        application.handle_exited(now, worker, Exit::Failure);
        let next = application.next_timeout();
        waits.push(next.map_or(0, |at| at.duration_since(now).as_secs()));
        now = next.unwrap_or(now);
        application.handle_timeout(now);
    }
    assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
}

#[test]
fn a_crash_after_a_quiet_time_is_replaced_at_once_again() {
    let mut now = Instant::now();
    let mut application = Application::new(Policy::default(), 1, WorkerId(0));
    application.start(now);
    for _ in 0..8 {
        let worker = spawned(&mut application).unwrap();
        application.handle_ready(now, worker);
        application.handle_exited(now, worker, Exit::Failure);
        now = application.next_timeout().unwrap_or(now);
        application.handle_timeout(now);
    }
    let worker = spawned(&mut application).unwrap();
    application.handle_ready(now, worker);
    now += Policy::default().failure_window;
    application.handle_exited(now, worker, Exit::Failure);
    assert!(spawned(&mut application).is_some());
}

#[test]
fn a_program_that_can_not_start_is_given_up_and_may_be_started_again() {
    let now = Instant::now();
    let policy = Policy {
        give_up_at_start_after: Some(1),
        ..Policy::default()
    };
    let mut application = Application::new(policy, 2, WorkerId(0));
    application.start(now);
    let started = actions(&mut application);
    assert_eq!(started.len(), 2);
    application.handle_exited(now, WorkerId(1), Exit::Failure);
    let told = actions(&mut application);
    assert_eq!(told, [Action::GiveUp, Action::Terminate(WorkerId(2))]);
    assert_eq!(application.condition(), Condition::Failed);
    application.handle_exited(now, WorkerId(2), Exit::Failure);
    assert_eq!(application.next_timeout(), None);
    application.start(now);
    assert!(spawned(&mut application).is_some());
}

#[test]
fn a_program_that_is_done_is_not_started_again() {
    let now = Instant::now();
    let policy = Policy {
        may_finish: true,
        start_timeout: None,
        ..Policy::default()
    };
    let mut application = Application::new(policy, 1, WorkerId(0));
    application.start(now);
    let worker = spawned(&mut application).unwrap();
    application.handle_exited(now + Duration::from_secs(9), worker, Exit::Success);
    assert_eq!(actions(&mut application), [Action::Finished]);
    assert_eq!(application.condition(), Condition::Finished);
}

#[test]
fn a_successor_that_does_not_come_up_leaves_the_worker_before_it_serving() {
    let mut now = Instant::now();
    let mut application = Application::new(Policy::default(), 1, WorkerId(0));
    application.start(now);
    let first = spawned(&mut application).unwrap();
    application.handle_ready(now, first);
    application.recycle(now);
    let mut successor = spawned(&mut application).unwrap();
    for _ in 0..20 {
        let mut told = Vec::new();
        let mut next = None;
        while next.is_none() {
            now = application.next_timeout().unwrap();
            application.handle_timeout(now);
            for action in actions(&mut application) {
                match action {
                    Action::Spawn { worker, .. } => next = Some(worker),
                    Action::Kill(worker) => {
                        application.handle_exited(now, worker, Exit::Failure);
                    }
                    other => told.push(other),
                }
            }
        }
        assert_eq!(told, [Action::Terminate(successor)]);
        successor = next.unwrap();
    }
    application.handle_ready(now, successor);
    assert_eq!(actions(&mut application), [Action::Drain(first)]);
}
