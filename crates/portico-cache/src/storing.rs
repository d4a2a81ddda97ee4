//! What may be stored (RFC 9111, section 3).

use std::time::Duration;

use portico_http::Method;

use crate::cache_control::{RequestDirectives, ResponseDirectives, Scope};
use crate::freshness::{Exchanged, Freshness};
pub use crate::stored_fields::{SetCookie, stored_fields};
use crate::{status, targeted};
use portico_http::semantics::Fields;

/// What decides whether and how long a response is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The response itself, by its Cache-Control and Expires.
    Standard,
    /// The handler of the request asked for it (`res.cacheDuration`).
    Asked(Duration),
    /// A rule of the site, or the server's default duration: for answers of the statuses that are cached by default.
    Profile(Duration),
}

/// A request, as far as it decides about storing.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: Method,
    /// Its fields.
    pub fields: Fields<'a>,
    /// Whether it had a body: such a request is not known by its target alone.
    pub has_body: bool,
}

/// A response, as far as it decides about storing.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// Its status, not a 1xx.
    pub status: u16,
    /// Its fields.
    pub fields: Fields<'a>,
}

/// Why a response is not stored. [`NotStored::as_str`] is the `detail` of Cache-Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotStored {
    /// The method is not GET.
    Method,
    /// The request had a body.
    RequestBody,
    /// The request or the response says `no-store`.
    NoStore,
    /// The response is for one user (`private`).
    Private,
    /// The request carried `Authorization`, and the response does not say that others may have it.
    Authorization,
    /// The response sets a cookie.
    SetCookie,
    /// The response is a part (206), or says that nothing changed (304), or its status is not understood.
    Status,
    /// The response can't be told from others (`Vary: *`).
    Vary,
    /// It would never be fresh, and has nothing to be validated by.
    NeverFresh,
}

impl NotStored {
    /// A word for logs and for Cache-Status (RFC 9211, section 2.8).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::RequestBody => "request-body",
            Self::NoStore => "no-store",
            Self::Private => "private",
            Self::Authorization => "authorization",
            Self::SetCookie => "set-cookie",
            Self::Status => "status",
            Self::Vary => "vary",
            Self::NeverFresh => "never-fresh",
        }
    }
}

/// Decides whether a response is stored, and for how long it will be fresh.
///
/// # Errors
/// [`NotStored`]: the first reason that is found.
pub fn decide(
    request: Request<'_>,
    response: Response<'_>,
    rule: Rule,
    set_cookie: SetCookie,
    times: Exchanged,
) -> Result<Freshness, NotStored> {
    if request.method != Method::Get {
        return Err(NotStored::Method);
    }
    if request.has_body {
        return Err(NotStored::RequestBody);
    }
    let (directives, targeted) = targeted::response_directives(response.fields);
    refuse(&request, &response, &directives, rule)?;
    if set_cookie == SetCookie::Refuse && has_cookie(response.fields) {
        return Err(NotStored::SetCookie);
    }
    let freshness = match rule {
        Rule::Standard => Freshness::of_response(
            response.status,
            response.fields,
            &directives,
            targeted.is_some(),
            times,
        ),
        Rule::Asked(lifetime) | Rule::Profile(lifetime) => {
            Freshness::for_lifetime(lifetime, times.responded).with_stale(&directives)
        }
    };
    let has_validator = response.fields.has(b"etag") || response.fields.has(b"last-modified");
    let can_be_validated = rule == Rule::Standard && has_validator;
    if freshness.is_usable_alone() || can_be_validated {
        Ok(freshness)
    } else {
        Err(NotStored::NeverFresh)
    }
}

fn refuse(
    request: &Request<'_>,
    response: &Response<'_>,
    directives: &ResponseDirectives<'_>,
    rule: Rule,
) -> Result<(), NotStored> {
    let Response { status, fields } = *response;
    if matches!(status, 0..=199 | 206 | 304) {
        return Err(NotStored::Status);
    }
    if directives.must_understand && !status::is_understood(status) {
        return Err(NotStored::Status);
    }
    if matches!(rule, Rule::Profile(_)) && !status::is_heuristically_cacheable(status) {
        return Err(NotStored::Status);
    }
    let is_forbidden = directives.no_store && !directives.must_understand;
    if is_forbidden || RequestDirectives::read(request.fields).no_store {
        return Err(NotStored::NoStore);
    }
    if directives.private == Scope::Response {
        return Err(NotStored::Private);
    }
    let is_for_others = rule == Rule::Standard
        && (directives.public || directives.must_revalidate || directives.s_maxage.is_some());
    if request.fields.has(b"authorization") && !is_for_others {
        return Err(NotStored::Authorization);
    }
    if fields.list(b"vary").any(|name| name == b"*") {
        return Err(NotStored::Vary);
    }
    let is_explicit = directives.s_maxage.is_some()
        || directives.max_age.is_some()
        || directives.public
        || fields.has(b"expires");
    let is_assumed = status::is_heuristically_cacheable(status);
    if rule == Rule::Standard && !is_explicit && !is_assumed {
        return Err(NotStored::Status);
    }
    Ok(())
}

