//! Field blocks to fields (RFC 7541, sections 3 and 6).

use super::dynamic_table::{DynamicTable, EntryName};
use super::static_table::{self, STATIC_COUNT};
use super::{HpackError, huffman, integer};
use crate::h2::field_section::FieldSection;
use crate::h2::limits::MAX_EXCESS;
use crate::h2::pseudo_field;
use crate::semantics::field_value::is_field_value;

/// Decodes the field blocks of one direction of a connection.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// What SETTINGS allow for the table.
    allowed_size: u32,
    /// SETTINGS have made it smaller than it is: the next block must begin with an update that is no larger.
    must_shrink: bool,
}

impl Decoder {
    /// With a dynamic table of this size: SETTINGS_HEADER_TABLE_SIZE.
    #[must_use]
    pub fn new(max_table_size: u32) -> Self {
        Self {
            table: DynamicTable::new(max_table_size),
            allowed_size: max_table_size,
            must_shrink: false,
        }
    }

    /// The peer has acknowledged a SETTINGS_HEADER_TABLE_SIZE (RFC 9113, section 4.3.1).
    pub fn set_allowed_size(&mut self, size: u32) {
        self.allowed_size = size;
        self.must_shrink = self.table.max_size() > size;
    }

    /// Number of entries in the dynamic table.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.table.len()
    }

    /// Decodes a whole block into `section`, which takes what its limits allow. Beyond them the rest is still decoded:
    /// the table must stay what the peer's is; but not beyond [`MAX_EXCESS`] times the limit, because an index of one
    /// byte stands for as many as the table holds.
    ///
    /// # Errors
    /// The connection can't go on: see [`HpackError`].
    pub fn decode(&mut self, block: &[u8], section: &mut FieldSection) -> Result<(), HpackError> {
        let mut input = block;
        let mut may_resize = true;
        let max_size = section.max_size().saturating_mul(MAX_EXCESS);
        while let Some(&first) = input.first() {
            if first & 0xe0 == 0x20 {
                if !may_resize {
                    return Err(HpackError::MisplacedTableSize);
                }
                self.resize(integer::decode::<5>(&mut input)?)?;
                continue;
            }
            if self.must_shrink {
                return Err(HpackError::MissingTableSize);
            }
            may_resize = false;
            if first & 0x80 != 0 {
                self.indexed(integer::decode::<7>(&mut input)?, section)?;
            } else if first & 0x40 != 0 {
                let index = integer::decode::<6>(&mut input)?;
                self.literal(index, &mut input, section, true)?;
            } else {
                // Without indexing, or never indexed: we forward nothing in HPACK, so they are the same.
                let index = integer::decode::<4>(&mut input)?;
                self.literal(index, &mut input, section, false)?;
            }
            if section.is_too_large() && section.size() > max_size {
                return Err(HpackError::ListTooLarge);
            }
        }
        Ok(())
    }

    /// RFC 7541, section 6.3.
    fn resize(&mut self, size: u32) -> Result<(), HpackError> {
        if size > self.allowed_size {
            return Err(HpackError::TableSizeTooLarge);
        }
        self.table.set_max_size(size);
        self.must_shrink = false;
        Ok(())
    }

    /// RFC 7541, section 6.1.
    #[inline]
    fn indexed(&self, index: u32, section: &mut FieldSection) -> Result<(), HpackError> {
        let start = section.bytes.len();
        if let Some(entry) = static_table::entry(index) {
            section.bytes.extend_from_slice(entry.bytes);
            section.push(start, entry.name_length.into(), entry.name_number);
            return Ok(());
        }
        let (bytes, name) = self.dynamic(index)?;
        // An entry may be large, and its index is a byte: what would not be kept is not copied.
        if section.is_too_large() {
            section.count(bytes.len());
            return Ok(());
        }
        section.bytes.extend_from_slice(bytes);
        section.is_malformed |= !name.is_valid;
        section.push(start, name.length as usize, name.number);
        Ok(())
    }

    /// RFC 7541, sections 6.2.1 to 6.2.3.
    fn literal(
        &mut self,
        index: u32,
        input: &mut &[u8],
        section: &mut FieldSection,
        is_indexed: bool,
    ) -> Result<(), HpackError> {
        let start = section.bytes.len();
        let number = self.name(index, input, &mut section.bytes)?;
        let name_length = section.bytes.len() - start;
        string(input, &mut section.bytes)?;
        let field = section.bytes.get(start..).unwrap_or_default();
        let (name, value) = field.split_at_checked(name_length).unwrap_or_default();
        let is_valid = number.is_some() && is_valid_value(value);
        let number = number.unwrap_or(0);
        if is_indexed {
            let entry = EntryName {
                length: name_length as u32,
                number,
                is_valid,
            };
            self.table.insert(&[name, value], entry);
        }
        section.is_malformed |= !is_valid;
        section.push(start, name_length, number);
        Ok(())
    }

    /// Appends a literal field's name. Its number; `None` for one that is forbidden.
    #[inline]
    fn name(
        &self,
        index: u32,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<u16>, HpackError> {
        if index == 0 {
            let start = out.len();
            string(input, out)?;
            return Ok(pseudo_field::valid_number(
                out.get(start..).unwrap_or_default(),
            ));
        }
        if let Some(entry) = static_table::entry(index) {
            out.extend_from_slice(entry.name());
            return Ok(Some(entry.name_number));
        }
        let (bytes, name) = self.dynamic(index)?;
        let bytes = bytes.get(..name.length as usize).unwrap_or_default();
        out.extend_from_slice(bytes);
        if name.is_valid {
            return Ok(Some(name.number));
        }
        // It may have been the value that was forbidden.
        Ok(pseudo_field::valid_number(bytes))
    }

    #[inline]
    fn dynamic(&self, index: u32) -> Result<(&[u8], EntryName), HpackError> {
        let place = index
            .checked_sub(STATIC_COUNT + 1)
            .ok_or(HpackError::InvalidIndex)?;
        self.table
            .entry(place as usize)
            .ok_or(HpackError::InvalidIndex)
    }
}

/// Appends a string literal (RFC 7541, section 5.2).
#[inline]
fn string(input: &mut &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_huffman = input.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer::decode::<7>(input)?;
    let (text, rest) = input
        .split_at_checked(length as usize)
        .ok_or(HpackError::Truncated)?;
    *input = rest;
    if is_huffman {
        return huffman::decode(text, out);
    }
    out.extend_from_slice(text);
    Ok(())
}

/// RFC 9113, section 8.2.1, and what HTTP/1 forbids: no control character, and no white space at the ends.
#[inline]
fn is_valid_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    is_field_value(value) && !is_blank(value.first()) && !is_blank(value.last())
}
