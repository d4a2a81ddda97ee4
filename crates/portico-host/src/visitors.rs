//! Connections of the control socket that have not registered: how many a user may have, and whose turn it is.
//!
//! A user's commands are carried out one after the other, so that another user's waits for one of them at most. A new
//! connection always finds room: of those of the same user, the one that has said nothing for longest gives way.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use tokio::sync::{Mutex, MutexGuard, Notify};

/// Connections of one user that have not registered, at most; fewer where the host may have few descriptors.
pub(crate) const MAX_VISITS_OF_A_USER: usize = 1024;

/// All of them.
#[derive(Debug)]
pub(crate) struct Visitors {
    /// Connections of one user, at most.
    limit: usize,
    users: RefCell<HashMap<u32, User>>,
    last: Cell<u64>,
}

#[derive(Debug, Default)]
struct User {
    /// In the order in which they came.
    visits: BTreeMap<u64, Rc<Seat>>,
    turn: Rc<Mutex<()>>,
}

#[derive(Debug)]
struct Seat {
    /// Nothing has been asked that is not answered.
    idle: Cell<bool>,
    given_away: Notify,
}

/// One connection, until it registers or ends.
#[derive(Debug)]
pub(crate) struct Visit {
    visitors: Rc<Visitors>,
    uid: u32,
    number: u64,
    seat: Rc<Seat>,
    turn: Rc<Mutex<()>>,
}

impl Visitors {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            users: RefCell::default(),
            last: Cell::new(0),
        }
    }

    /// Takes a new connection. `None`: all that the user has wait for answers.
    pub(crate) fn enter(self: &Rc<Self>, uid: u32) -> Option<Visit> {
        let mut users = self.users.borrow_mut();
        let user = users.entry(uid).or_default();
        if user.visits.len() >= self.limit {
            let mut visits = user.visits.iter();
            let (number, _) = visits.find(|(_, seat)| seat.idle.get())?;
            let number = *number;
            user.visits.remove(&number)?.given_away.notify_one();
        }
        let number = self.last.get() + 1;
        self.last.set(number);
        let seat = Rc::new(Seat {
            idle: Cell::new(true),
            given_away: Notify::new(),
        });
        user.visits.insert(number, Rc::clone(&seat));
        Some(Visit {
            visitors: Rc::clone(self),
            uid,
            number,
            seat,
            turn: Rc::clone(&user.turn),
        })
    }
}

impl Visit {
    /// Whether nothing has been asked that is not answered.
    pub(crate) fn set_idle(&self, idle: bool) {
        self.seat.idle.set(idle);
    }

    /// Comes back when the connection has to give way. May be dropped while it waits.
    pub(crate) async fn given_away(&self) {
        self.seat.given_away.notified().await;
    }

    /// Waits until no other command of the user is being carried out; others wait until the guard is dropped.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut users = self.visitors.users.borrow_mut();
        if let Some(user) = users.get_mut(&self.uid) {
            user.visits.remove(&self.number);
            if user.visits.is_empty() {
                users.remove(&self.uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 8;

    fn is_given_away(visit: &Visit) -> bool {
        let mut given_away = std::pin::pin!(visit.given_away());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        given_away.as_mut().poll(&mut context).is_ready()
    }

    #[test]
    fn a_new_connection_takes_the_place_of_the_one_that_was_idle_for_longest() {
        let visitors = Rc::new(Visitors::new(LIMIT));
        let visits: Vec<_> = (0..LIMIT).map(|_| visitors.enter(1).unwrap()).collect();
        visits[0].set_idle(false);
        let new = visitors.enter(1).unwrap();
        let gone: Vec<_> = (0..3).map(|at| is_given_away(&visits[at])).collect();
        assert_eq!(gone, [false, true, false]);
        // Another user's are not touched, and not counted.
        let other = visitors.enter(2).unwrap();
        assert!(!is_given_away(&new) && !is_given_away(&other));
    }

    #[test]
    fn one_more_is_refused_only_while_all_wait_for_answers() {
        let visitors = Rc::new(Visitors::new(LIMIT));
        let mut visits: Vec<_> = (0..LIMIT).map(|_| visitors.enter(1).unwrap()).collect();
        for visit in &visits {
            visit.set_idle(false);
        }
        assert!(visitors.enter(1).is_none());
        visits.pop();
        visits.push(visitors.enter(1).unwrap());
        drop(visits);
        assert!(visitors.users.borrow().is_empty());
    }
}
