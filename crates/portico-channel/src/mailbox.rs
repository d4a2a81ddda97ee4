//! Control calls to a thread that turns between them.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something to do with a `T` between two turns.
pub type Task<T> = Box<dyn FnOnce(&mut T) + Send>;

/// Tasks that wait. Rare: no request comes this way.
pub struct Mailbox<T> {
    tasks: Mutex<VecDeque<Task<T>>>,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
        }
    }
}

impl<T> std::fmt::Debug for Mailbox<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl<T> Mailbox<T> {
    /// Posts a call; its result comes through the receiver. Does not block.
    pub fn post<R: Send + 'static>(
        &self,
        call: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> Receiver<R> {
        let (sender, receiver) = sync_channel(1);
        self.lock().push_back(Box::new(move |target| {
            // The caller may have lost interest.
            let _ = sender.send(call(target));
        }));
        receiver
    }

    /// The call that was posted first.
    #[must_use]
    pub fn take(&self) -> Option<Task<T>> {
        self.lock().pop_front()
    }

    /// Whether nothing was posted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Task<T>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
