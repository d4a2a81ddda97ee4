//! Prefixes and requests: a prefix that parses is canonical, and a table finds what the slow, obvious model finds.
//!
//! The first byte is the connection's: scheme, port, local address, whether there is a Host. Then lines: first the
//! prefixes, one a line, an empty line, Host, and the target with everything behind it.

#![no_main]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use portico_router::{Lookup, Match, Scheme, Table, UrlPrefix};

#[path = "../../crates/portico-router/tests/support/model.rs"]
mod model;

fuzz_target!(|data: &[u8]| {
    let Some((&connection, mut rest)) = data.split_first() else {
        return;
    };
    let mut table = Table::new();
    let mut prefixes = Vec::new();
    loop {
        let line = next_line(&mut rest);
        if line.is_empty() {
            break;
        }
        let Ok(text) = std::str::from_utf8(line) else {
            continue;
        };
        match UrlPrefix::parse(text) {
            Ok(prefix) => {
                assert_eq!(UrlPrefix::parse(&prefix.to_string()).as_ref(), Ok(&prefix));
                if table.insert(prefix.clone(), ()).is_ok() {
                    prefixes.push(prefix);
                }
            }
            Err(error) => {
                assert!(error.at() <= text.len());
                assert!(!error.to_string().is_empty());
            }
        }
    }
    let host = next_line(&mut rest);
    let lookup = Lookup {
        scheme: if connection & 1 == 0 { Scheme::Http } else { Scheme::Https },
        port: if connection & 2 == 0 { 80 } else { 8080 },
        host: (connection & 4 == 0).then_some(host),
        local_address: address(connection >> 3),
        target: rest,
    };
    let expected = model::find(&prefixes, &lookup);
    let found = match table.find(&lookup) {
        Ok(Some(Match::Registered { prefix, .. } | Match::Reserved { prefix })) => Ok(Some(prefix)),
        Ok(None) => Ok(None),
        Err(_) => Err(()),
    };
    assert_eq!(found, expected, "{lookup:?}");
    for prefix in &prefixes {
        table.remove(prefix);
    }
    assert!(table.is_empty() && table.scheme_of_port(lookup.port).is_none());
});

fn address(number: u8) -> IpAddr {
    match number & 3 {
        0 => Ipv4Addr::LOCALHOST.into(),
        1 => Ipv6Addr::LOCALHOST.into(),
        2 => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
        _ => Ipv4Addr::new(10, 0, 0, 1).into(),
    }
}

fn next_line<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    let line = &rest[..end];
    *rest = rest.get(end + 1..).unwrap_or_default();
    line
}
