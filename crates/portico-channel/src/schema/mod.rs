//! The table of records, as a language: what a record's words are, how they are read and written, and what is checked.
//!
//! [`crate::layout`] is the table, written with the macros of this module. Each entry becomes
//!
//! * a struct with the record's words by name (`command::Respond`), which is what a writer fills in and a reader gets;
//! * a [`View`] of a record: [`RecordView::read`] checks once that the words are there and that everything they point at lies
//!   in the record, and the view then hands out the pieces by name;
//! * a [`RecordSchema`], from which `make generate` writes the TypeScript copy and `docs/records.md`.
//!
//! Words are little-endian and stand at fixed places, so reading one is a load and writing one a store.

use std::ops::Deref;

use crate::record_reader::RecordView;

mod description;
mod fingerprint;
mod macros;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;

pub use description::{GroupSchema, NumbersSchema, RecordSchema, Type, WordSchema};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use macros::{
    decode_words, encode_words, exists, first, group, numbers, pieces, pieces_fit, records,
};

/// Bytes before a record's own words: its size, its kind and flags.
pub const HEAD_BYTES: usize = 8;

/// What a word or several hold.
pub trait Value: Copy + Default {
    /// Bytes it takes.
    const BYTES: usize;
    /// Its description.
    const TYPE: Type;

    /// Reads it from bytes that are [`Value::BYTES`] long.
    fn decode(bytes: &[u8]) -> Self;

    /// Writes it to bytes that are [`Value::BYTES`] long.
    fn encode(self, bytes: &mut [u8]);

    /// Whether what it points at lies in a record of `size` bytes.
    #[inline]
    fn is_within(&self, _size: usize) -> bool {
        true
    }
}

/// Bytes of a record: where they begin, counted from the record's first byte, and how many they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Where they begin.
    pub offset: u32,
    /// How many they are.
    pub length: u32,
}

impl Range {
    /// The bytes of a slice that are put into a record at `offset`.
    #[inline]
    #[must_use]
    pub fn of(offset: u32, bytes: &[u8]) -> Self {
        Self {
            offset,
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        }
    }

    /// Offset of the first byte behind it.
    #[inline]
    #[must_use]
    pub const fn end(self) -> u32 {
        self.offset.wrapping_add(self.length)
    }
}

