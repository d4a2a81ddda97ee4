//! Conditions of a request on the state of what it asks for (RFC 9110, section 13).

use super::{EntityTag, Fields, Method, http_date};

/// What a representation is told from others by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validators<'a> {
    /// Its entity tag.
    pub entity_tag: Option<EntityTag<'a>>,
    /// When it last changed, in seconds since 1970.
    pub last_modified: Option<i64>,
    /// When it was sent by its origin, in seconds since 1970.
    pub date: Option<i64>,
}

impl<'a> Validators<'a> {
    /// Those of a response; `now` in seconds since 1970.
    #[must_use]
    pub fn of_response(response: Fields<'a>, now: i64) -> Self {
        let date = |name: &[u8]| {
            let value = response.first(name)?;
            http_date::parse(value, now)
        };
        Self {
            entity_tag: response.first(b"etag").map(EntityTag::of),
            last_modified: date(b"last-modified"),
            date: date(b"date"),
        }
    }
}

/// What the conditions come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The request is answered as if it had none.
    Met,
    /// The client has it already: 304.
    NotModified,
    /// 412.
    Failed,
}

/// Evaluates all conditions but `If-Range` in their order (section 13.2.2) against a representation that exists, for a
/// request that would be answered with a success. `now` in seconds since 1970.
#[must_use]
pub fn evaluate(
    method: Method,
    request: Fields<'_>,
    current: &Validators<'_>,
    now: i64,
) -> Outcome {
    let is_read = matches!(method, Method::Get | Method::Head);
    let date = |name: &[u8]| {
        let mut values = request.values(name);
        let value = values.next()?;
        let is_one = values.next().is_none();
        is_one.then(|| http_date::parse(value, now))?
    };
    if request.has(b"if-match") {
        let is_current = |tag: EntityTag<'_>| {
            let current = current.entity_tag;
            current.is_some_and(|current| current.strongly_equals(tag))
        };
        if !has_current(request, b"if-match", is_current) {
            return Outcome::Failed;
        }
    } else if let Some(last_modified) = current.last_modified
        && date(b"if-unmodified-since").is_some_and(|date| last_modified > date)
    {
        return Outcome::Failed;
    }
    if request.has(b"if-none-match") {
        let is_current = |tag: EntityTag<'_>| {
            let current = current.entity_tag;
            current.is_some_and(|current| current.weakly_equals(tag))
        };
        if has_current(request, b"if-none-match", is_current) {
            return if is_read {
                Outcome::NotModified
            } else {
                Outcome::Failed
            };
        }
    } else if is_read
        && let Some(last_modified) = current.last_modified.or(current.date)
        && date(b"if-modified-since").is_some_and(|date| last_modified <= date)
    {
        return Outcome::NotModified;
    }
    Outcome::Met
}

/// Whether a request for a part may have it of this representation: it names no other by `If-Range` (section 13.1.5).
#[must_use]
pub fn is_range_of_current(request: Fields<'_>, current: &Validators<'_>, now: i64) -> bool {
    let Some(value) = request.first(b"if-range") else {
        return true;
    };
    if value.starts_with(b"\"") || value.starts_with(b"W/") {
        return current
            .entity_tag
            .is_some_and(|tag| tag.strongly_equals(EntityTag::of(value)));
    }
    // A date is a strong validator only if it is older than the answer by a second or more (section 8.8.2.2).
    let is_strong = |modified: i64| current.date.is_some_and(|date| date > modified);
    current.last_modified.is_some_and(|modified| {
        is_strong(modified) && http_date::parse(value, now) == Some(modified)
    })
}

