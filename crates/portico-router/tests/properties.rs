//! Properties that hold for all texts and all requests.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::BTreeMap;
use std::net::IpAddr;

use portico_router::{Lookup, LookupError, Match, Scheme, Table, UrlPrefix};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use support::model;

const HOSTS: [&str; 8] = [
    "+",
    "*",
    "a",
    "a.b",
    "A.B.",
    "127.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
];

const PREFIX_SEGMENTS: [&str; 10] = [
    "a/",
    "b/",
    "A/",
    "aa/",
    "a%20/",
    "%61/",
    "caf\u{e9}/",
    "a;b/",
    "...",
    "~/",
];

const TARGET_PIECES: [&str; 26] = [
    "a", "b", "A", "/", "/", "//", "/.", "/..", "/a/", "/b/", "/../", "/./", "%2e", "%2E", "%61",
    "%2f", "%20", "\u{e9}", "%C3%a9", "?", "%", "%00", "\\", "#", "~", ";b",
];

const AUTHORITIES: [&str; 12] = [
    "a",
    "A",
    "a.b",
    "a.B.:80",
    "a:80",
    "127.0.0.1",
    "[::1]",
    "[::1]:80",
    "",
    "a@b",
    "a:b",
    "%61",
];

fn prefix_text() -> impl Strategy<Value = String> {
    let port = select(&[80u16, 81][..]);
    (
        select(&HOSTS[..]),
        port,
        vec(select(&PREFIX_SEGMENTS[..]), 0..5),
    )
        .prop_map(|(host, port, path)| format!("http://{host}:{port}/{}", path.concat()))
}

fn prefix() -> impl Strategy<Value = UrlPrefix> {
    prefix_text().prop_filter_map("a prefix", |text| UrlPrefix::parse(&text).ok())
}

fn target() -> impl Strategy<Value = String> {
    let pieces = || vec(select(&TARGET_PIECES[..]), 0..8).prop_map(|pieces| pieces.concat());
    prop_oneof![
        8 => pieces().prop_map(|path| format!("/{path}")),
        2 => (select(&AUTHORITIES[..]), pieces())
            .prop_map(|(authority, path)| format!("http://{authority}{path}")),
        1 => select(&AUTHORITIES[..]).prop_map(str::to_owned),
        1 => pieces(),
        1 => Just("*".to_owned()),
    ]
}

/// What is asked of a table, without the memory.
#[derive(Clone, Debug)]
struct Question {
    scheme: Scheme,
    port: u16,
    host: Option<&'static str>,
    local_address: IpAddr,
    target: String,
}

impl Question {
    fn lookup(&self) -> Lookup<'_> {
        Lookup {
            scheme: self.scheme,
            port: self.port,
            host: self.host.map(str::as_bytes),
            local_address: self.local_address,
            target: self.target.as_bytes(),
        }
    }
}

fn question() -> impl Strategy<Value = Question> {
    let scheme = prop_oneof![9 => Just(Scheme::Http), 1 => Just(Scheme::Https)];
    let addresses = ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1"];
    (
        scheme,
        select(&[80u16, 81, 82][..]),
        proptest::option::weighted(0.9, select(&AUTHORITIES[..])),
        select(addresses.map(|address| address.parse().unwrap()).to_vec()),
        target(),
    )
        .prop_map(|(scheme, port, host, local_address, target)| Question {
            scheme,
            port,
            host,
            local_address,
            target,
        })
}

/// A change of a table.
#[derive(Clone, Debug)]
enum Change {
    Insert(UrlPrefix, u32),
    Remove(UrlPrefix),
    Reserve(UrlPrefix),
    Unreserve(UrlPrefix),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (prefix(), any::<u32>()).prop_map(|(prefix, value)| Change::Insert(prefix, value)),
        2 => prefix().prop_map(Change::Remove),
        1 => prefix().prop_map(Change::Reserve),
        1 => prefix().prop_map(Change::Unreserve),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_text_of_a_prefix_parses_to_the_same_prefix(text in prefix_text()) {
        if let Ok(prefix) = UrlPrefix::parse(&text) {
            let canonical = prefix.to_string();
            let again = UrlPrefix::parse(&canonical);
            prop_assert_eq!(again.as_ref().map(ToString::to_string), Ok(canonical));
            prop_assert_eq!(again, Ok(prefix));
        }
    }

    #[test]
    fn any_text_parses_or_is_refused_at_a_byte_of_it(text in "(https?://)?(.{0,20}|[+*a.:%\\[\\]0-9/]{0,30})") {
        match UrlPrefix::parse(&text) {
            Ok(prefix) => {
                prop_assert_eq!(UrlPrefix::parse(&prefix.to_string()), Ok(prefix.clone()));
                prop_assert!(prefix.path().starts_with('/') && prefix.path().ends_with('/'));
            }
            Err(error) => prop_assert!(error.at() <= text.len()),
        }
    }

