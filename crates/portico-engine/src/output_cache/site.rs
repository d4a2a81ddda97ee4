//! Whose answers are kept, and by which rule.

use std::sync::Arc;

use portico_cache::site_rule::{SiteRule, SiteRules};
use portico_cache::storing::Rule;

/// Whose answers a request may get, and what decides about storing them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSite {
    /// Answers of one owner are never given to requests of another.
    pub owner: u64,
    /// `None`: an answer is stored only if the application asks for that (`CACHE`).
    pub rule: Option<Rule>,
    /// Rules for some of the paths, that come before it.
    pub rules: Option<Arc<SiteRules>>,
}

impl CacheSite {
    pub(super) fn rule_for(&self, path_and_query: &[u8]) -> Option<&Arc<SiteRule>> {
        self.rules.as_ref()?.find(path_and_query)
    }

    /// What holds for one target.
    pub(super) fn of(&self, path_and_query: &[u8]) -> Site {
        let site_rule = self.rule_for(path_and_query).cloned();
        Site {
            owner: self.owner,
            rule: site_rule.as_ref().map(|own| own.rule).or(self.rule),
            site_rule,
        }
    }
}

/// The same for the target of one request.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) owner: u64,
    pub(super) rule: Option<Rule>,
    pub(super) site_rule: Option<Arc<SiteRule>>,
}

impl Site {
    pub(super) fn is_standard(&self) -> bool {
        self.rule == Some(Rule::Standard)
    }
}
