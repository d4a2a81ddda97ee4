#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::fd::OwnedFd;
use std::sync::Arc;

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

    /// As [`Pair::lend`], from a file.
    fn lend_file(&mut self, length: usize, start: usize) {
        if cfg!(miri) {
            return self.lend(length, start);
        }
        let bytes = self.fresh(length + start);
        self.model.extend_from_slice(&bytes[start..]);
        let file = memory_file(&bytes);
        let (start, length) = (start as u64, length as u64);
        self.queue.push_file(FileRange::new(file, start, length));
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
        other.lend_file(sizes[1], 2);
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
            .flat_map(|run| bytes_of(run.unwrap()))
            .collect();
        assert_eq!(all, self.model);
        let first = self.queue.front().unwrap();
        let is_file = matches!(first, Run::File(_));
        let front = bytes_of(first);
        assert_eq!(front.is_empty(), self.model.is_empty());
        assert!(self.model.starts_with(&front));
        for most in [1, 5, 1000] {
            let mut pieces = [IoSlice::new(&[]); 4];
            let Filled {
                count,
                is_before_file,
            } = self.queue.fill(&mut pieces, most).unwrap();
            let joined: Vec<u8> = pieces[..count]
                .iter()
                .flat_map(|piece| piece.to_vec())
                .collect();
            assert!(joined.len() <= most && self.model.starts_with(&joined));
            assert_eq!(count == 0, self.model.is_empty() || is_file);
            assert!(is_before_file || !is_file);
        }
    }
}

fn bytes_of(run: Run<'_>) -> Vec<u8> {
    match run {
        Run::Bytes(bytes) => bytes.to_vec(),
        Run::File(range) => {
            let mut bytes = vec![0; range.len() as usize];
            assert_eq!(range.read(&mut bytes), Ok(bytes.len()));
            bytes
        }
    }
}

/// A file without a name or a disk.
fn memory_file(bytes: &[u8]) -> Arc<OwnedFd> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let file = memfd_create("range", MemfdFlags::CLOEXEC).unwrap();
    assert_eq!(rustix::io::write(&file, bytes), Ok(bytes.len()));
    Arc::new(file)
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
                3 => pair.lend(random(60), random(9)),
                4 => pair.lend_file(random(60), random(9)),
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
    assert!(queue.fill(&mut pieces, 100).is_err());
    queue.take(1);
    assert!(queue.front().is_err());
    queue.take(4);
    // Shorter than it was.
    assert!(queue.front().is_err());
    assert_eq!(queue.len(), 4);
}

#[test]
#[cfg_attr(miri, ignore = "a system call")]
fn what_is_moved_out_comes_to_the_range_s_end_or_is_missed() {
    let file = memory_file(b"0123456789");
    let mut queue = Segments::default();
    queue.buffer(&mut BufferPool::default()).extend(b"<>");
    queue.push_file(FileRange::new(Arc::clone(&file), 3, 0));
    queue.push_file(FileRange::new(Arc::clone(&file), 6, 3));
    queue.push_file(FileRange::new(Arc::clone(&file), 8, 5));
    assert_eq!((queue.len(), Arc::strong_count(&file)), (10, 3));
    let mut moved = Vec::new();
    let counts = [1, 9, 2, 9, 9].map(|most| queue.move_front(&mut moved, most));
    assert_eq!(counts, [Ok(1), Ok(1), Ok(2), Ok(1), Ok(2)]);
    assert_eq!((queue.len(), Arc::strong_count(&file)), (3, 2));
    assert_eq!(queue.move_front(&mut moved, 9), Err(Gone));
    assert_eq!(moved, b"<>67889");
    queue.clear(&mut BufferPool::default());
    assert_eq!(Arc::strong_count(&file), 1);
}
