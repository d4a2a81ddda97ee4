//! What a stored response is found by (RFC 9111, section 2): whose it is, and the target URI.

/// Which part of the query tells one response from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QueryRule {
    /// All of it, byte for byte.
    #[default]
    All,
    /// None of it.
    None,
    /// The parameters of these names, in the order of the names; others don't count. Where a name comes more than once all
    /// its values count, in their order.
    Names(Vec<String>),
}

/// What a stored response is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The target, and behind a separator the context.
    bytes: Box<[u8]>,
    target_length: usize,
}

/// The places of a target URI.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Whose responses these are: the site or the queue. Responses of one owner are never found by another's requests.
    pub owner: u64,
    /// Whether it came over TLS.
    pub is_secure: bool,
    /// The authority, as the request names it.
    pub authority: &'a [u8],
    /// The path as the application gets it, and the query with its `?`, if there is one.
    pub path_and_query: &'a [u8],
    /// What of the request's other fields the application may look at although its answer's `Vary` does not say so: a
    /// host that a proxy names, for one. Empty: nothing. Purges don't look at it.
    pub context: &'a [u8],
}

impl Key {
    /// The key of a target.
    ///
    /// Two targets have one key only if owner, scheme, authority (without regard to case, and without the scheme's own
    /// port), path (byte for byte: what is escaped in one and not in another may be two things to an application) and the
    /// part of the query that counts are the same. The places are told apart by bytes that none of them can contain.
    #[must_use]
    pub fn new(target: &Target<'_>, query: &QueryRule) -> Self {
        let scheme: (&[u8], &[u8]) = if target.is_secure {
            (b"https", b":443")
        } else {
            (b"http", b":80")
        };
        let authority = target.authority;
        let authority = authority.strip_suffix(scheme.1).unwrap_or(authority);
        let query_at = target
            .path_and_query
            .iter()
            .position(|&byte| byte == b'?')
            .unwrap_or(target.path_and_query.len());
        let (path, query_text) = target.path_and_query.split_at(query_at);
        let mut bytes = Vec::with_capacity(16 + authority.len() + target.path_and_query.len());
        bytes.extend_from_slice(&target.owner.to_be_bytes());
        bytes.extend_from_slice(scheme.0);
        bytes.push(SEPARATOR);
        bytes.extend(authority.iter().map(u8::to_ascii_lowercase));
        bytes.push(SEPARATOR);
        bytes.extend_from_slice(path);
        query.write(query_text, &mut bytes);
        let target_length = bytes.len();
        if !target.context.is_empty() {
            bytes.push(SEPARATOR);
            bytes.extend_from_slice(target.context);
        }
        Self {
            bytes: bytes.into(),
            target_length,
        }
    }

    /// Whether the other is of the same owner and URI, whatever its context.
    #[must_use]
    pub fn has_target_of(&self, other: &Self) -> bool {
        self.target() == other.target()
    }

    /// The bytes of owner and URI.
    pub(crate) fn target(&self) -> &[u8] {
        self.bytes.get(..self.target_length).unwrap_or_default()
    }

    /// The scheme, the authority and the path, with the query that counts, for people: `http://host/path?query`.
    #[must_use]
    pub fn uri(&self) -> String {
        let mut places = self
            .target()
            .get(OWNER_BYTES..)
            .unwrap_or_default()
            .splitn(3, |&byte| byte == SEPARATOR)
            .map(String::from_utf8_lossy);
        let mut next = || places.next().unwrap_or_default();
        let (scheme, authority, path) = (next(), next(), next());
        format!("{scheme}://{authority}{path}")
    }

    /// The path, with the query that counts.
    pub(crate) fn path(&self) -> &[u8] {
        let places = self.target().get(OWNER_BYTES..).unwrap_or_default();
        let mut places = places.splitn(3, |&byte| byte == SEPARATOR);
        places.nth(2).unwrap_or_default()
    }

