//! Heads of a request and of a response that a cache decides about: no field's value ends the process, and what is
//! decided holds together.
//!
//! The input is field lines of the request, a blank line, and field lines of the response. The first byte of all is the
//! length of a body that ranges are taken of; the second chooses status, rule and time.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use portico_cache::storing::{self, Request, Response, Rule, SetCookie};
use portico_cache::{
    Exchanged, Key, QueryRule, RequestDirectives, Reuse, Target, Time, Variant, invalidation,
    validation,
};
use portico_http::Method;
use portico_http::h1::FieldLines;
use portico_http::semantics::preconditions::{self, Validators};
use portico_http::semantics::ranges::{self, Requested};
use portico_http::semantics::{FieldsBuffer, http_date};

const NOW: Time = Time(1_800_000_000_000);

fuzz_target!(|data: &[u8]| {
    let [length, choice, heads @ ..] = data else {
        return;
    };
    let split = heads.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let (request, response) = heads.split_at(split.map_or(heads.len(), |at| at + 2));
    let (request, response) = (read(request), read(response.get(2..).unwrap_or_default()));
    let (asked, answered) = (request.fields(), response.fields());

    let status = [200, 204, 301, 404, 599, 503, 206, 304][usize::from(choice & 7)];
    let rule = match choice >> 3 & 3 {
        0 | 1 => Rule::Standard,
        2 => Rule::Asked(Duration::from_secs(1)),
        _ => Rule::Profile(Duration::from_secs(1)),
    };
    let later = Time(NOW.0 + u64::from(choice >> 5) * 1000);
    let times = Exchanged {
        requested: NOW,
        responded: NOW,
    };
    let directives = RequestDirectives::read(asked);
    let decided = storing::decide(
        Request {
            method: Method::Get,
            fields: asked,
            has_body: false,
        },
        Response {
            status,
            fields: answered,
        },
        rule,
        SetCookie::Refuse,
        times,
    );
    let variant = Variant::of(asked, answered);
    let stored = storing::stored_fields(answered, SetCookie::Strip);
    assert!(!stored.fields().has(b"set-cookie") && !stored.fields().has(b"connection"));
    if let Ok(freshness) = decided {
        assert!(!answered.has(b"set-cookie"));
        assert!(variant.matches(asked));
        let reuse = freshness.reuse(&directives, later);
        assert!(freshness.age(later) >= freshness.age(NOW));
        if reuse == Reuse::AtOnce && directives.max_stale.is_none() {
            assert!(freshness.is_fresh(later) && later <= freshness.useful_until());
        }
        if let Some((fields, _)) =
            validation::freshen(status, stored.fields(), answered, SetCookie::Strip, times)
        {
            assert!(!fields.fields().has(b"set-cookie"));
        }
    }
    let _ = validation::conditions(stored.fields());

    let now = NOW.seconds();
    let validators = Validators::of_response(answered, now);
    let _ = preconditions::evaluate(Method::Get, asked, &validators, now);
    let _ = preconditions::is_range_of_current(asked, &validators, now);
    for (_, value) in asked.iter() {
        if let Some(second) = http_date::parse(value, now) {
            assert!((-62_200_000_000..253_402_300_800).contains(&second));
        }
        check_ranges(value, u64::from(*length));
        let names = QueryRule::Names(vec!["a".into()]);
        for query in [&QueryRule::All, &QueryRule::None, &names] {
            let target = Target {
                owner: 1,
                is_secure: false,
                authority: b"a",
                path_and_query: value,
                context: data,
            };
            assert_eq!(Key::new(&target, query).owner(), 1);
        }
    }
    for path in invalidation::named_paths("http", b"h", b"/a/b", answered) {
        assert!(path.starts_with(b"/"));
        let path = path.split(|&byte| byte == b'?').next().unwrap_or_default();
        let mut segments = path.split(|&byte| byte == b'/');
        assert!(!segments.any(|segment| segment == b".."));
    }
});

fn read(lines: &[u8]) -> FieldsBuffer {
    FieldLines::new(lines)
        .map_while(Result::ok)
        .map(|line| (line.name, line.value))
        .collect()
}

/// Parts are within the body, none is empty, and no byte is in two.
fn check_ranges(value: &[u8], length: u64) {
    let Requested::Parts(parts) = ranges::requested(value, length) else {
        return;
    };
    assert!((1..=ranges::MAX_PARTS).contains(&parts.len()));
    let mut sorted = parts.clone();
    sorted.sort_by_key(|part| part.start);
    for pair in sorted.windows(2) {
        assert!(pair[0].end < pair[1].start);
    }
    for part in &parts {
        assert!(part.start < part.end && part.end <= length);
    }
}
