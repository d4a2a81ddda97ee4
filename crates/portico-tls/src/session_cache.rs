//! Sessions in memory, for clients that resume by id: TLS 1.2 clients without tickets, and everybody where tickets
//! are switched off.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use rustls::server::StoresServerSessions;
use zeroize::Zeroizing;

use crate::clock;

/// Most sessions kept for a context: OpenSSL's default (`SSL_SESSION_CACHE_MAX_SIZE_DEFAULT`). About 300 bytes each.
pub(crate) const MAX_SESSIONS: usize = 20_480;
/// Most bytes of sessions kept: 800 for each. A session holds the client's certificates, which may be up to 64 KB, and
/// rustls stores it before they are judged: by their number alone, sessions could take more than a gigabyte.
const MAX_BYTES: usize = 16 << 20;
/// Longest session that is kept: as with tickets.
const MAX_SESSION_BYTES: usize = 16_000;

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
    /// Of all values.
    bytes: usize,
    next_number: u64,
}

struct Session {
    /// In seconds since 1970.
    expires: u64,
    number: u64,
    /// Wiped when dropped.
    value: Zeroizing<Vec<u8>>,
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
        let value = Zeroizing::new(value);
        if value.len() > MAX_SESSION_BYTES {
            return false;
        }
        let mut sessions = self.lock();
        let number = sessions.next_number;
        sessions.next_number += 1;
        let key = key.into_boxed_slice();
        let expires = clock::now() + u64::from(self.lifetime_seconds);
        let session = Session {
            expires,
            number,
            value,
        };
        sessions.bytes += session.value.len();
        sessions.order.push_back((key.clone(), number));
        if let Some(replaced) = sessions.by_id.insert(key, session) {
            sessions.bytes -= replaced.value.len();
        }
        while sessions.order.len() > self.capacity || sessions.bytes > MAX_BYTES {
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
        let mut session = self.lock().remove(key)?;
        (session.expires >= clock::now()).then(|| std::mem::take(&mut *session.value))
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
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &[u8]) -> Option<Session> {
        let session = self.by_id.remove(key)?;
        self.bytes -= session.value.len();
        Some(session)
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
    fn long_sessions_push_others_out_and_the_longest_are_not_kept() {
        let cache = SessionCache::new(MAX_SESSIONS, 300);
        assert!(!cache.put(vec![0], vec![0; MAX_SESSION_BYTES + 1]));
        let count = u32::try_from(MAX_BYTES / MAX_SESSION_BYTES * 2).unwrap_or(0);
        for key in 0..count {
            assert!(cache.put(key.to_be_bytes().to_vec(), vec![1; MAX_SESSION_BYTES]));
        }
        assert!(cache.lock().bytes <= MAX_BYTES);
        assert!(cache.get(&0u32.to_be_bytes()).is_none());
        for key in 0..count {
            cache.take(&key.to_be_bytes());
        }
        assert_eq!(cache.lock().bytes, 0);
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
