//! Who sleeps is woken; who does not sleep is not.
//!
//! A wake-up costs a system call, so it is made only if the other side sleeps. The danger is the gap between looking
//! and sleeping. Both sides close it with a sequentially consistent fence between their write and their read:
//!
//! | sleeper | waker |
//! |---|---|
//! | `asleep = true` | publishes (stores the ring's position) |
//! | fence | fence |
//! | looks at the ring; sleeps if it is empty | reads `asleep`; wakes if it is true |
//!
//! In any order of the two fences at least one side sees the other's write: the sleeper sees the data or the waker
//! sees the flag. `tests/loom.rs` tries all orders.
//!
//! The sleeper writes its flag by exchanges, not by plain stores: once for each sleep, that costs nothing, and the flag's
//! history is one chain. With stores the argument above holds too, but not for the model checker, which then lets the
//! waker's exchange take a value that the sleeper's store had already followed.

use crate::sync::{AtomicU32, Ordering, fence};

/// Whether one side sleeps. May lie in memory that another process writes: every bit pattern is valid, and anything
/// but 0 means asleep.
#[derive(Debug)]
#[repr(transparent)]
pub struct Sleeper {
    asleep: AtomicU32,
}

impl Default for Sleeper {
    fn default() -> Self {
        Self {
            asleep: AtomicU32::new(0),
        }
    }
}

impl Sleeper {
    /// Sleeper: call this, then look whether there is something to do, and sleep only if there is not.
    pub fn fall_asleep(&self) {
        self.asleep.swap(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Sleeper: awake again, or not gone to sleep after all.
    pub fn wake_up(&self) {
        self.asleep.swap(0, Ordering::AcqRel);
    }

    /// Whether it sleeps or is about to, for whoever looks at both sides. Says nothing of what was published.
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Waker: call this after publishing. Whether the other side must be woken; only one of several callers gets
    /// `true`.
    #[must_use]
    pub fn must_be_woken(&self) -> bool {
        fence(Ordering::SeqCst);
        self.asleep.load(Ordering::Relaxed) != 0 && self.asleep.swap(0, Ordering::Relaxed) != 0
    }
}
