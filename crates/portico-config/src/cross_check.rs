//! What no section can know alone: duplicates, and what contradicts each other.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use portico_router::{Host, Scheme, UrlPrefix};
use toml::de::DeTable;

use crate::fields::find;
use crate::kinds::Id;
use crate::reader::Reader;
use crate::sections::{
    ApplicationOptions, CertificateOptions, ListenerOptions, ReservationOptions, SiteOptions,
};

/// A section, with the places of its values.
pub(crate) struct Located<S> {
    pub(crate) value: S,
    place: Range<usize>,
    keys: BTreeMap<String, Range<usize>>,
}

impl<S> Located<S> {
    pub(crate) fn new(value: S, table: &DeTable<'_>, place: Range<usize>) -> Self {
        let keys = table
            .keys()
            .filter_map(|key| {
                Some((
                    key.get_ref().to_string(),
                    find(table, key.get_ref())?.span(),
                ))
            })
            .collect();
        Self { value, place, keys }
    }

    /// Where a key's value stands; where the section begins if it isn't given.
    fn place(&self, key: &str) -> Range<usize> {
        self.keys.get(key).unwrap_or(&self.place).clone()
    }
}

/// `certificates` is `None` if some of them are wrong, so that it is unknown what is missing.
pub(crate) fn listeners(
    all: &[Located<ListenerOptions>],
    certificates: Option<&[Located<CertificateOptions>]>,
    reader: &mut Reader,
) {
    for (index, listener) in all.iter().enumerate() {
        let address = &listener.value.address;
        if listener.value.protocols.as_ref().is_some_and(Vec::is_empty) {
            let text =
                format!("[listener] {address} speaks no version of HTTP: name one in protocols");
            reader.error(&listener.place("protocols"), text);
        }
        let earlier = all.get(..index).unwrap_or_default().iter();
        if let Some(other) = earlier
            .rev()
            .find(|other| other.value.address.overlaps(address))
        {
            let text = format!(
                "[listener] {address} can't be opened beside {} of line {}; remove one",
                other.value.address, other.value.line
            );
            reader.error(&listener.place("address"), text);
        }
        let has_certificate = |all: &[Located<CertificateOptions>]| {
            all.iter()
                .any(|certificate| certificate.value.port == address.port)
        };
        if listener.value.tls && certificates.is_some_and(|all| !has_certificate(all)) {
            let port = address.port;
            let text = format!(
                "[listener] tls needs a certificate: add a [[certificate]] for port {port}"
            );
            reader.error(&listener.place("tls"), text);
        }
    }
}

pub(crate) fn certificates(all: &[Located<CertificateOptions>], reader: &mut Reader) {
    let mut seen: BTreeMap<(u16, &str), usize> = BTreeMap::new();
    for certificate in all {
        let own = &certificate.value;
        let asks = own.request_client_certificate || own.require_client_certificate;
        if own.require_client_certificate && own.client_ca.is_none() {
            reader.error(
                &certificate.place("require_client_certificate"),
                "[certificate] require_client_certificate needs client_ca, which says whose certificates are good"
                    .to_owned(),
            );
        }
        if own.client_ca.is_some() && !asks {
            reader.error(
                &certificate.place("client_ca"),
                "[certificate] client_ca does nothing without request_client_certificate or require_client_certificate = true"
                    .to_owned(),
            );
        }
        let names = own.names.iter().map(|name| (name.as_str(), "names"));
        let all_names = own.names.is_empty().then_some(("", "port"));
        for (name, key) in names.chain(all_names) {
            let Some(line) = seen.insert((own.port, name), own.line) else {
                continue;
            };
            let what = match name {
                "" => "a certificate without names".to_owned(),
                _ => format!("a certificate for {name}"),
            };
            let text = format!(
                "[certificate] port {} has {what} already, at line {line}; remove one",
                own.port
            );
            reader.error(&certificate.place(key), text);
        }
    }
}

