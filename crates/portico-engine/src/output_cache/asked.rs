//! What of a request's head decides about the cache, and a copy of it for the time until its answer comes.

use portico_cache::site_rule::SiteRule;
use portico_cache::{Key, QueryRule, Target};
use portico_http::Method;
use portico_http::semantics::{Fields, FieldsBuffer, RequestHead, Scheme, field_name_number};

/// Conditions and ranges, which what is stored answers.
pub(super) const CONDITIONS: u8 = 1;
/// `Authorization`.
pub(super) const AUTHORIZATION: u8 = 2;
/// Fields that make another request of it: neither is it answered from the cache, nor is its answer stored.
const OTHER: u8 = 4;
/// Fields that applications look at as at the target, without naming them in `Vary`.
const CONTEXT: u8 = 8;
/// `Cache-Control` and `Pragma`.
pub(super) const DIRECTIVES: u8 = 16;
/// Fields by which some frameworks replace the method or the target: a stranger's answer would be stored as that of the
/// target which the request names.
const OVERRIDE: u8 = 32;

const INTERESTS: [(u8, &[&str]); 5] = [
    (
        CONDITIONS,
        &[
            "if-match",
            "if-none-match",
            "if-modified-since",
            "if-unmodified-since",
            "if-range",
            "range",
        ],
    ),
    (AUTHORIZATION, &["authorization"]),
    (OTHER, &["expect", "upgrade", "http2-settings", "translate"]),
    (
        CONTEXT,
        &[
            "x-forwarded-host",
            "x-forwarded-proto",
            "x-forwarded-port",
            "x-forwarded-server",
            "x-forwarded-scheme",
            "x-forwarded-prefix",
            "x-forwarded-path",
            "x-forwarded-ssl",
            "x-host",
            "x-http-host-override",
            "front-end-https",
        ],
    ),
    (DIRECTIVES, &["cache-control", "pragma"]),
];

/// Where [`INTERESTS`] has those of [`CONTEXT`].
const CONTEXT_AT: usize = 3;

const OVERRIDES: [&str; 5] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// Which names of fields matter, by number and, of those without one, by name.
#[derive(Debug)]
pub(super) struct Interests {
    by_number: Vec<u8>,
    by_name: Vec<(&'static [u8], u8)>,
}

impl Interests {
    pub(super) fn new() -> Self {
        let mut interests = Self {
            by_number: Vec::new(),
            by_name: Vec::new(),
        };
        let overrides = (OVERRIDE, &OVERRIDES[..]);
        let all = INTERESTS.iter().map(|&(bit, names)| (bit, names));
        for (bit, names) in all.chain([overrides]) {
            for name in names {
                interests.enter(name, bit);
            }
        }
        interests
    }

    fn enter(&mut self, name: &'static str, bit: u8) {
        match usize::from(field_name_number(name.as_bytes())) {
            0 => self.by_name.push((name.as_bytes(), bit)),
            number => {
                if self.by_number.len() <= number {
                    self.by_number.resize(number + 1, 0);
                }
                if let Some(bits) = self.by_number.get_mut(number) {
                    *bits |= bit;
                }
            }
        }
    }

    /// What there is among the fields of a head.
    pub(super) fn of(&self, head: &RequestHead<'_>) -> u8 {
        head.fields.iter().fold(0, |bits, field| {
            bits | self.of_field(field.name_number, || field.name(head.bytes))
        })
    }

    #[inline]
    fn of_field<'a>(&self, number: u16, name: impl FnOnce() -> &'a [u8]) -> u8 {
        match usize::from(number) {
            0 => self.of_name(name()),
            number => self.by_number.get(number).copied().unwrap_or_default(),
        }
    }

    fn of_name(&self, name: &[u8]) -> u8 {
        // All that are looked for begin so, but for `Translate` and `Front-End-Https`.
        if !matches!(name.first(), Some(b'x' | b'X' | b't' | b'T' | b'f' | b'F')) {
            return 0;
        }
        let is = |other: &&(&'static [u8], u8)| other.0.eq_ignore_ascii_case(name);
        self.by_name.iter().find(is).map_or(0, |found| found.1)
    }
}

/// What of a request decides, while its head is at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking<'a> {
    pub(super) method: Method,
    pub(super) is_secure: bool,
    pub(super) authority: &'a [u8],
    pub(super) target: &'a [u8],
    pub(super) fields: Fields<'a>,
    pub(super) has_body: bool,
    /// Bits of what there is among its fields.
    pub(super) interest: u8,
}

