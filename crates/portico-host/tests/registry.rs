//! The registry's rules as rows.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use portico_dispatch::{MemberId, QueueOptions};
use portico_host::registry::{MAX_MEMBERS, MAX_MEMBERS_OF_A_USER, Owner, Registry, Rules};
use portico_router::{Reservation, Reservations, Scheme, UrlPrefix};

const ANN: u32 = 10_001;
const BOB: u32 = 10_002;
const STAFF: u32 = 20_001;

fn prefix(text: &str) -> UrlPrefix {
    UrlPrefix::parse(text).unwrap()
}

fn owner(uid: u32) -> Owner {
    let gids = if uid == BOB { vec![STAFF] } else { vec![] };
    Owner { uid, gids }
}

fn register(registry: &mut Registry, text: &str, uid: u32) -> Result<MemberId, String> {
    registry
        .register(&prefix(text), owner(uid), Default::default())
        .map(|(member, _)| member)
        .map_err(|failure| failure.code.into_owned())
}

fn rules(reserved: &[(&str, &[u32], &[u32])], sites: &[&str]) -> Rules {
    let mut reservations = Reservations::default();
    for (text, users, groups) in reserved {
        let reservation = Reservation {
            prefix: prefix(text),
            users: users.to_vec(),
            groups: groups.to_vec(),
            everyone: false,
            delegate: false,
        };
        reservations.add(reservation).unwrap();
    }
    let sites = sites
        .iter()
        .map(|text| (prefix(text), QueueOptions::default()));
    Rules {
        sites: sites.collect::<BTreeMap<_, _>>(),
        reservations,
        ..Rules::default()
    }
}

/// Who registers what after whom, with which reservations, and what comes of the last one.
#[test]
fn registrations_follow_the_rules() {
    type Row<'a> = (
        &'a str,
        &'a [(&'a str, &'a [u32], &'a [u32])],
        &'a [(&'a str, u32)],
        (&'a str, u32),
        Result<(), &'a str>,
    );
    let rows: &[Row<'_>] = &[
        ("the first may", &[], &[], ("http://*:8080/", ANN), Ok(())),
        (
            "the same user shares",
            &[],
            &[("http://*:8080/", ANN)],
            ("http://*:8080/", ANN),
            Ok(()),
        ),
        (
            "another user is refused",
            &[],
            &[("http://*:8080/", ANN)],
            ("http://*:8080/", BOB),
            Err("ERR_PORTICO_PREFIX_TAKEN"),
        ),
        (
            "another path is free",
            &[],
            &[("http://*:8080/1/", ANN)],
            ("http://*:8080/2/", BOB),
            Ok(()),
        ),
        (
            "no user registers below another's prefix",
            &[],
            &[("http://*:8080/", ANN)],
            ("http://*:8080/a/", BOB),
            Err("ERR_PORTICO_PREFIX_TAKEN"),
        ),
        (
            "a port has one scheme",
            &[],
            &[("http://*:8080/", ANN)],
            ("https://*:8080/a/", ANN),
            Err("ERR_PORTICO_SCHEME_CONFLICT"),
        ),
        (
            "the reservation's user may",
            &[("http://*:8080/a/", &[ANN], &[])],
            &[],
            ("http://*:8080/a/", ANN),
            Ok(()),
        ),
        (
            "and below it",
            &[("http://*:8080/a/", &[ANN], &[])],
            &[],
            ("http://*:8080/a/b/", ANN),
            Ok(()),
        ),
        (
            "others may not",
            &[("http://*:8080/a/", &[ANN], &[])],
            &[],
            ("http://*:8080/a/b/", BOB),
            Err("ERR_PORTICO_PREFIX_RESERVED"),
        ),
        (
            "a group may",
            &[("http://*:8080/a/", &[], &[STAFF])],
            &[],
            ("http://*:8080/a/", BOB),
            Ok(()),
        ),
        (
            "two users of a reservation share",
            &[("http://*:8080/a/", &[ANN], &[STAFF])],
            &[("http://*:8080/a/", ANN)],
            ("http://*:8080/a/", BOB),
            Ok(()),
        ),
        (
            "low ports need a reservation",
            &[],
            &[],
            ("http://*:80/", ANN),
            Err("EACCES"),
        ),
        (
            "with one they don't need root",
            &[("http://*:80/", &[ANN], &[])],
            &[],
            ("http://*:80/", ANN),
            Ok(()),
        ),
        (
            "root may",
            &[("http://*:80/", &[ANN], &[])],
            &[("http://*:80/", ANN)],
            ("http://*:80/", 0),
            Ok(()),
        ),
    ];
    for (name, reserved, before, (last, uid), expected) in rows {
        let mut registry = Registry::default();
        registry.apply(rules(reserved, &[])).unwrap();
        for (text, uid) in *before {
            register(&mut registry, text, *uid).unwrap();
        }
        let result = register(&mut registry, last, *uid).map(|_| ());
        assert_eq!(result, expected.map_err(str::to_owned), "{name}");
    }
}

#[test]
fn members_of_one_prefix_share_its_queue_however_they_write_it() {
    let mut registry = Registry::default();
    register(&mut registry, "http://Example.com:8080/a", ANN).unwrap();
    register(&mut registry, "http://example.com:8080/a/", ANN).unwrap();
    assert_eq!(registry.queues().len(), 1);
    assert_eq!(registry.queues().values().next().unwrap().members.len(), 2);
    assert_eq!(registry.ports(), BTreeMap::from([(8080, Scheme::Http)]));
}

