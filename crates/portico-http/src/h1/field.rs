//! The fields of the head in work.

use crate::semantics::Field;

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
