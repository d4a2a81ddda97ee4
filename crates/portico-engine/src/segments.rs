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
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// The queue beside what it must hold.
    #[derive(Default)]
    struct Pair {
        queue: Segments,
        model: Vec<u8>,
        pool: BufferPool,
        next: u8,
    }

    impl Pair {
        fn fresh(&mut self, length: usize) -> Vec<u8> {
            (0..length)
                .map(|_| {
                    self.next = self.next.wrapping_add(1);
                    self.next
                })
                .collect()
        }

        fn own(&mut self, length: usize) {
            let bytes = self.fresh(length);
            self.queue.buffer(&mut self.pool).extend_from_slice(&bytes);
            self.model.extend_from_slice(&bytes);
        }

        fn lend(&mut self, length: usize, start: usize) {
            let bytes = self.fresh(length + start);
            self.model.extend_from_slice(&bytes[start..]);
            self.queue.push_lent(Rc::new(bytes), start, start + length);
        }

        fn take(&mut self, count: usize) {
            self.queue.take(count);
            self.model.drain(..count.min(self.model.len()));
        }

        /// Appends a queue of both kinds, part of which has been taken.
        fn append(&mut self, sizes: [usize; 3], taken: usize) {
            let mut other = Self {
                next: self.next,
                ..Self::default()
            };
            other.own(sizes[0]);
            other.lend(sizes[1], 3);
            other.own(sizes[2]);
            other.take(taken);
            self.next = other.next;
            self.model.append(&mut other.model);
            self.queue.append(other.queue, &mut self.pool);
        }

        fn check(&self) {
            assert_eq!(self.queue.len(), self.model.len());
            assert_eq!(self.queue.is_empty(), self.model.is_empty());
            let all: Vec<u8> = self
                .queue
                .runs()
                .flat_map(|run| run.unwrap().to_vec())
                .collect();
            assert_eq!(all, self.model);
            let front = self.queue.front().unwrap();
            assert_eq!(front.is_empty(), self.model.is_empty());
            assert!(self.model.starts_with(front));
            for most in [1, 5, 1000] {
                let mut pieces = [IoSlice::new(&[]); 4];
                let count = self.queue.fill(&mut pieces, most).unwrap();
                let joined: Vec<u8> = pieces[..count]
                    .iter()
                    .flat_map(|piece| piece.to_vec())
                    .collect();
                assert!(joined.len() <= most && self.model.starts_with(&joined));
                assert_eq!(count == 0, self.model.is_empty());
            }
        }
    }

    #[test]
    fn a_queue_holds_what_a_flat_vector_would() {
        // xorshift: the same sequence in each run.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap() % below
        };
        let rounds = if cfg!(miri) { 10 } else { 400 };
        for _ in 0..rounds {
            let mut pair = Pair::default();
            for _ in 0..60 {
                match random(10) {
                    0..=2 => pair.own(random(40)),
                    3..=4 => pair.lend(random(60), random(9)),
                    5..=7 => pair.take(random(90)),
                    8 => pair.append([random(9), random(30), random(9)], random(50)),
                    _ => pair.queue.tidy(&mut pair.pool),
                }
                pair.check();
            }
            pair.queue.clear(&mut pair.pool);
            pair.model.clear();
            pair.check();
        }
    }

    #[test]
    fn a_gap_at_the_front_is_closed_and_what_is_lent_stays_in_its_place() {
        let mut pair = Pair::default();
        pair.own(COMPACT_BYTES + 10);
        pair.lend(100, 0);
        pair.own(20);
        pair.take(COMPACT_BYTES + 5);
        pair.queue.tidy(&mut pair.pool);
        assert_eq!(pair.queue.taken, 0);
        assert_eq!(pair.queue.bytes.len(), 25);
        pair.check();
        pair.take(60);
        pair.check();
    }

    #[test]
    fn an_owner_is_let_go_when_its_last_byte_is_taken() {
        let owner = Rc::new(vec![7u8; 10]);
        let mut queue = Segments::default();
        queue.push_lent(Rc::clone(&owner) as Rc<dyn LentBytes>, 0, 4);
        queue.push_lent(Rc::clone(&owner) as Rc<dyn LentBytes>, 4, 10);
        queue.push_lent(Rc::clone(&owner) as Rc<dyn LentBytes>, 5, 5);
        assert_eq!(Rc::strong_count(&owner), 3);
        queue.take(4);
        assert_eq!(Rc::strong_count(&owner), 2);
        queue.take(5);
        assert_eq!(Rc::strong_count(&owner), 2);
        queue.take(1);
        assert_eq!(Rc::strong_count(&owner), 1);
        assert!(queue.is_empty());
    }

    #[test]
    fn memory_that_was_taken_away_is_noticed() {
        /// Its memory has gone.
        #[derive(Debug)]
        struct Detached;
        impl LentBytes for Detached {
            fn bytes(&self) -> Option<&[u8]> {
                None
            }
        }
        let mut queue = Segments::default();
        queue.buffer(&mut BufferPool::default()).push(1);
        queue.push_lent(Rc::new(Detached), 0, 4);
        queue.push_lent(Rc::new(vec![0; 3]), 0, 4);
        let mut pieces = [IoSlice::new(&[]); 4];
        assert_eq!(queue.fill(&mut pieces, 100), Err(Gone));
        queue.take(1);
        assert_eq!(queue.front(), Err(Gone));
        queue.take(4);
        // Shorter than it was.
        assert_eq!(queue.front(), Err(Gone));
        assert_eq!(queue.len(), 4);
    }
}
