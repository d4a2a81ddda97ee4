//! Fields to field blocks (RFC 7541, section 6).
//!
//! A field that was sent before on the connection becomes an entry of the dynamic table, one that is new does not: what
//! differs from answer to answer would only push out what repeats. Heads that many connections need are encoded once,
//! without the dynamic table, by [`encode_independent`].

use super::dynamic_table::{DynamicTable, ENTRY_OVERHEAD, EntryName};
use super::static_table::{self, STATIC_COUNT};
use super::{huffman, integer};
use crate::h2::pseudo_field;
use crate::semantics::FIELD_NAMES;
use crate::semantics::field_name::{field_name_number, number_of};

/// A field to be sent.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingField<'a> {
    /// The name, in any case: it is sent in lower case (RFC 9113, section 8.2).
    pub name: &'a [u8],
    /// Its number in [`crate::FIELD_NAMES`], which then stands for the name; 0 if it is not in the table.
    pub name_number: u16,
    /// The value.
    pub value: &'a [u8],
    /// It must never become an entry of a table, here or behind us (RFC 7541, section 7.1.3).
    pub is_sensitive: bool,
}

impl<'a> OutgoingField<'a> {
    /// A field; those that hold credentials are sensitive.
    #[must_use]
    pub fn new(name: &'a [u8], value: &'a [u8]) -> Self {
        let number = match name.first() {
            Some(b':') => pseudo_field::number(name),
            _ => field_name_number(name),
        };
        Self::numbered(name, number, value)
    }

    /// The same where the name's number is known.
    #[must_use]
    pub fn numbered(name: &'a [u8], name_number: u16, value: &'a [u8]) -> Self {
        Self {
            name,
            name_number,
            value,
            is_sensitive: SENSITIVE.contains(&name_number),
        }
    }
}

/// Numbers of fields that hold credentials.
const SENSITIVE: [u16; 4] = [
    number_of("set-cookie"),
    number_of("cookie"),
    number_of("authorization"),
    number_of("proxy-authorization"),
];

/// Encodes the field blocks of one direction of a connection.
#[derive(Debug)]
pub struct Encoder {
    table: DynamicTable,
    /// Number of entries that were ever made.
    inserted: u32,
    memory: Option<Box<Memory>>,
    /// The smallest size and the last one that the next block must tell the peer.
    new_sizes: Option<(u32, u32)>,
    /// A name in lower case.
    name: Vec<u8>,
}

/// What is known of the fields that were sent: the last two of each bucket of hashes, the last one first.
#[derive(Debug)]
struct Memory {
    /// Numbers of the entries that were made, from 1; 0: none.
    entries: [[u32; 2]; BUCKETS],
    /// Hashes of fields that were sent and are no entry.
    seen: [[u32; 2]; BUCKETS],
}

const BUCKETS: usize = 64;

impl Encoder {
    /// With a dynamic table of at most this size, which the peer has allowed. Before its SETTINGS that is 4,096 (RFC
    /// 9113, section 6.5.2).
    #[must_use]
    pub fn new(max_table_size: u32) -> Self {
        Self {
            table: DynamicTable::new(max_table_size),
            inserted: 0,
            memory: None,
            new_sizes: None,
            name: Vec::new(),
        }
    }

    /// The table has another size from the next block on (RFC 7541, section 4.2).
    pub fn set_table_size(&mut self, size: u32) {
        if size == self.table.max_size() {
            return;
        }
        self.table.set_max_size(size);
        let smallest = self
            .new_sizes
            .map_or(size, |(smallest, _)| smallest.min(size));
        self.new_sizes = Some((smallest, size));
    }

    /// What each block begins with.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((smallest, last)) = self.new_sizes.take() {
            if smallest < last {
                integer::encode::<5>(out, 0x20, smallest);
            }
            integer::encode::<5>(out, 0x20, last);
        }
    }

    /// Appends `:status`, the first field of an answer.
    pub fn status(&mut self, out: &mut Vec<u8>, status: u16) {
        let digits = status_digits(status);
        self.encode(out, &status_field(&digits));
    }

    /// Appends a field.
    pub fn encode(&mut self, out: &mut Vec<u8>, field: &OutgoingField<'_>) {
        let index = static_table::index_of_field(field.name_number, field.value);
        if index != 0 {
            return integer::encode::<7>(out, 0x80, index);
        }
        if field.is_sensitive {
            return literal(out, &mut self.name, Kind::NeverIndexed, field);
        }
        let hash = hash(field);
        // The highest bits: the lowest is always set.
        let bucket = (hash >> (u32::BITS - BUCKETS.ilog2())) as usize;
        let memory = self.memory.get_or_insert_with(|| {
            Box::new(Memory {
                entries: [[0; 2]; BUCKETS],
                seen: [[0; 2]; BUCKETS],
            })
        });
        for number in memory.entries[bucket] {
            let age = self.inserted.wrapping_sub(number);
            if number != 0
                && let Some((bytes, name)) = self.table.entry(age as usize)
                && is_field(bytes, name, field)
            {
                return integer::encode::<7>(out, 0x80, STATIC_COUNT + 1 + age);
            }
        }
        let size = field.name.len() + field.value.len() + ENTRY_OVERHEAD;
        let is_repeated = memory.seen[bucket].contains(&hash);
        if !is_repeated || size > self.table.max_size() as usize / 2 {
            remember(&mut memory.seen[bucket], hash);
            return literal(out, &mut self.name, Kind::NotIndexed, field);
        }
        self.inserted = self.inserted.wrapping_add(1).max(1);
        remember(&mut memory.entries[bucket], self.inserted);
        literal(out, &mut self.name, Kind::Indexed, field);
        let lower = lower_case(&mut self.name, field);
        let name = EntryName {
            length: field.name.len() as u32,
            number: field.name_number,
            is_valid: true,
        };
        self.table.insert(&[lower, field.value], name);
    }
}

