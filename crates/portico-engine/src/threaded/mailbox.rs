//! Control calls from the application's thread to an engine thread.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use crate::Shard;

/// Something to do with the shard between two turns.
pub(super) type Task = Box<dyn FnOnce(&mut Shard) + Send>;

/// Tasks that wait. Rare: only control calls come this way.
#[derive(Default)]
pub(super) struct Mailbox {
    tasks: Mutex<VecDeque<Task>>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl Mailbox {
    /// Posts a call; its result comes through the receiver.
    pub(super) fn post<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Shard) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (sender, receiver) = sync_channel(1);
        let task: Task = Box::new(move |shard| {
            // The caller may have lost interest.
            let _ = sender.send(call(shard));
        });
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(task);
        receiver
    }

    pub(super) fn take(&self) -> Option<Task> {
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }
}
