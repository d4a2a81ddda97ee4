//! What the host keeps of its members' answers.
//!
//! A queue's answers are its own: no other queue gets them. Nothing is kept until a member says so, for one answer or for
//! all (`CACHE`); from then on its requests are offered to the cache first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use portico_channel::RecordView;
use portico_channel::layout::{cache_flag, command};
use portico_engine::{CacheSite, CacheWish, Offer, Offered, Shard, ShardCache};
use portico_http::semantics::Scheme;

use crate::QueueId;
use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::exchange::{Exchange, Stage};
use crate::validation::Verdict;

/// A shard's part of the host's cache.
#[derive(Debug)]
pub(crate) struct Caching {
    pub(crate) cache: ShardCache,
    /// Queues of requests that wait for an answer to be kept, by token and number.
    pub(crate) waiting: HashMap<(u32, u32), QueueId>,
}

impl Caching {
    pub(crate) fn new(cache: ShardCache) -> Self {
        Self {
            cache,
            waiting: HashMap::new(),
        }
    }

    /// Of a dispatcher that is alone in a test.
    #[cfg(test)]
    #[allow(clippy::unwrap_used, reason = "tests")]
    pub(crate) fn unused() -> Self {
        let cache = portico_engine::OutputCache::new(portico_cache::store::StoreLimits::default());
        let site = CacheSite::default();
        Self::new(ShardCache::new(Arc::new(cache), site).unwrap())
    }

    /// A request has gone with its connection.
    pub(crate) fn gone(&mut self, token: u32, sequence: u32) {
        self.waiting.remove(&(token, sequence));
        self.cache.gone(token, sequence);
    }
}

impl Dispatcher {
    /// What holds for the answers of a queue. `None`: nothing of them is kept.
    fn site_of(&self, id: QueueId) -> Option<CacheSite> {
        let queue = self.queues.get(&id)?;
        let rule = queue.counts.cache_rule();
        let rules = queue.options.cache.clone();
        (rule.is_some() || rules.is_some()).then(|| CacheSite {
            owner: owner_of(id),
            rule: rule.flatten(),
            rules,
        })
    }

    /// What becomes of a request of a queue.
    pub(crate) fn offer_to_cache(&mut self, offer: &Offer<'_>, queue: QueueId) -> Offered {
        let Some(site) = self.site_of(queue) else {
            return Offered::Passed;
        };
        let offered = self.caching.cache.offer_to(offer, site);
        if matches!(offered, Offered::Waits) {
            let name = (offer.token(), offer.sequence());
            self.caching.waiting.insert(name, queue);
        }
        offered
    }

    /// What a member wants kept: of all answers of its queue, or of one.
    pub(crate) fn keep_answer(
        &mut self,
        index: MemberIndex,
        shard: &mut Shard,
        record: RecordView<'_>,
    ) -> Verdict {
        let Some(words) = record.read::<command::Cache>() else {
            return Verdict::Break;
        };
        let has_lifetime = words.flags() & cache_flag::LIFETIME != 0;
        let Some(counts) = self.member(index).map(|member| Arc::clone(&member.counts)) else {
            return Verdict::LeaveOut;
        };
        if words.sequence == 0 {
            if has_lifetime {
                counts.keep_all(words.lifetime_ms);
            }
            return Verdict::LeaveOut;
        }
        let (token, sequence) = (words.token, words.sequence);
        let is_theirs = |exchange: &&mut Exchange| {
            exchange.stage() == Stage::With(index) && !exchange.answer.has_begun()
        };
        let client = self.clients.find(token);
        let exchange = client.and_then(|client| client.exchange(sequence));
        let Some(queue) = exchange.filter(is_theirs).map(|exchange| exchange.queue) else {
            return Verdict::LeaveOut;
        };
        counts.keep_asked();
        let wish = CacheWish {
            lifetime: has_lifetime.then(|| Duration::from_millis(words.lifetime_ms)),
            tags: words.tags(),
            // That is not for a member to say.
            is_absent: false,
        };
        if shard.wish_for(token, sequence, &wish) || words.target().is_empty() {
            return Verdict::LeaveOut;
        }
        let Some(site) = self.site_of(queue) else {
            return Verdict::LeaveOut;
        };
        let is_secure = shard.scheme_of(token) == Some(Scheme::Https);
        let (target, fields) = (words.target(), words.fields());
        let cache = &self.caching.cache;
        if let Some(filter) = cache.late_filter(site, is_secure, target, fields) {
            shard.filter_answer(token, sequence, filter);
            shard.wish_for(token, sequence, &wish);
        }
        Verdict::LeaveOut
    }

    /// What we answer in a member's place is not what it wanted kept.
    pub(crate) fn keep_no_answer(&mut self, token: u32, exchange: &Exchange) {
        if self.site_of(exchange.queue).is_none() {
            return;
        }
        let sequence = exchange.sequence;
        let words = command::Cache {
            token,
            sequence,
            tags_bytes: 0,
            target_bytes: 0,
            fields_bytes: 0,
            lifetime_ms: 0,
        };
        let flags = cache_flag::LIFETIME | cache_flag::ABSENT;
        self.commands.write(flags, words, &[]);
    }
}

/// Whose answers those of a queue are. No number of a queue is given twice.
#[must_use]
pub fn owner_of(queue: QueueId) -> u64 {
    u64::from(queue.0)
}
