//! Well-known names of header fields, with the numbers that engine and application exchange.
//!
//! A name's number lets both sides compare, switch on and share a name without its bytes. The table holds what
//! browsers, proxies and applications send; a name that is not in it has number 0 and nothing else changes. Names
//! that the parser itself evaluates come first, so that one comparison tells them from the rest.

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

/// Number of a field name, compared without regard to ASCII case; 0 if it is not in the table.
#[must_use]
pub fn field_name_number(name: &[u8]) -> u16 {
    FIELD_NAMES
        .iter()
        .position(|known| !known.is_empty() && known.as_bytes().eq_ignore_ascii_case(name))
        .map_or(0, |index| index as u16)
}
