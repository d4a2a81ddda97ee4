//! Name constraints (RFC 5280, 4.2.1.10) on the host names of a subject. Those on alternative names are webpki's affair
//! (see `chain.rs`), which does not look at the subject. OpenSSL does, where a certificate has no DNS names, and
//! applications that go by the common name of a client depend on it.

use x509_parser::extensions::{GeneralName, GeneralSubtree};
use x509_parser::x509::X509Name;

/// What an issuer may and may not issue for, as far as DNS names go. In lower case.
#[derive(Default)]
pub(crate) struct NameConstraints {
    permitted: Vec<String>,
    excluded: Vec<String>,
}

impl NameConstraints {
    pub(crate) fn new(parsed: &x509_parser::extensions::NameConstraints<'_>) -> Self {
        Self {
            permitted: dns_bases(parsed.permitted_subtrees.as_deref()),
            excluded: dns_bases(parsed.excluded_subtrees.as_deref()),
        }
    }

    /// Whether a host name is within the bounds.
    pub(crate) fn allow(&self, name: &str) -> bool {
        let is_below = |base: &String| is_below(name, base);
        (self.permitted.is_empty() || self.permitted.iter().any(is_below))
            && !self.excluded.iter().any(is_below)
    }
}

fn dns_bases(subtrees: Option<&[GeneralSubtree<'_>]>) -> Vec<String> {
    let dns = |subtree: &GeneralSubtree<'_>| match subtree.base {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    };
    subtrees
        .unwrap_or_default()
        .iter()
        .filter_map(dns)
        .collect()
}

/// The common names of a subject that look like host names, in lower case.
pub(crate) fn host_names(subject: &X509Name<'_>) -> Vec<String> {
    subject
        .iter_common_name()
        .filter_map(|name| name.as_str().ok())
        .map(|name| name.trim_end_matches(char::from(0)).to_ascii_lowercase())
        .filter(|name| is_host_name(name))
        .collect()
}

/// As OpenSSL decides it: labels of letters, digits, hyphens and underscores, and at least one dot.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.contains('.') && name.split('.').all(is_label)
}

/// Whether a name is the base or one below it; below it only, if the base begins with a dot.
fn is_below(name: &str, base: &str) -> bool {
    let Some(rest) = name.strip_suffix(base) else {
        return false;
    };
    rest.is_empty() || base.is_empty() || base.starts_with('.') || rest.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_by_whole_labels() {
        let inside = |name: &str, base: &str| {
            let constraints = NameConstraints {
                permitted: vec![base.to_owned()],
                excluded: Vec::new(),
            };
            constraints.allow(name)
        };
        for (name, base, allowed) in [
            ("a.test", "a.test", true),
            ("b.a.test", "a.test", true),
            ("ba.test", "a.test", false),
            ("b.a.test", ".a.test", true),
            ("a.test", ".a.test", false),
            ("a.test", "", true),
            ("a.test", "b.a.test", false),
        ] {
            assert_eq!(inside(name, base), allowed, "{name} in {base}");
            let constraints = NameConstraints {
                permitted: Vec::new(),
                excluded: vec![base.to_owned()],
            };
            assert_eq!(constraints.allow(name), !allowed);
        }
        assert!(NameConstraints::default().allow("a.test"));
    }

    #[test]
    fn only_what_looks_like_a_host_name_is_one() {
        for name in ["a.b", "x-1.test", "under_score.test"] {
            assert!(is_host_name(name), "{name}");
        }
        for name in [
            "",
            "alone",
            "Mrs. Smith",
            ".a.b",
            "a..b",
            "a.b.",
            "-a.b",
            "a-.b",
            "*.a.b",
        ] {
            assert!(!is_host_name(name), "{name}");
        }
    }
}
