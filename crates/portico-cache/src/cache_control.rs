//! The directives of Cache-Control (RFC 9111, section 5.2; RFC 5861), of requests and of responses.

use portico_http::semantics::field_value::{self, Directive};

use portico_http::semantics::Fields;

/// What a response's directives say to a shared cache.
///
/// Of a directive that comes more than once the first counts; a number of seconds that is none counts as 0
/// (RFC 9111, section 4.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseDirectives<'a> {
    /// `max-age`, in seconds.
    pub max_age: Option<u32>,
    /// `s-maxage`, in seconds.
    pub s_maxage: Option<u32>,
    /// `stale-while-revalidate`, in seconds (RFC 5861, section 3).
    pub stale_while_revalidate: Option<u32>,
    /// `stale-if-error`, in seconds (RFC 5861, section 4).
    pub stale_if_error: Option<u32>,
    /// `no-cache`.
    pub no_cache: Scope<'a>,
    /// `private`.
    pub private: Scope<'a>,
    /// `no-store`.
    pub no_store: bool,
    /// `public`.
    pub public: bool,
    /// `must-revalidate`.
    pub must_revalidate: bool,
    /// `proxy-revalidate`.
    pub proxy_revalidate: bool,
    /// `must-understand`.
    pub must_understand: bool,
    /// `no-transform`.
    pub no_transform: bool,
}

/// What `no-cache` or `private` is said of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// The whole response.
    Response,
    /// The fields in this list of names (RFC 9111, sections 5.2.2.4 and 5.2.2.7).
    Fields(&'a [u8]),
}

impl<'a> Scope<'a> {
    fn of(argument: Option<&'a [u8]>) -> Self {
        match argument {
            Some(names) if field_value::list(names).next().is_some() => Self::Fields(names),
            _ => Self::Response,
        }
    }

    /// Both: the whole response, if one of them is said of it. Of two lists the first counts alone, unless there is
    /// room for both in none: then it is the whole response, which is on the safe side.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, scope) | (scope, Self::Nothing) => scope,
            _ => Self::Response,
        }
    }

    /// Whether it is said of the field of this name, and not of the whole response.
    #[must_use]
    pub fn names(self, name: &[u8]) -> bool {
        match self {
            Self::Fields(names) => {
                field_value::list(names).any(|listed| listed.eq_ignore_ascii_case(name))
            }
            Self::Nothing | Self::Response => false,
        }
    }
}

impl<'a> ResponseDirectives<'a> {
    /// The directives of all `Cache-Control` fields.
    #[must_use]
    pub fn read(response: Fields<'a>) -> Self {
        let mut directives = Self::default();
        for element in response.list(b"cache-control") {
            directives.learn(Directive::of(element));
        }
        directives
    }

    pub(crate) fn learn(&mut self, directive: Directive<'a>) {
        let seconds = || Some(directive.seconds().unwrap_or(0));
        let learn_seconds = |known: &mut Option<u32>| *known = known.or_else(seconds);
        match () {
            () if directive.is("max-age") => learn_seconds(&mut self.max_age),
            () if directive.is("s-maxage") => learn_seconds(&mut self.s_maxage),
            () if directive.is("stale-while-revalidate") => {
                learn_seconds(&mut self.stale_while_revalidate);
            }
            () if directive.is("stale-if-error") => learn_seconds(&mut self.stale_if_error),
            () if directive.is("no-cache") => {
                self.no_cache = self.no_cache.with(Scope::of(directive.argument));
            }
            () if directive.is("private") => {
                self.private = self.private.with(Scope::of(directive.argument));
            }
            () if directive.is("no-store") => self.no_store = true,
            () if directive.is("public") => self.public = true,
            () if directive.is("must-revalidate") => self.must_revalidate = true,
            () if directive.is("proxy-revalidate") => self.proxy_revalidate = true,
            () if directive.is("must-understand") => self.must_understand = true,
            () if directive.is("no-transform") => self.no_transform = true,
            () => {}
        }
    }
}

/// What a request's directives ask of a cache (RFC 9111, section 5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// `max-age`, in seconds.
    pub max_age: Option<u32>,
    /// `min-fresh`, in seconds.
    pub min_fresh: Option<u32>,
    /// `max-stale`, in seconds; the largest number, if it has no argument.
    pub max_stale: Option<u32>,
    /// `stale-if-error`, in seconds.
    pub stale_if_error: Option<u32>,
    /// `no-cache`, or `Pragma: no-cache` without any Cache-Control (section 5.4).
    pub no_cache: bool,
    /// `no-store`.
    pub no_store: bool,
    /// `only-if-cached`.
    pub only_if_cached: bool,
}

