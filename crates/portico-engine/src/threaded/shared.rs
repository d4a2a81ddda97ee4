//! What the application's thread and one engine thread share besides the rings.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portico_channel::{LentBytes, Mailbox, RecordView, RingWriter, Sleeper};
use portico_sys::{Errno, Wake};

use super::lending::Returned;
use crate::limits::SPARE_BYTES;
use crate::{CommandError, Shard};

/// Kind of the record that stands in a ring for what travels beside it: a submission, or events. Not part of the layout:
/// it never leaves this module.
pub(super) const BESIDE: u32 = 255;

/// How the application's thread is woken.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) wake: Wake,
    pub(super) sleeper: Sleeper,
}

impl Application {
    pub(super) fn wake_if_asleep(&self) {
        if self.sleeper.must_be_woken() {
            self.wake.wake();
        }
    }
}

/// A submission that travels beside the ring.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) commands: Vec<u8>,
    pub(super) external: Option<Vec<u8>>,
}

/// The outside body of a submission, on the engine thread: until it has been sent, or its connection has gone.
#[derive(Debug)]
pub(super) struct Piece {
    bytes: Vec<u8>,
    token: u32,
    sequence: u32,
    shared: Arc<Shared>,
    application: Arc<Application>,
}

impl Piece {
    /// The outside body of a record.
    pub(super) fn new(
        bytes: Vec<u8>,
        record: RecordView<'_>,
        shared: &Arc<Shared>,
        application: &Arc<Application>,
    ) -> Self {
        Self {
            bytes,
            token: record.token(),
            sequence: record.sequence(),
            shared: Arc::clone(shared),
            application: Arc::clone(application),
        }
    }
}

impl LentBytes for Piece {
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let piece = Returned {
            token: self.token,
            sequence: self.sequence,
            bytes: self.bytes.len(),
        };
        let buffer = std::mem::take(&mut self.bytes);
        self.shared.piece_done(piece, buffer, &self.application);
    }
}

/// Empty buffers that travel back. Without them each large body is memory fresh from the system, which is given back
/// at once: the page faults cost more than the copy.
#[derive(Debug, Default)]
struct Spare {
    buffers: Vec<Vec<u8>>,
    /// Sum of their capacities.
    bytes: usize,
}

/// Shared state of one engine thread.
#[derive(Debug)]
pub(super) struct Shared {
    /// Wakes the engine thread.
    pub(super) wake: Wake,
    /// The engine thread sleeps in its epoll.
    pub(super) sleeper: Sleeper,
    /// The engine thread waits for room in the events ring.
    pub(super) wants_room: Sleeper,
    /// The application's thread has commands that found no room.
    pub(super) application_wants_room: Sleeper,
    pub(super) mailbox: Mailbox<Shard>,
    pub(super) stop: AtomicBool,
    beside: Mutex<VecDeque<Beside>>,
    /// Events of one turn that are larger than half a ring, on their way.
    large_events: Mutex<Option<Vec<u8>>>,
    spare: Mutex<Spare>,
    /// Pieces of large bodies that have been sent or dropped, for the application's thread.
    returned: Mutex<Vec<Returned>>,
    /// Whether something of the application's thread waits for them.
    pub(super) lending_waits: AtomicBool,
    error: Mutex<Option<CommandError>>,
    /// Connections that keep the application's process alive, as of the last turn.
    pub(super) referenced: AtomicUsize,
}

impl Shared {
    pub(super) fn new() -> portico_sys::Result<Self> {
        Ok(Self {
            wake: Wake::new()?,
            sleeper: Sleeper::default(),
            wants_room: Sleeper::default(),
            application_wants_room: Sleeper::default(),
            mailbox: Mailbox::default(),
            stop: AtomicBool::new(false),
            beside: Mutex::new(VecDeque::new()),
            large_events: Mutex::new(None),
            spare: Mutex::default(),
            returned: Mutex::default(),
            lending_waits: AtomicBool::new(false),
            error: Mutex::new(None),
            referenced: AtomicUsize::new(0),
        })
    }

