//! Every row of `tests/rows/`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::net::IpAddr;

use portico_router::{
    Lookup, Match, Requester, Reservation, Reservations, Scheme, Table, Unreserved, UrlPrefix,
};
use support::{model, rows, unescape, unescape_text};

fn prefix(text: &str) -> UrlPrefix {
    UrlPrefix::parse(&unescape_text(text)).unwrap()
}

#[test]
fn prefixes_parse_or_say_what_is_wrong_and_where() {
    for (line, text, expected) in rows(include_str!("rows/prefix.txt")) {
        let text = unescape_text(text);
        let outcome = match UrlPrefix::parse(&text) {
            Ok(prefix) => prefix.to_string(),
            Err(error) => {
                assert_eq!(error.code(), "ERR_PORTICO_PREFIX_INVALID");
                assert!(error.to_string().contains(&error.kind().to_string()));
                format!("! {:?} @{}", error.kind(), error.at())
            }
        };
        assert_eq!(outcome, unescape_text(expected.unwrap()), "line {line}");
    }
}

#[test]
fn every_kind_of_prefix_error_has_a_row() {
    let text = include_str!("rows/prefix.txt");
    let source = include_str!("../src/prefix/error.rs");
    let kinds = source
        .lines()
        .filter_map(|line| line.trim().split_once(" = \""));
    for (kind, _) in kinds {
        assert!(text.contains(&format!("! {kind} @")), "{kind}");
    }
}

#[test]
fn an_error_shows_the_text_the_place_and_the_remedy() {
    let error = UrlPrefix::parse("http://*/\u{7}").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid URL prefix \"http://*/\\u{7}\" at byte 8: the port is missing; write it after the host, as in http://*:8080/"
    );
    let error = UrlPrefix::parse(&"x".repeat(90)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("\"{}...\"", "x".repeat(80)))
    );
}

struct Search {
    table: Table<String>,
    prefixes: Vec<UrlPrefix>,
}

fn table(line: &str) -> Search {
    let mut search = Search {
        table: Table::new(),
        prefixes: Vec::new(),
    };
    for word in line.split(' ') {
        if let Some(reserved) = word.strip_prefix('!') {
            search.table.reserve(prefix(reserved)).unwrap();
            search.prefixes.push(prefix(reserved));
        } else {
            let value = unescape_text(word);
            search.table.insert(prefix(word), value).unwrap();
            search.prefixes.push(prefix(word));
        }
    }
    search
}

#[test]
fn the_search_finds_what_the_rows_say_and_so_does_the_model() {
    let mut search = table("http://*:1/");
    for (line, left, expected) in rows(include_str!("rows/lookup.txt")) {
        let Some(expected) = expected else {
            search = table(left.strip_prefix("table ").unwrap());
            continue;
        };
        let mut scheme = Scheme::Http;
        let mut port = 80;
        let mut host = Some(b"localhost".to_vec());
        let mut local_address: IpAddr = "127.0.0.1".parse().unwrap();
        let mut target = Vec::new();
        for word in left.split(' ') {
            match word.split_once('=') {
                Some(("scheme", _)) => scheme = Scheme::Https,
                Some(("port", value)) => port = value.parse().unwrap(),
                Some(("host", value)) => host = Some(unescape(value)),
                Some(("ip", value)) => local_address = value.parse().unwrap(),
                _ if word == "nohost" => host = None,
                _ => target = unescape(word),
            }
        }
        let lookup = Lookup {
            scheme,
            port,
            host: host.as_deref(),
            local_address,
            target: &target,
        };
        let found = search.table.find(&lookup);
        let outcome = match &found {
            Ok(None) => "none".to_owned(),
            Ok(Some(Match::Registered { prefix, value })) => {
                assert_eq!(&prefix.to_string(), *value);
                prefix.to_string()
            }
            Ok(Some(Match::Reserved { prefix })) => format!("reserved {prefix}"),
            Err(error) => format!("! {error:?}"),
        };
        assert_eq!(outcome, unescape_text(expected), "line {line}");
        let by_model = model::find(&search.prefixes, &lookup);
        let found = found.map_err(|_| ()).map(|found| {
            found.map(|found| match found {
                Match::Registered { prefix, .. } | Match::Reserved { prefix } => prefix,
            })
        });
        assert_eq!(by_model, found, "line {line}, model");
    }
}

/// `UID` or `UID:GID,...`.
fn credentials(text: &str) -> Option<(u32, Vec<u32>)> {
    let (uid, gids) = text.split_once(':').unwrap_or((text, ""));
    let gids = gids.split(',').filter(|gid| !gid.is_empty());
    Some((
        uid.parse().ok()?,
        gids.map(|gid| gid.parse().unwrap()).collect(),
    ))
}

fn reservation(words: &[&str]) -> Reservation {
    let mut reservation = Reservation {
        prefix: prefix(words[0]),
        users: Vec::new(),
        groups: Vec::new(),
        everyone: false,
        delegate: false,
    };
    for word in &words[1..] {
        match word.split_once('=') {
            Some(("user", id)) => reservation.users.push(id.parse().unwrap()),
            Some(("group", id)) => reservation.groups.push(id.parse().unwrap()),
            _ if *word == "everyone" => reservation.everyone = true,
            _ if *word == "delegate" => reservation.delegate = true,
            _ => panic!("{word}"),
        }
    }
    reservation
}

#[test]
fn registrations_and_reservations_are_allowed_as_the_rows_say() {
    let mut reservations = Reservations::default();
    let mut registered: Vec<(UrlPrefix, u32, Vec<u32>)> = Vec::new();
    for (line, left, expected) in rows(include_str!("rows/access.txt")) {
        let words: Vec<&str> = left.split(' ').collect();
        let outcome = match words[0] {
            "case" => {
                reservations = Reservations::default();
                registered.clear();
                continue;
            }
            "deny" => {
                reservations = Reservations::new(Unreserved::Deny);
                continue;
            }
            "have" => {
                let (uid, gids) = credentials(words[2]).unwrap();
                registered.push((prefix(words[1]), uid, gids));
                continue;
            }
            "reserve" => match reservations.add(reservation(&words[1..])) {
                Ok(()) => {
                    assert_eq!(expected, None, "line {line}");
                    continue;
                }
                Err(conflict) => format!("conflict {}", conflict.code()),
            },
            who => {
                let (uid, gids) = credentials(who).unwrap();
                let who = Requester { uid, gids: &gids };
                let have = registered
                    .iter()
                    .map(|(prefix, uid, gids)| (prefix, Requester { uid: *uid, gids }));
                let verdict = match words[1] {
                    "reserves" => reservations
                        .may_reserve(&prefix(words[2]), who)
                        .map_err(|denied| denied.code().to_owned()),
                    text => reservations
                        .may_register(&prefix(text), who, have)
                        .map_err(|denied| match &denied {
                            portico_router::Denied::Reserved { by }
                            | portico_router::Denied::Taken { by, .. } => {
                                format!("{} by {by}", denied.code())
                            }
                            _ => denied.code().to_owned(),
                        }),
                };
                verdict.err().unwrap_or_else(|| "ok".to_owned())
            }
        };
        assert_eq!(outcome, expected.unwrap_or_default(), "line {line}");
    }
}
