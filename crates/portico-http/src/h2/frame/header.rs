//! The nine bytes that every frame begins with (RFC 9113, section 4.1).

/// Number of bytes of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 9;

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Number of bytes behind the header, less than 2^24.
    pub length: u32,
    /// What kind of frame it is.
    pub kind: FrameKind,
    /// Flags: what they mean depends on the kind ([`flag`]).
    pub flags: u8,
    /// The stream, 0 for the connection, less than 2^31.
    pub stream: u32,
}

impl FrameHeader {
    /// Reads a header; the reserved bit is ignored.
    #[must_use]
    #[inline]
    pub fn parse(bytes: &[u8; FRAME_HEADER_BYTES]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind: FrameKind(kind),
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & STREAM_MASK,
        }
    }

    /// The header's bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> [u8; FRAME_HEADER_BYTES] {
        let [_, l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind.0, self.flags, s0, s1, s2, s3]
    }

    /// Whether a flag is set.
    #[must_use]
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// All bits of a stream's number.
pub(super) const STREAM_MASK: u32 = 0x7fff_ffff;

/// A kind of frame. Those that are not known are skipped (RFC 9113, section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameKind(pub u8);

impl FrameKind {
    /// A part of a body.
    pub const DATA: Self = Self(0);
    /// The start of a field block.
    pub const HEADERS: Self = Self(1);
    /// A priority of RFC 7540, which means nothing any more.
    pub const PRIORITY: Self = Self(2);
    /// The end of a stream by an error.
    pub const RST_STREAM: Self = Self(3);
    /// Settings, or that they were taken.
    pub const SETTINGS: Self = Self(4);
    /// The request of a pushed answer.
    pub const PUSH_PROMISE: Self = Self(5);
    /// A ping or its answer.
    pub const PING: Self = Self(6);
    /// The end of the connection is near.
    pub const GOAWAY: Self = Self(7);
    /// Credit for a stream or the connection.
    pub const WINDOW_UPDATE: Self = Self(8);
    /// More of a field block.
    pub const CONTINUATION: Self = Self(9);
    /// Another service for an origin (RFC 7838).
    pub const ALTSVC: Self = Self(10);
    /// The origins of the connection (RFC 8336).
    pub const ORIGIN: Self = Self(12);
    /// A priority of RFC 9218.
    pub const PRIORITY_UPDATE: Self = Self(16);
}

/// Flags of frames.
pub mod flag {
    /// DATA, HEADERS: the last of the stream.
    pub const END_STREAM: u8 = 1;
    /// SETTINGS, PING: an answer.
    pub const ACK: u8 = 1;
    /// HEADERS, PUSH_PROMISE, CONTINUATION: the end of the field block.
    pub const END_HEADERS: u8 = 4;
    /// DATA, HEADERS, PUSH_PROMISE: the first byte says how many bytes at the end are padding.
    pub const PADDED: u8 = 8;
    /// HEADERS: five bytes of a priority of RFC 7540 come first.
    pub const PRIORITY: u8 = 0x20;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_without_the_reserved_bit() {
        let bytes = [1, 2, 3, 4, 5, 0xff, 0xff, 0xff, 0xfe];
        let header = FrameHeader::parse(&bytes);
        assert_eq!((header.length, header.flags), (0x01_02_03, 5));
        assert_eq!(header.kind, FrameKind::SETTINGS);
        assert_eq!(header.stream, 0x7fff_fffe);
        assert_eq!(header.bytes(), [1, 2, 3, 4, 5, 0x7f, 0xff, 0xff, 0xfe]);
        assert!(header.has(flag::ACK) && !header.has(flag::PADDED));
    }
}
