//! Fields of a head, of a request that was parsed or of a response that was kept: one way to ask both for a value.

use super::{Field, field_name_number, field_value};

/// The fields of a head, in the order they were sent.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    fields: &'a [Field],
}

impl<'a> Fields<'a> {
    /// Fields whose places are in `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8], fields: &'a [Field]) -> Self {
        Self { bytes, fields }
    }

    /// Names, as sent, and values.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let bytes = self.bytes;
        self.fields
            .iter()
            .map(move |field| (field.name(bytes), field.value(bytes)))
    }

    /// The values of all fields of this name, compared without regard to case.
    pub fn values(self, name: &[u8]) -> impl Iterator<Item = &'a [u8]> {
        let number = field_name_number(name);
        let bytes = self.bytes;
        self.fields
            .iter()
            .filter(move |field| {
                field.name_number == number
                    && (number != 0 || field.name(bytes).eq_ignore_ascii_case(name))
            })
            .map(move |field| field.value(bytes))
    }

    /// The value of the first field of this name.
    #[must_use]
    pub fn first(self, name: &[u8]) -> Option<&'a [u8]> {
        self.values(name).next()
    }

    /// Whether there is a field of this name.
    #[must_use]
    pub fn has(self, name: &[u8]) -> bool {
        self.first(name).is_some()
    }

    /// The elements of the list that all fields of this name are together (RFC 9110, section 5.6.1).
    pub fn list(self, name: &[u8]) -> impl Iterator<Item = &'a [u8]> {
        self.values(name).flat_map(field_value::list)
    }
}

/// Fields that are put together one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldsBuffer {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

impl FieldsBuffer {
    /// Puts a field behind the others. What does not fit, more than 4 GiB of fields or 64 KiB of a name, is left out:
    /// heads have limits far below.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        let place = || -> Option<Field> {
            let name_offset = u32::try_from(self.bytes.len()).ok()?;
            let name_length = u16::try_from(name.len()).ok()?;
            Some(Field {
                name_number: field_name_number(name),
                name_length,
                name_offset,
                value_offset: name_offset.checked_add(u32::from(name_length))?,
                value_length: u32::try_from(value.len()).ok()?,
            })
        };
        let Some(field) = place() else { return };
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.fields.push(field);
    }

    /// The fields.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(&self.bytes, &self.fields)
    }

    /// Memory that the fields take, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.fields.capacity() * size_of::<Field>()
    }

    /// Gives back memory that was kept for more fields.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.fields.shrink_to_fit();
    }
}

impl<'a> FromIterator<(&'a [u8], &'a [u8])> for FieldsBuffer {
    fn from_iter<I: IntoIterator<Item = (&'a [u8], &'a [u8])>>(fields: I) -> Self {
        let mut buffer = Self::default();
        for (name, value) in fields {
            buffer.push(name, value);
        }
        buffer
    }
}

impl From<&str> for FieldsBuffer {
    /// From lines `Name: value`; a line without a colon is left out. For what is written in code: bytes that were received
    /// are read by a parser.
    fn from(lines: &str) -> Self {
        lines
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().as_bytes(), value.trim().as_bytes()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_without_case_whether_they_are_well_known_or_not() {
        let buffer =
            FieldsBuffer::from("Cache-Control: a\nX-Own: 1\ncache-control: b, c\nx-OWN: 2");
        let fields = buffer.fields();
        let texts = |values: Vec<&[u8]>| -> Vec<String> {
            let text = |value: &&[u8]| String::from_utf8_lossy(value).into_owned();
            values.iter().map(text).collect()
        };
        assert_eq!(
            texts(fields.values(b"cache-control").collect()),
            ["a", "b, c"]
        );
        assert_eq!(texts(fields.values(b"x-own").collect()), ["1", "2"]);
        assert_eq!(
            texts(fields.list(b"CACHE-CONTROL").collect()),
            ["a", "b", "c"]
        );
        assert_eq!(fields.first(b"X-Own"), Some(&b"1"[..]));
        assert!(!fields.has(b"x-other"));
        assert_eq!(fields.iter().count(), 4);
    }
}
