//! `portico cache`, and what a process asks of the answers that are kept for its prefix.

use portico_cache::store::Purge;
use portico_dispatch::{MemberId, QueueId, owner_of};
use portico_engine::CacheStats;
use portico_router::UrlPrefix;

use crate::host::Host;
use crate::protocol::{Answer, CacheCommand, CacheCounters, CacheEntry};
use crate::{Failure, code};

/// Answers that are shown, at most.
const MAX_SHOWN: u32 = 100_000;

impl Host {
    /// `portico cache`.
    ///
    /// # Errors
    /// A purge by something else than there is, or of what is no URL.
    pub(crate) fn cache_command(&self, command: &CacheCommand) -> Result<Answer, Failure> {
        match command {
            CacheCommand::Status => Ok(Answer {
                cache: Some(self.cache_counters()),
                ..Answer::default()
            }),
            CacheCommand::Show { prefix, limit } => {
                let prefix = as_kept(prefix, false)?;
                Ok(Answer {
                    cached: Some(self.cached(&prefix, (*limit).min(MAX_SHOWN))),
                    ..Answer::default()
                })
            }
            CacheCommand::Purge { by, value } => self.purge(by, value, None),
        }
    }

    /// The same of a process that has registered: of its prefix alone.
    ///
    /// # Errors
    /// As [`Host::cache_command`]; to list is for the host's masters.
    pub(crate) fn member_cache(
        &self,
        member: MemberId,
        command: &CacheCommand,
    ) -> Result<Answer, Failure> {
        let gone = || Failure::new(code::REQUEST, "the registration has ended");
        let queue = self.registry.members().get(&member).ok_or_else(gone)?.queue;
        match command {
            CacheCommand::Purge { by, value } => self.purge(by, value, Some(queue)),
            CacheCommand::Status => self.cache_command(command),
            CacheCommand::Show { .. } => Err(Failure::new(
                code::EACCES,
                "a process can't list the answers that are kept: use `portico cache show`",
            )),
        }
    }

    /// A prefix that had no process gets one of another user: nothing of the user before is given in its name.
    pub(crate) fn give_up_answers_of_others(&self, prefix: &UrlPrefix, uid: u32) {
        let queues = self.registry.queues().iter();
        let mut taken_over = queues.filter(|(_, queue)| {
            queue.prefix == *prefix && queue.members.is_empty() && queue.owner().uid != uid
        });
        if let Some((id, _)) = taken_over.next() {
            self.cache.purge(Purge::Owner(owner_of(*id)));
        }
    }

    pub(crate) fn cache_counters(&self) -> CacheCounters {
        let CacheStats {
            hits,
            collapsed,
            store,
        } = self.cache.stats();
        let number = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        CacheCounters {
            hits,
            collapsed,
            misses: store.not_found,
            entries: number(store.entries),
            bytes: number(store.used_bytes),
            budget_bytes: number(self.cache.store().limits().budget_bytes),
            stored: store.inserted,
            evicted: store.evicted,
            expired: store.expired,
            purged: store.purged,
        }
    }

    fn purge(&self, by: &str, value: &str, queue: Option<QueueId>) -> Result<Answer, Failure> {
        let value = match by {
            "url" => as_kept(value, true)?,
            "prefix" => as_kept(value, false)?,
            _ => value.to_owned(),
        };
        let purged = self.cache.purge_by(by, &value, queue.map(owner_of));
        let unknown = || {
            let text = format!("answers are purged by url, prefix, tag or all, not by {by:?}");
            Failure::new(code::REQUEST, text)
        };
        let purged = purged.ok_or_else(unknown)?;
        let what = if purged == 1 { "answer" } else { "answers" };
        Ok(Answer {
            message: Some(format!("{purged} {what} purged")),
            purged: Some(u64::try_from(purged).unwrap_or(u64::MAX)),
            ..Answer::default()
        })
    }

    fn cached(&self, prefix: &str, limit: u32) -> Vec<CacheEntry> {
        let now = self.cache.now();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let prefix_of = |owner: u64| {
            let mut queues = self.registry.queues().iter();
            let found = queues.find(|(id, _)| owner_of(**id) == owner);
            found.map_or_else(String::new, |(_, queue)| queue.prefix.to_string())
        };
        let mut entries = Vec::new();
        self.cache.store().for_each(|entry| {
            let url = entry.key().uri();
            let path = || url.splitn(4, '/').nth(3).unwrap_or_default();
            let is_meant = match prefix.strip_prefix('/') {
                Some(beginning) => path().starts_with(beginning),
                None => url.starts_with(prefix),
            };
            if !is_meant || entries.len() >= limit {
                return;
            }
            let tags = entry.tags().map(String::from_utf8_lossy);
            entries.push(CacheEntry {
                prefix: prefix_of(entry.key().owner()),
                status: entry.status(),
                bytes: u64::try_from(entry.body().len()).unwrap_or(u64::MAX),
                age_seconds: entry.freshness().age(now).as_secs(),
                fresh_seconds: entry.freshness().fresh_for(now).as_secs(),
                tags: tags.map(|tag| tag.into_owned()).collect(),
                url,
            });
        });
        entries.sort_by(|one, other| one.url.cmp(&other.url));
        entries
    }
}

/// A URL as answers are found by it: host in small letters, no port where it is the scheme's own. A path, and the empty
/// beginning, stay as they are.
fn as_kept(text: &str, is_whole: bool) -> Result<String, Failure> {
    if text.starts_with('/') || (text.is_empty() && !is_whole) {
        return Ok(text.to_owned());
    }
    let wrong = || {
        let text = format!("{text:?} is no URL of http or https, and no path");
        Failure::new(code::REQUEST, text)
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    let scheme = scheme.to_ascii_lowercase();
    let own_port = match scheme.as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(wrong()),
    };
    let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(path_at);
    let host = host.to_ascii_lowercase();
    // The beginning of a URL may end within its host or port.
    if path.is_empty() && !is_whole {
        return Ok(format!("{scheme}://{host}"));
    }
    let host = host.strip_suffix(own_port).unwrap_or(&host);
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(format!("{scheme}://{host}{slash}{path}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn urls_are_found_as_people_write_them() {
        let whole = |text| as_kept(text, true).unwrap();
        assert_eq!(whole("HTTP://A.test:80"), "http://a.test/");
        assert_eq!(whole("https://A.test:443/B?c=D"), "https://a.test/B?c=D");
        assert_eq!(whole("http://a.test?b"), "http://a.test/?b");
        assert_eq!(whole("http://a.test:8080/"), "http://a.test:8080/");
        assert_eq!(whole("/b"), "/b");
        let beginning = |text| as_kept(text, false).unwrap();
        assert_eq!(beginning("http://A.test:80"), "http://a.test:80");
        assert_eq!(beginning(""), "");
        for wrong in ["", "ftp://a/", "a.test/b"] {
            assert!(as_kept(wrong, true).is_err(), "{wrong}");
        }
    }
}