    /// Wakes the engine thread if it sleeps.
    pub(super) fn wake_engine(&self) {
        if self.sleeper.must_be_woken() {
            self.wake.wake();
        }
    }

    pub(super) fn push_beside(&self, beside: Beside) {
        self.beside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(beside);
    }

    pub(super) fn take_beside(&self) -> Option<Beside> {
        self.beside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    /// Sends events beside the ring. There are none on their way: see [`Shared::has_large_events`].
    pub(super) fn put_large_events(&self, events: Vec<u8>) {
        let mut place = self.large_events();
        debug_assert!(place.is_none());
        *place = Some(events);
    }

    pub(super) fn take_large_events(&self) -> Option<Vec<u8>> {
        self.large_events().take()
    }

    /// Whether events beside the ring have not been taken: no more are made until then.
    pub(super) fn has_large_events(&self) -> bool {
        self.large_events().is_some()
    }

    fn large_events(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.large_events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of an outside body, in a buffer that has been used before if there is one.
    pub(super) fn copy_beside(&self, body: &[u8]) -> Vec<u8> {
        let mut buffer = {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            // The one given back last: it is likely in the processor's cache.
            let buffer = spare.buffers.pop().unwrap_or_default();
            spare.bytes -= buffer.capacity();
            buffer
        };
        buffer.extend_from_slice(body);
        buffer
    }

    /// A piece of a body has been sent or dropped.
    fn piece_done(&self, piece: Returned, buffer: Vec<u8>, application: &Application) {
        self.give_back(buffer);
        self.returned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(piece);
        if self.lending_waits.load(Ordering::Acquire) {
            application.wake_if_asleep();
        }
    }

    /// Pieces that are done since the last call, exchanged for an empty list.
    pub(super) fn take_returned(&self, list: &mut Vec<Returned>) {
        let mut returned = self.returned.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *returned, list);
    }

    /// Whether [`Shared::take_returned`] would find some that are waited for.
    pub(super) fn has_returned(&self) -> bool {
        self.lending_waits.load(Ordering::Acquire)
            && !self
                .returned
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_empty()
    }

    /// Gives the buffer of an outside body back.
    fn give_back(&self, mut buffer: Vec<u8>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.bytes + buffer.capacity() <= SPARE_BYTES {
            buffer.clear();
            spare.bytes += buffer.capacity();
            spare.buffers.push(buffer);
        }
    }

    /// Keeps the first error of applied commands for the next submission.
    pub(super) fn report(&self, error: CommandError) {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(error);
    }

    pub(super) fn take_error(&self) -> Option<CommandError> {
        self.error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Whether there was room.
pub(super) fn write_to_ring(ring: &mut RingWriter, record: &[u8]) -> bool {
    let Some(space) = ring
        .reserve(record.len())
        .and_then(|space| space.get_mut(..record.len()))
    else {
        return false;
    };
    space.copy_from_slice(record);
    ring.commit(record.len());
    true
}

/// A thread that does not answer has ended by a panic.
pub(super) fn gone() -> io::Error {
    io::Error::from_raw_os_error(Errno::PIPE.raw_os_error())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_bodies_are_used_again_within_bounds() {
        let shared = Shared::new().unwrap();
        let body = vec![1; 100_000];
        let first = shared.copy_beside(&body);
        let address = first.as_ptr();
        shared.give_back(first);
        let second = shared.copy_beside(&body[..50_000]);
        assert_eq!((second.as_ptr(), second.len()), (address, 50_000));
        for _ in 0..100 {
            shared.give_back(Vec::with_capacity(100_000));
        }
        let spare = shared.spare.lock().unwrap();
        assert!(spare.bytes <= SPARE_BYTES && spare.buffers.len() >= 40);
    }
}
