//! Option objects as JavaScript gives them (`binding.ts`), and their conversion to the engine's.

use napi::Result;
use napi::bindgen_prelude::{FnArgs, FunctionRef, Int32Array, Uint8Array};
use napi_derive::napi;
use portico_engine::Counters;
use portico_tls::{Context, ContextOptions, Identity, Pfx};
use std::time::Duration;

use crate::errors::failure;

/// `EngineOptions` of binding.ts.
#[napi(object, object_to_js = false)]
pub struct EngineOptions {
    /// Number of threads; 0 is the inline drive.
    pub threads: u32,
    /// Shared words.
    pub state: Int32Array,
    /// Where JavaScript writes commands.
    pub commands: Uint8Array,
    /// Receives batches.
    pub on_events: FunctionRef<FnArgs<(u32, u32)>, ()>,
    /// Asked for a new slab.
    pub on_slab_needed: FunctionRef<u32, ()>,
}

/// `ListenerOptions` of binding.ts: milliseconds and bytes.
#[napi(object, object_to_js = false)]
pub struct ListenerOptions {
    /// Tell of a connection at accept.
    pub notify_open: bool,
    /// Milliseconds, 0 = none.
    pub headers_timeout: f64,
    /// Milliseconds, 0 = none.
    pub request_timeout: f64,
    /// Milliseconds, 0 = none.
    pub keep_alive_timeout: f64,
    /// Milliseconds.
    pub keep_alive_timeout_buffer: f64,
    /// Milliseconds, 0 = none.
    pub timeout: f64,
    /// Milliseconds.
    pub connections_checking_interval: f64,
    /// 0 = no limit.
    pub max_requests_per_socket: f64,
    /// 0 = no limit.
    pub max_headers_count: f64,
    /// Bytes; 0 = default.
    pub max_header_size: f64,
    /// Refuse more than one Host, and what is no host.
    pub strict_host: bool,
    /// -1 = no limit.
    pub max_connections: f64,
    /// TCP_NODELAY.
    pub no_delay: bool,
    /// SO_KEEPALIVE.
    pub keep_alive: bool,
    /// Milliseconds.
    pub keep_alive_initial_delay: f64,
    /// Bytes.
    pub high_water_mark: f64,
    /// TLS context, 0 = plain.
    pub tls: u32,
    /// Ask for the context of each ClientHello.
    pub ask_server_name: bool,
    /// Ask for the protocol of each ClientHello.
    pub ask_alpn: bool,
    /// Milliseconds.
    pub handshake_timeout: f64,
    /// `h2`, `http/1.1`; HTTP/1 alone if there are none.
    pub protocols: Option<Vec<String>>,
    /// Of connections that speak HTTP/2.
    pub http2: Option<Http2Options>,
    /// Tell of their sessions.
    pub notify_session: Option<bool>,
}

/// `Http2Options` of binding.ts: what is left out has Portico's default.
#[napi(object, object_to_js = false)]
pub struct Http2Options {
    /// Bytes of the table that requests are decoded with.
    pub header_table_size: Option<f64>,
    /// Open streams.
    pub max_concurrent_streams: Option<f64>,
    /// Bytes of one request's body that may be under way or unread.
    pub initial_window_size: Option<f64>,
    /// Bytes of a frame.
    pub max_frame_size: Option<f64>,
    /// Bytes of a field section.
    pub max_header_list_size: Option<f64>,
    /// Extended CONNECT (RFC 8441).
    pub enable_connect_protocol: Option<bool>,
    /// Bytes of all requests' bodies.
    pub connection_window: Option<f64>,
    /// Fields of a section.
    pub max_fields: Option<f64>,
    /// Bytes of the table that answers are encoded with.
    pub encoder_table_size: Option<f64>,
    /// Streams at once that may have errors.
    pub max_invalid_frames: Option<f64>,
    /// Streams at once that a client may reset.
    pub stream_reset_burst: Option<f64>,
    /// And each second later.
    pub stream_reset_rate: Option<f64>,
}

/// `TlsIdentity` of binding.ts.
#[napi(object, object_to_js = false)]
pub struct TlsIdentity {
    /// DER, leaf first.
    pub chain: Vec<Uint8Array>,
    /// PKCS#8 DER.
    pub key: Uint8Array,
}

/// A PKCS#12 file.
#[napi(object, object_to_js = false)]
pub struct TlsPfx {
    /// The file.
    pub data: Uint8Array,
    /// Its passphrase, empty if none.
    pub passphrase: String,
}