fn has_cookie(response: Fields<'_>) -> bool {
    response.has(b"set-cookie") || response.has(b"set-cookie2")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use portico_http::semantics::FieldsBuffer;

    const NOW: Time = Time(1_800_000_000_000);

    fn decide_rule(rule: Rule, asked: &str, status: u16, answered: &str) -> Result<u64, NotStored> {
        let (asked, answered) = (FieldsBuffer::from(asked), FieldsBuffer::from(answered));
        let request = Request {
            method: Method::Get,
            fields: asked.fields(),
            has_body: false,
        };
        let response = Response {
            status,
            fields: answered.fields(),
        };
        let times = Exchanged {
            requested: NOW,
            responded: NOW,
        };
        decide(request, response, rule, SetCookie::Refuse, times)
            .map(|freshness| freshness.fresh_for(NOW).as_secs())
    }

    fn standard(asked: &str, status: u16, answered: &str) -> Result<u64, NotStored> {
        decide_rule(Rule::Standard, asked, status, answered)
    }

    #[test]
    fn what_says_that_it_may_be_stored_is_stored() {
        let fresh = "Cache-Control: max-age=9";
        for status in [200, 204, 299, 301, 302, 404, 410, 499, 500, 503, 599] {
            assert_eq!(standard("", status, fresh), Ok(9), "{status}");
        }
        assert_eq!(standard("Cookie: a=b", 200, fresh), Ok(9));
        assert_eq!(
            standard("", 200, "ETag: \"a\""),
            Ok(0),
            "it can be validated"
        );
        assert_eq!(
            standard("", 200, "Cache-Control: no-cache\nETag: \"a\""),
            Ok(0)
        );
    }

    #[test]
    fn what_must_not_be_stored_has_its_reason() {
        let fresh = "Cache-Control: max-age=9";
        let with = |more: &str| format!("{fresh}, {more}");
        let cases: [(&str, u16, String, NotStored); 14] = [
            ("", 200, with("no-store"), NotStored::NoStore),
            ("", 200, with("No-StOrE"), NotStored::NoStore),
            (
                "Cache-Control: no-store",
                200,
                with("x"),
                NotStored::NoStore,
            ),
            ("", 200, with("private"), NotStored::Private),
            (
                "Authorization: a",
                200,
                fresh.into(),
                NotStored::Authorization,
            ),
            (
                "",
                200,
                format!("{fresh}\nSet-Cookie: a=b"),
                NotStored::SetCookie,
            ),
            ("", 200, format!("{fresh}\nVary: a, *"), NotStored::Vary),
            ("", 206, fresh.into(), NotStored::Status),
            ("", 304, fresh.into(), NotStored::Status),
            (
                "",
                599,
                with("must-understand, no-store"),
                NotStored::Status,
            ),
            ("", 201, "ETag: \"a\"".into(), NotStored::Status),
            ("", 200, String::new(), NotStored::NeverFresh),
            (
                "",
                200,
                "Cache-Control: max-age=0".into(),
                NotStored::NeverFresh,
            ),
            (
                "",
                200,
                "Cache-Control: no-cache".into(),
                NotStored::NeverFresh,
            ),
        ];
        for (asked, status, answered, reason) in cases {
            assert_eq!(
                standard(asked, status, &answered),
                Err(reason),
                "{asked} {status} {answered}"
            );
        }
    }

    #[test]
    fn authorization_needs_a_word_that_others_may_have_it() {
        for word in ["public", "must-revalidate", "s-maxage=9"] {
            let answered = format!("Cache-Control: max-age=9, {word}");
            assert_eq!(standard("Authorization: a", 200, &answered), Ok(9));
            let asked = Rule::Asked(Duration::from_secs(1));
            assert_eq!(
                decide_rule(asked, "Authorization: a", 200, &answered),
                Err(NotStored::Authorization)
            );
        }
    }

    #[test]
    fn a_status_that_is_understood_outweighs_no_store_beside_must_understand() {
        let answered = "Cache-Control: max-age=9, no-store, must-understand";
        assert_eq!(standard("", 200, answered), Ok(9));
    }

    #[test]
    fn a_duration_that_was_asked_for_counts_whatever_the_response_says_of_its_lifetime() {
        let asked = Rule::Asked(Duration::from_secs(1));
        let profile = Rule::Profile(Duration::from_secs(1));
        for rule in [asked, profile] {
            assert_eq!(decide_rule(rule, "", 200, ""), Ok(1));
            assert_eq!(
                decide_rule(rule, "", 200, "Cache-Control: max-age=0\nExpires: 0"),
                Ok(1)
            );
            for (answered, reason) in [
                ("Cache-Control: no-store", NotStored::NoStore),
                ("Cache-Control: private", NotStored::Private),
                ("Set-Cookie: a=b", NotStored::SetCookie),
                ("Vary: *", NotStored::Vary),
            ] {
                assert_eq!(decide_rule(rule, "", 200, answered), Err(reason));
            }
        }
        assert_eq!(decide_rule(asked, "", 500, ""), Ok(1));
        assert_eq!(decide_rule(profile, "", 500, ""), Err(NotStored::Status));
        assert_eq!(
            decide_rule(Rule::Asked(Duration::ZERO), "", 200, "ETag: \"a\""),
            Err(NotStored::NeverFresh)
        );
    }

    #[test]
    fn only_requests_known_by_their_target_are_stored() {
        let answered = FieldsBuffer::from("Cache-Control: max-age=9");
        let response = Response {
            status: 200,
            fields: answered.fields(),
        };
        let times = Exchanged {
            requested: NOW,
            responded: NOW,
        };
        let asked = FieldsBuffer::default();
        for (method, has_body, reason) in [
            (Method::Post, false, NotStored::Method),
            (Method::Head, false, NotStored::Method),
            (Method::Get, true, NotStored::RequestBody),
        ] {
            let request = Request {
                method,
                fields: asked.fields(),
                has_body,
            };
            let decided = decide(request, response, Rule::Standard, SetCookie::Keep, times);
            assert_eq!(decided, Err(reason));
        }
    }
}
