//! A queue of bytes to be sent: runs of owned bytes, and between them bytes that are sent from where they lie, in memory
//! or in a file.
//!
//! ```text
//! bytes   [ head 1 | head 2 | small body 2 | head 3 ]      one buffer, of the shard's pool
//! lent            ▲ body 1                        ▲ body 3
//! ```
//!
//! Owned runs lie one behind the other in one buffer, so that a queue of small answers is one `Vec` and one send. What
//! is lent stands before a place in it.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;

use portico_channel::LentBytes;

use crate::answer::Payload;
use crate::buffer_pool::BufferPool;
use crate::file_range::{FileRange, Gone};
use crate::limits::{COMPACT_BYTES, FILE_READ_BYTES};

/// Bytes that are not the engine's.
#[derive(Debug)]
enum Lent {
    /// A part of bytes in memory.
    Memory {
        owner: Rc<dyn LentBytes>,
        start: usize,
        end: usize,
    },
    File(FileRange),
}

impl Lent {
    fn run(&self) -> Result<Run<'_>, Gone> {
        match self {
            Self::Memory { owner, start, end } => {
                let bytes = owner.bytes().ok_or(Gone)?;
                Ok(Run::Bytes(bytes.get(*start..*end).ok_or(Gone)?))
            }
            Self::File(range) => Ok(Run::File(range)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Memory { start, end, .. } => end - start,
            Self::File(range) => usize::try_from(range.len()).unwrap_or(usize::MAX),
        }
    }

    /// Takes the first `count` bytes away.
    fn skip(&mut self, count: usize) {
        match self {
            Self::Memory { start, .. } => *start += count,
            Self::File(range) => range.skip(u64::try_from(count).unwrap_or(u64::MAX)),
        }
    }
}

/// Bytes that follow each other and are sent in one way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a file; never empty.
    File(&'a FileRange),
}

/// What [`Segments::fill`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// How many pieces there are.
    pub(crate) count: usize,
    /// Whether a file follows, which is not sent in pieces.
    pub(crate) is_before_file: bool,
}

/// Lent bytes and their place.
#[derive(Debug)]
struct Place {
    /// They stand before the owned byte of this index.
    at: usize,
    lent: Lent,
}

/// What is lent, in order.
#[derive(Debug, Default)]
struct Places {
    queue: VecDeque<Place>,
    /// Sum of their lengths.
    bytes: usize,
}

/// A queue of owned and lent bytes.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    bytes: Vec<u8>,
    /// How many of `bytes` have been taken.
    taken: usize,
    /// `None` while nothing is lent.
    lent: Option<Box<Places>>,
}