/// `TlsContextOptions` of binding.ts.
#[napi(object, object_to_js = false)]
pub struct TlsContextOptions {
    /// Keys with their chains.
    pub identities: Vec<TlsIdentity>,
    /// PKCS#12 files.
    pub pfx: Option<Vec<TlsPfx>>,
    /// Trust anchors, DER.
    pub ca: Vec<Uint8Array>,
    /// Revocation lists, DER.
    pub crl: Vec<Uint8Array>,
    /// Ask for a client certificate.
    pub request_cert: bool,
    /// Refuse clients without a valid one.
    pub reject_unauthorized: bool,
    /// Any certificate of `ca` may end a chain.
    pub allow_partial_trust_chain: Option<bool>,
    /// Protocols in order of preference.
    pub alpn: Vec<String>,
    /// 0x0303 or 0x0304.
    pub min_version: u32,
    /// 0x0303 or 0x0304.
    pub max_version: u32,
    /// IANA numbers.
    pub cipher_suites: Vec<u32>,
    /// IANA numbers.
    pub named_groups: Vec<u32>,
    /// Seconds.
    pub session_timeout: f64,
    /// 48 bytes or none.
    pub ticket_keys: Uint8Array,
    /// Send KEY_LOG events.
    pub key_log: bool,
    /// The server's order of cipher suites counts.
    pub honor_cipher_order: bool,
    /// Hand out session tickets.
    pub tickets: bool,
    /// IANA numbers.
    pub signature_schemes: Vec<u32>,
}

/// `EngineCounters` of binding.ts.
#[napi(object, object_from_js = false)]
pub struct EngineCounters {
    /// Since the start.
    pub connections_accepted: f64,
    /// Now.
    pub connections_open: f64,
    /// Heads handed to the application.
    pub requests: f64,
    /// Completed.
    pub responses: f64,
    /// From sockets.
    pub bytes_read: f64,
    /// To sockets.
    pub bytes_written: f64,
}

impl ListenerOptions {
    pub(crate) fn convert(&self) -> portico_engine::ListenerOptions {
        portico_engine::ListenerOptions {
            notify_open: self.notify_open,
            headers_timeout: milliseconds(self.headers_timeout),
            request_timeout: milliseconds(self.request_timeout),
            keep_alive_timeout: milliseconds(self.keep_alive_timeout),
            keep_alive_timeout_buffer: milliseconds(self.keep_alive_timeout_buffer),
            // As Node, which has none.
            min_bytes_per_second: 0,
            timeout: milliseconds(self.timeout),
            connections_checking_interval: milliseconds(self.connections_checking_interval),
            max_requests_per_socket: whole(self.max_requests_per_socket),
            max_headers_count: whole(self.max_headers_count),
            max_header_size: bytes(self.max_header_size),
            strict_host: self.strict_host,
            max_connections: (self.max_connections >= 0.0).then(|| whole(self.max_connections)),
            no_delay: self.no_delay,
            keep_alive: self.keep_alive,
            keep_alive_initial_delay: milliseconds(self.keep_alive_initial_delay),
            high_water_mark: bytes(self.high_water_mark),
            tls: self.tls,
            ask_server_name: self.ask_server_name,
            ask_alpn: self.ask_alpn,
            handshake_timeout: milliseconds(self.handshake_timeout),
            protocols: self.protocols(),
            notify_session: self.notify_session.unwrap_or(false),
            http2: match &self.http2 {
                Some(options) => options.convert(),
                None => portico_engine::ListenerOptions::default().http2,
            },
        }
    }
}

impl ListenerOptions {
    fn protocols(&self) -> portico_engine::Protocols {
        let names = self.protocols.as_deref().unwrap_or_default();
        let http2 = names.iter().any(|name| name == "h2");
        portico_engine::Protocols {
            http1: !http2 || names.iter().any(|name| name == "http/1.1"),
            http2,
        }
    }
}

