//! Which context serves which SNI name: Node's `server.addContext`.

use crate::Context;

/// A listener's default context, and the contexts for names. Cheap to clone (contexts are shared).
///
/// Sessions and tickets are those of the default context for every name, as in Node (OpenSSL's session context), so
/// that a context made anew for each ClientHello still resumes.
#[derive(Clone)]
pub struct ServerNames {
    default: Context,
    patterns: Vec<(Pattern, Context)>,
}

impl ServerNames {
    /// A table with nothing but the default.
    #[must_use]
    pub fn new(default: Context) -> Self {
        Self {
            default,
            patterns: Vec::new(),
        }
    }

    /// Replaces the default context (`setSecureContext`). New connections use it; open ones are not touched.
    pub fn set_default(&mut self, default: Context) {
        self.default = default;
    }

    /// Uses a context for the names that match: a name, or one with `*`, which stands for one label or a part of
    /// it (`*.example.com`). Later ones win over earlier ones, exact or not.
    pub fn add(&mut self, pattern: &str, context: Context) {
        self.patterns.push((Pattern::new(pattern), context));
    }

    /// The context used when no name matches.
    #[must_use]
    pub fn default_context(&self) -> &Context {
        &self.default
    }

    /// The context for a client that sent this name (or none).
    #[must_use]
    pub fn select(&self, name: Option<&str>) -> &Context {
        let Some(name) = name else {
            return &self.default;
        };
        let found = self
            .patterns
            .iter()
            .rev()
            .find(|(pattern, _)| pattern.matches(name));
        found.map_or(&self.default, |(_, context)| context)
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
            labels: pattern.split('.').map(str::to_ascii_lowercase).collect(),
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

/// Compares a label with a pattern in which each `*` stands for any characters, none included.
fn label_matches(pattern: &str, label: &str) -> bool {
    let label = label.to_ascii_lowercase();
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
