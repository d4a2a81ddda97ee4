//! `portico cache`.

use std::path::Path;
use std::time::Duration;

use portico_host::protocol::{CacheCommand, CacheCounters, CacheEntry, Request};

use crate::arguments::{Cache, PurgeArguments};
use crate::ask::ask;
use crate::status::bytes;
use crate::style::{Style, printable};
use crate::{Failed, show};

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(socket: Option<&Path>, command: Cache) -> Result<(), Failed> {
    match command {
        Cache::Status { json } => {
            let request = Request::Cache(CacheCommand::Status);
            let counters = ask(socket, &request, Some(PATIENCE))?.cache;
            let counters = counters.unwrap_or_default();
            if json {
                return show::json(&counters);
            }
            show::line(&status(&counters))
        }
        Cache::Show {
            prefix,
            limit,
            json,
        } => {
            let request = Request::Cache(CacheCommand::Show { prefix, limit });
            let entries = ask(socket, &request, Some(PATIENCE))?.cached;
            let entries = entries.unwrap_or_default();
            if json {
                return show::json(&entries);
            }
            if entries.is_empty() {
                return show::line("no answers are kept");
            }
            let style = Style::of_output();
            entries
                .iter()
                .try_for_each(|entry| show::line(&line(entry, style)))
        }
        Cache::Purge(arguments) => purge(socket, arguments),
    }
}

fn purge(socket: Option<&Path>, arguments: PurgeArguments) -> Result<(), Failed> {
    let PurgeArguments {
        url,
        prefix,
        tag,
        all: _,
        json,
    } = arguments;
    let given = [("url", url), ("prefix", prefix), ("tag", tag)];
    let by = given.into_iter().find_map(|(by, value)| Some((by, value?)));
    let (by, value) = by.unwrap_or_else(|| ("all", String::new()));
    let request = Request::Cache(CacheCommand::Purge {
        by: by.to_owned(),
        value,
    });
    let answer = ask(socket, &request, Some(PATIENCE))?;
    if json {
        return show::json(&serde_json::json!({ "purged": answer.purged.unwrap_or(0) }));
    }
    show::line(&answer.message.unwrap_or_else(|| "done".into()))
}

/// The counters in words.
pub(crate) fn status(counters: &CacheCounters) -> String {
    let asked = counters.hits + counters.misses;
    let share = (counters.hits * 100).checked_div(asked).unwrap_or(0);
    format!(
        "{} answers kept, {} of {}\n{} hits ({share} %, {} of them waited for an equal request), {} misses\n{} stored, {} \
         evicted, {} expired, {} purged",
        counters.entries,
        bytes(counters.bytes),
        bytes(counters.budget_bytes),
        counters.hits,
        counters.collapsed,
        counters.misses,
        counters.stored,
        counters.evicted,
        counters.expired,
        counters.purged,
    )
}

fn line(entry: &CacheEntry, style: Style) -> String {
    let tags: String = entry
        .tags
        .iter()
        .map(|tag| format!(" #{}", printable(tag)))
        .collect();
    format!(
        "{}  {} {}, {} s old, {} s left{}",
        style.strong(&printable(&entry.url)),
        entry.status,
        bytes(entry.bytes),
        entry.age_seconds,
        entry.fresh_seconds,
        style.dim(&tags),
    )
}
