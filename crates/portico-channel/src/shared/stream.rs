//! One direction: bytes that one side writes and the other reads.
//!
//! `tail` counts what has been written, `head` what has been read, both since the start; a position's place in the
//! memory is its remainder, and a record may wrap around the end. Each side keeps its own position for itself and only
//! publishes it, so that nothing the other side writes can move it.

use std::ptr::NonNull;
use std::sync::Arc;

use super::header::Positions;
use super::memory::SharedMemory;
use crate::sync::Ordering;

/// The other side has broken the rules of the channel: its position is impossible. Nothing more can be exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the other side of the channel has written an impossible position")
    }
}

impl std::error::Error for Broken {}

/// Which of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Events,
    Commands,
}

impl Direction {
    fn positions(self, memory: &SharedMemory) -> &Positions {
        match self {
            Self::Events => &memory.header().events,
            Self::Commands => &memory.header().commands,
        }
    }

    fn bytes(self, memory: &SharedMemory) -> (NonNull<u8>, usize) {
        match self {
            Self::Events => memory.events(),
            Self::Commands => memory.commands(),
        }
    }
}

/// The writing side.
#[derive(Debug)]
pub struct StreamWriter {
    memory: Arc<SharedMemory>,
    direction: Direction,
    tail: u64,
    /// The reader's position when it was last looked at.
    head: u64,
}

/// The reading side.
#[derive(Debug)]
pub struct StreamReader {
    memory: Arc<SharedMemory>,
    direction: Direction,
    head: u64,
}

impl StreamWriter {
    pub(super) fn new(memory: Arc<SharedMemory>, direction: Direction) -> Self {
        Self {
            memory,
            direction,
            tail: 0,
            head: 0,
        }
    }

    /// Bytes that the memory holds at most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.direction.bytes(&self.memory).1
    }

    /// Bytes written since the start.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.tail
    }

    /// Bytes that the reader has taken since the start.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn taken(&mut self) -> Result<u64, Broken> {
        let head = self
            .direction
            .positions(&self.memory)
            .head
            .0
            .load(Ordering::Acquire);
        // It only grows, and never beyond what was written.
        if head < self.head || head > self.tail {
            return Err(Broken);
        }
        self.head = head;
        Ok(head)
    }

    /// Writes all of `bytes` and publishes them, or nothing if there is no room: then `false`.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool, Broken> {
        self.write_parts(&[bytes])
    }

    /// As [`StreamWriter::write`], for bytes in several pieces.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn write_parts(&mut self, parts: &[&[u8]]) -> Result<bool, Broken> {
        let length = parts.iter().map(|part| part.len()).sum();
        if self.free() < length {
            self.taken()?;
            if self.free() < length {
                return Ok(false);
            }
        }
        for part in parts {
            self.copy_in(part);
        }
        self.direction
            .positions(&self.memory)
            .tail
            .0
            .store(self.tail, Ordering::Release);
        Ok(true)
    }

    /// Copies bytes for which there is room behind the tail.
    fn copy_in(&mut self, bytes: &[u8]) {
        let (base, capacity) = self.direction.bytes(&self.memory);
        assert!(bytes.len() <= capacity, "more than the memory holds");
        let place = place_of(self.tail, capacity);
        let (first, second) = bytes.split_at(bytes.len().min(capacity - place));
        #[cfg(loom)]
        self.memory.touch(base, second.len(), true);
        #[cfg(loom)]
        // SAFETY: within the mapping.
        self.memory
            .touch(unsafe { base.add(place) }, first.len(), true);
        // SAFETY: `place + first.len() <= capacity` and `second.len() <= capacity`, so both copies stay within the
        // mapping, and the bytes from `tail` to `head + capacity` are the writer's. No reference to the shared memory
        // is made: another process may write there, and only bytes are copied.
        unsafe {
            std::ptr::copy_nonoverlapping(first.as_ptr(), base.as_ptr().add(place), first.len());
            std::ptr::copy_nonoverlapping(second.as_ptr(), base.as_ptr(), second.len());
        }
        self.tail += length_of(bytes);
    }

    /// Free bytes as of the last look at the reader's position.
    fn free(&self) -> usize {
        let used = usize::try_from(self.tail - self.head).unwrap_or(usize::MAX);
        self.capacity().saturating_sub(used)
    }
}

impl StreamReader {
    pub(super) fn new(memory: Arc<SharedMemory>, direction: Direction) -> Self {
        Self {
            memory,
            direction,
            head: 0,
        }
    }

