//! What a store keeps, whom it gives it to, and what makes room.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use portico_cache::store::{Found, NewEntry, Purge, Rejected, Store, StoreLimits};
use portico_http::semantics::FieldsBuffer;
use proptest::prelude::*;
use support::{NOW, after, entry, key, key_of, varying};

fn store(budget_bytes: usize) -> Store {
    Store::new(StoreLimits {
        budget_bytes,
        max_body_bytes: 64 << 10,
        max_variants: 4,
    })
}

fn insert(store: &Store, entry: NewEntry) {
    store.insert(entry, store.ticket(), NOW).unwrap();
}

fn body_for(store: &Store, path: &str, request: &str) -> Option<Vec<u8>> {
    let request = FieldsBuffer::from(request);
    match store.find(&key(path), request.fields()) {
        Found::Entry(entry) => Some(entry.body().to_vec()),
        Found::OtherVariants | Found::Nothing => None,
    }
}

fn body(store: &Store, path: &str) -> Option<Vec<u8>> {
    body_for(store, path, "")
}

#[test]
fn the_newest_response_for_a_request_is_found() {
    let store = store(1 << 20);
    assert!(body(&store, "/a").is_none());
    insert(&store, entry("/a", b"one"));
    insert(&store, entry("/b", b"other"));
    assert_eq!(body(&store, "/a").unwrap(), b"one");
    insert(&store, entry("/a", b"two"));
    assert_eq!(body(&store, "/a").unwrap(), b"two");
    let stats = store.stats();
    assert_eq!((stats.entries, stats.inserted, stats.evicted), (2, 3, 0));
    assert_eq!((stats.found, stats.not_found), (2, 1));
}

#[test]
fn variants_of_one_target_stand_beside_each_other_and_the_oldest_makes_room() {
    let store = store(1 << 20);
    for variant in ["1", "2", "3", "4"] {
        insert(&store, varying("/a", variant, variant.as_bytes()));
    }
    assert_eq!(body_for(&store, "/a", "Foo: 1").unwrap(), b"1");
    assert!(matches!(
        store.find(&key("/a"), FieldsBuffer::from("Foo: 9").fields()),
        Found::OtherVariants
    ));
    insert(&store, varying("/a", "5", b"5"));
    assert!(body_for(&store, "/a", "Foo: 1").is_none());
    assert_eq!(body_for(&store, "/a", "Foo: 2").unwrap(), b"2");
    insert(&store, varying("/a", "2", b"two"));
    assert_eq!(body_for(&store, "/a", "Foo: 2").unwrap(), b"two");
    assert_eq!(body_for(&store, "/a", "Foo: 3").unwrap(), b"3");
    assert_eq!(store.stats().entries, 4);
    assert_eq!(store.purge(Purge::Url(key("/a"))), 4);
    assert_eq!(store.stats().used_bytes, 0);
}

#[test]
fn what_is_too_large_is_rejected_and_changes_nothing() {
    let store = store(1 << 20);
    insert(&store, entry("/a", b"one"));
    let large = vec![0; (64 << 10) + 1];
    let rejected = store.insert(entry("/a", &large), store.ticket(), NOW);
    assert_eq!(rejected.unwrap_err(), Rejected::TooLarge);
    assert_eq!(body(&store, "/a").unwrap(), b"one");
    let tiny = self::store(100);
    let rejected = tiny.insert(entry("/a", b"one"), tiny.ticket(), NOW);
    assert_eq!(rejected.unwrap_err(), Rejected::TooLarge);
}

