//! A shard's end of the cache: what becomes of each request that the shard offers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use portico_cache::store::{Found, Join};
use portico_cache::storing::Rule;
use portico_cache::{Key, RequestDirectives, Reuse, Time};
use portico_http::Method;
use portico_sys::{Wake, clock};

use super::OutputCache;
use super::answering::answer;
use super::asked::{AUTHORIZATION, Asked, Asking, CONDITIONS, DIRECTIVES, Interests};
use super::coalescing::{Mail, Waiter};
use super::invalidating::Invalidating;
use super::storing::{Storing, fields_of};
use crate::filter::AnswerFilter;
use crate::limits::{COALESCED_WAIT_MS, OFFER_CHECK_MS};
use crate::offer::{Offer, Offered, Responder};

/// Whose answers a request may get, and what decides about storing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSite {
    /// Answers of one owner are never given to requests of another.
    pub owner: u64,
    /// `None`: an answer is stored only if the application asks for that (`CACHE`).
    pub rule: Option<Rule>,
}

/// One shard's end of an [`OutputCache`].
#[derive(Debug)]
pub struct ShardCache {
    cache: Arc<OutputCache>,
    /// Of an embedded engine: whose answers are its listener number 0's, and the rule for all.
    own: CacheSite,
    interests: Interests,
    mail: Arc<Mail>,
    /// Requests that wait for the answer to an equal one, by token and number.
    waiting: HashMap<(u32, u32), Waiting>,
    /// When those were last looked at, in monotonic milliseconds.
    checked_ms: u64,
}

#[derive(Debug)]
struct Waiting {
    asked: Asked,
    key: Arc<Key>,
    rule: Option<Rule>,
    since_ms: u64,
}

impl ShardCache {
    /// An end for one shard. In an embedded engine a listener's answers have `own.owner` and its number as their owner.
    ///
    /// # Errors
    /// Those of making a descriptor.
    pub fn new(cache: Arc<OutputCache>, own: CacheSite) -> std::io::Result<Self> {
        Ok(Self {
            cache,
            own,
            interests: Interests::new(),
            mail: Arc::new(Mail::new()?),
            waiting: HashMap::new(),
            checked_ms: 0,
        })
    }

    /// Wakes the shard when an answer has come that a request of it waits for; to be watched by it.
    #[must_use]
    pub fn wake(&self) -> &Wake {
        &self.mail.wake
    }

    /// The rule for answers of an embedded engine.
    pub(crate) fn set_rule(&mut self, rule: Option<Rule>) {
        self.own.rule = rule;
    }

    /// What becomes of a request.
    pub fn offer_to(&mut self, offer: &Offer<'_>, site: CacheSite) -> Offered {
        let Some(asking) = Asking::of(offer.head(), &self.interests) else {
            return Offered::Passed;
        };
        if !asking.is_read() {
            return self.offer_change(&asking, site);
        }
        let is_standard = site.rule == Some(Rule::Standard);
        if asking.has(AUTHORIZATION) && !is_standard {
            return Offered::Passed;
        }
        let key = asking.key(site.owner);
        let now = self.cache.now();
        let directives = if is_standard && asking.has(DIRECTIVES) {
            RequestDirectives::read(asking.fields)
        } else {
            RequestDirectives::default()
        };
        if let Some(answered) = self.find(&key, &asking, &directives, now) {
            return answered;
        }
        self.offer_miss(offer, &asking, key, site.rule)
    }

    /// A request that waits has gone with its connection.
    pub fn gone(&mut self, token: u32, sequence: u32) {
        if let Some(waiting) = self.waiting.remove(&(token, sequence)) {
            let waiter = self.waiter(token, sequence);
            self.cache.coalescing.leave(&waiting.key, &waiter);
        }
    }

