//! Reading records that the other side wrote. Nothing it says is trusted: sizes are checked before use.

use crate::schema::{Record, View};

/// One record. Reading a word or bytes that it does not have yields nothing, never a panic.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    bytes: &'a [u8],
}

impl<'a> RecordView<'a> {
    /// Kind: the low 8 bits of word 1.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> u32 {
        self.word(1) & 0xff
    }

    /// Flags: the high 24 bits of word 1.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.word(1) >> 8
    }

    /// The word behind the head: in most records the connection's token, in the others what their kind says.
    #[inline]
    #[must_use]
    pub fn token(&self) -> u32 {
        self.word(2)
    }

    /// The word behind it: in records about a request, its sequence number; 0 in those about a byte stream.
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u32 {
        self.word(3)
    }

    /// The record as one of its kind, which the caller has looked at. `None` if it is too short for that kind, or says
    /// something untrue of places in itself.
    #[inline]
    #[must_use]
    pub fn read<R: Record>(&self) -> Option<View<'a, R>> {
        View::of(*self)
    }

    /// All of it.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Word `index`, 0 if the record is shorter.
    #[inline]
    fn word(&self, index: usize) -> u32 {
        let start = index * 4;
        match self.bytes.get(start..start + 4) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    /// The bytes from `start` of length `length`; `None` if the record does not hold them.
    #[inline]
    #[must_use]
    pub(crate) fn bytes(&self, start: usize, length: u32) -> Option<&'a [u8]> {
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        self.bytes.get(start..end)
    }

    /// Size of the whole record.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// A size word that is not a multiple of four, less than a record's head or more than what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where the record begins.
    pub offset: usize,
}

/// Splits bytes into records. Ends after the first malformed one.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Records<'a> {
    /// Records of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Where the next record begins.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RecordView<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.offset;
        let rest = self.bytes.get(offset..)?;
        if rest.is_empty() {
            return None;
        }
        let record = record_size(rest).and_then(|size| rest.get(..size));
        match record {
            Some(bytes) => {
                self.offset += bytes.len();
                Some(Ok(RecordView { bytes }))
            }
            None => {
                self.offset = self.bytes.len();
                Some(Err(Malformed { offset }))
            }
        }
    }
}

/// Size of the record that begins `bytes`, if it is a possible one. It may be more than there is.
#[inline]
#[must_use]
pub fn record_size(bytes: &[u8]) -> Option<usize> {
    let &[a, b, c, d, ..] = bytes else {
        return None;
    };
    let size = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
    (size >= 12 && size % 4 == 0).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_each_other() {
        let bytes = [
            12, 0, 0, 0, 5, 3, 0, 0, 9, 0, 0, 0, 16, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0xaa, 0xbb,
            0, 0,
        ];
        let records: Vec<_> = Records::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(records.len(), 2);
        assert_eq!(
            (records[0].kind(), records[0].flags(), records[0].token()),
            (5, 3, 9)
        );
        assert_eq!(records[1].bytes(12, 2), Some(&[0xaa, 0xbb][..]));
        assert_eq!(records[1].bytes(12, 5), None);
        assert_eq!(records[1].sequence(), 0xbbaa);
        assert_eq!(records[0].sequence(), 0);
    }

    #[test]
    fn a_size_that_cannot_be_ends_the_reading() {
        for size in [0u8, 4, 8, 11, 13, 16, 255] {
            let bytes = [size, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];
            let mut records = Records::new(&bytes);
            assert_eq!(
                records.next().unwrap().unwrap_err(),
                Malformed { offset: 0 }
            );
            assert!(records.next().is_none());
        }
        assert!(Records::new(&[1, 2]).next().unwrap().is_err());
    }
}
