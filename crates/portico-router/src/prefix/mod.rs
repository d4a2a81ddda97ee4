//! The URL prefix: what an application registers.

mod error;
mod host;
mod parse;
mod path;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

pub use error::{PrefixError, PrefixErrorKind};
pub(crate) use host::MAX_NAME_BYTES;

/// Bytes of a prefix's path in canonical form, both slashes included.
pub const MAX_PATH_BYTES: usize = 1024;

/// Segments of a prefix's path. Bounds the depth of the table.
pub const MAX_SEGMENTS: usize = 64;

/// Bytes of text that are looked at: room for a path whose every byte has to be escaped, and the rest.
const MAX_TEXT_BYTES: usize = MAX_PATH_BYTES + 512;

/// `http` or `https`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// `"http"` or `"https"`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The host of a prefix. The order of the variants is the order in which the categories are searched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// `+`: every request of the port, before all other categories.
    StrongWildcard,
    /// A host name in lower case, without a final dot: requests whose `Host` says so.
    Name(Box<str>),
    /// An address: requests that arrived on it, whatever their `Host` says. IPv4-mapped IPv6 addresses are IPv4 here.
    Ip(IpAddr),
    /// `*`: every request of the port that no other category matched.
    WeakWildcard,
}

impl Host {
    /// The category's place in the search.
    const fn rank(&self) -> u8 {
        match self {
            Self::StrongWildcard => 0,
            Self::Name(_) => 1,
            Self::Ip(_) => 2,
            Self::WeakWildcard => 3,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StrongWildcard => out.write_str("+"),
            Self::Name(name) => out.write_str(name),
            Self::Ip(IpAddr::V4(address)) => write!(out, "{address}"),
            Self::Ip(IpAddr::V6(address)) => write!(out, "[{address}]"),
            Self::WeakWildcard => out.write_str("*"),
        }
    }
}

/// A URL prefix in canonical form: `scheme://host:port/path/`.
///
/// Two texts that mean the same prefix give equal values; `Display` writes the canonical text, which parses to the
/// same value. Ordered by port, scheme, host category and path, as a person would list them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlPrefix {
    port: u16,
    scheme: Scheme,
    host: Host,
    /// Normalised: begins and ends with a slash, no empty and no dot segment, only bytes that RFC 3986 allows in a
    /// path, escapes in capital letters and only where needed. At most [`MAX_PATH_BYTES`].
    path: Box<str>,
}

impl UrlPrefix {
    /// Parses `scheme://host:port/path/`.
    ///
    /// The final slash may be missing. Scheme and host may be in capital letters; a host name may end in a dot. Bytes
    /// of the path that need an escape may be written without.
    ///
    /// # Errors
    /// [`PrefixError`] says what is wrong, where, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, PrefixError> {
        parse::parse(text)
    }

    /// The scheme.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The port, 1 to 65,535.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The normalised path. Begins and ends with a slash.
    #[must_use]
    pub const fn path(&self) -> &str {
        &self.path
    }

    /// Whether `other` has the same scheme, host and port and lies at or below this prefix's path.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.port == other.port
            && self.scheme == other.scheme
            && self.host == other.host
            && other.path.starts_with(&*self.path)
    }

    /// Whether registering this prefix takes requests that would go to `other` without it. So does an equal prefix.
    ///
    /// That is a prefix below `other`, and one of an earlier category whose path is above or below.
    #[must_use]
    pub fn diverts_from(&self, other: &Self) -> bool {
        if self.host == other.host {
            return other.covers(self);
        }
        self.port == other.port
            && self.scheme == other.scheme
            && self.host.rank() < other.host.rank()
            && (self.path.starts_with(&*other.path) || other.path.starts_with(&*self.path))
    }
}

impl fmt::Display for UrlPrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}://{}:{}{}",
            self.scheme, self.host, self.port, self.path
        )
    }
}

impl FromStr for UrlPrefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        Self::parse(text)
    }
}
