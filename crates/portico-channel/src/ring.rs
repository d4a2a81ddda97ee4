//! A ring of records from one writer to one reader.
//!
//! Positions count bytes since the start; a position's place in the memory is its remainder. The writer alone moves
//! `tail`, the reader alone moves `head`, and each reads the other's with acquire, so that bytes are written before
//! they are seen and read before they are written over. A record never wraps: where one would not fit before the end
//! of the memory, a word of zero tells the reader to go on at the start.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use crate::sync::{Arc, AtomicUsize, Ordering};

/// Everything in a ring is a multiple of this.
const WORD: usize = 4;

struct Shared {
    memory: Box<[UnsafeCell<u8>]>,
    head: Padded,
    tail: Padded,
    #[cfg(loom)]
    words: Box<[loom::cell::UnsafeCell<()>]>,
}

/// On a cache line of its own: the two positions are written by different threads.
#[repr(align(128))]
struct Padded(AtomicUsize);

// SAFETY: the memory is divided by `head` and `tail`: bytes from head to tail belong to the reader, the others to the
// writer, and the positions are handed over with release and acquire. There is one writer and one reader, since
// neither end can be cloned.
unsafe impl Sync for Shared {}
// SAFETY: nothing in it is bound to a thread.
unsafe impl Send for Shared {}

/// The writing end.
pub struct RingWriter {
    shared: Arc<Shared>,
    /// Our position; that in `shared.tail` and what is kept back.
    tail: usize,
    /// The reader's position when it was last looked at.
    head: usize,
}

/// The reading end.
pub struct RingReader {
    shared: Arc<Shared>,
    /// Our position, as in `shared.head`.
    head: usize,
}

impl std::fmt::Debug for RingWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingWriter")
            .field("tail", &self.tail)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RingReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingReader")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

/// A ring of at least `bytes` bytes (rounded up to a power of two, at least 64).
#[must_use]
pub fn ring(bytes: usize) -> (RingWriter, RingReader) {
    let capacity = bytes.max(64).next_power_of_two();
    let shared = Arc::new(Shared {
        memory: zeroed(capacity),
        head: Padded(AtomicUsize::new(0)),
        tail: Padded(AtomicUsize::new(0)),
        #[cfg(loom)]
        words: (0..capacity / WORD)
            .map(|_| loom::cell::UnsafeCell::new(()))
            .collect(),
    });
    (
        RingWriter {
            shared: Arc::clone(&shared),
            tail: 0,
            head: 0,
        },
        RingReader { shared, head: 0 },
    )
}

/// Memory that the system gives page by page as it is used.
fn zeroed(bytes: usize) -> Box<[UnsafeCell<u8>]> {
    let memory = Box::into_raw(vec![0u8; bytes].into_boxed_slice());
    // SAFETY: the pointer comes from a box of the same size and alignment: `UnsafeCell<u8>` is laid out as `u8`.
    unsafe { Box::from_raw(memory as *mut [UnsafeCell<u8>]) }
}

impl Shared {
    fn capacity(&self) -> usize {
        self.memory.len()
    }

    fn place(&self, position: usize) -> usize {
        position & (self.capacity() - 1)
    }

    /// Pointer to the byte at a place within the memory.
    fn pointer(&self, place: usize) -> NonNull<u8> {
        let base = NonNull::from(&*self.memory).cast::<u8>();
        debug_assert!(place < self.capacity());
        // SAFETY: `place` is a remainder, so it lies within the memory.
        unsafe { base.add(place) }
    }

    /// Tells loom about an access by the writer.
    fn written(&self, place: usize, bytes: usize) {
        #[cfg(loom)]
        for word in &self.words[place / WORD..(place + bytes) / WORD] {
            word.with_mut(|_| ());
        }
        let _ = (place, bytes);
    }

    /// Tells loom about an access by the reader.
    fn read(&self, place: usize, bytes: usize) {
        #[cfg(loom)]
        for word in &self.words[place / WORD..(place + bytes) / WORD] {
            word.with(|_| ());
        }
        let _ = (place, bytes);
    }
}

