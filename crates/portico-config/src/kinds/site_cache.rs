//! What a site keeps of its answers: a word, or a list of rules.

use toml::de::{DeTable, DeValue};

use super::kind::{Fault, Given, Kind, fault, wrong_type};
use super::plain::List;
use super::rules::TOKEN;
use crate::fields::{Fields, find};
use crate::reader::Reader;
use crate::section::Entry;
use crate::sections::{CacheLocation, SiteCacheRule};

/// Which part of the query tells answers apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryKey {
    /// All of it.
    All,
    /// None of it.
    None,
    /// The parameters of these names.
    Names(Vec<String>),
}

/// The value of `vary_by_query`.
pub(crate) struct VaryByQuery;

impl Kind for VaryByQuery {
    type Value = QueryKey;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<QueryKey, Fault> {
        match given.get_ref() {
            DeValue::String(word) if word == "all" => Ok(QueryKey::All),
            DeValue::String(word) if word == "none" => Ok(QueryKey::None),
            DeValue::Array(_) => List(TOKEN).read(given, reader).map(QueryKey::Names),
            _ => fault(given, format!("must be {}", self.describe())),
        }
    }

    fn describe(&self) -> String {
        "\"all\", \"none\" or a list of names".to_owned()
    }

    fn show(&self, value: &QueryKey) -> String {
        match value {
            QueryKey::All => "\"all\"".to_owned(),
            QueryKey::None => "\"none\"".to_owned(),
            QueryKey::Names(names) => List(TOKEN).show(names),
        }
    }
}

/// The value of `cache` in a site. `"standard"` is one rule for all paths.
pub(crate) struct SiteCache;

impl Kind for SiteCache {
    type Value = Vec<SiteCacheRule>;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Self::Value, Fault> {
        let items = match given.get_ref() {
            DeValue::String(word) if word == "off" => return Ok(Vec::new()),
            DeValue::String(word) if word == "standard" => {
                let nothing = DeTable::new();
                let mut fields = Fields::new(RULE, &nothing, given.span(), reader);
                return Ok(SiteCacheRule::read(&mut fields).into_iter().collect());
            }
            DeValue::Array(items) => items,
            _ => return fault(given, format!("must be {}", self.describe())),
        };
        let mut rules = Vec::new();
        for item in items.iter() {
            let DeValue::Table(table) = item.get_ref() else {
                return wrong_type(item, "a table: write [[site.cache]]");
            };
            let mut fields = Fields::new(RULE, table, item.span(), reader);
            match SiteCacheRule::read(&mut fields) {
                Some(rule) => {
                    check(&rule, table, reader);
                    rules.push(rule);
                }
                None => return Err(Fault(Vec::new())),
            }
        }
        Ok(rules)
    }

    fn describe(&self) -> String {
        "\"standard\", \"off\" or rules, each a [[site.cache]]".to_owned()
    }

    fn show(&self, value: &Self::Value) -> String {
        if value.is_empty() {
            "\"off\"".to_owned()
        } else {
            "rules".to_owned()
        }
    }
}

/// What no option can know alone.
fn check(rule: &SiteCacheRule, table: &DeTable<'_>, reader: &mut Reader) {
    if rule.duration.is_none()
        && rule.location != CacheLocation::AsAnswered
        && let Some(location) = find(table, "location")
    {
        let text = "[site.cache] location needs duration; without it, each answer says itself who may keep it";
        reader.error(&location.span(), text.to_owned());
    }
}

const RULE: &str = "site.cache";
