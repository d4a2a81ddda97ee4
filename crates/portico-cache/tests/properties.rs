//! Decisions held against naive models of the RFC's sentences, over generated heads.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;

use portico_cache::storing::{self, Request, Response, Rule, SetCookie};
use portico_cache::{Exchanged, Key, QueryRule, RequestDirectives, Reuse, Target, Time, Variant};
use portico_http::Method;
use portico_http::h1::DateCache;
use portico_http::semantics::{FieldsBuffer, http_date};
use proptest::prelude::*;

/// When responses come, in seconds since 1970.
const NOW: i64 = 1_800_000_000;

/// A response, by what its head says.
#[derive(Clone, Debug)]
struct Said {
    status: u16,
    max_age: Option<u32>,
    s_maxage: Option<u32>,
    while_revalidate: Option<u32>,
    flags: Vec<&'static str>,
    expires: Option<i64>,
    date: Option<i64>,
    modified: Option<i64>,
    age: Option<u32>,
    etag: bool,
}

const FLAGS: [&str; 7] = [
    "no-store",
    "no-cache",
    "private",
    "public",
    "must-revalidate",
    "proxy-revalidate",
    "must-understand",
];

fn date(seconds: i64) -> String {
    let mut dates = DateCache::new();
    let text = dates.update(u64::try_from(seconds).unwrap());
    String::from_utf8(text.to_vec()).unwrap()
}

impl Said {
    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    fn head(&self) -> FieldsBuffer {
        let mut text = String::new();
        for flag in &self.flags {
            writeln!(text, "Cache-Control: {flag}").unwrap();
        }
        for (name, seconds) in [
            ("max-age", self.max_age),
            ("s-maxage", self.s_maxage),
            ("stale-while-revalidate", self.while_revalidate),
        ] {
            if let Some(seconds) = seconds {
                writeln!(text, "cache-control: x=\"{name}=7\", {name}={seconds}").unwrap();
            }
        }
        for (name, at) in [
            ("Expires", self.expires),
            ("Date", self.date),
            ("Last-Modified", self.modified),
        ] {
            if let Some(at) = at {
                writeln!(text, "{name}: {}", date(NOW + at)).unwrap();
            }
        }
        if let Some(age) = self.age {
            writeln!(text, "Age: {age}").unwrap();
        }
        if self.etag {
            text.push_str("ETag: \"a\"\n");
        }
        FieldsBuffer::from(text.as_str())
    }

    /// Whether section 3 lets it be stored, and there is a use for it.
    fn may_be_stored(&self) -> bool {
        let known = [200, 204, 301, 404, 500];
        let is_understood = known.contains(&self.status);
        let assumed = [200, 204, 301, 404].contains(&self.status);
        let explicit = self.has("public")
            || self.max_age.is_some()
            || self.s_maxage.is_some()
            || self.expires.is_some();
        let forbidden = if self.has("must-understand") {
            !is_understood
        } else {
            self.has("no-store")
        };
        let is_useful = self.etag
            || self.modified.is_some()
            || (!self.has("no-cache")
                && self.initial_age()
                    < self.lifetime() + i64::from(self.while_revalidate.unwrap_or(0)));
        !forbidden && !self.has("private") && (explicit || assumed) && is_useful
    }

    /// Section 4.2.1 and 4.2.2.
    fn lifetime(&self) -> i64 {
        let date = self.date.unwrap_or(0);
        if let Some(seconds) = self.s_maxage.or(self.max_age) {
            return i64::from(seconds);
        }
        if let Some(expires) = self.expires {
            return (expires - date).max(0);
        }
        let assumed = self.has("public") || [200, 204, 301, 404].contains(&self.status);
        match self.modified {
            Some(modified) if assumed => ((date - modified) / 10).clamp(0, 86_400),
            _ => 0,
        }
    }

    /// Section 4.2.3.
    fn initial_age(&self) -> i64 {
        let apparent = -self.date.unwrap_or(0);
        apparent.max(i64::from(self.age.unwrap_or(0)))
    }

    /// Section 4.2.4 and RFC 5861, section 3.
    fn reuse(&self, after: i64) -> Reuse {
        let age = self.initial_age() + after;
        let stale_for = age - self.lifetime();
        let never_stale =
            self.s_maxage.is_some() || self.has("must-revalidate") || self.has("proxy-revalidate");
        let window = i64::from(self.while_revalidate.unwrap_or(0));
        if self.has("no-cache") {
            Reuse::AfterValidation
        } else if stale_for < 0 {
            Reuse::AtOnce
        } else if window > 0 && stale_for <= window && !never_stale {
            Reuse::WhileValidating
        } else {
            Reuse::AfterValidation
        }
    }
}