impl RequestDirectives {
    /// The directives of a request. A number of seconds that is none is as if it had not been said, except for
    /// `max-age`, where it counts as 0.
    #[must_use]
    pub fn read(request: Fields<'_>) -> Self {
        let mut directives = Self::default();
        for element in request.list(b"cache-control") {
            let directive = Directive::of(element);
            match () {
                () if directive.is("max-age") => {
                    directives.max_age = Some(directive.seconds().unwrap_or(0));
                }
                () if directive.is("min-fresh") => directives.min_fresh = directive.seconds(),
                () if directive.is("max-stale") && directive.argument.is_none() => {
                    directives.max_stale = Some(u32::MAX);
                }
                () if directive.is("max-stale") => directives.max_stale = directive.seconds(),
                () if directive.is("stale-if-error") => {
                    directives.stale_if_error = directive.seconds();
                }
                () if directive.is("no-cache") => directives.no_cache = true,
                () if directive.is("no-store") => directives.no_store = true,
                () if directive.is("only-if-cached") => directives.only_if_cached = true,
                () => {}
            }
        }
        if !request.has(b"cache-control") {
            directives.no_cache = request
                .list(b"pragma")
                .any(|element| Directive::of(element).is("no-cache"));
        }
        directives
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_http::semantics::FieldsBuffer;

    #[test]
    fn of_two_directives_the_first_counts_and_no_number_is_zero() {
        let read = |text: &str| {
            let buffer = FieldsBuffer::from(text);
            let directives = ResponseDirectives::read(buffer.fields());
            (directives.max_age, directives.s_maxage)
        };
        assert_eq!(read("Cache-Control: max-age=5, max-age=1"), (Some(5), None));
        assert_eq!(
            read("Cache-Control: max-age=1\nCache-Control: max-age=5"),
            (Some(1), None)
        );
        assert_eq!(read("Cache-Control: max-age='5'"), (Some(0), None));
        assert_eq!(read("Cache-Control: max-age=\"5\""), (Some(5), None));
        assert_eq!(read("Cache-Control: max-age=005"), (Some(5), None));
        assert_eq!(read("Cache-Control: max-age"), (Some(0), None));
        assert_eq!(
            read("Cache-Control: x=\"max-age=9\", S-MaxAge=7"),
            (None, Some(7))
        );
        assert_eq!(
            read("Cache-Control: max-age=99999999999"),
            (Some(u32::MAX), None)
        );
    }

    #[test]
    fn no_cache_and_private_are_said_of_fields_or_of_the_response() {
        let read = |text: &'static str| {
            let buffer = FieldsBuffer::from(text);
            let directives = ResponseDirectives::read(buffer.fields());
            (
                directives.no_cache == Scope::Response,
                directives.no_cache.names(b"A"),
                directives.private == Scope::Response,
            )
        };
        assert_eq!(read("Cache-Control: no-cache"), (true, false, false));
        assert_eq!(
            read("Cache-Control: no-cache=\"a, b\""),
            (false, true, false)
        );
        assert_eq!(read("Cache-Control: no-cache=\"\""), (true, false, false));
        assert_eq!(
            read("Cache-Control: no-cache=\"a\", no-cache"),
            (true, false, false)
        );
        assert_eq!(
            read("Cache-Control: no-cache, no-cache=\"a\""),
            (true, false, false)
        );
        assert_eq!(
            read("Cache-Control: no-cache=\"a\", no-cache=\"b\", private"),
            (true, false, true)
        );
    }

    #[test]
    fn a_request_asks_by_pragma_only_without_cache_control() {
        let read = |text: &str| RequestDirectives::read(FieldsBuffer::from(text).fields());
        assert!(read("Pragma: no-cache").no_cache);
        assert!(!read("Pragma: no-cache\nCache-Control: max-age=9").no_cache);
        assert!(!read("Pragma: other").no_cache);
        assert_eq!(
            read("Cache-Control: max-stale").max_stale,
            Some(u32::MAX),
            "without an argument any staleness will do"
        );
        assert_eq!(
            read("Cache-Control: max-stale=5, min-fresh=2, max-age=x"),
            RequestDirectives {
                max_stale: Some(5),
                min_fresh: Some(2),
                max_age: Some(0),
                ..RequestDirectives::default()
            }
        );
        let both = read("Cache-Control: no-store, only-if-cached, no-cache, stale-if-error=4");
        assert!(both.no_store && both.only_if_cached && both.no_cache);
        assert_eq!(both.stale_if_error, Some(4));
    }
}