impl Http2Options {
    /// Within what RFC 9113, section 6.5.2 allows.
    fn convert(&self) -> portico_engine::Http2Options {
        const LARGEST_WINDOW: u32 = 0x7fff_ffff;
        let mut options = portico_engine::ListenerOptions::default().http2;
        let set = |place: &mut u32, value: Option<f64>, least: u32, most: u32| {
            if let Some(value) = value {
                *place = whole(value).clamp(least, most);
            }
        };
        let settings = &mut options.settings;
        set(
            &mut settings.header_table_size,
            self.header_table_size,
            0,
            u32::MAX,
        );
        set(
            &mut settings.max_concurrent_streams,
            self.max_concurrent_streams,
            0,
            u32::MAX,
        );
        set(
            &mut settings.initial_window_size,
            self.initial_window_size,
            0,
            LARGEST_WINDOW,
        );
        set(
            &mut settings.max_frame_size,
            self.max_frame_size,
            1 << 14,
            (1 << 24) - 1,
        );
        set(
            &mut settings.max_header_list_size,
            self.max_header_list_size,
            0,
            u32::MAX,
        );
        if let Some(is_enabled) = self.enable_connect_protocol {
            settings.enable_connect_protocol = is_enabled;
        }
        set(
            &mut options.connection_window,
            self.connection_window,
            65_535,
            LARGEST_WINDOW,
        );
        set(
            &mut options.max_fields,
            self.max_fields,
            1,
            u32::from(u16::MAX) - 1,
        );
        set(
            &mut options.encoder_table_size,
            self.encoder_table_size,
            0,
            u32::MAX,
        );
        let limits = &mut options.limits;
        let burst = &mut limits.forced_resets.burst;
        set(burst, self.max_invalid_frames, 0, u32::MAX);
        let resets = &mut limits.resets;
        set(&mut resets.burst, self.stream_reset_burst, 0, u32::MAX);
        set(&mut resets.per_second, self.stream_reset_rate, 0, u32::MAX);
        options
    }
}

impl EngineCounters {
    pub(crate) fn from_engine(counters: &Counters) -> Self {
        // Exact up to 2^53, as JavaScript's numbers are.
        let number = |value: u64| value as f64;
        Self {
            connections_accepted: number(counters.connections_accepted),
            connections_open: number(counters.connections_open),
            requests: number(counters.requests),
            responses: number(counters.responses),
            bytes_read: number(counters.bytes_read),
            bytes_written: number(counters.bytes_written),
        }
    }
}

/// Node's timers hold 31 bits of milliseconds; what is not a positive number switches the limit off.
fn milliseconds(value: f64) -> Duration {
    Duration::from_millis(u64::from(whole(value)))
}

fn bytes(value: f64) -> usize {
    usize::try_from(whole(value)).unwrap_or(usize::MAX)
}

/// The nearest u32 (`as` saturates, and makes 0 of NaN).
fn whole(value: f64) -> u32 {
    value as u32
}

impl TlsContextOptions {
    /// Makes the context. The error's code is the TLS crate's.
    pub(crate) fn build(&self) -> Result<Context> {
        let bytes = |list: &[Uint8Array]| list.iter().map(|item| item.to_vec()).collect::<Vec<_>>();
        let numbers = |list: &[u32]| {
            list.iter()
                .filter_map(|number| u16::try_from(*number).ok())
                .collect::<Vec<_>>()
        };
        let options = ContextOptions {
            identities: self
                .identities
                .iter()
                .map(|identity| Identity {
                    chain: bytes(&identity.chain),
                    key: identity.key.to_vec(),
                })
                .collect(),
            pfx: self
                .pfx
                .iter()
                .flatten()
                .map(|pfx| Pfx {
                    data: pfx.data.to_vec(),
                    passphrase: pfx.passphrase.clone(),
                })
                .collect(),
            ca: bytes(&self.ca),
            crl: bytes(&self.crl),
            request_cert: self.request_cert,
            reject_unauthorized: self.reject_unauthorized,
            allow_partial_trust_chain: self.allow_partial_trust_chain.unwrap_or(false),
            alpn: self
                .alpn
                .iter()
                .map(|protocol| protocol.as_bytes().to_vec())
                .collect(),
            min_version: u16::try_from(self.min_version).unwrap_or(0),
            max_version: u16::try_from(self.max_version).unwrap_or(0),
            cipher_suites: numbers(&self.cipher_suites),
            named_groups: numbers(&self.named_groups),
            session_timeout: whole(self.session_timeout),
            ticket_keys: self.ticket_keys.to_vec(),
            key_log: self.key_log,
            honor_cipher_order: self.honor_cipher_order,
            tickets: self.tickets,
            signature_schemes: numbers(&self.signature_schemes),
        };
        Context::new(&options).map_err(|error| failure(error.to_string()))
    }
}