/// `certificates` is `None` if some of them are wrong, so that it is unknown what is missing.
pub(crate) fn sites(
    all: &[Located<SiteOptions>],
    certificates: Option<&[Located<CertificateOptions>]>,
    reader: &mut Reader,
) {
    let mut seen: BTreeMap<&UrlPrefix, usize> = BTreeMap::new();
    for site in all {
        let prefix = &site.value.prefix;
        if let Some(line) = seen.insert(prefix, site.value.line) {
            let text =
                format!("[site] {prefix} has a site already, at line {line}; put both in one");
            reader.error(&site.place("prefix"), text);
        }
        if let Some(text) = lacks_certificate(prefix, certificates) {
            reader.error(&site.place("prefix"), format!("[site] {text}"));
        }
    }
}

/// `certificates` is `None` if some of them are wrong, so that it is unknown what is missing.
pub(crate) fn applications(
    all: &[Located<ApplicationOptions>],
    certificates: Option<&[Located<CertificateOptions>]>,
    reader: &mut Reader,
) {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut prefixes: BTreeMap<&UrlPrefix, usize> = BTreeMap::new();
    for application in all {
        let own = &application.value;
        if let Some(line) = names.insert(&own.name, own.line) {
            let text = format!(
                "[application] there is one called {} already, at line {line}; choose another name",
                own.name
            );
            reader.error(&application.place("name"), text);
        }
        for prefix in &own.prefix {
            if let Some(line) = prefixes.insert(prefix, own.line) {
                let text = format!(
                    "[application] {prefix} is the prefix of the application at line {line}; a prefix belongs to one of them"
                );
                reader.error(&application.place("prefix"), text);
            }
            if let Some(text) = lacks_certificate(prefix, certificates) {
                reader.error(
                    &application.place("prefix"),
                    format!("[application] {text}"),
                );
            }
        }
        if own.port.is_some() && own.prefix.is_empty() {
            let text = "[application] port does nothing without a prefix whose requests go there";
            reader.error(&application.place("port"), text.to_owned());
        }
    }
}

/// What is missing for a prefix that needs a certificate.
fn lacks_certificate(
    prefix: &UrlPrefix,
    certificates: Option<&[Located<CertificateOptions>]>,
) -> Option<String> {
    let is_missing = certificates.is_some_and(|all| !has_certificate(prefix, all));
    if prefix.scheme() != Scheme::Https || !is_missing {
        return None;
    }
    let whom = match prefix.host() {
        Host::Name(name) => format!("{name} on port {}", prefix.port()),
        _ => format!("port {}", prefix.port()),
    };
    Some(format!(
        "{prefix} needs a certificate: add a [[certificate]] for {whom}"
    ))
}

fn has_certificate(prefix: &UrlPrefix, certificates: &[Located<CertificateOptions>]) -> bool {
    certificates
        .iter()
        .filter(|certificate| certificate.value.port == prefix.port())
        .any(|certificate| {
            let names = &certificate.value.names;
            match prefix.host() {
                Host::Name(wanted) => {
                    names.is_empty() || names.iter().any(|name| serves(name, wanted))
                }
                _ => true,
            }
        })
}

/// Whether a certificate's name is for a host's, with a wildcard for one label (RFC 6125, section 6.4.3).
fn serves(name: &str, wanted: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(parent) => wanted
            .split_once('.')
            .is_some_and(|(_, rest)| rest == parent),
        None => name == wanted,
    }
}

pub(crate) fn reservations(all: &[Located<ReservationOptions>], reader: &mut Reader) {
    for (index, reservation) in all.iter().enumerate() {
        let own = &reservation.value;
        if own.users.is_empty() && own.groups.is_empty() && !own.everyone {
            let text = format!(
                "[reservation] {} allows no user; say who may register it: users, groups, or everyone = true",
                own.prefix
            );
            reader.error(&reservation.place("prefix"), text);
        }
        let mut earlier = all.get(..index).unwrap_or_default().iter();
        if let Some(text) = earlier.find_map(|other| conflict(own, &other.value)) {
            reader.error(&reservation.place("prefix"), text);
        }
    }
}

