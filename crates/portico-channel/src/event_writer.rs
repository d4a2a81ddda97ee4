//! Writing records into bounded memory.

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

    /// Begins a record of `words` words followed by `payload` bytes and sets its first three words. The record is
    /// part of the stream when this returns; the caller fills it.
    ///
    /// # Errors
    /// [`NeedSpace`]: nothing was written.
    #[inline]
    pub fn record(
        &mut self,
        kind: u32,
        flags: u32,
        subject: u32,
        words: usize,
        payload: usize,
    ) -> Result<Record<'_>, NeedSpace> {
        let words_bytes = words.max(3) * 4;
        let bytes = words_bytes + padded(payload);
        if bytes > self.remaining() {
            return Err(NeedSpace { bytes });
        }
        let free = self
            .memory
            .get_mut(self.position..self.position + bytes)
            .unwrap_or_default();
        self.position += bytes;
        let (words, rest) = free.split_at_mut_checked(words_bytes).unwrap_or_default();
        let payload = rest.get_mut(..payload).unwrap_or_default();
        let mut record = Record {
            words,
            payload,
            payload_offset: to_word(words_bytes),
        };
        record.set(0, to_word(bytes));
        record.set(1, kind | flags << 8);
        record.set(2, subject);
        Ok(record)
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

/// A record in the making. Setting a word or a byte that it does not have does nothing.
#[derive(Debug)]
pub struct Record<'a> {
    words: &'a mut [u8],
    /// The payload, to be filled.
    pub payload: &'a mut [u8],
    /// Offset of the payload from the record's first byte.
    pub payload_offset: u32,
}

impl Record<'_> {
    /// Sets word `index`.
    #[inline]
    pub fn set(&mut self, index: usize, value: u32) {
        let bytes = index * 4;
        if let Some(word) = self.words.get_mut(bytes..bytes + 4) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Sets words `index` and `index + 1`, low word first.
    #[inline]
    pub fn set_u64(&mut self, index: usize, value: u64) {
        self.set(index, (value & 0xffff_ffff) as u32);
        self.set(index + 1, (value >> 32) as u32);
    }

    /// Copies `bytes` into the payload at `offset` as far as they fit.
    #[inline]
    pub fn put(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(space) = self.payload.get_mut(offset..offset + bytes.len()) {
            space.copy_from_slice(bytes);
        }
    }

    /// The bytes of the words from `index` on, little-endian, four bytes each: for tables.
    #[inline]
    pub fn table(&mut self, index: usize) -> &mut [u8] {
        self.words.get_mut(index * 4..).unwrap_or_default()
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

    #[test]
    fn a_record_is_padded_to_four_bytes() {
        let mut memory = [0u8; 64];
        let mut writer = EventWriter::new(&mut memory);
        let mut record = writer.record(4, 1, 7, 6, 5).unwrap();
        assert_eq!(record.payload_offset, 24);
        record.put(0, b"hello");
        assert_eq!(writer.len(), 32);
        assert_eq!(
            &writer.written()[..12],
            &[32, 0, 0, 0, 4, 1, 0, 0, 7, 0, 0, 0]
        );
        assert_eq!(&writer.written()[24..29], b"hello");
    }

    #[test]
    fn a_record_that_does_not_fit_leaves_no_trace() {
        let mut memory = [0u8; 16];
        let mut writer = EventWriter::new(&mut memory);
        assert_eq!(
            writer.record(1, 0, 0, 3, 5).unwrap_err(),
            NeedSpace { bytes: 20 }
        );
        assert_eq!(writer.len(), 0);
        assert!(writer.record(1, 0, 0, 3, 4).is_ok());
    }
}
