//! What is to leave the store at once, and what of it is still on its way.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::Entry;
use crate::key::Key;

/// Which entries leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Those of one key's target, whichever requests they are for.
    Url(Key),
    /// Those of one owner.
    Owner(u64),
    /// Those of one owner, or of all, of this path and query, whatever their host.
    Path {
        /// Whose; `None`: anybody's.
        owner: Option<u64>,
        /// The path with its query.
        path: Box<[u8]>,
    },
    /// Those of one owner, or of all, whose URI (`http://host/path?query`) begins with this; or whose path does, where it
    /// begins with a slash.
    Prefix {
        /// Whose; `None`: anybody's.
        owner: Option<u64>,
        /// The beginning of the URI, or of the path.
        prefix: String,
    },
    /// Those of one owner, or of all, that carry this tag.
    Tag {
        /// Whose; `None`: anybody's.
        owner: Option<u64>,
        /// The tag, compared byte for byte.
        tag: Box<[u8]>,
    },
    /// All.
    All,
}

impl Purge {
    pub(super) fn holds_for(&self, entry: &Entry) -> bool {
        let is_of = |owner: &Option<u64>| owner.is_none_or(|owner| entry.key().owner() == owner);
        match self {
            Self::Url(key) => entry.key().has_target_of(key),
            Self::Owner(owner) => entry.key().owner() == *owner,
            Self::Path { owner, path } => is_of(owner) && *entry.key().path() == **path,
            Self::Prefix { owner, prefix } if prefix.starts_with('/') => {
                is_of(owner) && entry.key().path().starts_with(prefix.as_bytes())
            }
            Self::Prefix { owner, prefix } => is_of(owner) && entry.key().uri().starts_with(prefix),
            Self::Tag { owner, tag } => is_of(owner) && entry.tags().any(|own| own == &**tag),
            Self::All => true,
        }
    }
}

/// When a request went to the application, counted in purges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub(super) u64);

/// Purges that are remembered. What was on its way for longer than so many purges is not stored.
const REMEMBERED: usize = 256;

/// The latest purges, in their order.
#[derive(Debug, Default)]
pub(super) struct Purges {
    count: u64,
    latest: VecDeque<Arc<Purge>>,
}

impl Purges {
    /// How many there have been.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn add(&mut self, purge: Purge) -> Arc<Purge> {
        if self.latest.len() == REMEMBERED {
            self.latest.pop_front();
        }
        let purge = Arc::new(purge);
        self.latest.push_back(Arc::clone(&purge));
        self.count += 1;
        purge
    }

    /// Whether an entry was purged since the ticket was taken, or may have been.
    pub(super) fn has_come(&self, ticket: Ticket, entry: &Entry) -> bool {
        let since = usize::try_from(self.count - ticket.0.min(self.count)).unwrap_or(usize::MAX);
        since > self.latest.len()
            || self
                .latest
                .iter()
                .rev()
                .take(since)
                .any(|purge| purge.holds_for(entry))
    }
}