#[test]
fn a_purge_holds_for_what_is_stored_and_for_what_is_on_its_way() {
    let store = store(1 << 20);
    let tagged = |path: &str, owner: u64, tag: &str| NewEntry {
        key: Arc::new(key_of(owner, path)),
        tags: [Box::from(tag.as_bytes())].into(),
        ..entry(path, b"x")
    };
    let all = || {
        insert(&store, tagged("/a/1", 1, "t"));
        insert(&store, tagged("/a/2", 1, "u"));
        insert(&store, tagged("/b", 1, "t"));
        insert(&store, tagged("/a/1", 2, "t"));
    };
    let prefix = |owner| Purge::Prefix {
        owner,
        prefix: "http://a.test/a/".into(),
    };
    let tag = |owner| Purge::Tag {
        owner,
        tag: (*b"t").into(),
    };
    for (purge, expected) in [
        (Purge::Url(key("/a/1")), 1),
        (prefix(Some(1)), 2),
        (prefix(None), 3),
        (tag(Some(1)), 2),
        (tag(None), 3),
        (Purge::Owner(1), 3),
        (Purge::All, 4),
    ] {
        store.purge(Purge::All);
        all();
        let before = store.ticket();
        assert_eq!(store.purge(purge.clone()), expected, "{purge:?}");
        assert_eq!(store.stats().entries, 4 - expected, "{purge:?}");
        let on_its_way = store.insert(tagged("/a/1", 1, "t"), before, NOW);
        assert_eq!(on_its_way.unwrap_err(), Rejected::Purged, "{purge:?}");
        insert(&store, tagged("/a/1", 1, "t"));
        let elsewhere = store.insert(tagged("/c", 3, "v"), before, NOW);
        assert_eq!(elsewhere.is_ok(), purge != Purge::All, "{purge:?}");
    }
}

#[test]
fn what_was_on_its_way_for_more_purges_than_are_remembered_is_not_stored() {
    let store = store(1 << 20);
    let ticket = store.ticket();
    for number in 0..1000 {
        store.purge(Purge::Url(key(&format!("/{number}"))));
    }
    let late = store.insert(entry("/other", b"x"), ticket, NOW);
    assert_eq!(late.unwrap_err(), Rejected::Purged);
}

#[test]
fn what_is_asked_for_again_survives_a_crawler() {
    let store = store(1 << 20);
    let hot: Vec<String> = (0..100).map(|number| format!("/hot/{number}")).collect();
    for path in &hot {
        insert(&store, entry(path, &[1; 1000]));
    }
    for _ in 0..3 {
        assert!(hot.iter().all(|path| body(&store, path).is_some()));
    }
    for number in 0..20_000 {
        let path = format!("/crawled/{number}");
        if body(&store, &path).is_none() {
            insert(&store, entry(&path, &[2; 1000]));
        }
    }
    let kept = hot.iter().filter(|path| body(&store, path).is_some());
    assert!(kept.count() >= 95);
    assert!(store.stats().used_bytes <= 1 << 20);
    assert!(store.stats().evicted > 18_000);
}

#[test]
fn what_is_of_no_more_use_goes_without_being_asked_for() {
    let store = store(1 << 20);
    let validated = NewEntry {
        fields: FieldsBuffer::from("ETag: \"a\""),
        ..entry("/validated", b"x")
    };
    insert(&store, validated);
    for number in 0..100 {
        insert(&store, entry(&format!("/{number}"), b"x"));
    }
    store.expire(after(59), 1000);
    assert_eq!(store.stats().entries, 101);
    store.expire(after(60), 1000);
    assert_eq!((store.stats().entries, store.stats().expired), (1, 100));
    assert!(body(&store, "/validated").is_some());
}

#[test]
fn an_entry_that_was_removed_can_still_be_used() {
    let store = store(1 << 20);
    insert(&store, entry("/a", b"one"));
    let Found::Entry(entry) = store.find(&key("/a"), FieldsBuffer::default().fields()) else {
        unreachable!()
    };
    store.remove(&entry);
    assert!(body(&store, "/a").is_none());
    assert_eq!(&entry.body()[..], b"one");
    store.remove(&entry);
    assert_eq!(store.stats().used_bytes, 0);
}

