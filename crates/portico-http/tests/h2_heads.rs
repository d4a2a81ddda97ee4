//! Which field sections are requests: the rows of `tests/rows/requests.txt`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;

use portico_http::Method;
use portico_http::h2::hpack::{Decoder, Encoder, OutgoingField};
use portico_http::h2::{FieldSection, Head, HeadRules, Priority, check_trailers};
use portico_http::semantics::{Authority, Expect, Scheme, Span, Version};

/// A section with these fields, through the encoder and the decoder. A row's `\xNN` is a byte.
fn section(fields: &[(&str, &str)]) -> FieldSection {
    let mut block = Vec::new();
    let mut encoder = Encoder::new(0);
    for (name, value) in fields {
        let (name, value) = (unescape(name), unescape(value));
        // The encoder would make lower case of it.
        if name.iter().any(u8::is_ascii_uppercase) {
            block.extend([0, name.len() as u8]);
            block.extend_from_slice(&name);
            block.push(value.len() as u8);
            block.extend_from_slice(&value);
        } else {
            encoder.encode(&mut block, &OutgoingField::new(&name, &value));
        }
    }
    let mut section = FieldSection::new();
    section.start(65_536, 100);
    assert_eq!(Decoder::new(4096).decode(&block, &mut section), Ok(()));
    section
}

fn unescape(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (hex, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(hex, 16).unwrap());
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

/// What a head says, in the words of the rows.
fn describe(section: &FieldSection, head: &Head) -> String {
    let bytes = section.bytes();
    let text = |span: Span| String::from_utf8_lossy(span.of(bytes)).into_owned();
    let mut words = text(head.method_name);
    for (name, place) in [("authority", head.authority), ("protocol", head.protocol)] {
        if let Some(place) = place {
            write!(words, " {name}={}", text(place)).unwrap();
        }
    }
    if head.path.length > 0 {
        write!(
            words,
            " path={} scheme={}",
            text(head.path),
            text(head.scheme)
        )
        .unwrap();
    }
    if let Some(length) = head.content_length {
        write!(words, " length={length}").unwrap();
    }
    for field in head.fields(section) {
        let value = String::from_utf8_lossy(field.value(bytes));
        let name = String::from_utf8_lossy(field.name(bytes));
        write!(words, " {name}:{}", value.replace(' ', "_")).unwrap();
    }
    words
}

#[test]
fn every_row_has_its_verdict() {
    let rows = include_str!("rows/requests.txt");
    let (mut fields, mut kind) = (Vec::new(), "");
    for (index, line) in rows.lines().enumerate() {
        let place = index + 1;
        if let Some(row) = line.strip_prefix("  ") {
            let (name, value) = row[1..].split_once(':').map_or((row, ""), |(name, value)| {
                let name = &row[..1 + name.len()];
                (name, value.strip_prefix(' ').unwrap_or(value))
            });
            fields.push((name, value));
            continue;
        }
        let Some(expected) = line.strip_prefix("=> ") else {
            assert!(line.is_empty() || line.starts_with('#') || fields.is_empty());
            kind = line;
            continue;
        };
        let mut section = section(&fields);
        fields.clear();
        let verdict = if kind == "trailers" {
            check_trailers(&section)
                .map_or_else(|error| format!("{error:?}"), |()| "trailers".to_owned())
        } else {
            let is_complete = kind == "complete request";
            let rules = HeadRules {
                extended_connect: kind != "request without RFC 8441",
                ..HeadRules::default()
            };
            let head = Head::read(&mut section, is_complete, rules);
            head.map_or_else(
                |error| format!("{error:?}"),
                |head| describe(&section, &head),
            )
        };
        assert_eq!(verdict, expected, "line {place}");
    }
}

#[test]
fn a_head_is_that_of_any_version() {
    let mut section = section(&[
        (":method", "POST"),
        (":scheme", "https"),
        (":path", "/a?b"),
        (":authority", "a.example:8443"),
        ("expect", "100-continue"),
        ("priority", "u=1, i"),
    ]);
    let head = Head::read(&mut section, false, HeadRules::default()).unwrap();
    assert_eq!(head.expect, Expect::Continue);
    let priority = Priority {
        urgency: 1,
        incremental: true,
    };
    assert_eq!(head.priority, Some(priority));
    let request = head.request(&section, Scheme::Https).unwrap();
    assert_eq!(
        (request.method, request.version),
        (Method::Post, Version::Http2)
    );
    assert_eq!(request.target(), b"/a?b");
    assert_eq!(request.authority(), Ok(Some(&b"a.example:8443"[..])));
    assert!(request.has_body && request.fields.len() == 2);
    assert_eq!(request.fields[0].name(request.bytes), b"expect");
}

#[test]
fn the_target_of_connect_is_its_authority() {
    let mut section = section(&[(":method", "CONNECT"), (":authority", "a.example:80")]);
    let head = Head::read(&mut section, false, HeadRules::default()).unwrap();
    let request = head.request(&section, Scheme::Http).unwrap();
    assert_eq!(request.target(), b"a.example:80");
    assert!(matches!(request.authority, Authority::At(_)));
}