#[test]
fn a_queue_waits_for_a_replacement_and_then_goes() {
    let start = Instant::now();
    let wait = QueueOptions::default().wait;
    let mut registry = Registry::default();
    let first = register(&mut registry, "http://*:8080/", ANN).unwrap();
    registry.gone(start, first).unwrap();
    assert!(registry.expire(start + wait / 2).is_empty());
    // While it waits it is still its owner's.
    assert_eq!(
        register(&mut registry, "http://*:8080/", BOB).unwrap_err(),
        "ERR_PORTICO_PREFIX_TAKEN"
    );
    let second = register(&mut registry, "http://*:8080/", ANN).unwrap();
    assert!(registry.expire(start + wait * 2).is_empty());
    registry.gone(start + wait * 2, second);
    let gone = registry.expire(start + wait * 3);
    assert_eq!(gone, [prefix("http://*:8080/")]);
    assert!(registry.ports().is_empty());
    register(&mut registry, "http://*:8080/", BOB).unwrap();
}

#[test]
fn a_member_that_leaves_is_known_until_it_is_gone_and_its_queue_waits_from_then_on() {
    let start = Instant::now();
    let wait = QueueOptions::default().wait;
    let mut registry = Registry::default();
    let member = register(&mut registry, "http://*:8080/", ANN).unwrap();
    assert!(registry.leave(start, member));
    assert!(!registry.leave(start, member));
    assert!(registry.members()[&member].leaving);
    assert_eq!(registry.expire(start + wait).len(), 1);
    assert!(registry.gone(start + wait, member).is_some());
    assert!(registry.gone(start + wait, member).is_none());
    assert!(registry.expire(start + wait * 9).is_empty());
}

#[test]
fn a_queue_that_a_reservation_or_a_site_names_stays() {
    let now = Instant::now();
    let later = now + Duration::from_secs(3600);
    for rules in [
        rules(&[("http://*:8080/a/", &[ANN], &[])], &[]),
        rules(&[], &["http://*:8080/a/"]),
    ] {
        let mut registry = Registry::default();
        registry.apply(rules).unwrap();
        let member = register(&mut registry, "http://*:8080/a/", ANN).unwrap();
        registry.gone(now, member);
        assert!(registry.expire(later).is_empty());
        assert!(registry.queue(&prefix("http://*:8080/a/")).is_some());
        registry.apply(Rules::default()).unwrap();
        registry.expire(later);
        assert!(registry.queues().is_empty());
    }
}

#[test]
fn a_site_has_a_queue_before_a_member_comes_and_belongs_to_no_user() {
    let mut registry = Registry::default();
    registry.apply(rules(&[], &["http://*:8080/"])).unwrap();
    assert_eq!(registry.ports().len(), 1);
    assert!(registry.expire(Instant::now()).is_empty());
    register(&mut registry, "http://*:8080/", BOB).unwrap();
}

#[test]
fn rules_that_contradict_registrations_are_refused_and_the_old_ones_stay() {
    let mut registry = Registry::default();
    register(&mut registry, "http://*:8080/", ANN).unwrap();
    let failure = registry
        .apply(rules(&[], &["https://*:8080/"]))
        .unwrap_err();
    assert_eq!(failure.code, "ERR_PORTICO_SCHEME_CONFLICT");
    assert_eq!(registry.queues().len(), 1);
    assert!(registry.rules().sites.is_empty());
}

#[test]
fn what_the_host_before_had_is_kept_for_its_user() {
    let now = Instant::now();
    let until = now + Duration::from_secs(20);
    let mut registry = Registry::default();
    let text = "http://*:8080/";
    registry.expect(&prefix(text), &owner(ANN), until).unwrap();
    assert!(register(&mut registry, text, BOB).is_err());
    assert!(registry.expire(now).is_empty());
    register(&mut registry, text, ANN).unwrap();
    assert!(registry.expire(until).is_empty());
}

#[test]
fn one_user_can_not_take_all_the_room() {
    let mut registry = Registry::default();
    for _ in 0..MAX_MEMBERS_OF_A_USER {
        register(&mut registry, "http://*:8080/", ANN).unwrap();
    }
    assert_eq!(
        register(&mut registry, "http://*:8080/", ANN).unwrap_err(),
        "ERR_PORTICO_LIMIT"
    );
    register(&mut registry, "http://*:8081/", BOB).unwrap();
}

#[test]
fn a_host_has_room_for_so_many_registrations() {
    let mut registry = Registry::default();
    let first = register(&mut registry, "http://*:8080/", 0).unwrap();
    for _ in 1..MAX_MEMBERS {
        register(&mut registry, "http://*:8080/", 0).unwrap();
    }
    for uid in [0, ANN] {
        let (limit, text) = ("ERR_PORTICO_LIMIT", "http://*:8081/");
        assert_eq!(register(&mut registry, text, uid).unwrap_err(), limit);
    }
    assert_eq!(registry.members().len(), MAX_MEMBERS);
    assert_eq!(registry.queues().len(), 1);
    registry.gone(Instant::now(), first);
    register(&mut registry, "http://*:8081/", ANN).unwrap();
}

#[test]
fn prefixes_that_wait_for_their_next_process_take_room_too() {
    let now = Instant::now();
    let mut registry = Registry::default();
    for number in 0..MAX_MEMBERS_OF_A_USER {
        let text = format!("http://*:8080/{number}/");
        let member = register(&mut registry, &text, ANN).unwrap();
        registry.gone(now, member);
    }
    assert_eq!(
        register(&mut registry, "http://*:8080/new/", ANN).unwrap_err(),
        "ERR_PORTICO_LIMIT"
    );
    // One of them comes back; another user has room of its own.
    register(&mut registry, "http://*:8080/7/", ANN).unwrap();
    register(&mut registry, "http://*:8081/", BOB).unwrap();
    registry.expire(now + QueueOptions::default().wait);
    register(&mut registry, "http://*:8080/new/", ANN).unwrap();
}
