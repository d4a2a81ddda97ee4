//! How old a stored response is and how long it stays fresh (RFC 9111, section 4.2; RFC 5861).

use std::time::Duration;

use crate::cache_control::{RequestDirectives, ResponseDirectives, Scope};
use crate::status;
use crate::time::Time;
use portico_http::semantics::Fields;
use portico_http::semantics::field_value;
use portico_http::semantics::http_date;

/// The share of the time since its last change that a response without a lifetime of its own stays fresh
/// (RFC 9111, section 4.2.2, names this share).
const HEURISTIC_SHARE: i64 = 10;

/// The longest lifetime that is only assumed: a day.
const HEURISTIC_MAXIMUM: i64 = 24 * 60 * 60;

/// For how long behind its lifetime a response that does not forbid it is used while there is no application
/// (RFC 9111, section 4.2.4, allows it to a cache that is disconnected and names no bound).
const STALE_WHILE_ABSENT: Duration = Duration::from_secs(60);

/// What is known of a response's age and lifetime when it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When the response came.
    response_time: Time,
    /// How old it was then (`corrected_initial_age`).
    initial_age: Duration,
    /// How old it may become and be used without validation.
    lifetime: Duration,
    /// For how long behind its lifetime it may be used while it is validated (RFC 5861, section 3).
    stale_while_revalidate: Duration,
    /// For how long behind its lifetime it may be used where validation fails (RFC 5861, section 4).
    stale_if_error: Option<Duration>,
    /// For how long behind its lifetime it may be used where no application answers.
    stale_while_absent: Duration,
    /// It is validated for each use (`no-cache`).
    is_always_validated: bool,
    /// It is never used stale (`must-revalidate`, `proxy-revalidate`, `s-maxage`).
    is_never_stale: bool,
}

/// When a request went to the application, and when the head of its response came.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged {
    /// When the request went.
    pub requested: Time,
    /// When the response's head came.
    pub responded: Time,
}

impl Freshness {
    /// As the response itself says it (RFC 9111, section 4.2.1 and 4.2.3). What says nothing and can't be assumed to be
    /// fresh has a lifetime of 0.
    #[must_use]
    pub fn of_response(
        status: u16,
        response: Fields<'_>,
        directives: &ResponseDirectives<'_>,
        is_targeted: bool,
        times: Exchanged,
    ) -> Self {
        let now = times.responded;
        let date = response
            .first(b"date")
            .and_then(|value| http_date::parse(value, now.seconds()))
            .unwrap_or(now.seconds());
        let expires = response
            .first(b"expires")
            .filter(|_| !is_targeted)
            .map(|value| {
                http_date::parse(value, now.seconds()).map_or(0, |expires| expires - date)
            });
        let explicit = directives
            .s_maxage
            .or(directives.max_age)
            .map(i64::from)
            .or(expires);
        let lifetime = explicit.unwrap_or_else(|| {
            let is_assumed = status::is_heuristically_cacheable(status) || directives.public;
            let modified = response
                .first(b"last-modified")
                .filter(|_| is_assumed)
                .and_then(|value| http_date::parse(value, now.seconds()));
            modified.map_or(0, |modified| {
                ((date - modified) / HEURISTIC_SHARE).min(HEURISTIC_MAXIMUM)
            })
        });
        Self {
            response_time: now,
            initial_age: initial_age(response, date, times),
            lifetime: seconds(lifetime),
            stale_while_revalidate: of_seconds(directives.stale_while_revalidate.unwrap_or(0)),
            stale_if_error: directives.stale_if_error.map(of_seconds),
            stale_while_absent: STALE_WHILE_ABSENT,
            is_always_validated: directives.no_cache == Scope::Response,
            is_never_stale: directives.must_revalidate
                || directives.proxy_revalidate
                || directives.s_maxage.is_some(),
        }
    }

    /// As the application's call or the site's rule says it: from now on for `lifetime`, whatever the response says.
    #[must_use]
    pub const fn for_lifetime(lifetime: Duration, now: Time) -> Self {
        Self {
            response_time: now,
            initial_age: Duration::ZERO,
            lifetime,
            stale_while_revalidate: Duration::ZERO,
            stale_if_error: None,
            stale_while_absent: Duration::ZERO,
            is_always_validated: false,
            is_never_stale: false,
        }
    }

