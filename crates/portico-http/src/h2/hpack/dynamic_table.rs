//! The dynamic table (RFC 7541, sections 2.3.2 and 4): fields in the order they came, the newest first.
//!
//! The bytes of all entries lie one behind the other in one buffer, the oldest in front; what has been evicted is a gap
//! there that is closed when the buffer would have to grow. So an entry is copied out in one piece, and a byte of an
//! entry is moved once on average. Nothing is allocated before the first entry.

use std::collections::VecDeque;

/// What an entry counts beyond its name and value (RFC 7541, section 4.1).
pub(super) const ENTRY_OVERHEAD: usize = 32;

/// What is known of an entry beside its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryName {
    /// Number of bytes of the name.
    pub(super) length: u32,
    /// The name's number.
    pub(super) number: u16,
    /// Whether name and value may stand in a message.
    pub(super) is_valid: bool,
}

#[derive(Debug)]
struct Entry {
    /// Where it begins, counted from the first byte that was ever inserted.
    start: u64,
    length: u32,
    name: EntryName,
}

/// A dynamic table.
#[derive(Debug)]
pub(super) struct DynamicTable {
    /// The oldest entry is in front.
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    /// What of `bytes` belongs to entries that are gone.
    gap: usize,
    /// How many bytes have been removed from the front of `bytes`.
    base: u64,
    /// The size of all entries, as the RFC counts it.
    size: usize,
    max_size: usize,
}

impl DynamicTable {
    /// An empty one, for entries of so many bytes.
    pub(super) fn new(max_size: u32) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: Vec::new(),
            gap: 0,
            base: 0,
            size: 0,
            max_size: max_size as usize,
        }
    }

    /// Number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Size of the entries, as RFC 7541, section 4.1 counts it.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The largest size.
    pub(super) fn max_size(&self) -> u32 {
        self.max_size as u32
    }

    /// Changes the largest size, and evicts what does not fit any more (RFC 7541, section 4.3).
    pub(super) fn set_max_size(&mut self, max_size: u32) {
        self.max_size = max_size as usize;
        self.evict(self.max_size);
    }

    /// Name and value of an entry as one run of bytes; 0 is the newest.
    #[inline]
    pub(super) fn entry(&self, index: usize) -> Option<(&[u8], EntryName)> {
        let place = self.entries.len().checked_sub(index)?.checked_sub(1)?;
        let entry = self.entries.get(place)?;
        let start = (entry.start - self.base) as usize;
        let bytes = self.bytes.get(start..start + entry.length as usize)?;
        Some((bytes, entry.name))
    }

    /// Adds an entry, and evicts older ones for it (RFC 7541, section 4.4). One that is larger than the table leaves it
    /// empty; false then.
    pub(super) fn insert(&mut self, name_and_value: &[&[u8]; 2], name: EntryName) -> bool {
        let length = name_and_value[0].len() + name_and_value[1].len();
        let size = length + ENTRY_OVERHEAD;
        let Some(room) = self.max_size.checked_sub(size) else {
            self.evict(0);
            return false;
        };
        self.evict(room);
        if self.bytes.len() + length > self.bytes.capacity() && self.gap >= self.bytes.len() / 2 {
            self.bytes.drain(..self.gap);
            self.base += self.gap as u64;
            self.gap = 0;
        }
        self.entries.push_back(Entry {
            start: self.base + self.bytes.len() as u64,
            length: length as u32,
            name,
        });
        self.bytes.extend_from_slice(name_and_value[0]);
        self.bytes.extend_from_slice(name_and_value[1]);
        self.size += size;
        true
    }

    /// Removes the oldest entries until what is left has at most this size.
    fn evict(&mut self, size: usize) {
        while self.size > size {
            let Some(oldest) = self.entries.pop_front() else {
                break;
            };
            self.size -= oldest.length as usize + ENTRY_OVERHEAD;
            self.gap += oldest.length as usize;
        }
        if self.entries.is_empty() {
            self.base += self.bytes.len() as u64;
            self.bytes.clear();
            self.gap = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(table: &mut DynamicTable, text: &[u8]) -> bool {
        table.insert(&[text, b""], EntryName::default())
    }

    fn entries(table: &DynamicTable) -> Vec<Vec<u8>> {
        (0..table.len())
            .map(|index| table.entry(index).unwrap().0.to_vec())
            .collect()
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let mut table = DynamicTable::new(100);
        assert!(insert(&mut table, b"first") && insert(&mut table, b"second"));
        assert_eq!(table.size(), 11 + 64);
        assert_eq!(entries(&table), [&b"second"[..], b"first"]);
        assert!(insert(&mut table, b"3"));
        assert_eq!(entries(&table), [&b"3"[..], b"second"]);
        assert!(insert(&mut table, &[b'x'; 68]));
        assert_eq!((table.len(), table.size()), (1, 100));
        // RFC 7541, section 4.4: it empties the table, and is no error.
        assert!(!insert(&mut table, &[b'x'; 69]));
        assert_eq!((table.len(), table.size()), (0, 0));
        assert!(table.entry(0).is_none());
    }

    #[test]
    fn a_smaller_table_keeps_the_newest() {
        let mut table = DynamicTable::new(4096);
        for byte in 0..50_u8 {
            assert!(insert(&mut table, &[byte]));
        }
        table.set_max_size(66);
        assert_eq!(entries(&table), [[49], [48]]);
        table.set_max_size(0);
        assert_eq!(table.len(), 0);
        assert!(!insert(&mut table, b""));
    }

    #[test]
    fn a_table_holds_what_a_list_would_and_its_buffer_does_not_grow_for_ever() {
        let mut table = DynamicTable::new(1000);
        let mut model: VecDeque<Vec<u8>> = VecDeque::new();
        for round in 0..5000_usize {
            let text = vec![round as u8; round * 7 % 61];
            insert(&mut table, &text);
            model.push_front(text);
            while model.iter().map(|text| text.len() + 32).sum::<usize>() > 1000 {
                model.pop_back();
            }
            assert_eq!(entries(&table), Vec::from(model.clone()));
        }
        assert!(table.bytes.capacity() < 8000, "{}", table.bytes.capacity());
    }
}
