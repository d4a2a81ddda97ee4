//! Sessions in memory, for clients that resume by id: TLS 1.2 clients without tickets, and everybody where tickets
//! are switched off.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use rustls::server::StoresServerSessions;

use crate::clock;

/// Most sessions kept for a context: OpenSSL's default (`SSL_SESSION_CACHE_MAX_SIZE_DEFAULT`). About 300 bytes each.
pub(crate) const MAX_SESSIONS: usize = 20_480;

/// A bounded store that forgets the oldest session first.
pub(crate) struct SessionCache {
    lifetime_seconds: u32,
    capacity: usize,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    by_id: HashMap<Box<[u8]>, Session>,
    /// Ids in order of arrival. Those of sessions that were taken or replaced meanwhile are passed over.
    order: VecDeque<(Box<[u8]>, u64)>,
    next_number: u64,
}

struct Session {
    /// In seconds since 1970.
    expires: u64,
    number: u64,
    value: Box<[u8]>,
}

impl SessionCache {
    pub(crate) fn new(capacity: usize, lifetime_seconds: u32) -> Self {
        Self {
            lifetime_seconds,
            capacity,
            sessions: Mutex::default(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoresServerSessions for SessionCache {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        let mut sessions = self.lock();
        let number = sessions.next_number;
        sessions.next_number += 1;
        let key = key.into_boxed_slice();
        let expires = clock::now() + u64::from(self.lifetime_seconds);
        let session = Session {
            expires,
            number,
            value: value.into_boxed_slice(),
        };
        sessions.order.push_back((key.clone(), number));
        sessions.by_id.insert(key, session);
        while sessions.order.len() > self.capacity {
            sessions.forget_oldest();
        }
        true
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let sessions = self.lock();
        let session = sessions
            .by_id
            .get(key)
            .filter(|session| session.expires >= clock::now())?;
        Some(session.value.to_vec())
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let session = self.lock().by_id.remove(key)?;
        (session.expires >= clock::now()).then(|| session.value.into_vec())
    }

    fn can_cache(&self) -> bool {
        true
    }
}

impl Sessions {
    fn forget_oldest(&mut self) {
        if let Some((key, number)) = self.order.pop_front()
            && self
                .by_id
                .get(&key)
                .is_some_and(|session| session.number == number)
        {
            self.by_id.remove(&key);
        }
    }
}

/// Secrets stay out of debug output.
impl fmt::Debug for SessionCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SessionCache")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_session_goes_first() {
        let cache = SessionCache::new(3, 300);
        for key in 0..5u8 {
            assert!(cache.put(vec![key], vec![key; 10]));
        }
        assert!(cache.get(&[0]).is_none() && cache.get(&[1]).is_none());
        assert_eq!(cache.get(&[4]), Some(vec![4; 10]));
        assert_eq!(cache.take(&[3]), Some(vec![3; 10]));
        assert!(cache.take(&[3]).is_none());
        assert!(cache.lock().by_id.len() <= 3 && cache.lock().order.len() <= 3);
    }

    #[test]
    fn replacing_a_session_keeps_the_new_one() {
        let cache = SessionCache::new(2, 300);
        for value in 0..10u8 {
            cache.put(vec![1], vec![value]);
            assert_eq!(cache.get(&[1]), Some(vec![value]));
        }
    }
}
