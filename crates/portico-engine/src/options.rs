//! Settings of listeners.

use std::time::Duration;

/// The versions of HTTP that a listener's connections may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocols {
    /// HTTP/1.0 and 1.1.
    pub http1: bool,
    /// HTTP/2: over TLS where the handshake chooses `h2` (ALPN), which its context must offer; in the clear where the
    /// client begins with HTTP/2's preface (RFC 9113, section 3.3). Without `http1` every connection speaks it.
    pub http2: bool,
}

/// Settings and limits of connections that speak HTTP/2.
pub use portico_http::h2::SessionOptions as Http2Options;

impl Default for Protocols {
    /// HTTP/1 alone.
    fn default() -> Self {
        Self {
            http1: true,
            http2: false,
        }
    }
}

/// Settings of a listener and of the connections that come through it. What Node has defaults to Node 26's value, the
/// rest is off but for `strict_host`.
///
/// A zero duration or number switches the limit off unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerOptions {
    /// Send `OPEN` at accept, not just before the connection's first other event.
    pub notify_open: bool,
    /// Time for a complete head, from its first byte (from accept for the first).
    pub headers_timeout: Duration,
    /// Time for a complete request, counted likewise.
    pub request_timeout: Duration,
    /// How long an idle connection is kept, as told to clients (`Keep-Alive: timeout`).
    pub keep_alive_timeout: Duration,
    /// Added to `keep_alive_timeout` before a connection is really closed, so that a client that sends at the last
    /// moment is still heard.
    pub keep_alive_timeout_buffer: Duration,
    /// Bytes that a peer must send of a body, and take of an answer, in a second on average; 0: no limit, as in Node.
    /// Below, its connection is closed.
    pub min_bytes_per_second: u32,
    /// Inactivity timeout.
    pub timeout: Duration,
    /// How often `headers_timeout` and `request_timeout` are checked.
    pub connections_checking_interval: Duration,
    /// Requests a connection may make.
    pub max_requests_per_socket: u32,
    /// Header fields of a head that are told; further ones are left out, as in Node.
    pub max_headers_count: u32,
    /// Bytes of a head, request line included. 0: 16,384.
    pub max_header_size: usize,
    /// Refuse a head with more than one `Host`, or one that is none (RFC 9112, section 3.2). Off, such a head is told
    /// like any other, as in Node: for an application that has the listener to itself.
    pub strict_host: bool,
    /// Open connections beyond which new ones are dropped; `None`: no limit.
    pub max_connections: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `SO_KEEPALIVE`.
    pub keep_alive: bool,
    /// Time before the first keep-alive probe; below a second: the system's default.
    pub keep_alive_initial_delay: Duration,
    /// Bytes of output queued for a connection beyond which no further pipelined request is read.
    pub high_water_mark: usize,
    /// Versions of HTTP.
    pub protocols: Protocols,
    /// Settings and limits of connections that speak HTTP/2; those that exist keep theirs.
    pub http2: Http2Options,
    /// Tell what peers of HTTP/2 say of their sessions (`SESSION`), and requests whose method has no number.
    pub notify_session: bool,
    /// Number of the default TLS context, 0 for a plain listener.
    pub tls: u32,
    /// Ask (`SERVER_NAME`) for the context of each ClientHello.
    pub ask_server_name: bool,
    /// Ask (`ALPN`) for the protocol of each ClientHello that offers some.
    pub ask_alpn: bool,
    /// Time for a complete TLS handshake.
    pub handshake_timeout: Duration,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            notify_open: false,
            headers_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(300),
            keep_alive_timeout: Duration::from_secs(5),
            keep_alive_timeout_buffer: Duration::from_secs(1),
            min_bytes_per_second: 0,
            timeout: Duration::ZERO,
            connections_checking_interval: Duration::from_secs(30),
            max_requests_per_socket: 0,
            max_headers_count: 1000,
            max_header_size: 16 * 1024,
            strict_host: true,
            max_connections: None,
            no_delay: true,
            keep_alive: false,
            keep_alive_initial_delay: Duration::ZERO,
            high_water_mark: 64 * 1024,
            protocols: Protocols::default(),
            http2: http2(),
            notify_session: false,
            tls: 0,
            ask_server_name: false,
            ask_alpn: false,
            handshake_timeout: Duration::from_secs(120),
        }
    }
}

/// As in Node, but for extended CONNECT (RFC 8441): servers that take upgrades take them over HTTP/2 too.
fn http2() -> Http2Options {
    let mut options = Http2Options::default();
    options.settings.enable_connect_protocol = true;
    options
}