    #[test]
    fn a_table_after_any_changes_finds_what_the_model_finds(
        changes in vec(change(), 0..30),
        questions in vec(question(), 1..10),
    ) {
        let mut table = Table::new();
        let mut registered: BTreeMap<UrlPrefix, u32> = BTreeMap::new();
        let mut reserved: BTreeMap<UrlPrefix, ()> = BTreeMap::new();
        for change in changes {
            match change {
                Change::Insert(prefix, value) => {
                    prop_assert_eq!(table.insert(prefix.clone(), value), Ok(registered.insert(prefix, value)));
                }
                Change::Remove(prefix) => {
                    prop_assert_eq!(table.remove(&prefix), registered.remove(&prefix));
                }
                Change::Reserve(prefix) => {
                    prop_assert_eq!(table.reserve(prefix.clone()), Ok(()));
                    reserved.insert(prefix, ());
                }
                Change::Unreserve(prefix) => {
                    prop_assert_eq!(table.unreserve(&prefix), reserved.remove(&prefix).is_some());
                }
            }
        }
        prop_assert!(table.iter().eq(registered.iter()));
        prop_assert!(table.reserved().eq(reserved.keys()));
        let all: Vec<UrlPrefix> = registered.keys().chain(reserved.keys()).cloned().collect();
        for port in [80, 81] {
            let used = all.iter().any(|prefix| prefix.port() == port);
            prop_assert_eq!(table.scheme_of_port(port), used.then_some(Scheme::Http));
        }
        for question in &questions {
            let lookup = question.lookup();
            let found = table.find(&lookup).map_err(|_| ());
            let expected = model::find(&all, &lookup).map(|found| {
                found.map(|prefix| match registered.get(prefix) {
                    Some(value) => Match::Registered { prefix, value },
                    None => Match::Reserved { prefix },
                })
            });
            prop_assert_eq!(found, expected, "{:?}", question);
        }
    }

    #[test]
    fn a_request_for_a_registered_path_reaches_it(prefix in prefix(), host in select(&AUTHORITIES[..])) {
        let mut table = Table::new();
        table.insert(prefix.clone(), ()).unwrap();
        let path = prefix.path();
        for target in [path, path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path)] {
            let host = match prefix.host() {
                portico_router::Host::Name(name) => name,
                _ => host,
            };
            let local_address = match prefix.host() {
                portico_router::Host::Ip(address) => *address,
                _ => "10.0.0.1".parse().unwrap(),
            };
            let lookup = Lookup {
                scheme: Scheme::Http,
                port: prefix.port(),
                host: Some(host.as_bytes()),
                local_address,
                target: target.as_bytes(),
            };
            match table.find(&lookup) {
                Ok(Some(Match::Registered { prefix: found, .. })) => prop_assert_eq!(found, &prefix),
                Err(LookupError::Host) => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn only_the_prefix_that_diverts_from_another_gets_requests_of_it(
        first in prefix(),
        second in prefix(),
        questions in vec(question(), 1..20),
    ) {
        if !second.diverts_from(&first) {
            let before = std::slice::from_ref(&first);
            let both = [first.clone(), second.clone()];
            for question in &questions {
                let lookup = question.lookup();
                if let Ok(Some(_)) = model::find(before, &lookup) {
                    prop_assert_eq!(model::find(&both, &lookup), Ok(Some(&first)));
                }
            }
        }
    }
}

#[test]
fn a_port_has_one_scheme_until_its_last_prefix_has_gone() {
    let parse = |text: &str| UrlPrefix::parse(text).unwrap();
    let mut table = Table::new();
    table.insert(parse("http://*:80/"), 1).unwrap();
    let conflict = table.insert(parse("https://+:80/a/"), 2).unwrap_err();
    assert_eq!(conflict.code(), "ERR_PORTICO_PREFIX_TAKEN");
    assert_eq!(
        conflict.to_string(),
        "port 80 has http prefixes, and a port has one scheme; use http:// or another port"
    );
    assert!(table.reserve(parse("https://*:80/")).is_err());
    assert_eq!((table.len(), table.reserved().count()), (1, 0));
    assert_eq!(table.remove(&parse("http://*:80/")), Some(1));
    assert!(table.is_empty());
    table.insert(parse("https://+:80/a/"), 2).unwrap();
    assert_eq!(table.scheme_of_port(80), Some(Scheme::Https));
}

#[test]
fn several_prefixes_may_share_a_value() {
    let queue = std::sync::Arc::new(());
    let mut table = Table::new();
    for text in ["http://*:80/a/", "http://*:80/b/", "https://*:443/"] {
        table
            .insert(UrlPrefix::parse(text).unwrap(), queue.clone())
            .unwrap();
    }
    assert_eq!(std::sync::Arc::strong_count(&queue), 4);
    let copy = table.clone();
    table.remove(&UrlPrefix::parse("http://*:80/a/").unwrap());
    assert_eq!((table.len(), copy.len()), (2, 3));
}