impl Segments {
    /// Bytes in the queue.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.taken + self.lent.as_ref().map_or(0, |lent| lent.bytes)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len() && self.lent.is_none()
    }

    /// The owned bytes, to append to.
    #[inline]
    pub(crate) fn buffer(&mut self, pool: &mut BufferPool) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        &mut self.bytes
    }

    /// Appends the bytes of `owner` from `start` on, without copying them.
    pub(crate) fn push_lent(&mut self, owner: Rc<dyn LentBytes>, start: usize, end: usize) {
        if start >= end {
            return;
        }
        self.push_place(Lent::Memory { owner, start, end });
    }

    /// Appends a range of a file.
    pub(crate) fn push_file(&mut self, range: FileRange) {
        if !range.is_empty() {
            self.push_place(Lent::File(range));
        }
    }

    fn push_place(&mut self, lent: Lent) {
        let at = self.bytes.len();
        let places = self.lent.get_or_insert_default();
        places.bytes += lent.len();
        places.queue.push_back(Place { at, lent });
    }

    /// Appends body bytes, large ones from outside without copying them, and what follows them.
    pub(crate) fn push(&mut self, body: Payload<'_>, tail: &[u8], pool: &mut BufferPool) {
        match body.outside() {
            Some(external) => {
                self.push_lent(external.keep(), 0, external.bytes().len());
                self.buffer(pool).extend_from_slice(tail);
            }
            None => {
                let out = self.buffer(pool);
                out.extend_from_slice(body.bytes);
                out.extend_from_slice(tail);
            }
        }
    }

    /// Appends all of another queue.
    pub(crate) fn append(&mut self, mut other: Self, pool: &mut BufferPool) {
        if self.is_empty() {
            std::mem::swap(self, &mut other);
            other.clear(pool);
            return;
        }
        let before = self.bytes.len();
        let rest = other.bytes.get(other.taken..).unwrap_or_default();
        self.buffer(pool).extend_from_slice(rest);
        if let Some(lent) = other.lent.take() {
            let places = self.lent.get_or_insert_default();
            places.bytes += lent.bytes;
            places.queue.extend(lent.queue.into_iter().map(|place| {
                let at = before + (place.at - other.taken);
                Place { at, ..place }
            }));
        }
        other.clear(pool);
    }

    /// All of the bytes, where nothing is lent.
    #[inline]
    pub(crate) fn only_run(&self) -> Option<&[u8]> {
        match self.lent {
            None => Some(self.bytes.get(self.taken..).unwrap_or_default()),
            Some(_) => None,
        }
    }

    /// The first run; empty only if the queue is.
    #[inline]
    pub(crate) fn front(&self) -> Result<Run<'_>, Gone> {
        match &self.lent {
            None => Ok(Run::Bytes(self.bytes.get(self.taken..).unwrap_or_default())),
            Some(lent) => lent.front(&self.bytes, self.taken),
        }
    }

    /// Moves the first `most` bytes of the first run, or fewer, to the end of `to`; returns how many, 0 only if the queue is
    /// empty.
    pub(crate) fn move_front(&mut self, to: &mut Vec<u8>, most: usize) -> Result<usize, Gone> {
        let count = match self.front()? {
            Run::Bytes(run) => {
                let piece = run.get(..most).unwrap_or(run);
                to.extend_from_slice(piece);
                piece.len()
            }
            Run::File(range) => {
                let before = to.len();
                to.resize(before + most.min(FILE_READ_BYTES), 0);
                let read = range.read(to.get_mut(before..).unwrap_or_default());
                to.truncate(before + read.unwrap_or(0));
                read?
            }
        };
        self.take(count);
        Ok(count)
    }

    /// Fills `pieces` with the first runs up to a file, `most` bytes at most.
    pub(crate) fn fill<'a>(
        &'a self,
        pieces: &mut [IoSlice<'a>],
        most: usize,
    ) -> Result<Filled, Gone> {
        let mut runs = self.runs();
        let mut left = most;
        let mut count = 0;
        let mut is_before_file = false;
        for place in pieces {
            let run = match runs.next().transpose()? {
                Some(Run::Bytes(run)) => run,
                Some(Run::File(_)) => {
                    is_before_file = true;
                    break;
                }
                None => break,
            };
            let run = run.get(..left).unwrap_or(run);
            if run.is_empty() {
                break;
            }
            *place = IoSlice::new(run);
            left -= run.len();
            count += 1;
        }
        Ok(Filled {
            count,
            is_before_file,
        })
    }

    /// The runs, in order; none is empty.
    fn runs(&self) -> impl Iterator<Item = Result<Run<'_>, Gone>> {
        let lent = self.lent.iter().flat_map(|lent| &lent.queue);
        let mut at = self.taken;
        let owned_and_lent = lent.flat_map(move |place| {
            let owned = self.bytes.get(at..place.at).unwrap_or_default();
            at = place.at;
            [Ok(Run::Bytes(owned)), place.lent.run()]
        });
        let last = self.lent.as_ref().and_then(|lent| lent.queue.back());
        let behind = last.map_or(self.taken, |place| place.at);
        let tail = self.bytes.get(behind..).unwrap_or_default();
        owned_and_lent
            .chain([Ok(Run::Bytes(tail))])
            .filter(|run| !matches!(run, Ok(Run::Bytes([]))))
    }

    /// Takes the first `count` bytes away, at most all.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) {
        if self.lent.is_none() {
            self.taken = (self.taken + count).min(self.bytes.len());
        } else {
            self.take_lent(count);
        }
    }

    fn take_lent(&mut self, mut count: usize) {
        while let Some(places) = &mut self.lent {
            let Some(first) = places.queue.front_mut() else {
                self.lent = None;
                break;
            };
            let owned = count.min(first.at - self.taken);
            self.taken += owned;
            count -= owned;
            let lent = count.min(first.lent.len());
            first.lent.skip(lent);
            places.bytes -= lent;
            count -= lent;
            if first.lent.len() > 0 {
                return;
            }
            places.queue.pop_front();
            if places.queue.is_empty() {
                self.lent = None;
            }
        }
        self.taken = (self.taken + count).min(self.bytes.len());
    }

    /// Gives an empty buffer back, and closes a large gap at the front of one that is not.
    #[inline]
    pub(crate) fn tidy(&mut self, pool: &mut BufferPool) {
        if self.taken == self.bytes.len() {
            if self.lent.is_none() {
                self.taken = 0;
                if self.bytes.capacity() > 0 {
                    pool.give(std::mem::take(&mut self.bytes));
                }
            }
        } else if self.taken >= COMPACT_BYTES && self.taken > self.bytes.len() / 2 {
            self.bytes.drain(..self.taken);
            for place in self.lent.iter_mut().flat_map(|lent| &mut lent.queue) {
                place.at -= self.taken;
            }
            self.taken = 0;
        }
    }

    /// Drops all.
    pub(crate) fn clear(&mut self, pool: &mut BufferPool) {
        self.lent = None;
        self.taken = self.bytes.len();
        self.tidy(pool);
    }
}

impl Places {
    fn front<'a>(&'a self, bytes: &'a [u8], taken: usize) -> Result<Run<'a>, Gone> {
        match self.queue.front() {
            Some(first) if first.at == taken => first.lent.run(),
            Some(first) => Ok(Run::Bytes(bytes.get(taken..first.at).unwrap_or_default())),
            None => Ok(Run::Bytes(bytes.get(taken..).unwrap_or_default())),
        }
    }
}

#[cfg(test)]
mod tests;