/// What stands between two reservations, the second of which comes first in the file.
fn conflict(own: &ReservationOptions, other: &ReservationOptions) -> Option<String> {
    if own.prefix == other.prefix {
        return Some(format!(
            "[reservation] {} is reserved already, at line {}; put both in one",
            own.prefix, other.line
        ));
    }
    let (outer, inner) = if other.prefix.covers(&own.prefix) {
        (other, own)
    } else if own.prefix.covers(&other.prefix) {
        (own, other)
    } else {
        return None;
    };
    if outer.delegate || !certainly_others(outer, inner) {
        return None;
    }
    Some(format!(
        "[reservation] {} lies below {}, which is for others; allow it there with delegate = true (the other one is at line {})",
        inner.prefix, outer.prefix, other.line
    ))
}

/// Whether two reservations are for different people, however names turn into numbers. Where names stand beside
/// numbers, only who looks them up can tell.
fn certainly_others(one: &ReservationOptions, two: &ReservationOptions) -> bool {
    fn differ(one: &[Id], two: &[Id]) -> bool {
        let named = |id: &&Id| matches!(id, Id::Name(_));
        let names = one.iter().chain(two).filter(named).count();
        let mixed = names > 0 && names < one.len() + two.len();
        !mixed && one.iter().collect::<BTreeSet<_>>() != two.iter().collect::<BTreeSet<_>>()
    }
    one.everyone != two.everyone
        || differ(&one.users, &two.users)
        || differ(&one.groups, &two.groups)
}

/// All prefixes of the file, with their places.
pub(crate) fn prefixes<'a>(
    sites: &'a [Located<SiteOptions>],
    reservations: &'a [Located<ReservationOptions>],
    applications: &'a [Located<ApplicationOptions>],
) -> Vec<(&'a UrlPrefix, Range<usize>)> {
    let sites = sites.iter();
    let sites = sites.map(|site| (&site.value.prefix, site.place("prefix")));
    let reservations = reservations.iter();
    let reservations = reservations.map(|own| (&own.value.prefix, own.place("prefix")));
    let applications = applications.iter().flat_map(|own| {
        let prefixes = own.value.prefix.iter();
        prefixes.map(|prefix| (prefix, own.place("prefix")))
    });
    sites.chain(reservations).chain(applications).collect()
}

/// A port has one scheme.
pub(crate) fn schemes(
    listeners: &[Located<ListenerOptions>],
    certificates: &[Located<CertificateOptions>],
    prefixes: Vec<(&UrlPrefix, Range<usize>)>,
    reader: &mut Reader,
) {
    let mut uses: Vec<(u16, Scheme, Range<usize>, String)> = Vec::new();
    for listener in listeners {
        let scheme = if listener.value.tls {
            Scheme::Https
        } else {
            Scheme::Http
        };
        let what = format!("the listener {}", listener.value.address);
        let key = if listener.value.tls { "tls" } else { "address" };
        uses.push((
            listener.value.address.port,
            scheme,
            listener.place(key),
            what,
        ));
    }
    for certificate in certificates {
        let what = "the certificate".to_owned();
        uses.push((
            certificate.value.port,
            Scheme::Https,
            certificate.place("port"),
            what,
        ));
    }
    for (prefix, place) in prefixes {
        uses.push((prefix.port(), prefix.scheme(), place, prefix.to_string()));
    }
    uses.sort_by_key(|(_, _, place, _)| place.start);
    let mut ports: BTreeMap<u16, (Scheme, usize, String)> = BTreeMap::new();
    for (port, scheme, place, what) in uses {
        let line = reader.line(&place);
        let (first_scheme, first_line, first) = ports
            .entry(port)
            .or_insert_with(|| (scheme, line, what.clone()));
        if *first_scheme != scheme {
            let text = format!(
                "a port is http or https, not both: {what} makes port {port} {scheme}, and {first} of line {first_line} makes it {first_scheme}"
            );
            reader.error(&place, text);
        }
    }
}
