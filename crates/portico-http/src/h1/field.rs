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

/// Room for the fields of one head, used again for the next.
#[derive(Debug, Default)]
pub(super) struct FieldList {
    /// The fields, and after them what is left of earlier ones.
    slots: Vec<Field>,
    count: usize,
    /// Number of fields that are kept; further ones are dropped.
    max: usize,
}

impl FieldList {
    /// Room for so many fields; more make it grow.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: vec![Field::default(); capacity],
            count: 0,
            max: 0,
        }
    }

    /// Forgets the fields, and keeps at most `max` from now on.
    pub(super) fn start(&mut self, max: usize) {
        self.count = 0;
        self.max = max;
    }

    /// Adds a field, and makes room for it if need be.
    pub(super) fn push(&mut self, field: Field) {
        if self.count >= self.max {
            return;
        }
        match self.slots.get_mut(self.count) {
            Some(slot) => *slot = field,
            None => self.slots.push(field),
        }
        self.count += 1;
    }

    /// The room there is, to be filled from the start.
    pub(super) fn slots(&mut self) -> &mut [Field] {
        &mut self.slots
    }

    /// Tells how many slots have been filled.
    pub(super) fn set_count(&mut self, count: usize) {
        self.count = count;
    }

    /// The fields so far.
    pub(super) fn as_slice(&self) -> &[Field] {
        self.slots.get(..self.count).unwrap_or_default()
    }

    /// Makes the offsets count from `by` bytes earlier.
    pub(super) fn move_by(&mut self, by: u32) {
        for field in self.slots.iter_mut().take(self.count) {
            field.name_offset += by;
            field.value_offset += by;
        }
    }
}

fn slice(bytes: &[u8], offset: u32, length: u32) -> &[u8] {
    let start = offset as usize;
    bytes
        .get(start..start + length as usize)
        .unwrap_or_default()
}
