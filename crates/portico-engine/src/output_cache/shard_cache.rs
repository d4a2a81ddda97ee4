//! A shard's end of the cache: what becomes of each request that the shard offers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portico_cache::store::{Entry, Found, Join};
use portico_cache::storing::Rule;
use portico_cache::{CacheStatus, Failure, Forward, Key, RequestDirectives, Reuse, Time};
use portico_http::Method;
use portico_sys::{Wake, clock};

use super::OutputCache;
use super::answering::{answer, hit};
use super::asked::{AUTHORIZATION, Asked, Asking, CONDITIONS, DIRECTIVES, Interests};
use super::coalescing::{Mail, Waiter};
use super::invalidating::Invalidating;
use super::site::{CacheSite, Site};
use super::storing::{Storing, fields_of};
use super::validating::{Refreshing, Validating, background_head, unusable};
use crate::answer::Answer;
use crate::filter::AnswerFilter;
use crate::limits::{COALESCED_WAIT_MS, FAILURE_MS, OFFER_CHECK_MS, REFRESH_PAUSE_MS};
use crate::offer::{Offer, Offered, Responder};
use crate::own_request::OwnRequest;

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
    /// What is to be asked of the application in the background.
    own_requests: Vec<OwnRequest>,
}

#[derive(Debug)]
struct Waiting {
    asked: Asked,
    key: Arc<Key>,
    site: Site,
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
            own_requests: Vec::new(),
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
        if offer.is_own() {
            let filter = offer.take_own_filter();
            return filter.map_or(Offered::Passed, Offered::Filtered);
        }
        let Some(asking) = Asking::of(offer.head(), &self.interests) else {
            return Offered::Passed;
        };
        if !asking.is_read() {
            return self.offer_change(&asking, site);
        }
        let site = site.of(asking.target);
        let site_rule = site.site_rule.as_deref();
        if site_rule.is_some_and(|rule| rule.bypasses(asking.fields)) {
            return Offered::Passed;
        }
        let is_standard = site.is_standard();
        if asking.has(AUTHORIZATION) && !is_standard {
            return Offered::Passed;
        }
        let key = asking.key(site.owner, site_rule);
        let now = self.cache.now();
        let directives = if is_standard && asking.has(DIRECTIVES) {
            RequestDirectives::read(asking.fields)
        } else {
            RequestDirectives::default()
        };
        let found = match self.find(&key, &asking, &directives, now) {
            Lookup::Answer(answer) => return Offered::Answered(answer),
            Lookup::Stale(entry, answer) => {
                self.refresh(offer, &asking, &entry, &site, now);
                return Offered::Answered(answer);
            }
            Lookup::Ask(why, entry) => (why, entry),
        };
        if directives.only_if_cached {
            return Offered::Answered(unusable("detail=only-if-cached"));
        }
        self.offer_miss(offer, &asking, (key, site), directives, found)
    }

    /// A request that the engine is to make by itself.
    pub fn poll_own_request(&mut self) -> Option<OwnRequest> {
        self.own_requests.pop()
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
            let site = site.of(target);
            let key = Arc::new(asking.key(site.owner, site.site_rule.as_deref()));
            let storing = self.storing(&asking, &key, &site, (Forward::UriMiss, false));
            Box::new(storing) as Box<dyn AnswerFilter>
        })
    }

    /// What holds for a listener of an embedded engine.
    pub(crate) fn site_of(&self, listener: u32) -> CacheSite {
        CacheSite {
            owner: self.own.owner + u64::from(listener),
            rule: self.own.rule,
            rules: self.own.rules.clone(),
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
        Offered::Filtered(Box::new(Invalidating::new(cache, site, asking)))
    }

    /// What there is for a request.
    fn find(
        &self,
        key: &Key,
        asking: &Asking<'_>,
        directives: &RequestDirectives,
        now: Time,
    ) -> Lookup {
        let entry = match self.cache.store().find(key, asking.fields) {
            Found::Entry(entry) => entry,
            Found::OtherVariants => return Lookup::Ask(Forward::VaryMiss, None),
            Found::Nothing => return Lookup::Ask(Forward::UriMiss, None),
        };
        let freshness = entry.freshness();
        let reuse = freshness.reuse(directives, now);
        if reuse == Reuse::AfterValidation {
            let is_fresh = freshness.is_fresh(now);
            let why = if is_fresh {
                Forward::Request
            } else {
                Forward::Stale
            };
            return Lookup::Ask(why, Some(entry));
        }
        self.cache.hits.fetch_add(1, Ordering::Relaxed);
        let answer = answer(&entry, asking, now, hit(freshness, now));
        match reuse {
            Reuse::WhileValidating => Lookup::Stale(entry, answer),
            _ => Lookup::Answer(answer),
        }
    }

    /// Has the application asked in the background whether what a client has been given stale still holds, unless that was
    /// done a moment ago.
    fn refresh(
        &mut self,
        offer: &Offer<'_>,
        asking: &Asking<'_>,
        entry: &Arc<Entry>,
        site: &Site,
        now: Time,
    ) {
        if !entry.begin_refresh(now, Duration::from_millis(REFRESH_PAUSE_MS)) {
            return;
        }
        let get = Asking {
            method: Method::Get,
            ..*asking
        };
        let storing = self.storing(&get, entry.key(), site, (Forward::Stale, false));
        let directives = RequestDirectives::default();
        let is_standard = site.is_standard();
        let validating = Validating::new(storing, Arc::clone(entry), directives, is_standard);
        self.own_requests.push(OwnRequest {
            listener: offer.listener(),
            is_secure: asking.is_secure,
            remote: offer.remote_address(),
            local: offer.local_address(),
            head: background_head(asking.target, asking.authority, &validating),
            filter: Box::new(Refreshing(validating)),
        });
    }

    fn offer_miss(
        &mut self,
        offer: &Offer<'_>,
        asking: &Asking<'_>,
        (key, mut site): (Key, Site),
        directives: RequestDirectives,
        (why, entry): (Forward, Option<Arc<Entry>>),
    ) -> Offered {
        if !asking.may_be_stored() {
            return Offered::Passed;
        }
        if !self.cache.is_frequent(&key, site.site_rule.as_deref()) {
            site.rule = None;
        }
        let key = Arc::new(key);
        // The answer to a request for a part, or with conditions, may be none that others can have; nor can others have one
        // that is validated for each use.
        let is_shared = why != Forward::Request
            && entry
                .as_ref()
                .is_none_or(|entry| !entry.freshness().is_always_validated());
        let may_wait = is_shared && !asking.has(CONDITIONS);
        let (token, sequence) = (offer.token(), offer.sequence());
        let join = if may_wait {
            let waiter = self.waiter(token, sequence);
            let is_expected = site.rule.is_some() || entry.is_some();
            self.cache.coalescing.join(&key, is_expected, waiter)
        } else {
            Join::Full
        };
        if join != Join::Waiting {
            let is_awaited = join == Join::First;
            let storing = self.storing(asking, &key, &site, (why, is_awaited));
            return forwarded(storing, entry, directives, &site);
        }
        let waiting = Waiting {
            asked: asking.keep(),
            key,
            site,
            since_ms: clock::monotonic_ms(),
        };
        self.waiting.insert((token, sequence), waiting);
        Offered::Waits
    }

    fn storing(
        &self,
        asking: &Asking<'_>,
        key: &Arc<Key>,
        site: &Site,
        why: (Forward, bool),
    ) -> Storing {
        Storing::new(&self.cache, asking, Arc::clone(key), site, why)
    }

    fn settle_one(&mut self, give: &mut impl FnMut(u32, u32, Offered), token: u32, sequence: u32) {
        let Some(waiting) = self.waiting.remove(&(token, sequence)) else {
            return;
        };
        let asking = waiting.asked.asking();
        let directives = RequestDirectives::default();
        let now = self.cache.now();
        let offered = match self.find(&waiting.key, &asking, &directives, now) {
            Lookup::Answer(answer) | Lookup::Stale(_, answer) => {
                self.cache.collapsed.fetch_add(1, Ordering::Relaxed);
                Offered::Answered(answer)
            }
            Lookup::Ask(_, Some(entry)) if stands_in(&entry, now) => {
                self.cache.collapsed.fetch_add(1, Ordering::Relaxed);
                let told = CacheStatus::Forwarded {
                    why: Forward::Stale,
                    status: None,
                    is_stored: false,
                    is_collapsed: true,
                    detail: None,
                };
                Offered::Answered(answer(&entry, &asking, now, told))
            }
            // Its own turn at the application: nobody waits twice.
            Lookup::Ask(why, entry) => {
                let storing = self.storing(&asking, &waiting.key, &waiting.site, (why, false));
                forwarded(storing, entry, directives, &waiting.site)
            }
        };
        give(token, sequence, offered);
    }
}

