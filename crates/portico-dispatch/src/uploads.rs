//! Requests whose body has not arrived: counted apart from the others, and by where their client is.
//!
//! A client decides how long its body takes. So such a request uses up no place of its member and none in the queue of
//! complete requests, but one of a share of its own; when half of that is used, no client address may hold more than a
//! sixteenth of it. Fields such as `X-Forwarded-For` are not looked at: a client writes into them what it likes.
//!
//! [`Upload`] is such a place. Dropping it gives it back, whichever way the request ends.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host_wide::MemberLoad;

/// Part of the share that one address may hold when half of the share is used.
const ADDRESS_PART: u32 = 16;

/// Where a client is: an IPv4 address, or the /64 of an IPv6 one, of which a client has all addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// No IP address: a Unix socket.
    Local,
    V4(u32),
    V6([u8; 8]),
}

impl Source {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// Uploads of a queue, on all shards.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    total: u32,
    by_source: HashMap<Source, u32>,
}

/// The place of one request whose body has not arrived.
#[derive(Debug)]
pub(crate) struct Upload {
    counts: Arc<Mutex<Counts>>,
    source: Source,
    /// The member that has the request counts it too.
    member: Option<Arc<MemberLoad>>,
}

impl Uploads {
    /// A place, if one of `limit` (0: no limit) is left for a client there.
    pub(crate) fn admit(&self, source: Source, limit: u32) -> Option<Upload> {
        let mut counts = lock(&self.counts);
        let total = counts.total;
        let held = counts.by_source.get(&source).copied().unwrap_or(0);
        let is_too_many = held >= (limit / ADDRESS_PART).max(1);
        if limit != 0 && (total >= limit || (total >= limit / 2 && is_too_many)) {
            return None;
        }
        counts.by_source.insert(source, held + 1);
        counts.total = total + 1;
        Some(Upload {
            counts: Arc::clone(&self.counts),
            source,
            member: None,
        })
    }
}

impl Upload {
    /// A member has been given the request, and has counted it as an upload.
    pub(crate) fn is_with(&mut self, load: &Arc<MemberLoad>) {
        leave(self.member.replace(Arc::clone(load)).as_ref());
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        leave(self.member.as_ref());
        let mut counts = lock(&self.counts);
        counts.total = counts.total.saturating_sub(1);
        if let Entry::Occupied(mut entry) = counts.by_source.entry(self.source) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

fn leave(member: Option<&Arc<MemberLoad>>) {
    if let Some(member) = member {
        member.release_upload();
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Source {
        Source::of(address.parse().unwrap())
    }

    #[test]
    fn one_address_leaves_half_of_the_share_to_others() {
        let uploads = Uploads::default();
        let mut places = Vec::new();
        while let Some(place) = uploads.admit(at("192.0.2.1"), 64) {
            places.push(place);
        }
        assert_eq!(places.len(), 32);
        for number in 0..8 {
            let source = at(&format!("198.51.100.{number}"));
            for _ in 0..4 {
                places.push(uploads.admit(source, 64).unwrap());
            }
            assert!(uploads.admit(source, 64).is_none());
        }
        assert!(uploads.admit(at("203.0.113.1"), 64).is_none(), "all used");
        drop(places);
        assert!(uploads.admit(at("192.0.2.1"), 64).is_some());
        assert!(lock(&uploads.counts).by_source.is_empty());
    }

    #[test]
    fn an_ipv6_client_has_a_64_and_a_mapped_one_is_ipv4() {
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:2"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_eq!(at("::ffff:192.0.2.7"), at("192.0.2.7"));
    }

    #[test]
    fn a_member_counts_what_it_has() {
        let (first, second) = (Arc::<MemberLoad>::default(), Arc::<MemberLoad>::default());
        let mut place = Uploads::default().admit(Source::Local, 0).unwrap();
        assert!(first.claim(0, true));
        place.is_with(&first);
        assert!(second.claim(0, true));
        place.is_with(&second);
        assert_eq!((first.uploads(), second.uploads()), (0, 1));
        drop(place);
        assert_eq!(second.uploads(), 0);
    }
}