impl RingWriter {
    /// Size of the whole ring in bytes. A record of more than half of it may never fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// Contiguous free memory of at least `bytes` bytes, or `None` if the reader must make room first. What is
    /// written there is published by [`RingWriter::commit`].
    pub fn reserve(&mut self, bytes: usize) -> Option<&mut [u8]> {
        if self.contiguous() < bytes.max(WORD) {
            self.head = self.shared.head.0.load(Ordering::Acquire);
            if self.contiguous() < bytes.max(WORD) && !self.wrap(bytes) {
                return None;
            }
        }
        let length = self.contiguous();
        let pointer = self.shared.pointer(self.shared.place(self.tail));
        // SAFETY: these bytes lie within the memory and between tail and head, so they are the writer's alone, and the
        // slice borrows the only writer.
        Some(unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), length) })
    }

    /// Publishes the first `bytes` bytes of what was reserved, whole records, and what was kept back before. Returns
    /// whether that is anything.
    ///
    /// # Panics
    /// If that is more than was reserved, or not a multiple of four.
    pub fn commit(&mut self, bytes: usize) -> bool {
        self.keep_back(bytes);
        let is_more = self.shared.tail.0.load(Ordering::Relaxed) != self.tail;
        if is_more {
            self.shared.tail.0.store(self.tail, Ordering::Release);
        }
        is_more
    }

    /// As [`RingWriter::commit`], but the reader sees the records with those of the next commit.
    ///
    /// # Panics
    /// As [`RingWriter::commit`].
    pub fn keep_back(&mut self, bytes: usize) {
        assert!(
            bytes <= self.contiguous() && bytes.is_multiple_of(WORD),
            "more than was reserved"
        );
        if bytes == 0 {
            return;
        }
        self.shared.written(self.shared.place(self.tail), bytes);
        self.tail = self.tail.wrapping_add(bytes);
    }

    /// Free bytes up to the end of the memory or the reader's position.
    fn contiguous(&self) -> usize {
        let used = self.tail.wrapping_sub(self.head);
        let free = self.shared.capacity() - used;
        free.min(self.shared.capacity() - self.shared.place(self.tail))
    }

    /// Goes on at the start of the memory if `bytes` are free there. The next commit tells the reader.
    fn wrap(&mut self, bytes: usize) -> bool {
        let capacity = self.shared.capacity();
        let to_end = capacity - self.shared.place(self.tail);
        let free = capacity - self.tail.wrapping_sub(self.head);
        if to_end == capacity || free < to_end || free - to_end < bytes.max(WORD) {
            return false;
        }
        let place = self.shared.place(self.tail);
        // SAFETY: at least one word is free at the tail, since `to_end` is a positive multiple of the word and free.
        unsafe {
            self.shared
                .pointer(place)
                .cast::<[u8; WORD]>()
                .write([0; WORD])
        };
        self.shared.written(place, WORD);
        self.tail = self.tail.wrapping_add(to_end);
        true
    }
}

