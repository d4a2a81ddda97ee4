//! What a site says of its answers: which of them are kept, by what they are found, and what clients hear of it.

use std::sync::Arc;
use std::time::Duration;

use portico_http::semantics::Fields;

use crate::key::QueryRule;
use crate::storing::{Rule, SetCookie};

/// The rules of a site; of those that match a path the first holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteRules(pub Vec<Arc<SiteRule>>);

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRule {
    /// Paths that it is for; `None`: all.
    pub path: Option<PathPattern>,
    /// What the last segment of the path ends with behind a dot, in lower case; none: anything.
    pub extensions: Vec<String>,
    /// What decides about storing.
    pub rule: Rule,
    /// Which part of the query tells answers apart.
    pub query: QueryRule,
    /// Request fields that tell answers apart, whatever their `Vary` says. In lower case.
    pub headers: Vec<String>,
    /// What clients hear.
    pub location: Location,
    /// How many requests for a target must have come within `period` before its answer is stored.
    pub min_hits: u8,
    /// See `min_hits`.
    pub period: Duration,
    /// A request with one of these cookies is the application's, and its answer is not stored.
    pub bypass_cookies: Vec<String>,
    /// The same of fields. In lower case.
    pub bypass_headers: Vec<String>,
    /// What becomes of answers that set a cookie.
    pub set_cookie: SetCookie,
}

/// Where else answers of a rule with a duration may be kept: what clients and caches on the way are told by
/// Cache-Control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Location {
    /// What the application says.
    #[default]
    AsAnswered,
    /// Anywhere, for as long.
    Any,
    /// At the client, for as long.
    Client,
    /// Here alone.
    Server,
}

impl Location {
    /// The Cache-Control field that takes the place of the application's, and of Expires and Pragma. `None`: they stay.
    #[must_use]
    pub fn cache_control(self, lifetime: Duration) -> Option<String> {
        let seconds = lifetime.as_secs();
        match self {
            Self::AsAnswered => None,
            Self::Any => Some(format!("public, max-age={seconds}")),
            Self::Client => Some(format!("private, max-age={seconds}")),
            Self::Server => Some("no-cache".to_owned()),
        }
    }
}

/// A path with `*` for any bytes, slashes too. Compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    /// A pattern of this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether all of a path is so.
    #[must_use]
    pub fn matches(&self, path: &[u8]) -> bool {
        let mut parts = self.0.as_bytes().split(|&byte| byte == b'*');
        let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else {
            return false;
        };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            // The first place is the best: it leaves most to those behind.
            let found = (0..=rest.len()).find(|&at| {
                let from = rest.get(at..).unwrap_or_default();
                from.starts_with(part)
            });
            let Some(at) = found else {
                return false;
            };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        true
    }
}

impl SiteRules {
    /// The rule for a target.
    ///
    /// There is none for a path that an application may take for another one: with dot segments, backslashes, or slashes,
    /// dots and backslashes that are escaped, or with parameters (`;`). Otherwise a stranger could have the page of an account kept
    /// as `/account;x.css`, or as `/assets/..%2faccount`.
    #[must_use]
    pub fn find(&self, path_and_query: &[u8]) -> Option<&Arc<SiteRule>> {
        let end = path_and_query.iter().position(|&byte| byte == b'?');
        let path = path_and_query.get(..end.unwrap_or(path_and_query.len()))?;
        if is_ambiguous(path) {
            return None;
        }
        self.0.iter().find(|rule| rule.is_for(path))
    }
}

impl SiteRule {
    /// A rule for all paths that keeps answers as they themselves say.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            path: None,
            extensions: Vec::new(),
            rule: Rule::Standard,
            query: QueryRule::All,
            headers: Vec::new(),
            location: Location::AsAnswered,
            min_hits: 1,
            period: Duration::from_secs(10),
            bypass_cookies: Vec::new(),
            bypass_headers: Vec::new(),
            set_cookie: SetCookie::Refuse,
        }
    }

    fn is_for(&self, path: &[u8]) -> bool {
        let is_path = self
            .path
            .as_ref()
            .is_none_or(|pattern| pattern.matches(path));
        is_path && (self.extensions.is_empty() || self.has_extension(path))
    }

    fn has_extension(&self, path: &[u8]) -> bool {
        let segment = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let dot = segment.iter().rposition(|&byte| byte == b'.');
        let extension = dot.and_then(|dot| segment.get(dot + 1..));
        extension.is_some_and(|extension| {
            let is = |own: &String| extension.eq_ignore_ascii_case(own.as_bytes());
            self.extensions.iter().any(is)
        })
    }

    /// Whether a request is the application's in any case.
    #[must_use]
    pub fn bypasses(&self, request: Fields<'_>) -> bool {
        let has = |name: &String| request.has(name.as_bytes());
        self.bypass_headers.iter().any(has)
            || !self.bypass_cookies.is_empty() && self.has_cookie(request)
    }

    fn has_cookie(&self, request: Fields<'_>) -> bool {
        request
            .values(b"cookie")
            .flat_map(|value| value.split(|&byte| byte == b';'))
            .map(|pair| pair.split(|&byte| byte == b'=').next().unwrap_or_default())
            .any(|name| {
                let name = name.trim_ascii();
                self.bypass_cookies.iter().any(|own| own.as_bytes() == name)
            })
    }
}