    /// The same, usable behind its lifetime as the response's directives say.
    #[must_use]
    pub fn with_stale(self, directives: &ResponseDirectives<'_>) -> Self {
        Self {
            stale_while_revalidate: of_seconds(directives.stale_while_revalidate.unwrap_or(0)),
            stale_if_error: directives.stale_if_error.map(of_seconds),
            is_never_stale: directives.must_revalidate || directives.proxy_revalidate,
            ..self
        }
    }

    /// The response's age (`current_age`), as its `Age` field says it in whole seconds.
    #[must_use]
    pub const fn age(&self, now: Time) -> Duration {
        self.initial_age
            .saturating_add(now.since(self.response_time))
    }

    /// For how long it is still fresh; nothing, if it is stale.
    #[must_use]
    pub const fn fresh_for(&self, now: Time) -> Duration {
        self.lifetime.saturating_sub(self.age(now))
    }

    /// For how long it has been stale; nothing, if it is fresh.
    #[must_use]
    pub const fn stale_for(&self, now: Time) -> Duration {
        self.age(now).saturating_sub(self.lifetime)
    }

    /// Whether it may be used without validation, as far as it itself is concerned.
    #[must_use]
    pub fn is_fresh(&self, now: Time) -> bool {
        !self.is_always_validated && self.age(now) < self.lifetime
    }

    /// Whether it can ever be used without its validators: a response that cannot, and has none, need not be stored.
    #[must_use]
    pub fn is_usable_alone(&self) -> bool {
        !self.is_always_validated
            && (self.initial_age < self.lifetime + self.stale_while_revalidate
                || self
                    .stale_if_error
                    .is_some_and(|duration| !duration.is_zero()))
    }

    /// When it is of no more use without validation, not even stale.
    #[must_use]
    pub fn useful_until(&self) -> Time {
        // One that is never used stale stays as long: who can't have it is told so (504).
        let extra = self
            .stale_while_revalidate
            .max(self.stale_if_error.unwrap_or_default())
            .max(self.stale_while_absent);
        let useful = self.lifetime.saturating_add(extra);
        let left = useful.saturating_sub(self.initial_age);
        let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Time(self.response_time.0.saturating_add(left))
    }

    /// Whether a request may have it (RFC 9111, section 4).
    #[must_use]
    pub fn reuse(&self, request: &RequestDirectives, now: Time) -> Reuse {
        let age = self.age(now);
        let is_young_enough = request
            .max_age
            .is_none_or(|seconds| age <= of_seconds(seconds));
        let stays_fresh = request
            .min_fresh
            .is_none_or(|seconds| self.fresh_for(now) >= of_seconds(seconds));
        if self.is_always_validated || request.no_cache || !stays_fresh || !is_young_enough {
            return Reuse::AfterValidation;
        }
        if self.is_fresh(now) {
            return Reuse::AtOnce;
        }
        if self.is_never_stale {
            return Reuse::AfterValidation;
        }
        let stale_for = self.stale_for(now);
        if request
            .max_stale
            .is_some_and(|seconds| stale_for <= of_seconds(seconds))
        {
            return Reuse::AtOnce;
        }
        if !self.stale_while_revalidate.is_zero() && stale_for <= self.stale_while_revalidate {
            return Reuse::WhileValidating;
        }
        Reuse::AfterValidation
    }

    /// Whether it is validated for each use.
    #[must_use]
    pub const fn is_always_validated(&self) -> bool {
        self.is_always_validated
    }

    /// Whether a request may have it where the application failed to answer (RFC 5861, section 4; RFC 9111,
    /// section 4.2.4).
    #[must_use]
    pub fn may_stand_in(&self, request: &RequestDirectives, failure: Failure, now: Time) -> bool {
        let allowed = self
            .stale_if_error
            .max(request.stale_if_error.map(of_seconds));
        let allowed = match failure {
            Failure::Status => allowed,
            Failure::Absent if self.stale_while_absent.is_zero() => allowed,
            Failure::Absent => allowed.max(Some(self.stale_while_absent)),
        };
        !self.is_always_validated
            && !self.is_never_stale
            && allowed.is_some_and(|allowed| self.stale_for(now) <= allowed)
    }
}

/// How an application failed to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It answered with 500, 502, 503 or 504.
    Status,
    /// It gave no answer: there is none, it is gone, closed the connection or took too long.
    Absent,
}

