//! Requests that change something: what is stored of their target, and of what the answer names, goes (RFC 9111,
//! section 4.4).

use std::sync::Arc;

use portico_cache::invalidation::{is_change, named_paths};
use portico_cache::store::Purge;
use portico_cache::{Key, QueryRule, Target};

use super::OutputCache;
use super::asked::{Asked, Asking};
use super::site::CacheSite;
use super::storing::fields_of;
use crate::filter::{AnswerFilter, FilteredHead, NewAnswer};

/// Looks at the answer to a request that may have changed something.
#[derive(Debug)]
pub(super) struct Invalidating {
    cache: Arc<OutputCache>,
    site: CacheSite,
    asked: Asked,
}

impl Invalidating {
    pub(super) fn new(cache: Arc<OutputCache>, site: CacheSite, asking: &Asking<'_>) -> Self {
        Self {
            cache,
            site,
            asked: asking.keep(),
        }
    }

    fn purge(&self, path_and_query: &[u8]) {
        let asking = self.asked.asking();
        let target = Target {
            owner: self.site.owner,
            is_secure: asking.is_secure,
            authority: asking.authority,
            path_and_query,
            context: b"",
        };
        let rule = self.site.rule_for(path_and_query);
        if let Some(rule) = rule.filter(|rule| rule.query != QueryRule::All) {
            let key = Key::new(&target, &rule.query);
            self.cache.purge(Purge::Url(key));
        }
        let key = Key::new(&target, &QueryRule::All);
        self.cache.purge(Purge::Url(key));
    }
}

impl AnswerFilter for Invalidating {
    fn head(&mut self, head: &FilteredHead<'_>) -> NewAnswer {
        let asking = self.asked.asking();
        if is_change(asking.method, head.status) {
            self.purge(asking.target);
            let answer = fields_of(head.fields);
            let scheme = if asking.is_secure { "https" } else { "http" };
            let others = named_paths(scheme, asking.authority, asking.target, answer.fields());
            for path in others {
                self.purge(&path);
            }
        }
        NewAnswer::AsItIs
    }

    fn body(&mut self, _: &[u8], _: bool) -> Option<Vec<u8>> {
        None
    }
}