    /// Hands over what has come for requests that wait, each by its connection's token and its sequence: to
    /// [`Shard::settle`](crate::Shard::settle). To be called before each turn.
    pub fn settle(&mut self, mut give: impl FnMut(u32, u32, Offered)) {
        for (token, sequence) in self.mail.take() {
            self.settle_one(&mut give, token, sequence);
        }
        if self.waiting.is_empty() {
            return;
        }
        let now_ms = clock::monotonic_ms();
        if now_ms - self.checked_ms < OFFER_CHECK_MS {
            return;
        }
        self.checked_ms = now_ms;
        let is_late =
            |waiting: &&Waiting| now_ms.saturating_sub(waiting.since_ms) >= COALESCED_WAIT_MS;
        let late: Vec<(u32, u32)> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| is_late(waiting))
            .map(|(name, _)| *name)
            .collect();
        for (token, sequence) in late {
            let waiter = self.waiter(token, sequence);
            if let Some(waiting) = self.waiting.get(&(token, sequence)) {
                self.cache.coalescing.leave(&waiting.key, &waiter);
            }
            self.settle_one(&mut give, token, sequence);
        }
    }

    /// A filter for the answer to a GET request that was not offered to the cache, as the application tells of it: its
    /// target and field lines. `None`: its answer is not for others.
    #[must_use]
    pub fn late_filter(
        &self,
        site: CacheSite,
        is_secure: bool,
        target: &[u8],
        lines: &[u8],
    ) -> Option<Box<dyn AnswerFilter>> {
        let fields = fields_of(lines);
        let asking = Asking::of_get(is_secure, target, fields.fields(), &self.interests)?;
        let is_usable = asking.is_read() && !asking.has(AUTHORIZATION);
        is_usable.then(|| {
            let key = Arc::new(asking.key(site.owner));
            self.storing(&asking, key, site.rule, false)
        })
    }

    /// What holds for a listener of an embedded engine.
    pub(crate) fn site_of(&self, listener: u32) -> CacheSite {
        CacheSite {
            owner: self.own.owner + u64::from(listener),
            rule: self.own.rule,
        }
    }

    fn waiter(&self, token: u32, sequence: u32) -> Waiter {
        Waiter {
            mail: Arc::clone(&self.mail),
            token,
            sequence,
        }
    }

    fn offer_change(&self, asking: &Asking<'_>, site: CacheSite) -> Offered {
        let may_change = !matches!(
            asking.method,
            Method::Get | Method::Head | Method::Options | Method::Trace | Method::Connect
        );
        if !may_change {
            return Offered::Passed;
        }
        let cache = Arc::clone(&self.cache);
        Offered::Filtered(Box::new(Invalidating::new(cache, site.owner, asking)))
    }

    /// The answer to a request that may have what is stored.
    fn find(
        &self,
        key: &Key,
        asking: &Asking<'_>,
        directives: &RequestDirectives,
        now: Time,
    ) -> Option<Offered> {
        let Found::Entry(entry) = self.cache.store().find(key, asking.fields) else {
            return None;
        };
        if entry.freshness().reuse(directives, now) != Reuse::AtOnce {
            return None;
        }
        self.cache.hits.fetch_add(1, Ordering::Relaxed);
        Some(Offered::Answered(answer(&entry, asking, now)))
    }

    fn offer_miss(
        &mut self,
        offer: &Offer<'_>,
        asking: &Asking<'_>,
        key: Key,
        rule: Option<Rule>,
    ) -> Offered {
        if !asking.may_be_stored() {
            return Offered::Passed;
        }
        let key = Arc::new(key);
        // The answer to a request for a part, or with conditions, may be none that others can have.
        let may_wait = !asking.has(CONDITIONS);
        let (token, sequence) = (offer.token(), offer.sequence());
        let join = if may_wait {
            let waiter = self.waiter(token, sequence);
            self.cache.coalescing.join(&key, rule.is_some(), waiter)
        } else {
            Join::Full
        };
        if join != Join::Waiting {
            let is_awaited = join == Join::First;
            return Offered::Filtered(self.storing(asking, key, rule, is_awaited));
        }
        let waiting = Waiting {
            asked: asking.keep(),
            key,
            rule,
            since_ms: clock::monotonic_ms(),
        };
        self.waiting.insert((token, sequence), waiting);
        Offered::Waits
    }

    fn storing(
        &self,
        asking: &Asking<'_>,
        key: Arc<Key>,
        rule: Option<Rule>,
        is_awaited: bool,
    ) -> Box<dyn AnswerFilter> {
        Box::new(Storing::new(&self.cache, asking, key, rule, is_awaited))
    }

    fn settle_one(&mut self, give: &mut impl FnMut(u32, u32, Offered), token: u32, sequence: u32) {
        let Some(waiting) = self.waiting.remove(&(token, sequence)) else {
            return;
        };
        let asking = waiting.asked.asking();
        let directives = RequestDirectives::default();
        let found = self.find(&waiting.key, &asking, &directives, self.cache.now());
        let offered = match found {
            Some(answered) => {
                self.cache.collapsed.fetch_add(1, Ordering::Relaxed);
                answered
            }
            // Its own turn at the application: nobody waits twice.
            None => Offered::Filtered(self.storing(
                &asking,
                Arc::clone(&waiting.key),
                waiting.rule,
                false,
            )),
        };
        give(token, sequence, offered);
    }
}

impl Responder for ShardCache {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        let site = self.site_of(offer.listener().0);
        self.offer_to(offer, site)
    }

    fn cancelled(&mut self, token: u32, sequence: u32) {
        self.gone(token, sequence);
    }
}
