//! Well-known names of header fields, with the numbers that engine and application exchange.
//!
//! A name's number lets both sides compare, switch on and share a name without its bytes. The table holds what
//! browsers, proxies and applications send; a name that is not in it has number 0 and nothing else changes. Names
//! that the parser itself evaluates come first, so that one comparison tells them from the rest.

mod lookup;

pub use lookup::field_name_number;
pub(crate) use lookup::{BLOCK, number_in_block};

/// Well-known field names in lower case. The index is the name's number; 0 is reserved for "not in the table" and
/// holds an empty string.
///
/// Numbers are private to one version of Portico: engine and application are always built together.
pub const FIELD_NAMES: [&str; FIELD_NAME_COUNT] = [
    "",
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "expect",
    "proxy-connection",
    "keep-alive",
    "te",
    "trailer",
    "via",
    "date",
    "accept",
    "accept-encoding",
    "accept-language",
    "accept-charset",
    "accept-ranges",
    "accept-datetime",
    "authorization",
    "proxy-authorization",
    "proxy-authenticate",
    "www-authenticate",
    "cache-control",
    "pragma",
    "age",
    "expires",
    "warning",
    "cookie",
    "set-cookie",
    "cookie2",
    "content-type",
    "content-encoding",
    "content-language",
    "content-location",
    "content-range",
    "content-md5",
    "content-disposition",
    "content-security-policy",
    "etag",
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
    "last-modified",
    "range",
    "vary",
    "user-agent",
    "referer",
    "origin",
    "from",
    "location",
    "server",
    "link",
    "allow",
    "retry-after",
    "alt-svc",
    "alt-used",
    "max-forwards",
    "refresh",
    "upgrade-insecure-requests",
    "dnt",
    "sec-gpc",
    "save-data",
    "device-memory",
    "downlink",
    "ect",
    "rtt",
    "viewport-width",
    "width",
    "priority",
    "purpose",
    "service-worker",
    "service-worker-navigation-preload",
    "early-data",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-user",
    "sec-fetch-dest",
    "sec-purpose",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-ch-ua-arch",
    "sec-ch-ua-model",
    "sec-ch-ua-full-version-list",
    "sec-ch-prefers-color-scheme",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "sec-websocket-accept",
    "access-control-request-method",
    "access-control-request-headers",
    "access-control-request-private-network",
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "http2-settings",
    "strict-transport-security",
    "timing-allow-origin",
    "last-event-id",
    "idempotency-key",
    "prefer",
    "digest",
    "content-digest",
    "signature",
    "signature-input",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-real-ip",
    "x-request-id",
    "x-correlation-id",
    "x-requested-with",
    "x-http-method-override",
    "x-csrf-token",
    "x-xsrf-token",
    "x-api-key",
    "x-amzn-trace-id",
    "x-client-ip",
    "x-original-url",
    "x-frame-options",
    "traceparent",
    "tracestate",
    "baggage",
    "cdn-loop",
    "true-client-ip",
    "cf-connecting-ip",
    "cf-ray",
    "cf-ipcountry",
    "cf-visitor",
    "x-b3-traceid",
    "x-b3-spanid",
    "x-b3-sampled",
];

/// Length of [`FIELD_NAMES`]: numbers are less than this.
pub const FIELD_NAME_COUNT: usize = 138;

/// Number of `Host`.
pub const HOST: u16 = 1;
/// Number of `Connection`.
pub const CONNECTION: u16 = 2;
/// Number of `Content-Length`.
pub const CONTENT_LENGTH: u16 = 3;
/// Number of `Transfer-Encoding`.
pub const TRANSFER_ENCODING: u16 = 4;
/// Number of `Upgrade`.
pub const UPGRADE: u16 = 5;
/// Number of `Expect`.
pub const EXPECT: u16 = 6;
/// Number of `Proxy-Connection`.
pub const PROXY_CONNECTION: u16 = 7;
/// Number of `Keep-Alive`.
pub const KEEP_ALIVE: u16 = 8;
/// Number of `TE`.
pub const TE: u16 = 9;

/// Number of `Cookie`.
pub const COOKIE: u16 = number_of("cookie");
/// Number of `Date`.
pub const DATE: u16 = number_of("date");
/// Number of `Priority`.
pub const PRIORITY: u16 = number_of("priority");

/// The number of a name of the table, found when this is compiled.
pub(crate) const fn number_of(name: &str) -> u16 {
    let mut number = 1;
    while !is_equal(FIELD_NAMES[number].as_bytes(), name.as_bytes()) {
        number += 1;
    }
    number as u16
}

/// `==` for constants.
pub(crate) const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// Whether a byte may stand in a field name (`tchar` of RFC 9110, section 5.6.2).
#[must_use]
#[inline]
pub(crate) const fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

const TOKEN: [bool; 256] = letters_digits_and(b"!#$%&'*+-.^_`|~");

/// A table of the ASCII letters, the digits and these other bytes.
pub(super) const fn letters_digits_and(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_the_parser_evaluates_have_their_numbers() {
        let name = |number: u16| FIELD_NAMES[usize::from(number)];
        assert_eq!(name(HOST), "host");
        assert_eq!(name(CONNECTION), "connection");
        assert_eq!(name(CONTENT_LENGTH), "content-length");
        assert_eq!(name(TRANSFER_ENCODING), "transfer-encoding");
        assert_eq!(name(UPGRADE), "upgrade");
        assert_eq!(name(EXPECT), "expect");
        assert_eq!(name(PROXY_CONNECTION), "proxy-connection");
        assert_eq!(name(KEEP_ALIVE), "keep-alive");
        assert_eq!(name(TE), "te");
    }
}