/// Whether a list of tags has `*`, or one that is equal to the current one.
fn has_current(request: Fields<'_>, name: &[u8], is_equal: impl Fn(EntityTag<'_>) -> bool) -> bool {
    let mut elements = request.list(name);
    elements.any(|element| element == b"*" || is_equal(EntityTag::of(element)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::FieldsBuffer;

    const NOW: i64 = 1_800_000_000; // Fri, 15 Jan 2027 08:00:00 GMT
    const OLD: &str = "Fri, 15 Jan 2027 07:00:00 GMT";
    const CHANGED: &str = "Fri, 15 Jan 2027 07:30:00 GMT";
    const NEW: &str = "Fri, 15 Jan 2027 07:40:00 GMT";

    fn current(text: &str) -> FieldsBuffer {
        FieldsBuffer::from(text)
    }

    fn outcome(method: Method, request: &str) -> Outcome {
        let response = current(&format!("ETag: \"a\"\nLast-Modified: {CHANGED}"));
        let validators = Validators::of_response(response.fields(), NOW);
        let request = FieldsBuffer::from(request);
        evaluate(method, request.fields(), &validators, NOW)
    }

    #[test]
    fn conditions_are_taken_in_their_order() {
        let get = |request: &str| outcome(Method::Get, request);
        assert_eq!(get(""), Outcome::Met);
        assert_eq!(get("If-None-Match: \"a\""), Outcome::NotModified);
        assert_eq!(get("If-None-Match: \"b\", W/\"a\""), Outcome::NotModified);
        assert_eq!(get("If-None-Match: *"), Outcome::NotModified);
        assert_eq!(get("If-None-Match: \"b\""), Outcome::Met);
        assert_eq!(
            get(&format!("If-None-Match: \"b\"\nIf-Modified-Since: {NEW}")),
            Outcome::Met,
            "tags come before dates"
        );
        assert_eq!(
            get(&format!("If-Modified-Since: {NEW}")),
            Outcome::NotModified
        );
        assert_eq!(
            get(&format!("If-Modified-Since: {CHANGED}")),
            Outcome::NotModified
        );
        assert_eq!(get(&format!("If-Modified-Since: {OLD}")), Outcome::Met);
        assert_eq!(get("If-Modified-Since: yesterday"), Outcome::Met);
        assert_eq!(get("If-Match: \"a\""), Outcome::Met);
        assert_eq!(get("If-Match: *"), Outcome::Met);
        assert_eq!(get("If-Match: W/\"a\""), Outcome::Failed);
        assert_eq!(get("If-Match: \"b\""), Outcome::Failed);
        assert_eq!(get(&format!("If-Unmodified-Since: {OLD}")), Outcome::Failed);
        assert_eq!(get(&format!("If-Unmodified-Since: {NEW}")), Outcome::Met);
        assert_eq!(
            get("If-Match: \"a\"\nIf-None-Match: \"a\""),
            Outcome::NotModified
        );
    }

    #[test]
    fn a_condition_on_a_change_fails_and_is_not_told_as_unmodified() {
        let put = |request: &str| outcome(Method::Put, request);
        assert_eq!(put("If-None-Match: *"), Outcome::Failed);
        assert_eq!(put("If-None-Match: \"b\""), Outcome::Met);
        assert_eq!(put(&format!("If-Modified-Since: {NEW}")), Outcome::Met);
    }

    #[test]
    fn a_response_without_a_date_of_change_is_as_old_as_its_own_date() {
        let response = current(&format!("Date: {CHANGED}"));
        let validators = Validators::of_response(response.fields(), NOW);
        let request = FieldsBuffer::from(format!("If-Modified-Since: {NEW}").as_str());
        let outcome = evaluate(Method::Get, request.fields(), &validators, NOW);
        assert_eq!(outcome, Outcome::NotModified);
    }

    #[test]
    fn a_range_is_of_the_representation_that_it_names_strongly() {
        let of = |response: &str, request: &str| {
            let (response, request) = (current(response), FieldsBuffer::from(request));
            let validators = Validators::of_response(response.fields(), NOW);
            is_range_of_current(request.fields(), &validators, NOW)
        };
        assert!(of("", ""));
        assert!(of("ETag: \"a\"", "If-Range: \"a\""));
        assert!(!of("ETag: \"a\"", "If-Range: \"b\""));
        assert!(!of("ETag: W/\"a\"", "If-Range: W/\"a\""));
        assert!(!of("", "If-Range: \"a\""));
        let dated = format!("Last-Modified: {CHANGED}\nDate: {NEW}");
        assert!(of(&dated, &format!("If-Range: {CHANGED}")));
        assert!(!of(&dated, &format!("If-Range: {NEW}")));
        let same = format!("Last-Modified: {CHANGED}\nDate: {CHANGED}");
        assert!(!of(&same, &format!("If-Range: {CHANGED}")));
    }
}