/// What may be done to a store, with keys of few values so that they meet.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u8, usize),
    Find(u8, u8),
    Purge(u8),
    PurgeAll,
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u8..40, 0u8..3, 0usize..5000).prop_map(|(path, variant, size)| Step::Insert(path, variant, size)),
        8 => (0u8..40, 0u8..3).prop_map(|(path, variant)| Step::Find(path, variant)),
        1 => (0u8..40).prop_map(Step::Purge),
        1 => Just(Step::PurgeAll),
        1 => Just(Step::Expire),
    ]
}

proptest! {
    #[test]
    fn what_is_found_is_what_was_stored_last_and_the_budget_holds(
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        const BUDGET: usize = 32 << 10;
        let store = store(BUDGET);
        let mut model: HashMap<(u8, u8), Vec<u8>> = HashMap::new();
        for (index, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(path, variant, size) => {
                    let mut content = index.to_string().into_bytes();
                    content.resize(content.len() + size, b'x');
                    let new = varying(&format!("/{path}"), &variant.to_string(), &content);
                    prop_assert!(store.insert(new, store.ticket(), NOW).is_ok());
                    model.insert((path, variant), content);
                }
                Step::Find(path, variant) => {
                    let found = body_for(&store, &format!("/{path}"), &format!("Foo: {variant}"));
                    if let Some(found) = found {
                        prop_assert_eq!(Some(&found), model.get(&(path, variant)));
                    }
                }
                Step::Purge(path) => {
                    store.purge(Purge::Url(key(&format!("/{path}"))));
                    model.retain(|(other, _), _| *other != path);
                }
                Step::PurgeAll => {
                    store.purge(Purge::All);
                    model.clear();
                }
                Step::Expire => store.expire(NOW, 10),
            }
            let mut entries = 0;
            let mut cost = 0;
            store.for_each(|entry| {
                entries += 1;
                cost += entry.cost_bytes();
            });
            let stats = store.stats();
            prop_assert_eq!((stats.entries, stats.used_bytes), (entries, cost));
            prop_assert!(cost <= BUDGET, "{} bytes", cost);
        }
    }
}

/// Threads store versions of a few keys, purge them, and look: no body is ever of another key, and no version is older
/// than the last purge that had returned before the request for it began.
#[test]
fn threads_never_see_another_keys_bytes_nor_what_was_purged() {
    const KEYS: usize = 8;
    let store = store(256 << 10);
    let version = AtomicU64::new(1);
    let purged: [AtomicU64; KEYS] = std::array::from_fn(|_| AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let looks = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (store, version, purged, stop, looks) = (&store, &version, &purged, &stop, &looks);
            scope.spawn(move || {
                let mut random = thread as u64 * 7919 + 1;
                while !stop.load(Ordering::Relaxed) {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let index = (random >> 40) as usize % KEYS;
                    let path = format!("/{index}");
                    match (random >> 33) % 8 {
                        0 => {
                            let before = version.load(Ordering::SeqCst);
                            store.purge(Purge::Url(key(&path)));
                            purged[index].fetch_max(before, Ordering::SeqCst);
                        }
                        1 | 2 => {
                            let ticket = store.ticket();
                            let answered = version.fetch_add(1, Ordering::SeqCst);
                            let mut body = format!("{index} {answered} ").into_bytes();
                            body.resize(body.len() + answered as usize % 3000, b'x');
                            let _ = store.insert(entry(&path, &body), ticket, NOW);
                        }
                        _ => {
                            let oldest = purged[index].load(Ordering::SeqCst);
                            if let Some(body) = body(store, &path) {
                                let text = String::from_utf8(body).unwrap();
                                let mut words = text.split(' ');
                                let of: usize = words.next().unwrap().parse().unwrap();
                                let answered: u64 = words.next().unwrap().parse().unwrap();
                                assert_eq!(of, index);
                                assert!(answered >= oldest, "{answered} was purged by {oldest}");
                                looks.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                }
            });
        }
        std::thread::sleep(std::time::Duration::from_secs(2));
        stop.store(true, Ordering::Relaxed);
    });
    assert!(looks.load(Ordering::Relaxed) > 1000);
    assert!(store.stats().used_bytes <= 256 << 10);
}
