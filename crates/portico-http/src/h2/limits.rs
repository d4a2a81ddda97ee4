//! Limits of a session of HTTP/2: each with its unit, its default and where that comes from.

/// What each field counts beyond its bytes in the size of a field section (RFC 9113, section 6.5.2).
pub const FIELD_OVERHEAD_BYTES: u64 = 32;

/// So many times the allowed size may a field section have, encoded or decoded, before its connection is given up.
/// Below it only the stream is: the fields are still decoded, because the table that they change is the connection's.
pub const MAX_EXCESS: u64 = 4;

/// CONTINUATION frames behind one HEADERS (CVE-2024-27316), as in nghttp2.
pub const MAX_CONTINUATIONS: u32 = 8;

/// Streams that are not open yet and of which PRIORITY_UPDATE is remembered (RFC 9218, section 7.1).
pub const MAX_EARLY_PRIORITIES: usize = 16;

/// Our SETTINGS that the peer has not acknowledged yet: further ones are refused, as in Node (`maxOutstandingSettings`).
pub const MAX_OUTSTANDING_SETTINGS: usize = 10;

/// DATA with fewer bytes than this counts as tiny if a window made it so.
pub const TINY_DATA_BYTES: u64 = 256;

/// Bytes of one DATA frame: after each the next stream may have its turn.
pub const MAX_DATA_BYTES: usize = 16 * 1024;

/// The largest window (RFC 9113, section 6.9.1).
pub const MAX_WINDOW: i64 = 0x7fff_ffff;

/// A number that is allowed at once, and how fast it grows again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodLimit {
    /// At once.
    pub burst: u32,
    /// Later, each second.
    pub per_second: u32,
}

/// What a client may do, and for how long it may do nothing. Beyond a flood's limit the connection ends with
/// ENHANCE_YOUR_CALM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// RST_STREAM (CVE-2023-44487). 1,000 and 33 a second, as in Node (`streamResetBurst`, `streamResetRate`).
    pub resets: FloodLimit,
    /// Streams that must be reset because of what the client does with them (CVE-2025-8671). 1,000 and 33 a second, as
    /// nghttp2 counts its "glitches".
    pub forced_resets: FloodLimit,
    /// SETTINGS (CVE-2019-9515). 100 and 5 a second: a client has no reason to change them often.
    pub settings: FloodLimit,
    /// PING (CVE-2019-9512). 1,000 and 33 a second; each frame of an answer allows one more, because clients measure
    /// the network with it while they read.
    pub pings: FloodLimit,
    /// DATA of no bytes that ends nothing (CVE-2019-9518). 1,000 and 33 a second.
    pub empty_frames: FloodLimit,
    /// PRIORITY and PRIORITY_UPDATE (CVE-2019-9513). 1,000 and 33 a second; each request allows 4 more.
    pub priorities: FloodLimit,
    /// WINDOW_UPDATE. 1,000 and 33 a second; each DATA frame of an answer allows 4 more.
    pub window_updates: FloodLimit,
    /// DATA frames that are tiny because a window is (CVE-2019-9511). 1,000 and 33 a second.
    pub tiny_windows: FloodLimit,
    /// Frames of unknown kinds. 1,000 and 33 a second.
    pub unknown_frames: FloodLimit,
    /// Milliseconds for which an answer may wait for a window, 0: for ever. Default 120,000: Node has no such limit,
    /// but its sockets time out where a server says so.
    pub window_timeout_ms: u64,
    /// Milliseconds in which SETTINGS must be acknowledged (RFC 9113, section 6.5.3), 0: for ever. Default 10,000, as in
    /// nghttpd.
    pub settings_timeout_ms: u64,
    /// Milliseconds after which a graceful end goes on to its second step without an answer to the ping. Default 1,000.
    pub shutdown_timeout_ms: u64,
}

impl Default for SessionLimits {
    fn default() -> Self {
        let usual = FloodLimit {
            burst: 1000,
            per_second: 33,
        };
        Self {
            resets: usual,
            forced_resets: usual,
            settings: FloodLimit {
                burst: 100,
                per_second: 5,
            },
            pings: usual,
            empty_frames: usual,
            priorities: usual,
            window_updates: usual,
            tiny_windows: usual,
            unknown_frames: usual,
            window_timeout_ms: 120_000,
            settings_timeout_ms: 10_000,
            shutdown_timeout_ms: 1_000,
        }
    }
}

impl SessionLimits {
    /// Those of floods, in the order in which they are counted.
    pub(super) fn floods(&self) -> [FloodLimit; 9] {
        [
            self.resets,
            self.forced_resets,
            self.settings,
            self.pings,
            self.empty_frames,
            self.priorities,
            self.window_updates,
            self.tiny_windows,
            self.unknown_frames,
        ]
    }
}
