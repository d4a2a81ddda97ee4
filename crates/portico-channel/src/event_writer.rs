//! Writing records into bounded memory.

use crate::schema;

/// The memory has fewer free bytes than a record needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedSpace {
    /// Bytes that the record takes.
    pub bytes: usize,
}

/// Appends event records to a piece of memory. A record is written whole or not at all.
#[derive(Debug)]
pub struct EventWriter<'a> {
    memory: &'a mut [u8],
    position: usize,
}

impl<'a> EventWriter<'a> {
    /// Writes from the first byte of `memory` on.
    #[must_use]
    pub fn new(memory: &'a mut [u8]) -> Self {
        Self {
            memory,
            position: 0,
        }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.position
    }

    /// Whether nothing has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.position == 0
    }

    /// Bytes that are free.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.memory.len().saturating_sub(self.position)
    }

    /// What has been written.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        self.memory.get(..self.position).unwrap_or_default()
    }

    /// Writes a record: its words, room for the entries of its table, and for `payload` bytes, which begin at
    /// [`schema::Record::payload_offset`]. The record is part of the stream when this returns; the caller fills the room.
    ///
    /// # Errors
    /// [`NeedSpace`]: nothing was written.
    #[inline]
    pub fn write<R: schema::Record>(
        &mut self,
        flags: u32,
        words: R,
        entries: usize,
        payload: usize,
    ) -> Result<Room<'_>, NeedSpace> {
        let payload_at = R::BYTES + entries * R::ENTRY_BYTES;
        let bytes = payload_at + padded(payload);
        if bytes > self.remaining() {
            return Err(NeedSpace { bytes });
        }
        let free = self
            .memory
            .get_mut(self.position..self.position + bytes)
            .unwrap_or_default();
        self.position += bytes;
        let (head, rest) = free.split_at_mut_checked(R::BYTES).unwrap_or_default();
        schema::encode(to_word(bytes), flags, words, head);
        let (table, rest) = rest
            .split_at_mut_checked(entries * R::ENTRY_BYTES)
            .unwrap_or_default();
        Ok(Room {
            table,
            payload: rest.get_mut(..payload).unwrap_or_default(),
        })
    }

    /// Writes a record that is words only.
    ///
    /// # Errors
    /// As [`EventWriter::write`].
    #[inline]
    pub fn tell<R: schema::Record>(&mut self, flags: u32, words: R) -> Result<(), NeedSpace> {
        self.write(flags, words, 0, 0).map(|_| ())
    }

    /// Writes a record whose payload is a piece of memory. `words` is told where it will lie.
    ///
    /// # Errors
    /// As [`EventWriter::write`].
    #[inline]
    pub fn tell_bytes<R: schema::Record>(
        &mut self,
        flags: u32,
        bytes: &[u8],
        words: impl FnOnce(schema::Range) -> R,
    ) -> Result<(), NeedSpace> {
        let words = words(schema::Range::of(R::payload_offset(0), bytes));
        self.write(flags, words, 0, bytes.len())?
            .payload
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Has `fill` write the payload of a record where it will lie, `most` bytes at most. It returns how many there are; of
    /// none no record is written. `words` is told where they lie, and says what else the record has.
    #[inline]
    pub fn tell_filled<R: schema::Record, E>(
        &mut self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
        words: impl FnOnce(schema::Range) -> (u32, R),
    ) -> Result<usize, E> {
        let most = most.min(self.payload_room::<R>());
        let free = self.memory.get_mut(self.position..).unwrap_or_default();
        let (head, rest) = free.split_at_mut_checked(R::BYTES).unwrap_or_default();
        let place = rest.get_mut(..most).unwrap_or_default();
        let count = fill(place)?.min(place.len());
        if count > 0 {
            let bytes = place.get(..count).unwrap_or_default();
            let (flags, words) = words(schema::Range::of(R::payload_offset(0), bytes));
            let size = R::BYTES + padded(count);
            schema::encode(to_word(size), flags, words, head);
            self.position += size;
        }
        Ok(count)
    }

    /// The largest payload that a record without a table can have in the free memory.
    #[inline]
    #[must_use]
    pub fn payload_room<R: schema::Record>(&self) -> usize {
        self.remaining().saturating_sub(R::BYTES) & !3
    }

    /// Appends records that are already in their final form, if all fit.
    ///
    /// # Errors
    /// [`NeedSpace`]: nothing was written.
    pub fn append(&mut self, records: &[u8]) -> Result<(), NeedSpace> {
        let end = self.position + records.len();
        match self.memory.get_mut(self.position..end) {
            Some(free) => {
                free.copy_from_slice(records);
                self.position = end;
                Ok(())
            }
            None => Err(NeedSpace {
                bytes: records.len(),
            }),
        }
    }
}

