//! Limits of heads, trailers and chunk headers, with Node's defaults.

/// Limits of a request head; those of a trailer section are the same, counted anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of target, field names and field values (trailing white space included, everything else left out) from
    /// which on a head is refused, as Node counts `maxHeaderSize`. Default 16,384, as in Node.
    pub max_header_size: u32,
    /// Number of fields beyond which `excess_fields` applies; 0: no limit. Default 1,000, as in Node.
    pub max_headers_count: u32,
    /// What happens beyond `max_headers_count`.
    pub excess_fields: ExcessFields,
    /// What happens to a head with a `Host` that is none, or with more than one.
    pub invalid_hosts: InvalidHosts,
}

/// What happens to a head with more fields than `max_headers_count`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExcessFields {
    /// It is refused with `HeaderOverflow`, as in Node 24.21 and 26.10. The default.
    #[default]
    Refuse,
    /// The fields beyond are checked and obeyed but not reported, as in Node 20 and 25.8.
    Drop,
}

/// What happens to a head whose `Host` breaks RFC 9112, section 3.2: more than one, or one that is no host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidHosts {
    /// It is refused, as the RFC demands. The default, and a must for whoever chooses by it who gets the request.
    #[default]
    Refuse,
    /// It is taken as any other field, as in Node, for an application that is alone and reads it itself. It has no part
    /// in framing.
    Accept,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self {
            max_header_size: 16 * 1024,
            max_headers_count: 1000,
            excess_fields: ExcessFields::Refuse,
            invalid_hosts: InvalidHosts::Refuse,
        }
    }
}

impl HeadLimits {
    /// Bytes that a head can have at most, everything included: beyond it the parser refuses with `HeaderOverflow`.
    /// A buffer for partial heads needs no more room than this.
    ///
    /// Node has no such limit, because it keeps nothing of white space and line ends; we keep the bytes. Three times
    /// the counted size leaves room for fields of three bytes.
    #[must_use]
    pub const fn max_head_bytes(&self) -> u32 {
        self.max_header_size.saturating_mul(3).saturating_add(1024)
    }
}

/// Bytes of names and values of one chunk's extensions beyond which a body is refused, as in Node. Leading zeros of
/// the chunk size count too.
pub const MAX_CHUNK_EXTENSION_BYTES: u32 = 16 * 1024;
