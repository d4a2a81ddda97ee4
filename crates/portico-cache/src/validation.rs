//! Asking the application whether a stored response still holds (RFC 9111, section 4.3), and what its answer changes.

use portico_http::semantics::{EntityTag, Fields, FieldsBuffer};

use crate::cache_control::ResponseDirectives;
use crate::freshness::{Exchanged, Freshness};
use crate::stored_fields::{SetCookie, is_stored};
use crate::targeted;

/// Conditions of the client's own request, which its validation by the cache must not carry: they are about what the
/// client has, not about what is stored.
const CONDITIONS: [&[u8]; 6] = [
    b"if-match",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"if-unmodified-since",
    b"range",
];

/// Whether a field of the client's request is left out of the validation that it causes.
#[must_use]
pub fn is_replaced(name: &[u8]) -> bool {
    CONDITIONS
        .iter()
        .any(|condition| name.eq_ignore_ascii_case(condition))
}

/// The conditions that ask whether a stored response still holds (section 4.3.1). None: it has no validators, and the
/// request is sent without conditions.
#[must_use]
pub fn conditions(stored: Fields<'_>) -> FieldsBuffer {
    let pairs = [
        (&b"If-None-Match"[..], &b"etag"[..]),
        (b"If-Modified-Since", b"last-modified"),
    ];
    pairs
        .into_iter()
        .filter_map(|(condition, validator)| Some((condition, stored.first(validator)?)))
        .collect()
}

/// Fields that say how the stored bytes are made: those of a 304 are not theirs (section 3.2).
const OF_THE_BYTES: [&[u8]; 3] = [b"content-encoding", b"content-length", b"content-range"];

/// What a 304 makes of the stored response that was asked about (section 4.3.4): its fields, and its freshness from now on.
///
/// `None`: the 304 is about another response, by its entity tag; then the stored one is of no use for this request, which
/// has to be sent again without conditions.
#[must_use]
pub fn freshen(
    status: u16,
    stored: Fields<'_>,
    not_modified: Fields<'_>,
    set_cookie: SetCookie,
    times: Exchanged,
) -> Option<(FieldsBuffer, Freshness)> {
    let tag = |fields: Fields<'_>, other: Fields<'_>| -> bool {
        match (fields.first(b"etag"), other.first(b"etag")) {
            (Some(one), Some(other)) => EntityTag::of(one).weakly_equals(EntityTag::of(other)),
            _ => true,
        }
    };
    if !tag(stored, not_modified) {
        return None;
    }
    let (directives, _) = targeted::response_directives(not_modified);
    let is_new = |name: &[u8]| {
        is_stored(name, not_modified, &directives, set_cookie)
            && !OF_THE_BYTES
                .iter()
                .any(|other| name.eq_ignore_ascii_case(other))
    };
    let mut fields: FieldsBuffer = stored
        .iter()
        .filter(|(name, _)| !(not_modified.has(name) && is_new(name)))
        .chain(not_modified.iter().filter(|(name, _)| is_new(name)))
        .collect();
    fields.shrink();
    // The age is the validation's own, and no stored response has one.
    let aged: FieldsBuffer = fields
        .fields()
        .iter()
        .chain(
            not_modified
                .iter()
                .filter(|(name, _)| name.eq_ignore_ascii_case(b"age")),
        )
        .collect();
    let (directives, field): (ResponseDirectives<'_>, _) =
        targeted::response_directives(aged.fields());
    let is_targeted = field.is_some();
    let freshness = Freshness::of_response(status, aged.fields(), &directives, is_targeted, times);
    Some((fields, freshness))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    const NOW: Time = Time(1_800_000_000_000);

    fn freshened(stored: &str, not_modified: &str) -> Option<(Vec<String>, u64)> {
        let (stored, not_modified) = (FieldsBuffer::from(stored), FieldsBuffer::from(not_modified));
        let times = Exchanged {
            requested: NOW,
            responded: NOW,
        };
        let (fields, freshness) = freshen(
            200,
            stored.fields(),
            not_modified.fields(),
            SetCookie::Refuse,
            times,
        )?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = fields
            .fields()
            .iter()
            .map(|(name, value)| format!("{}: {}", text(name), text(value)))
            .collect();
        Some((fields, freshness.fresh_for(NOW).as_secs()))
    }

    #[test]
    fn fields_of_a_304_replace_those_that_were_stored_but_not_those_of_the_bytes() {
        let stored = "ETag: \"a\"\nX: 1\nX: 2\nY: 3\nCache-Control: max-age=1\nContent-Length: 5\nContent-Encoding: br";
        let not_modified = "etag: \"a\"\nX: 9\nCache-Control: max-age=60\nAge: 20\nContent-Length: 0\n\
                            Content-Encoding: gzip\nConnection: Z\nZ: 1\nSet-Cookie: a=b";
        let (fields, fresh_for) = freshened(stored, not_modified).unwrap();
        assert_eq!(
            fields,
            [
                "Y: 3",
                "Content-Length: 5",
                "Content-Encoding: br",
                "etag: \"a\"",
                "X: 9",
                "Cache-Control: max-age=60"
            ]
        );
        assert_eq!(fresh_for, 40);
    }

    #[test]
    fn a_304_for_another_tag_says_nothing_of_the_stored_response() {
        assert_eq!(freshened("ETag: \"a\"", "ETag: \"b\""), None);
        assert!(freshened("ETag: W/\"a\"", "ETag: \"a\"").is_some());
        assert!(freshened("ETag: \"a\"", "").is_some());
        assert!(freshened("Last-Modified: x", "ETag: \"a\"").is_some());
    }

    #[test]
    fn a_validation_asks_by_what_is_stored() {
        let stored = FieldsBuffer::from("ETag: W/\"a\"\nLast-Modified: then\nX: 1");
        let conditions = conditions(stored.fields());
        let expected = FieldsBuffer::from("If-None-Match: W/\"a\"\nIf-Modified-Since: then");
        assert_eq!(conditions, expected);
        assert!(is_replaced(b"if-NONE-match") && is_replaced(b"Range"));
        assert!(!is_replaced(b"accept"));
    }
}
