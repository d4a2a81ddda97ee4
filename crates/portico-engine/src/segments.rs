//! A queue of bytes to be sent: runs of owned bytes, and between them bytes that are sent from where they lie.
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
use crate::limits::COMPACT_BYTES;

/// A part of bytes that are not the engine's.
#[derive(Debug)]
struct Lent {
    owner: Rc<dyn LentBytes>,
    start: usize,
    end: usize,
}

impl Lent {
    fn bytes(&self) -> Result<&[u8], Gone> {
        let bytes = self.owner.bytes().ok_or(Gone)?;
        bytes.get(self.start..self.end).ok_or(Gone)
    }

    fn len(&self) -> usize {
        self.end - self.start
    }
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

/// The application has taken lent memory away: what is missing can't be sent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

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
        let places = self.lent.get_or_insert_default();
        places.bytes += end - start;
        places.queue.push_back(Place {
            at: self.bytes.len(),
            lent: Lent { owner, start, end },
        });
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

    /// The first run of bytes; empty only if the queue is.
    #[inline]
    pub(crate) fn front(&self) -> Result<&[u8], Gone> {
        match &self.lent {
            None => Ok(self.bytes.get(self.taken..).unwrap_or_default()),
            Some(lent) => lent.front(&self.bytes, self.taken),
        }
    }

    /// Fills `pieces` with the first runs, `most` bytes at most; returns how many there are.
    pub(crate) fn fill<'a>(
        &'a self,
        pieces: &mut [IoSlice<'a>],
        most: usize,
    ) -> Result<usize, Gone> {
        let mut runs = self.runs();
        let mut left = most;
        let mut count = 0;
        for place in pieces {
            let run = runs.next().transpose()?.unwrap_or_default();
            let run = run.get(..left).unwrap_or(run);
            if run.is_empty() {
                break;
            }
            *place = IoSlice::new(run);
            left -= run.len();
            count += 1;
        }
        Ok(count)
    }

    /// The runs, in order; none is empty.
    fn runs(&self) -> impl Iterator<Item = Result<&[u8], Gone>> {
        let lent = self.lent.iter().flat_map(|lent| &lent.queue);
        let mut at = self.taken;
        let owned_and_lent = lent.flat_map(move |place| {
            let owned = self.bytes.get(at..place.at).unwrap_or_default();
            at = place.at;
            [Ok(owned), place.lent.bytes()]
        });
        let last = self.lent.as_ref().and_then(|lent| lent.queue.back());
        let behind = last.map_or(self.taken, |place| place.at);
        let tail = self.bytes.get(behind..).unwrap_or_default();
        owned_and_lent
            .chain([Ok(tail)])
            .filter(|run| !matches!(run, Ok([])))
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
            first.lent.start += lent;
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
    fn front<'a>(&'a self, bytes: &'a [u8], taken: usize) -> Result<&'a [u8], Gone> {
        match self.queue.front() {
            Some(first) if first.at == taken => first.lent.bytes(),
            Some(first) => Ok(bytes.get(taken..first.at).unwrap_or_default()),
            None => Ok(bytes.get(taken..).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests;
