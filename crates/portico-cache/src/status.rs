//! What a cache knows of status codes.

use portico_http::semantics::status::reason;

/// Whether a response of this status may be stored although it says nothing of its lifetime (RFC 9110, section 15.1).
#[must_use]
pub const fn is_heuristically_cacheable(status: u16) -> bool {
    matches!(
        status,
        200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    )
}

/// Whether this cache knows what the status means for it, as `must-understand` asks (RFC 9111, section 5.2.2.3).
#[must_use]
pub const fn is_understood(status: u16) -> bool {
    reason(status).is_some()
}

/// Whether the application failed, so that a stale response may stand in (RFC 5861, section 4).
#[must_use]
pub const fn is_failure(status: u16) -> bool {
    matches!(status, 500 | 502 | 503 | 504)
}