/// What the store has for a request.
enum Lookup {
    /// What the client gets.
    Answer(Answer),
    /// The same, and it is to be asked for anew.
    Stale(Arc<Entry>, Answer),
    /// Nothing that can be used at once: why, and what may still hold.
    Ask(Forward, Option<Arc<Entry>>),
}

/// A request goes to the application.
fn forwarded(
    storing: Storing,
    entry: Option<Arc<Entry>>,
    directives: RequestDirectives,
    site: &Site,
) -> Offered {
    let is_standard = site.is_standard();
    Offered::Filtered(match entry {
        None => Box::new(storing),
        Some(entry) => Box::new(Validating::new(storing, entry, directives, is_standard)),
    })
}

/// Whether the application has just failed to say if an answer holds, and that may be used all the same.
fn stands_in(entry: &Entry, now: Time) -> bool {
    let directives = RequestDirectives::default();
    entry.has_failed_within(Duration::from_millis(FAILURE_MS), now)
        && entry
            .freshness()
            .may_stand_in(&directives, Failure::Absent, now)
}

impl Responder for ShardCache {
    fn offer(&mut self, offer: &Offer<'_>) -> Offered {
        let site = self.site_of(offer.listener().0);
        self.offer_to(offer, site)
    }

    fn cancelled(&mut self, token: u32, sequence: u32) {
        self.gone(token, sequence);
    }

    fn poll_own_request(&mut self) -> Option<OwnRequest> {
        ShardCache::poll_own_request(self)
    }
}