impl<'a> Asking<'a> {
    /// `None`: its target is not a path, or its host is not said once. What an application makes of such a request is not
    /// known by the target alone.
    pub(super) fn of(head: &RequestHead<'a>, interests: &Interests) -> Option<Self> {
        let authority = head.authority().ok()??;
        let target = head.target();
        let is_usual = target.first() == Some(&b'/') && !authority.is_empty();
        is_usual.then(|| Self {
            method: head.method,
            is_secure: head.scheme == Scheme::Https,
            authority,
            target,
            fields: Fields::new(head.bytes, head.fields),
            has_body: head.has_body,
            interest: interests.of(head),
        })
    }

    /// A GET request, as its fields say it.
    pub(super) fn of_get(
        is_secure: bool,
        target: &'a [u8],
        fields: Fields<'a>,
        interests: &Interests,
    ) -> Option<Self> {
        let mut hosts = fields.values(b"host");
        let authority = hosts.next().filter(|host| !host.is_empty())?;
        let is_usual = target.first() == Some(&b'/') && hosts.next().is_none();
        let framing = [&b"content-length"[..], b"transfer-encoding"];
        is_usual.then(|| Self {
            method: Method::Get,
            is_secure,
            authority,
            target,
            fields,
            has_body: framing.iter().any(|name| fields.has(name)),
            interest: fields.iter().fold(0, |bits, (name, _)| {
                bits | interests.of_field(field_name_number(name), || name)
            }),
        })
    }

    /// Whether it may be answered with what is stored.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.method, Method::Get | Method::Head)
            && !self.has_body
            && self.interest & OTHER == 0
    }

    /// Whether the answer to it may be stored.
    pub(super) fn may_be_stored(&self) -> bool {
        self.method == Method::Get && self.interest & OVERRIDE == 0
    }

    pub(super) fn has(&self, bits: u8) -> bool {
        self.interest & bits != 0
    }

    /// What its answer is found by, as a site's rule says it, if there is one.
    pub(super) fn key(&self, owner: u64, rule: Option<&SiteRule>) -> Key {
        let mut context = if self.has(CONTEXT) {
            context_of(self.fields)
        } else {
            Vec::new()
        };
        if let Some(rule) = rule {
            let names = rule.headers.iter().map(String::as_str);
            write_context(&mut context, self.fields, names);
        }
        let target = Target {
            owner,
            is_secure: self.is_secure,
            authority: self.authority,
            path_and_query: self.target,
            context: &context,
        };
        match rule {
            Some(rule) => Key::new(&target, &rule.query),
            None => Key::new(&target, &QueryRule::All),
        }
    }

    /// A copy that stays when the head has gone.
    pub(super) fn keep(&self) -> Asked {
        Asked {
            method: self.method,
            is_secure: self.is_secure,
            authority: self.authority.into(),
            target: self.target.into(),
            fields: self.fields.iter().collect(),
            interest: self.interest,
        }
    }
}

/// A copy of what decides.
#[derive(Debug)]
pub(super) struct Asked {
    method: Method,
    is_secure: bool,
    authority: Box<[u8]>,
    target: Box<[u8]>,
    fields: FieldsBuffer,
    interest: u8,
}

impl Asked {
    pub(super) fn asking(&self) -> Asking<'_> {
        Asking {
            method: self.method,
            is_secure: self.is_secure,
            authority: &self.authority,
            target: &self.target,
            fields: self.fields.fields(),
            has_body: false,
            interest: self.interest,
        }
    }
}

/// The fields that count as the target does, in an order of their own.
fn context_of(request: Fields<'_>) -> Vec<u8> {
    let mut context = Vec::new();
    let (_, names) = INTERESTS[CONTEXT_AT];
    write_context(&mut context, request, names.iter().copied());
    context
}

fn write_context<'a>(
    context: &mut Vec<u8>,
    request: Fields<'_>,
    names: impl Iterator<Item = &'a str>,
) {
    for name in names {
        for value in request.values(name.as_bytes()) {
            context.extend_from_slice(name.as_bytes());
            context.push(b':');
            context.extend_from_slice(value);
            context.push(b'\n');
        }
    }
}
