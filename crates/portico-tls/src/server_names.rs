//! Which context serves which SNI name: Node's `server.addContext`.

use std::collections::HashMap;
use std::fmt;

use crate::Context;

/// A listener's default context, and the contexts for names. Cheap to clone (contexts are shared) unless there are many
/// names.
///
/// Sessions and tickets are those of the default context for every name, as in Node (OpenSSL's session context), so
/// that a context made anew for each ClientHello still resumes.
#[derive(Clone)]
pub struct ServerNames {
    default: Context,
    /// By a whole name, in lower case.
    names: HashMap<Box<str>, Entry>,
    /// By what stands behind the `*.` of a pattern without another `*`, in lower case.
    parents: HashMap<Box<str>, Entry>,
    /// All other patterns.
    patterns: Vec<(Pattern, Entry)>,
    /// How many have been added.
    count: usize,
}

#[derive(Clone)]
struct Entry {
    /// The higher one wins where several match.
    order: usize,
    context: Context,
}

impl ServerNames {
    /// A table with nothing but the default.
    #[must_use]
    pub fn new(default: Context) -> Self {
        Self {
            default,
            names: HashMap::new(),
            parents: HashMap::new(),
            patterns: Vec::new(),
            count: 0,
        }
    }

    /// Replaces the default context (`setSecureContext`). New connections use it; open ones are not touched.
    pub fn set_default(&mut self, default: Context) {
        self.default = default;
    }

    /// Uses a context for the names that match: a name, or one with `*`, which stands for one label or a part of
    /// it (`*.example.com`). Later ones win over earlier ones, exact or not.
    pub fn add(&mut self, pattern: &str, context: Context) {
        let entry = Entry {
            order: self.count,
            context,
        };
        self.count += 1;
        let lower_case = pattern.to_ascii_lowercase();
        match lower_case.strip_prefix("*.") {
            _ if !lower_case.contains('*') => {
                self.names.insert(lower_case.into(), entry);
            }
            Some(parent) if !parent.contains('*') => {
                self.parents.insert(parent.into(), entry);
            }
            _ => self.patterns.push((Pattern::new(&lower_case), entry)),
        }
    }

    /// The context used when no name matches.
    #[must_use]
    pub fn default_context(&self) -> &Context {
        &self.default
    }

    /// The context for a client that sent this name (or none), in capitals or not.
    #[must_use]
    pub fn select(&self, name: Option<&str>) -> &Context {
        let Some(name) = name else {
            return &self.default;
        };
        let lower_case;
        let name = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            lower_case = name.to_ascii_lowercase();
            &lower_case
        } else {
            name
        };
        let parent = name
            .split_once('.')
            .and_then(|(_, parent)| self.parents.get(parent));
        let pattern = self
            .patterns
            .iter()
            .rev()
            .find(|(pattern, _)| pattern.matches(name))
            .map(|(_, entry)| entry);
        [self.names.get(name), parent, pattern]
            .into_iter()
            .flatten()
            .max_by_key(|entry| entry.order)
            .map_or(&self.default, |entry| &entry.context)
    }

    /// Whether any of the contexts asks clients for certificates.
    #[must_use]
    pub fn has_client_demands(&self) -> bool {
        let entries = self.names.values().chain(self.parents.values());
        let entries = entries.chain(self.patterns.iter().map(|(_, entry)| entry));
        let mut contexts = entries.map(|entry| &entry.context).chain([&self.default]);
        contexts.any(|context| context.client_demand().is_some())
    }
}

impl fmt::Debug for ServerNames {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServerNames")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// A name whose labels may hold `*`, in lower case.
#[derive(Clone)]
struct Pattern {
    labels: Vec<String>,
}

impl Pattern {
    fn new(pattern: &str) -> Self {
        Self {
            labels: pattern.split('.').map(str::to_owned).collect(),
        }
    }

