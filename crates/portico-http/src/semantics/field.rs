//! Places in received bytes: a span, and a header field as two of them.

/// A run of bytes in the buffer that was parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Index of the first byte.
    pub offset: u32,
    /// Number of bytes.
    pub length: u32,
}

impl Span {
    /// The bytes of the span in the buffer that was parsed; empty if `bytes` is shorter than that buffer was.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        slice(bytes, self.offset, self.length)
    }

    /// The span as a range of indices.
    #[must_use]
    pub fn range(self) -> core::ops::Range<usize> {
        self.offset as usize..self.offset as usize + self.length as usize
    }
}

/// A header or trailer field: where its name and value lie in the buffer that was parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Field {
    /// Number of the name in [`crate::FIELD_NAMES`], 0 if it is not in the table.
    pub name_number: u16,
    /// Number of bytes of the name, at least 1.
    pub name_length: u16,
    /// Index of the name's first byte.
    pub name_offset: u32,
    /// Index of the value's first byte.
    pub value_offset: u32,
    /// Number of bytes of the value, without the white space around it. May be 0.
    pub value_length: u32,
}

impl Field {
    /// The name as it was sent.
    #[must_use]
    pub fn name<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        slice(bytes, self.name_offset, u32::from(self.name_length))
    }

    /// The value.
    #[must_use]
    pub fn value<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        slice(bytes, self.value_offset, self.value_length)
    }
}

fn slice(bytes: &[u8], offset: u32, length: u32) -> &[u8] {
    let start = offset as usize;
    bytes
        .get(start..start + length as usize)
        .unwrap_or_default()
}