/// Whether applications differ about what a path is.
fn is_ambiguous(path: &[u8]) -> bool {
    let is_escaped = |hex: [u8; 2]| {
        matches!(
            &hex.map(|byte| byte.to_ascii_lowercase()),
            b"2e" | b"2f" | b"5c" | b"3b" | b"00" | b"25"
        )
    };
    path.iter().any(|byte| matches!(byte, b';' | b'\\'))
        || path
            .split(|&byte| byte == b'/')
            .any(|segment| matches!(segment, b"." | b".."))
        || path.windows(3).any(|window| match window {
            [b'%', high, low] => is_escaped([*high, *low]),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_http::semantics::FieldsBuffer;

    #[test]
    fn a_star_stands_for_any_bytes() {
        let matches =
            |pattern: &str, path: &str| PathPattern::new(pattern).matches(path.as_bytes());
        for (pattern, path, expected) in [
            ("/news", "/news", true),
            ("/news", "/news/1", false),
            ("/news/*", "/news/", true),
            ("/news/*", "/news/1/2", true),
            ("/news/*", "/new", false),
            ("*.css", "/a/b.css", true),
            ("*.css", "/a/b.css.map", false),
            ("/a/*/c*", "/a/b/cd", true),
            ("/a/*/c*", "/a/c", false),
            ("/a*a", "/a", false),
            ("/**", "/", true),
            ("*", "", true),
            ("/x*y*y", "/xy", false),
            ("/News", "/news", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_first_rule_for_a_path_holds_and_there_is_none_for_what_may_be_two_paths() {
        let rule = |path: Option<&str>, extensions: &[&str], seconds| {
            Arc::new(SiteRule {
                path: path.map(PathPattern::new),
                extensions: extensions.iter().map(|&text| text.into()).collect(),
                rule: Rule::Profile(Duration::from_secs(seconds)),
                ..SiteRule::standard()
            })
        };
        let rules = SiteRules(vec![
            rule(Some("/news/*"), &["html"], 1),
            rule(Some("/news/*"), &[], 2),
            rule(None, &["css", "js"], 3),
        ]);
        let found = |target: &str| {
            rules.find(target.as_bytes()).map(|rule| match rule.rule {
                Rule::Profile(lifetime) => lifetime.as_secs(),
                _ => 0,
            })
        };
        assert_eq!(found("/news/a.HTML?x"), Some(1));
        assert_eq!(found("/news/a.html/b"), Some(2));
        assert_eq!(found("/x.css?y.html"), Some(3));
        assert_eq!(found("/x?y.css"), None);
        assert_eq!(found("/x.d/y"), None);
        for other in [
            "/account;x.css",
            "/account%3bx.css",
            "/account%3Bx.css",
            "/assets/..%2faccount.css",
            "/assets/%2e%2e/x.css",
            "/assets/../x.css",
            "/assets/./x.css",
            "/assets\\x.css",
            "/assets%5Cx.css",
            "/account%00.css",
            "/account%252f.css",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn cookies_and_fields_bypass_by_name() {
        let rule = SiteRule {
            bypass_cookies: vec!["session".into()],
            bypass_headers: vec!["x-preview".into()],
            ..SiteRule::standard()
        };
        let bypasses = |text: &str| rule.bypasses(FieldsBuffer::from(text).fields());
        assert!(bypasses("Cookie: a=b; session=1"));
        assert!(bypasses("Cookie: session"));
        assert!(bypasses("X-Preview: 0"));
        assert!(!bypasses("Cookie: xsession=1; Session=2; a=session"));
        assert!(!SiteRule::standard().bypasses(FieldsBuffer::from("Cookie: a=b").fields()));
    }
}