fn seconds() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![Just(None), (0u32..200).prop_map(Some)]
}

fn moment() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![Just(None), (-200i64..200).prop_map(Some)]
}

fn said() -> impl Strategy<Value = Said> {
    let ages = (seconds(), seconds(), seconds(), seconds());
    let moments = (
        moment(),
        moment(),
        prop_oneof![Just(None), (-5000i64..50).prop_map(Some)],
    );
    let flags = proptest::sample::subsequence(FLAGS.to_vec(), 0..3);
    let status = proptest::sample::select(vec![200, 204, 301, 404, 500, 599]);
    (status, ages, moments, flags, any::<bool>()).prop_map(
        |(status, (max_age, s_maxage, while_revalidate, age), moments, flags, etag)| Said {
            status,
            max_age,
            s_maxage,
            while_revalidate,
            flags,
            expires: moments.0,
            date: moments.1,
            modified: moments.2,
            age,
            etag,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn storing_and_reuse_are_what_the_rfc_says(said in said(), after in 0i64..400) {
        let (head, none) = (said.head(), FieldsBuffer::default());
        let now = Time(u64::try_from(NOW * 1000).unwrap());
        let times = Exchanged { requested: now, responded: now };
        let request = Request { method: Method::Get, fields: none.fields(), has_body: false };
        let response = Response { status: said.status, fields: head.fields() };
        let decided = storing::decide(request, response, Rule::Standard, SetCookie::Refuse, times);
        prop_assert_eq!(decided.is_ok(), said.may_be_stored(), "{:?}", decided);
        if let Ok(freshness) = decided {
            let later = Time(now.0 + u64::try_from(after * 1000).unwrap());
            let age = u64::try_from(said.initial_age() + after).unwrap();
            prop_assert_eq!(freshness.age(later).as_secs(), age);
            let any = RequestDirectives::default();
            let reuse = freshness.reuse(&any, later);
            prop_assert_eq!(reuse, said.reuse(after));
            if reuse != Reuse::AfterValidation {
                prop_assert!(later <= freshness.useful_until());
            }
        }
    }

    #[test]
    fn a_date_in_each_form_is_its_second(at in 0i64..4_102_444_800) {
        let text = date(at);
        prop_assert_eq!(http_date::parse(text.as_bytes(), NOW), Some(at));
        let (day, rest) = text.split_once(", ").unwrap();
        let mut parts = rest.split(' ');
        let (of_month, month, year, time) =
            (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let padded = of_month.strip_prefix('0').map_or(of_month.to_string(), |digit| format!(" {digit}"));
        let asctime = format!("{day} {month} {padded} {time} {year}");
        prop_assert_eq!(http_date::parse(asctime.as_bytes(), NOW), Some(at));
    }

    #[test]
    fn a_request_matches_the_variant_that_it_was_answered_with(
        fields in proptest::collection::vec(("[ab]", "[a-c ,;=q.0-9]{0,8}"), 0..5),
        vary in proptest::collection::vec("[abc]", 0..4),
    ) {
        let mut request = FieldsBuffer::default();
        for (name, value) in &fields {
            request.push(name.as_bytes(), value.as_bytes());
        }
        let response = FieldsBuffer::from(format!("Vary: {}", vary.join(", ")).as_str());
        let variant = Variant::of(request.fields(), response.fields());
        prop_assert!(variant.matches(request.fields()));
        prop_assert_eq!(variant.is_for_all(), vary.is_empty());
    }

    #[test]
    fn keys_are_equal_only_if_what_counts_is(
        one in ("[ab.]{1,3}", "/[a&=]{0,4}", "(\\?[ab=&]{0,6})?"),
        other in ("[ab.]{1,3}", "/[a&=]{0,4}", "(\\?[ab=&]{0,6})?"),
    ) {
        let names = QueryRule::Names(vec!["a".into()]);
        let key = |(authority, path, query): &(String, String, String), rule: &QueryRule| {
            let path_and_query = format!("{path}{query}");
            let target = Target {
                owner: 1,
                is_secure: false,
                authority: authority.as_bytes(),
                path_and_query: path_and_query.as_bytes(),
                context: b"",
            };
            Key::new(&target, rule)
        };
        prop_assert_eq!(key(&one, &QueryRule::All) == key(&other, &QueryRule::All), one == other);
        let counted = |(authority, path, query): &(String, String, String)| {
            let query = query.strip_prefix('?').unwrap_or_default();
            let values: Vec<String> = query
                .split('&')
                .filter(|parameter| *parameter == "a" || parameter.starts_with("a="))
                .map(String::from)
                .collect();
            (authority.clone(), path.clone(), values)
        };
        prop_assert_eq!(key(&one, &names) == key(&other, &names), counted(&one) == counted(&other));
    }
}
