//! The memory that the shards keep for the members of each user: one account for a user, while there are members of it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use portico_dispatch::UserMemory;

use crate::registry::is_trusted;

/// Accounts by user id.
#[derive(Debug, Default)]
pub(crate) struct UserMemories(HashMap<u32, Weak<UserMemory>>);

impl UserMemories {
    /// The account of a user, the same for all members.
    pub(crate) fn of(&mut self, uid: u32) -> Arc<UserMemory> {
        if is_trusted(uid) {
            return UserMemory::unlimited();
        }
        if let Some(memory) = self.0.get(&uid).and_then(Weak::upgrade) {
            return memory;
        }
        self.0.retain(|_, memory| memory.strong_count() > 0);
        let memory = UserMemory::limited();
        self.0.insert(uid, Arc::downgrade(&memory));
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_one_user_share_an_account_while_there_are_any() {
        let mut memories = UserMemories::default();
        let (ann, bob) = (memories.of(61_001), memories.of(61_002));
        assert!(Arc::ptr_eq(&ann, &memories.of(61_001)));
        assert!(!Arc::ptr_eq(&ann, &bob));
        drop(bob);
        memories.of(61_003);
        assert_eq!(memories.0.len(), 2, "of users without members none is kept");
        // Root shares nothing, for nothing is counted.
        assert!(!Arc::ptr_eq(&memories.of(0), &memories.of(0)));
    }
}