impl RingReader {
    /// Size of the whole ring in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.capacity()
    }

    /// Whether there is nothing to read now.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.tail.0.load(Ordering::Acquire) == self.head
    }

    /// Whole records, possibly with a word of zero after the last (it ends them). Empty if there are none. There may
    /// be more after these have been consumed.
    pub fn peek(&mut self) -> &[u8] {
        let tail = self.shared.tail.0.load(Ordering::Acquire);
        loop {
            let available = tail.wrapping_sub(self.head);
            let place = self.shared.place(self.head);
            let length = available.min(self.shared.capacity() - place);
            if length == 0 {
                return &[];
            }
            self.shared.read(place, WORD);
            // SAFETY: the word lies between head and tail, so it is the reader's, and it has been written.
            let first = unsafe { self.shared.pointer(place).cast::<[u8; WORD]>().read() };
            if first != [0; WORD] {
                // SAFETY: these bytes lie within the memory and between head and tail, so they are the reader's alone,
                // and the slice borrows the only reader.
                return unsafe {
                    std::slice::from_raw_parts(self.shared.pointer(place).as_ptr(), length)
                };
            }
            self.advance(self.shared.capacity() - place);
        }
    }

    /// Gives the first `bytes` bytes of what [`RingReader::peek`] returned back to the writer.
    ///
    /// # Panics
    /// If that is more than there is, or not a multiple of four.
    pub fn consume(&mut self, bytes: usize) {
        let place = self.shared.place(self.head);
        let available = self
            .shared
            .tail
            .0
            .load(Ordering::Acquire)
            .wrapping_sub(self.head);
        let whole =
            bytes <= available.min(self.shared.capacity() - place) && bytes.is_multiple_of(WORD);
        assert!(whole, "more than was there");
        self.shared.read(place, bytes);
        self.advance(bytes);
    }

    fn advance(&mut self, bytes: usize) {
        self.head = self.head.wrapping_add(bytes);
        self.shared.head.0.store(self.head, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::record_reader::record_size;

    /// A record of `size` bytes filled with `fill`.
    fn record(size: usize, fill: u8) -> Vec<u8> {
        let mut bytes = vec![fill; size];
        bytes[..4].copy_from_slice(&(size as u32).to_le_bytes());
        bytes
    }

    fn write(writer: &mut RingWriter, record: &[u8]) -> bool {
        match writer.reserve(record.len()) {
            Some(space) => {
                space[..record.len()].copy_from_slice(record);
                writer.commit(record.len());
                true
            }
            None => false,
        }
    }

    fn read(reader: &mut RingReader) -> Option<Vec<u8>> {
        let bytes = reader.peek();
        let size = record_size(bytes)?;
        let record = bytes[..size].to_vec();
        reader.consume(size);
        Some(record)
    }

    #[test]
    fn records_come_out_as_they_went_in_across_the_end_of_the_memory() {
        let (mut writer, mut reader) = ring(64);
        for round in 0..200u32 {
            let size = 12 + (round as usize * 4) % 20;
            let sent = record(size, round as u8);
            assert!(write(&mut writer, &sent), "round {round}");
            assert_eq!(read(&mut reader), Some(sent));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn a_full_ring_takes_nothing_until_something_is_read() {
        let (mut writer, mut reader) = ring(64);
        for fill in 0..4 {
            assert!(write(&mut writer, &record(16, fill)));
        }
        assert!(!write(&mut writer, &record(12, 9)));
        assert_eq!(read(&mut reader), Some(record(16, 0)));
        assert!(write(&mut writer, &record(16, 4)));
        for fill in 1..5 {
            assert_eq!(read(&mut reader), Some(record(16, fill)));
        }
        assert_eq!(read(&mut reader), None);
    }

    #[test]
    fn what_is_kept_back_is_seen_with_the_next_commit_also_across_the_end_of_the_memory() {
        let (mut writer, mut reader) = ring(64);
        let keep = |writer: &mut RingWriter, record: &[u8]| {
            writer.reserve(record.len()).unwrap()[..record.len()].copy_from_slice(record);
            writer.keep_back(record.len());
        };
        assert!(write(&mut writer, &record(44, 1)));
        assert_eq!(read(&mut reader), Some(record(44, 1)));
        keep(&mut writer, &record(16, 2));
        keep(&mut writer, &record(24, 3));
        assert!(reader.is_empty());
        assert!(writer.commit(0));
        assert_eq!(read(&mut reader), Some(record(16, 2)));
        assert_eq!(read(&mut reader), Some(record(24, 3)));
        assert_eq!(read(&mut reader), None);
        assert!(!writer.commit(0), "nothing is left");
    }

    #[test]
    fn two_threads_exchange_many_records() {
        let count = if cfg!(miri) { 200 } else { 200_000 };
        let (mut writer, mut reader) = ring(1024);
        let sender = std::thread::spawn(move || {
            for number in 0..count {
                let sent = record(12 + (number % 50) * 4, (number % 251) as u8);
                while !write(&mut writer, &sent) {
                    std::thread::yield_now();
                }
            }
        });
        for number in 0..count {
            let received = loop {
                match read(&mut reader) {
                    Some(received) => break received,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(
                received,
                record(12 + (number % 50) * 4, (number % 251) as u8)
            );
        }
        sender.join().unwrap();
    }
}