impl EventWriter<'_> {
    /// Lets `fill` write into the free memory. It returns how many bytes, whole records, are part of the stream.
    pub fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let free = self.memory.get_mut(self.position..).unwrap_or_default();
        let bytes = fill(free)?.min(free.len());
        self.position += bytes;
        Ok(bytes)
    }
}

/// What the writer of a record has still to fill.
#[derive(Debug)]
pub struct Room<'a> {
    /// The entries of its table.
    pub table: &'a mut [u8],
    /// Its payload.
    pub payload: &'a mut [u8],
}

impl Room<'_> {
    /// Copies `bytes` into the payload at `offset` as far as they fit.
    #[inline]
    pub fn put(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(space) = self.payload.get_mut(offset..offset + bytes.len()) {
            space.copy_from_slice(bytes);
        }
    }

    /// Fills the table with entries.
    #[inline]
    pub fn fill_table<E: schema::Value>(&mut self, entries: impl Iterator<Item = E>) {
        for (place, entry) in self.table.chunks_exact_mut(E::BYTES).zip(entries) {
            entry.encode(place);
        }
    }
}

/// A size as a record's word. Sizes here are bounded far below 4 GB.
#[inline]
pub(crate) fn to_word(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

/// Size with the padding to four bytes.
#[inline]
#[must_use]
pub const fn padded(bytes: usize) -> usize {
    (bytes + 3) & !3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::event;

    fn body(bytes: schema::Range) -> event::Body {
        event::Body {
            token: 7,
            sequence: 2,
            bytes,
        }
    }

    #[test]
    fn a_record_is_padded_to_four_bytes() {
        let mut memory = [0u8; 64];
        let mut writer = EventWriter::new(&mut memory);
        writer.tell_bytes(1, b"hello", body).unwrap();
        assert_eq!(writer.len(), 32);
        let written = writer.written();
        assert_eq!(written[..12], [32, 0, 0, 0, 4, 1, 0, 0, 7, 0, 0, 0]);
        assert_eq!(written[12..24], [2, 0, 0, 0, 24, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(&written[24..29], b"hello");
    }

    #[test]
    fn a_payload_is_filled_in_its_place_and_none_leaves_no_record() {
        let mut memory = [0u8; 64];
        let mut writer = EventWriter::new(&mut memory);
        let nothing = writer.tell_filled(10, |_| Ok::<_, ()>(0), |bytes| (1, body(bytes)));
        assert_eq!((nothing, writer.len()), (Ok(0), 0));
        let failed = writer.tell_filled(10, |_| Err(()), |bytes| (1, body(bytes)));
        assert_eq!((failed, writer.len()), (Err(()), 0));
        let fill = |place: &mut [u8]| {
            assert_eq!(place.len(), 10);
            place[..5].copy_from_slice(b"hello");
            Ok::<_, ()>(5)
        };
        let filled = writer.tell_filled(10, fill, |bytes| (1, body(bytes)));
        let mut other = [0u8; 64];
        let mut expected = EventWriter::new(&mut other);
        expected.tell_bytes(1, b"hello", body).unwrap();
        assert_eq!(filled, Ok(5));
        assert_eq!(writer.written(), expected.written());
        let room = writer.payload_room::<event::Body>();
        let all = writer.tell_filled(
            100,
            |place| Ok::<_, ()>(place.len()),
            |bytes| (0, body(bytes)),
        );
        assert_eq!((all, room, writer.remaining()), (Ok(8), 8, 0));
    }

    #[test]
    fn a_record_that_does_not_fit_leaves_no_trace() {
        let mut memory = [0u8; 28];
        let mut writer = EventWriter::new(&mut memory);
        assert_eq!(
            writer.tell_bytes(0, b"hello", body).unwrap_err(),
            NeedSpace { bytes: 32 }
        );
        assert_eq!(writer.len(), 0);
        assert!(writer.tell_bytes(0, b"four", body).is_ok());
    }
}
