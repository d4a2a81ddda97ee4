//! A decoded field section: flat bytes, and places in them.

use crate::semantics::Field;

use super::limits::FIELD_OVERHEAD_BYTES;

/// The fields of one header or trailer section (RFC 9113, section 8.1). It keeps its memory from one to the next.
#[derive(Debug, Default)]
pub struct FieldSection {
    pub(super) bytes: Vec<u8>,
    /// In the order they were sent; pseudo-header fields have numbers of their own.
    pub(super) fields: Vec<Field>,
    /// What RFC 9113, section 6.5.2 counts: 32 for each field beyond its bytes.
    size: u64,
    max_size: u64,
    max_count: usize,
    is_too_large: bool,
    /// Something in it is forbidden (RFC 9113, section 8.2.1).
    pub(super) is_malformed: bool,
}

/// Memory that is kept for the next section.
const KEEP_BYTES: usize = 64 * 1024;

impl FieldSection {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the fields, and takes at most so many, of this size, from now on.
    pub fn start(&mut self, max_size: u32, max_count: u32) {
        if self.bytes.capacity() > KEEP_BYTES {
            self.bytes = Vec::new();
            self.fields = Vec::new();
        }
        self.bytes.clear();
        self.fields.clear();
        self.size = 0;
        self.max_size = max_size.into();
        self.max_count = max_count as usize;
        self.is_too_large = false;
        self.is_malformed = false;
    }

    /// The bytes in which the fields' places are.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The fields, in the order they were sent.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether there were more fields, or larger ones, than were allowed. There are no fields then.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    /// What the fields come to, as RFC 9113, section 6.5.2 counts them, also of those that were too many.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The largest size that is kept.
    pub(super) fn max_size(&self) -> u64 {
        self.max_size
    }

    /// Adds a field whose name and value, one behind the other, are the bytes from `start` on. If it is too much, all
    /// bytes go.
    #[inline]
    pub(super) fn push(&mut self, start: usize, name_length: usize, name_number: u16) {
        let length = self.bytes.len() - start;
        self.count(length);
        let short_length = u16::try_from(name_length);
        if self.is_too_large || short_length.is_err() || self.fields.len() >= self.max_count {
            return self.overflow();
        }
        self.fields.push(Field {
            name_number,
            name_length: short_length.unwrap_or(0),
            name_offset: start as u32,
            value_offset: (start + name_length) as u32,
            value_length: (length - name_length) as u32,
        });
    }

    /// Counts a field of so many bytes.
    #[inline]
    pub(super) fn count(&mut self, length: usize) {
        self.size += length as u64 + FIELD_OVERHEAD_BYTES;
        self.is_too_large |= self.size > self.max_size;
    }

    #[cold]
    fn overflow(&mut self) {
        self.is_too_large = true;
        self.bytes.clear();
        self.fields.clear();
    }
}