    /// Whose response it is.
    #[must_use]
    pub fn owner(&self) -> u64 {
        let owner = self.bytes.first_chunk::<OWNER_BYTES>();
        u64::from_be_bytes(owner.copied().unwrap_or_default())
    }

    /// The bytes, as they are compared.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

const OWNER_BYTES: usize = size_of::<u64>();

/// No scheme, authority, path or query has a line break.
const SEPARATOR: u8 = b'\n';

impl QueryRule {
    /// Writes the part of a query that counts; `query` is empty or begins with `?`.
    fn write(&self, query: &[u8], bytes: &mut Vec<u8>) {
        match self {
            Self::All => bytes.extend_from_slice(query),
            Self::None => {}
            Self::Names(names) => {
                let parameters = query.strip_prefix(b"?").unwrap_or_default();
                bytes.push(b'?'); // no path has one: it ends what could be taken for a parameter
                for name in names {
                    for parameter in parameters.split(|&byte| byte == b'&') {
                        let mut parts = parameter.splitn(2, |&byte| byte == b'=');
                        if parts.next() == Some(name.as_bytes()) {
                            bytes.extend_from_slice(parameter);
                            bytes.push(b'&');
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(is_secure: bool, authority: &str, path: &str, query: &QueryRule) -> Key {
        let target = Target {
            owner: 7,
            is_secure,
            authority: authority.as_bytes(),
            path_and_query: path.as_bytes(),
            context: b"",
        };
        Key::new(&target, query)
    }

    #[test]
    fn targets_that_differ_in_any_place_have_keys_of_their_own() {
        let all = QueryRule::All;
        let of = |secure, authority, path| key(secure, authority, path, &all);
        let one = of(false, "a.test", "/x?y=1");
        assert_eq!(one, of(false, "A.TEST:80", "/x?y=1"));
        for other in [
            of(true, "a.test", "/x?y=1"),
            of(false, "b.test", "/x?y=1"),
            of(false, "a.test:443", "/x?y=1"),
            of(false, "a.test", "/X?y=1"),
            of(false, "a.test", "/%78?y=1"),
            of(false, "a.test", "/x?y=2"),
            of(false, "a.test", "/x"),
            of(false, "a.test", "/x?"),
            of(false, "a.test/x", "?y=1"),
        ] {
            assert_ne!(one, other);
        }
        let mut target = Target {
            owner: 7,
            is_secure: false,
            authority: b"a.test",
            path_and_query: b"/x?y=1",
            context: b"",
        };
        assert_eq!(Key::new(&target, &all), one);
        target.context = b"x-forwarded-host: b.test";
        let other = Key::new(&target, &all);
        assert_ne!(other, one);
        assert!(other.has_target_of(&one));
        assert_eq!(other.uri(), one.uri());
        target.owner = 8;
        assert!(!Key::new(&target, &all).has_target_of(&one));
        assert_eq!(one.uri(), "http://a.test/x?y=1");
        assert_eq!(one.path(), b"/x?y=1");
        assert_eq!(one.owner(), 7);
    }

    #[test]
    fn of_a_query_what_the_rule_names_counts() {
        let names = QueryRule::Names(vec!["b".into(), "a".into()]);
        let of = |path| key(false, "a.test", path, &names);
        assert_eq!(of("/x?a=1&b=2&utm=3"), of("/x?utm=9&b=2&a=1"));
        assert_ne!(of("/x?a=1&b=2"), of("/x?a=2&b=2"));
        assert_ne!(of("/x?a=1&a=2"), of("/x?a=2&a=1"));
        assert_ne!(of("/x?a"), of("/x?a="));
        assert_eq!(of("/x"), of("/x?c=1"));
        assert_ne!(of("/x?a=1"), of("/x&a=1?"), "a path can't forge a query");
        let none = QueryRule::None;
        assert_eq!(
            key(false, "a.test", "/x?a=1", &none),
            key(false, "a.test", "/x", &none)
        );
    }
}
