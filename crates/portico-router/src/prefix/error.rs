//! What can be wrong with the text of a prefix.

use std::error::Error;
use std::fmt;

/// Characters of a bad prefix that are shown.
const SHOWN_CHARACTERS: usize = 80;

/// A text that is no URL prefix. `Display` is for users: what is wrong, where, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixError {
    kind: PrefixErrorKind,
    at: usize,
    text: Box<str>,
}

impl PrefixError {
    pub(super) fn new(kind: PrefixErrorKind, at: usize, text: &str) -> Self {
        Self {
            kind,
            at,
            text: text.chars().take(SHOWN_CHARACTERS + 1).collect(),
        }
    }

    /// The stable code that reaches applications: `ERR_PORTICO_PREFIX_INVALID`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "ERR_PORTICO_PREFIX_INVALID"
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> PrefixErrorKind {
        self.kind
    }

    /// Index of the first byte that is wrong; the text's length if something is missing at its end.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for PrefixError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.text.chars().take(SHOWN_CHARACTERS).collect();
        let more = if shown.len() < self.text.len() {
            "..."
        } else {
            ""
        };
        write!(
            out,
            "invalid URL prefix \"{}{more}\" at byte {}: {}",
            shown.escape_debug(),
            self.at,
            self.kind
        )
    }
}

impl Error for PrefixError {}

/// Declares the kinds with their texts, once.
macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident = $text:literal;)+) => {
        /// What is wrong with a text that is no URL prefix. `Display` gives the reason and the remedy.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum PrefixErrorKind {
            $($(#[$about])* $name,)+
        }

        impl fmt::Display for PrefixErrorKind {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(match self { $(Self::$name => $text,)+ })
            }
        }
    };
}

kinds! {
    /// No `://`.
    SchemeMissing = "the scheme is missing; begin with http:// or https://";
    /// Another scheme than `http` and `https`.
    SchemeUnknown = "the scheme must be http or https (WebSocket uses these too)";
    /// `user@` in front of the host.
    UserInfo = "a prefix has no user name or password; leave out everything up to the '@'";
    /// Nothing between `://` and the port.
    HostMissing = "the host is missing; write '*' for every host, or a name or an address";
    /// A wildcard as a part of a name.
    HostWildcard = "a wildcard must be the whole host; write '*' or '+' alone, or register each name";
    /// A name that is not ASCII.
    HostInternational = "a name in another script must be in its ASCII form (punycode, \"xn--...\"), as browsers send it";
    /// A character that no host name has.
    HostCharacter = "a host name has letters, digits, '-', '_' and '.' only";
    /// An empty label, or one that is too long or has a hyphen at an end.
    HostLabel = "each part of a host name between dots has 1 to 63 characters and no '-' at its ends";
    /// More than 253 characters.
    HostTooLong = "a host name has at most 253 characters";
    /// A name whose last part is a number: clients take it for an IPv4 address.
    HostNumeric = "this would be an IPv4 address; write all four numbers, without leading zeros, as in 127.0.0.1";
    /// An IPv6 address without brackets.
    AddressBrackets = "an IPv6 address stands in brackets, as in http://[::1]:8080/";
    /// What is in brackets is no IPv6 address.
    AddressInvalid = "this is not an IPv6 address";
    /// `%eth0` in an address.
    AddressZone = "an address with a zone (after '%') can't be registered; leave the zone out";
    /// An address that no connection can have.
    AddressUnusable = "no connection arrives on this address; write '*' for all addresses";
    /// No port.
    PortMissing = "the port is missing; write it after the host, as in http://*:8080/";
    /// A port that is no number from 1 to 65,535.
    PortInvalid = "the port must be a number from 1 to 65535 without leading zeros";
    /// `?`.
    Query = "a prefix has no query; end it before the '?'";
    /// `#`.
    Fragment = "a prefix has no fragment; end it before the '#'";
    /// `.` or `..`, escaped or not.
    DotSegment = "'.' and '..' are not allowed in a prefix; write the path that is meant";
    /// Two slashes.
    EmptySegment = "a path has no two slashes in a row; write one";
    /// A segment that is `*` or `+`.
    PathWildcard = "a prefix serves everything below it anyway; leave out the wildcard in the path";
    /// `%` without two hexadecimal digits.
    Escape = "'%' must be followed by two hexadecimal digits; write %25 for the character itself";
    /// A slash or backslash that is escaped.
    EscapedSlash = "an escaped slash or backslash is not allowed in a prefix: programs disagree about what it means";
    /// NUL and other control characters, escaped or not.
    Control = "control characters are not allowed in a prefix";
    /// A space.
    Space = "a space must be written %20";
    /// `\`.
    Backslash = "write '/' instead of a backslash";
    /// A path of more than [`MAX_PATH_BYTES`](crate::MAX_PATH_BYTES) bytes.
    PathTooLong = "the path is too long; it has at most 1024 bytes, escapes counted";
    /// A path of more than [`MAX_SEGMENTS`](crate::MAX_SEGMENTS) segments.
    PathTooDeep = "the path is too deep; it has at most 64 segments";
    /// More text than any prefix has.
    TooLong = "the text is too long for a prefix";
}