macro_rules! integer {
    ($($type:ident $name:ident $bytes:literal),*) => {$(
        impl Value for $type {
            const BYTES: usize = $bytes;
            const TYPE: Type = Type::$name;

            #[inline]
            fn decode(bytes: &[u8]) -> Self {
                bytes
                    .first_chunk::<$bytes>()
                    .map_or(0, |bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn encode(self, bytes: &mut [u8]) {
                if let Some(place) = bytes.first_chunk_mut::<$bytes>() {
                    *place = self.to_le_bytes();
                }
            }
        }
    )*};
}

integer!(u8 U8 1, u16 U16 2, u32 U32 4, i32 I32 4, u64 U64 8);

impl Value for [u8; 16] {
    const BYTES: usize = 16;
    const TYPE: Type = Type::Address;

    #[inline]
    fn decode(bytes: &[u8]) -> Self {
        bytes.first_chunk().copied().unwrap_or_default()
    }

    #[inline]
    fn encode(self, bytes: &mut [u8]) {
        if let Some(place) = bytes.first_chunk_mut() {
            *place = self;
        }
    }
}

impl Value for Range {
    const BYTES: usize = 8;
    const TYPE: Type = Type::Range;

    #[inline]
    fn decode(bytes: &[u8]) -> Self {
        let words = u64::decode(bytes);
        Self {
            offset: (words & 0xffff_ffff) as u32,
            length: (words >> 32) as u32,
        }
    }

    #[inline]
    fn encode(self, bytes: &mut [u8]) {
        (u64::from(self.offset) | u64::from(self.length) << 32).encode(bytes);
    }

    #[inline]
    fn is_within(&self, size: usize) -> bool {
        is_within(self.offset, self.length, size)
    }
}

/// Whether so many bytes from an offset on lie in a record of `size` bytes.
#[inline]
pub(crate) fn is_within(offset: u32, length: u32, size: usize) -> bool {
    u64::from(offset) + u64::from(length) <= size as u64
}

/// A kind of record: its words behind the head.
pub trait Record: Copy + Default {
    /// Its number.
    const KIND: u32;
    /// Bytes of head and words: where the table or the payload begins.
    const BYTES: usize;
    /// Bytes of one entry of its table; 0 if it has none.
    const ENTRY_BYTES: usize;

    /// Reads the words. `bytes` is the record from its first byte on, [`Record::BYTES`] or more.
    fn decode(bytes: &[u8]) -> Self;

    /// Writes the words behind the head of a record.
    fn encode(self, bytes: &mut [u8]);

    /// Whether what the words say of places in the record is true: of pieces, and of the table as a whole.
    fn is_sound(&self, record: RecordView<'_>) -> bool;

    /// Whether what each entry of the table says of places in the record is true.
    fn has_sound_table(&self, record: RecordView<'_>) -> bool;

    /// Where the payload begins in a record whose table has so many entries.
    #[inline]
    #[must_use]
    fn payload_offset(entries: usize) -> u32 {
        u32::try_from(Self::BYTES + entries * Self::ENTRY_BYTES).unwrap_or(u32::MAX)
    }
}

/// Writes a record's head and words into exactly [`Record::BYTES`] bytes.
#[inline]
pub(crate) fn encode<R: Record>(size: u32, flags: u32, words: R, bytes: &mut [u8]) {
    if let Some((start, _)) = bytes.split_first_chunk_mut::<HEAD_BYTES>() {
        *start = head(size, R::KIND, flags);
    }
    words.encode(bytes);
}

/// A record's head.
#[inline]
pub(crate) fn head(size: u32, kind: u32, flags: u32) -> [u8; HEAD_BYTES] {
    (u64::from(size) | u64::from(kind | flags << 8) << 32).to_le_bytes()
}

/// Changes words of a record in place. Nothing happens to one that is too short for its kind.
#[inline]
pub fn rewrite<R: Record>(record: &mut [u8], change: impl FnOnce(&mut R)) {
    if let Some(bytes) = record.get_mut(..R::BYTES) {
        let mut words = R::decode(bytes);
        change(&mut words);
        words.encode(bytes);
    }
}

/// Gives a record other flags.
#[inline]
pub fn set_flags(record: &mut [u8], flags: u32) {
    if let Some([_, _, _, _, kind, bytes @ ..]) = record.first_chunk_mut::<HEAD_BYTES>() {
        let [low, middle, high, _] = flags.to_le_bytes();
        let _ = kind;
        *bytes = [low, middle, high];
    }
}

/// A record whose words and places have been checked. Its words are fields of it, its pieces are methods.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, R> {
    record: RecordView<'a>,
    words: R,
}

impl<R> Deref for View<'_, R> {
    type Target = R;

    #[inline]
    fn deref(&self) -> &R {
        &self.words
    }
}

impl<'a, R: Record> View<'a, R> {
    /// The view of a record of this kind, if its words are there and say nothing untrue of places in it.
    #[inline]
    pub(crate) fn of(record: RecordView<'a>) -> Option<Self> {
        debug_assert_eq!(record.kind(), R::KIND);
        let words = R::decode(record.as_bytes().get(..R::BYTES)?);
        words.is_sound(record).then_some(Self { record, words })
    }

    /// The record.
    #[inline]
    #[must_use]
    pub fn record(&self) -> RecordView<'a> {
        self.record
    }

    /// Its flags.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.record.flags()
    }

    /// The bytes that a word of the record, or of its table, names. None for a range that is not of this record.
    #[inline]
    #[must_use]
    pub fn bytes(&self, range: Range) -> &'a [u8] {
        self.part(range.offset as usize, range.length)
    }

    #[inline]
    pub(crate) fn part(&self, start: usize, length: u32) -> &'a [u8] {
        self.record.bytes(start, length).unwrap_or_default()
    }
}

/// The entries of a record's table, as many as lie in it.
#[inline]
pub(crate) fn entries<'a, R: Record, E: Value>(
    record: RecordView<'a>,
    count: u32,
) -> impl Iterator<Item = E> + use<'a, R, E> {
    let start = R::BYTES;
    let bytes = (count as usize).saturating_mul(E::BYTES);
    let end = start.saturating_add(bytes);
    let table = record.as_bytes().get(start..end).unwrap_or_default();
    table.chunks_exact(E::BYTES).map(E::decode)
}
