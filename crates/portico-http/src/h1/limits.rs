//! Limits of heads, trailers and chunk headers, with Node's defaults.

/// Limits of a request head; those of a trailer section are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLimits {
    /// Bytes of target, field names and field values (trailing white space included, everything else left out) from
    /// which on a head is refused, as Node counts `maxHeaderSize`. Default 16,384, as in Node.
    pub max_header_size: u32,
    /// Number of fields that are told to the caller; 0: all. Further ones are checked and obeyed but left out, as
    /// with `maxHeadersCount` in Node. Default 1,000 (2,000 names and values), as in Node.
    pub max_headers_count: u32,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self {
            max_header_size: 16 * 1024,
            max_headers_count: 1000,
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
