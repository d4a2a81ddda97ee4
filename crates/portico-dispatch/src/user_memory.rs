//! What one user's members may have the host keep for them, all registrations and shards together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::{
    BACKLOG_BYTES_OF_A_USER, TEMPLATE_BYTES_OF_A_USER, UNFINISHED_BYTES_OF_A_USER,
};

/// The account of one user: give each of the user's members the same one.
#[derive(Debug)]
pub struct UserMemory {
    unfinished: Account,
    templates: Account,
    backlogs: Account,
}

#[derive(Debug)]
struct Account {
    bytes: AtomicUsize,
    limit: usize,
}

impl UserMemory {
    /// The account of a user who must not take the host's memory from others.
    #[must_use]
    pub fn limited() -> Arc<Self> {
        Self::new(
            UNFINISHED_BYTES_OF_A_USER,
            TEMPLATE_BYTES_OF_A_USER,
            BACKLOG_BYTES_OF_A_USER,
        )
    }

    /// The account of one who may: root, and the host's own user. What bounds each member alone stays.
    #[must_use]
    pub fn unlimited() -> Arc<Self> {
        Self::new(usize::MAX, usize::MAX, usize::MAX)
    }

    fn new(unfinished: usize, templates: usize, backlogs: usize) -> Arc<Self> {
        let account = |limit| Account {
            bytes: AtomicUsize::new(0),
            limit,
        };
        Arc::new(Self {
            unfinished: account(unfinished),
            templates: account(templates),
            backlogs: account(backlogs),
        })
    }

    /// For a member's unfinished record.
    pub(crate) fn for_unfinished(self: &Arc<Self>) -> Share {
        Share::of(self, |memory| &memory.unfinished)
    }

    /// For a member's templates.
    pub(crate) fn for_templates(self: &Arc<Self>) -> Share {
        Share::of(self, |memory| &memory.templates)
    }

    /// For what a member has not taken.
    pub(crate) fn for_backlog(self: &Arc<Self>) -> Share {
        Share::of(self, |memory| &memory.backlogs)
    }
}

/// Bytes of an account that one member has. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Arc<UserMemory>,
    account: fn(&UserMemory) -> &Account,
    bytes: usize,
}

impl Share {
    fn of(memory: &Arc<UserMemory>, account: fn(&UserMemory) -> &Account) -> Self {
        Self {
            memory: Arc::clone(memory),
            account,
            bytes: 0,
        }
    }

    /// Takes so many more. False: the user has as many as there may be, and nothing has changed.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let account = (self.account)(&self.memory);
        let before = account.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > account.limit {
            account.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }

    /// Has exactly so many, whatever the limit: what can't be refused.
    pub(crate) fn set(&mut self, bytes: usize) {
        if bytes > self.bytes {
            let account = (self.account)(&self.memory);
            let more = bytes - self.bytes;
            account.bytes.fetch_add(more, Ordering::Relaxed);
            self.bytes = bytes;
        } else if bytes < self.bytes {
            self.give(self.bytes - bytes);
        }
    }

    /// Whether the user has more than so many times as much as there may be.
    pub(crate) fn is_over(&self, times: usize) -> bool {
        let account = (self.account)(&self.memory);
        account.bytes.load(Ordering::Relaxed) > account.limit.saturating_mul(times)
    }

    /// Gives so many back.
    pub(crate) fn give(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let account = (self.account)(&self.memory);
        account.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give(self.bytes);
    }
}