    fn matches(&self, name: &str) -> bool {
        let mut labels = name.split('.');
        self.labels.iter().all(|pattern| {
            labels
                .next()
                .is_some_and(|label| label_matches(pattern, label))
        }) && labels.next().is_none()
    }
}

/// Compares a label in lower case with a pattern in which each `*` stands for any characters, none included.
fn label_matches(pattern: &str, label: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = label.strip_prefix(parts.next().unwrap_or_default()) else {
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
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::ContextOptions;

    fn context(options: &ContextOptions) -> Context {
        Context::new(options).unwrap()
    }

    #[test]
    fn the_last_pattern_that_matches_wins_exact_or_not() {
        let contexts: Vec<_> = (0..8)
            .map(|_| context(&ContextOptions::default()))
            .collect();
        let mut names = ServerNames::new(contexts[0].clone());
        let patterns = [
            "a.test", "*.test", "B.test", "*.*.test", "x.y.test", "a*c.test", "*.TEST",
        ];
        for (pattern, context) in patterns.iter().zip(&contexts[1..]) {
            names.add(pattern, context.clone());
        }
        let at = |name: Option<&str>| {
            let selected = names.select(name);
            contexts
                .iter()
                .position(|context| context.same(selected))
                .unwrap()
        };
        for (name, expected) in [
            ("a.test", 7),
            ("A.Test", 7),
            ("b.test", 7),
            ("abc.test", 7),
            ("y.test", 7),
            (".test", 7),
            ("x.y.test", 5),
            ("X.y.tesT", 5),
            ("z.y.test", 4),
            ("x.y.z.test", 0),
            ("test", 0),
            ("", 0),
            ("a.test.", 0),
        ] {
            assert_eq!(at(Some(name)), expected, "{name}");
        }
        assert_eq!(at(None), 0);
        names.add("a.test", contexts[1].clone());
        assert!(names.select(Some("a.test")).same(&contexts[1]));
        assert!(names.select(Some("b.test")).same(&contexts[7]));
    }

    #[test]
    fn a_demand_is_met_by_as_much_or_more_of_the_same_authorities() {
        let authority = || {
            let issued = rcgen::generate_simple_self_signed(["ca.test".to_owned()]).unwrap();
            issued.cert.der().to_vec()
        };
        let (one, other) = (authority(), authority());
        let of = |ca: &[&Vec<u8>], request_cert, reject_unauthorized| {
            let options = ContextOptions {
                ca: ca.iter().map(|der| (*der).clone()).collect(),
                request_cert,
                reject_unauthorized,
                ..ContextOptions::default()
            };
            context(&options)
        };
        let is_met = |wanted: &Context, made: &Context| {
            let wanted = wanted.client_demand();
            wanted.is_none_or(|wanted| wanted.is_met_by(made.client_demand()))
        };
        let nothing = of(&[], false, false);
        let (asked, required) = (of(&[&one], true, false), of(&[&one], true, true));
        assert!(nothing.client_demand().is_none());
        for made in [&nothing, &asked, &required] {
            assert!(is_met(&nothing, made));
        }
        for (wanted, made, expected) in [
            (&asked, &nothing, false),
            (&required, &nothing, false),
            (&asked, &asked, true),
            (&asked, &required, true),
            (&required, &asked, false),
            (&required, &required, true),
            (&required, &of(&[&one], true, true), true),
            (&required, &of(&[&one, &one], true, true), true),
            (&required, &of(&[&other], true, true), false),
            (&required, &of(&[&one, &other], true, true), false),
            (
                &of(&[&other, &one], true, true),
                &of(&[&one, &other], true, true),
                true,
            ),
            (&required, &of(&[], true, true), false),
        ] {
            assert_eq!(is_met(wanted, made), expected);
        }
        let mut names = ServerNames::new(nothing.clone());
        assert!(!names.has_client_demands());
        for pattern in ["a.test", "*.test", "a*.test"] {
            let mut with = names.clone();
            with.add(pattern, asked.clone());
            assert!(with.has_client_demands(), "{pattern}");
        }
        names.add("a.test", nothing);
        assert!(!names.has_client_demands());
        names.set_default(required);
        assert!(names.has_client_demands());
    }
}