/// Appends a status and fields so that any connection can send them at any time: with the static table and literals
/// alone. A block that begins with [`Encoder::begin`] may go on with these bytes.
pub fn encode_independent<'a>(
    out: &mut Vec<u8>,
    status: u16,
    fields: impl IntoIterator<Item = OutgoingField<'a>>,
) {
    let digits = status_digits(status);
    independent(out, &mut Vec::new(), &status_field(&digits));
    encode_fields(out, fields);
}

/// The same without a status: for trailers.
pub fn encode_fields<'a>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = OutgoingField<'a>>) {
    let mut name = Vec::new();
    for field in fields {
        independent(out, &mut name, &field);
    }
}

fn independent(out: &mut Vec<u8>, name: &mut Vec<u8>, field: &OutgoingField<'_>) {
    let index = static_table::index_of_field(field.name_number, field.value);
    if index != 0 {
        return integer::encode::<7>(out, 0x80, index);
    }
    let kind = match field.is_sensitive {
        true => Kind::NeverIndexed,
        false => Kind::NotIndexed,
    };
    literal(out, name, kind, field);
}

fn status_field(digits: &[u8; 3]) -> OutgoingField<'_> {
    OutgoingField {
        name: b":status",
        name_number: pseudo_field::STATUS,
        value: digits,
        is_sensitive: false,
    }
}

fn status_digits(status: u16) -> [u8; 3] {
    [100, 10, 1].map(|unit| b'0' + (status / unit % 10) as u8)
}

/// Puts a number first, and drops the last.
fn remember(bucket: &mut [u32; 2], number: u32) {
    if bucket[0] != number {
        *bucket = [number, bucket[0]];
    }
}

/// How a literal is to be treated by the peer.
#[derive(Clone, Copy)]
enum Kind {
    Indexed,
    NotIndexed,
    NeverIndexed,
}

/// Appends a literal field (RFC 7541, section 6.2).
fn literal(out: &mut Vec<u8>, name: &mut Vec<u8>, kind: Kind, field: &OutgoingField<'_>) {
    let index = static_table::index_of_name(field.name_number);
    match kind {
        Kind::Indexed => integer::encode::<6>(out, 0x40, index),
        Kind::NotIndexed => integer::encode::<4>(out, 0, index),
        Kind::NeverIndexed => integer::encode::<4>(out, 0x10, index),
    }
    if index == 0 {
        string(out, lower_case(name, field));
    }
    string(out, field.value);
}

/// A field's name as it is sent. Known ones are at hand.
fn lower_case<'a>(room: &'a mut Vec<u8>, field: &OutgoingField<'_>) -> &'a [u8] {
    if field.name_number != 0
        && let Some(name) = FIELD_NAMES.get(usize::from(field.name_number))
    {
        return name.as_bytes();
    }
    room.clear();
    room.extend_from_slice(field.name);
    room.make_ascii_lowercase();
    room
}

/// Appends a string literal, in the shorter form.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    let length = huffman::encoded_length(text);
    if length < text.len() {
        integer::encode::<7>(out, 0x80, length as u32);
        huffman::encode(text, out);
    } else {
        integer::encode::<7>(out, 0, text.len() as u32);
        out.extend_from_slice(text);
    }
}

/// Whether an entry is this field.
fn is_field(bytes: &[u8], name: EntryName, field: &OutgoingField<'_>) -> bool {
    let Some((known, value)) = bytes.split_at_checked(name.length as usize) else {
        return false;
    };
    let is_name = match field.name_number {
        0 => known.eq_ignore_ascii_case(field.name),
        number => number == name.number,
    };
    is_name && value == field.value
}

/// Never 0. A name that is not in the table counts by its length alone: its value tells it from others.
fn hash(field: &OutgoingField<'_>) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let name = u64::from(field.name_number) << 32 | field.name.len() as u64;
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (words, tail) = field.value.as_chunks::<8>();
    let mut hash = mix(field.value.len() as u64, name);
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let last = tail
        .iter()
        .fold(0, |word, &byte| word << 8 | u64::from(byte));
    (mix(hash, last) >> 32) as u32 | 1
}