/// What a request gets of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It, now.
    AtOnce,
    /// It, now, although it is stale; and the application is asked for a new one.
    WhileValidating,
    /// The application is asked first. A request with `only-if-cached` gets 504.
    AfterValidation,
}

/// RFC 9111, section 4.2.3. An `Age` that is no number is as if it were not there; of a list the first counts.
fn initial_age(response: Fields<'_>, date: i64, times: Exchanged) -> Duration {
    let apparent = seconds(times.responded.seconds() - date);
    let age = response
        .first(b"age")
        .and_then(|value| field_value::list(value).next())
        .and_then(field_value::seconds)
        .map_or(Duration::ZERO, of_seconds);
    let delay = times.responded.since(times.requested);
    apparent.max(age.saturating_add(delay))
}

fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or(0))
}

const fn of_seconds(number: u32) -> Duration {
    Duration::from_secs(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_http::semantics::FieldsBuffer;

    const NOW: Time = Time(1_800_000_000_000); // Fri, 15 Jan 2027 08:00:00 GMT

    fn after(seconds: u64) -> Time {
        Time(NOW.0 + seconds * 1000)
    }

    fn freshness(status: u16, text: &str) -> Freshness {
        let buffer = FieldsBuffer::from(text);
        let directives = ResponseDirectives::read(buffer.fields());
        let times = Exchanged {
            requested: NOW,
            responded: NOW,
        };
        Freshness::of_response(status, buffer.fields(), &directives, false, times)
    }

    fn lifetime(status: u16, text: &str) -> u64 {
        freshness(status, text).fresh_for(NOW).as_secs()
    }

    #[test]
    fn s_maxage_comes_before_max_age_before_expires_before_what_is_assumed() {
        let date = "Date: Fri, 15 Jan 2027 08:00:00 GMT\n";
        let expires = "Expires: Fri, 15 Jan 2027 08:01:00 GMT\n";
        let modified = "Last-Modified: Fri, 15 Jan 2027 07:50:00 GMT\n";
        let all = format!("{date}{expires}{modified}");
        assert_eq!(
            lifetime(200, &format!("{all}Cache-Control: max-age=9, s-maxage=5")),
            5
        );
        assert_eq!(lifetime(200, &format!("{all}Cache-Control: max-age=9")), 9);
        assert_eq!(lifetime(200, &all), 60);
        assert_eq!(lifetime(200, &format!("{date}{modified}")), 60);
        assert_eq!(lifetime(201, &format!("{date}{modified}")), 0);
        assert_eq!(
            lifetime(599, &format!("{date}{modified}Cache-Control: public")),
            60
        );
        assert_eq!(lifetime(200, date), 0);
        assert_eq!(
            lifetime(200, &format!("{date}Expires: 0\n{modified}")),
            0,
            "an Expires that is no date has passed"
        );
        assert_eq!(
            lifetime(200, &format!("Date: foo\n{expires}")),
            60,
            "without a date it is when the response came"
        );
        let years = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\n";
        assert_eq!(lifetime(200, &format!("{date}{years}")), 86_400);
    }

    #[test]
    fn a_response_has_the_age_that_it_came_with_and_what_it_took_to_come() {
        let age = |text: &str| freshness(200, text).age(after(2)).as_secs();
        assert_eq!(age(""), 2);
        assert_eq!(age("Age: 30"), 32);
        assert_eq!(age("Age: 30, 5\nAge: 7"), 32);
        assert_eq!(age("Age: 5\nAge: 30"), 7);
        for none in ["-7200", "abc", "7200.0", "", "7200;a=b"] {
            assert_eq!(age(&format!("Age: {none}")), 2, "{none}");
        }
        assert_eq!(
            age("Date: Fri, 15 Jan 2027 07:59:00 GMT\nAge: 30"),
            62,
            "the older of both"
        );
        let buffer = FieldsBuffer::from("Age: 30");
        let slow = Exchanged {
            requested: NOW,
            responded: after(5),
        };
        let slow = Freshness::of_response(
            200,
            buffer.fields(),
            &ResponseDirectives::default(),
            false,
            slow,
        );
        assert_eq!(slow.age(after(6)).as_secs(), 36);
    }

    #[test]
    fn what_is_fresh_is_used_and_what_is_stale_is_validated() {
        let stored = freshness(200, "Cache-Control: max-age=10");
        let any = RequestDirectives::default();
        assert_eq!(stored.reuse(&any, after(9)), Reuse::AtOnce);
        assert_eq!(stored.reuse(&any, after(10)), Reuse::AfterValidation);
        let no_cache = freshness(200, "Cache-Control: max-age=10, no-cache");
        assert_eq!(no_cache.reuse(&any, NOW), Reuse::AfterValidation);
        let some_fields = freshness(200, "Cache-Control: max-age=10, no-cache=\"a\"");
        assert_eq!(some_fields.reuse(&any, NOW), Reuse::AtOnce);
    }

    #[test]
    fn a_request_can_ask_for_fresher_or_for_staler() {
        let stored = freshness(200, "Cache-Control: max-age=10");
        let never_stale = freshness(200, "Cache-Control: max-age=10, must-revalidate");
        let at = |now: u64, text: &str| {
            let directives = RequestDirectives::read(FieldsBuffer::from(text).fields());
            (
                stored.reuse(&directives, after(now)) == Reuse::AtOnce,
                never_stale.reuse(&directives, after(now)) == Reuse::AtOnce,
            )
        };
        assert_eq!(at(5, "Cache-Control: max-age=5"), (true, true));
        assert_eq!(at(5, "Cache-Control: max-age=4"), (false, false));
        assert_eq!(at(5, "Cache-Control: min-fresh=5"), (true, true));
        assert_eq!(at(5, "Cache-Control: min-fresh=6"), (false, false));
        assert_eq!(at(5, "Cache-Control: no-cache"), (false, false));
        assert_eq!(at(15, "Cache-Control: max-stale=5"), (true, false));
        assert_eq!(at(15, "Cache-Control: max-stale=4"), (false, false));
        assert_eq!(at(15, "Cache-Control: max-stale"), (true, false));
        assert_eq!(
            at(15, "Cache-Control: max-stale, max-age=3"),
            (false, false)
        );
    }

    #[test]
    fn stale_responses_are_used_within_their_windows() {
        let any = RequestDirectives::default();
        let stored = freshness(
            200,
            "Cache-Control: max-age=10, stale-while-revalidate=5, stale-if-error=20",
        );
        assert_eq!(stored.reuse(&any, after(15)), Reuse::WhileValidating);
        assert_eq!(stored.reuse(&any, after(16)), Reuse::AfterValidation);
        assert!(stored.may_stand_in(&any, Failure::Status, after(30)));
        assert!(!stored.may_stand_in(&any, Failure::Status, after(31)));
        assert_eq!(stored.useful_until(), after(70));
        for forbidding in [
            "must-revalidate",
            "proxy-revalidate",
            "s-maxage=10",
            "no-cache",
        ] {
            let text = format!(
                "Cache-Control: max-age=10, stale-while-revalidate=5, stale-if-error=20, {forbidding}"
            );
            let stored = freshness(200, &text);
            assert_eq!(
                stored.reuse(&any, after(11)),
                Reuse::AfterValidation,
                "{forbidding}"
            );
            assert!(
                !stored.may_stand_in(&any, Failure::Absent, after(11)),
                "{forbidding}"
            );
            assert!(stored.useful_until() > after(30), "{forbidding}");
        }
        let plain = freshness(200, "Cache-Control: max-age=10");
        assert!(!plain.may_stand_in(&any, Failure::Status, after(11)));
        assert!(plain.may_stand_in(&any, Failure::Absent, after(70)));
        assert!(!plain.may_stand_in(&any, Failure::Absent, after(71)));
        let for_lifetime = Freshness::for_lifetime(Duration::from_secs(10), NOW);
        assert!(!for_lifetime.may_stand_in(&any, Failure::Absent, after(11)));
        let asked =
            RequestDirectives::read(FieldsBuffer::from("Cache-Control: stale-if-error=1").fields());
        assert!(plain.may_stand_in(&asked, Failure::Status, after(11)));
    }

    #[test]
    fn a_lifetime_that_was_asked_for_counts_from_now_on() {
        let stored = Freshness::for_lifetime(Duration::from_secs(1), NOW);
        assert!(stored.is_fresh(Time(NOW.0 + 999)));
        assert!(!stored.is_fresh(after(1)));
        assert_eq!(stored.useful_until(), after(1));
        assert!(stored.is_usable_alone());
        assert!(!freshness(200, "Cache-Control: max-age=0").is_usable_alone());
    }
}