    /// Bytes that are there to be read.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn available(&self) -> Result<usize, Broken> {
        let tail = self
            .direction
            .positions(&self.memory)
            .tail
            .0
            .load(Ordering::Acquire);
        let capacity = self.direction.bytes(&self.memory).1;
        tail.checked_sub(self.head)
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| *bytes <= capacity)
            .ok_or(Broken)
    }

    /// Copies the next bytes into `into`, as many as it holds and are there, without taking them. Returns how many.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn copy(&self, into: &mut [u8]) -> Result<usize, Broken> {
        let bytes = self.available()?.min(into.len());
        let (base, capacity) = self.direction.bytes(&self.memory);
        let place = place_of(self.head, capacity);
        let first = bytes.min(capacity - place);
        #[cfg(loom)]
        self.memory.touch(base, bytes - first, false);
        #[cfg(loom)]
        // SAFETY: within the mapping.
        self.memory.touch(unsafe { base.add(place) }, first, false);
        // SAFETY: `bytes <= into.len()`, `place + first <= capacity` and `bytes - first <= capacity`, so both copies
        // stay within their memories. No reference to the shared memory is made: should the other side write there
        // against the rules, arbitrary bytes are copied, and whoever reads them checks them.
        unsafe {
            std::ptr::copy_nonoverlapping(base.as_ptr().add(place), into.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(
                base.as_ptr(),
                into.as_mut_ptr().add(first),
                bytes - first,
            );
        }
        Ok(bytes)
    }

    /// Takes `bytes` bytes: the writer may write over them.
    ///
    /// # Errors
    /// [`Broken`] if fewer are there: the writer may have taken them back since they were copied.
    pub fn take(&mut self, bytes: usize) -> Result<(), Broken> {
        if bytes > self.available()? {
            return Err(Broken);
        }
        self.head += u64::try_from(bytes).unwrap_or(u64::MAX);
        self.direction
            .positions(&self.memory)
            .head
            .0
            .store(self.head, Ordering::Release);
        Ok(())
    }
}

/// The place of a position in a memory whose size is a power of two.
fn place_of(position: u64, capacity: usize) -> usize {
    usize::try_from(position & u64::try_from(capacity - 1).unwrap_or(0)).unwrap_or(0)
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::super::memory::Capacity;
    use super::*;

    fn stream() -> (StreamWriter, StreamReader, Arc<SharedMemory>) {
        let (memory, fd) = SharedMemory::create(Capacity {
            events: 4096,
            commands: 4096,
        })
        .unwrap();
        let other = Arc::new(SharedMemory::open(&fd).unwrap());
        let memory = Arc::new(memory);
        (
            StreamWriter::new(Arc::clone(&memory), Direction::Commands),
            StreamReader::new(other, Direction::Commands),
            memory,
        )
    }

    #[test]
    fn bytes_come_out_as_they_went_in_across_the_end_of_the_memory() {
        let (mut writer, mut reader, _) = stream();
        let mut buffer = [0u8; 4096];
        for round in 0..100u32 {
            let sent = vec![round as u8; 100 + round as usize * 13];
            assert!(writer.write(&sent).unwrap());
            assert_eq!(reader.copy(&mut buffer).unwrap(), sent.len());
            assert_eq!(buffer[..sent.len()], sent);
            reader.take(sent.len()).unwrap();
            assert_eq!(writer.taken().unwrap(), writer.written());
        }
    }

    #[test]
    fn a_full_stream_takes_nothing_until_something_is_read() {
        let (mut writer, mut reader, _) = stream();
        assert!(writer.write(&[1; 4000]).unwrap());
        assert!(!writer.write(&[2; 97]).unwrap());
        assert!(writer.write(&[2; 96]).unwrap());
        reader.take(4096).unwrap();
        assert!(writer.write(&[3; 4096]).unwrap());
    }

    #[test]
    fn a_position_that_cannot_be_is_the_end_of_the_channel() {
        for position in [4097, u64::MAX, 1 << 63] {
            let (_writer, reader, memory) = stream();
            let positions = Direction::Commands.positions(&memory);
            positions.tail.0.store(position, Ordering::Release);
            assert_eq!(reader.available(), Err(Broken), "{position}");
            assert_eq!(reader.copy(&mut [0; 8]), Err(Broken));
        }
        for position in [11, u64::MAX] {
            let (mut writer, _reader, memory) = stream();
            writer.write(&[0; 10]).unwrap();
            let positions = Direction::Commands.positions(&memory);
            positions.head.0.store(position, Ordering::Release);
            assert_eq!(writer.taken(), Err(Broken), "{position}");
        }
        let (mut writer, mut reader, memory) = stream();
        writer.write(&[0; 10]).unwrap();
        reader.take(10).unwrap();
        assert_eq!(writer.taken(), Ok(10));
        let positions = Direction::Commands.positions(&memory);
        positions.head.0.store(9, Ordering::Release);
        assert_eq!(writer.taken(), Err(Broken));
    }
}
