//! The streams of a session: a slab whose places are used again, found by a stream's number in constant time.

use crate::h2::priority::Priority;

/// Names a stream: its place in the session's slab, and its number. A key of a stream that is gone names nothing.
///
/// Places are small numbers that are used again, so that a table beside the session can go by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamKey {
    /// Place in the slab.
    pub slot: u32,
    /// The stream's number (RFC 9113, section 5.1.1).
    pub id: u32,
}

/// No place.
pub(super) const NONE: u32 = u32::MAX;

/// A body whose length is not known.
pub(super) const UNKNOWN_LENGTH: u64 = u64::MAX;

/// A stream that is not idle and not forgotten (RFC 9113, section 5.1).
///
/// ```text
///                    receives_more  sends_more
/// open                     yes          yes
/// half-closed (remote)     no           yes
/// half-closed (local)      yes          no
/// closed                   no           no      kept only until the application has let go of it (`is_dead`)
/// ```
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// 0: the place is free.
    pub(super) id: u32,
    /// The peer has not ended it.
    pub(super) receives_more: bool,
    /// We have not ended it.
    pub(super) sends_more: bool,
    /// The final head has been sent.
    pub(super) has_answer: bool,
    /// It was reset, by whomever: the application has yet to let go of it.
    pub(super) is_dead: bool,
    /// Bytes that the request's body still has, or [`UNKNOWN_LENGTH`].
    pub(super) body_left: u64,
    /// Bytes that the peer may still send.
    pub(super) receive_window: i64,
    /// Bytes that were received, and that the application has not released.
    pub(super) held: u32,
    /// Bytes that were released, and that the peer has not been told of.
    pub(super) credit: u32,
    /// Bytes that we may send.
    pub(super) send_window: i64,
    /// Bytes that the application has and wants sent.
    pub(super) queued: u64,
    /// What is queued is the end.
    pub(super) ends: bool,
    /// A field block that comes behind what is queued.
    pub(super) trailers: Vec<u8>,
    pub(super) priority: Priority,
    /// The client said so, and not only we by default.
    pub(super) has_priority: bool,
    /// Since when something is queued for which there is no window; `u64::MAX`: it is not so.
    pub(super) blocked_since_ms: u64,
    /// Neighbours in the list of the scheduler, and whether it is in one. A free place has the next one in `next`.
    pub(super) previous: u32,
    pub(super) next: u32,
    pub(super) is_scheduled: bool,
}

/// The slab.
#[derive(Debug)]
pub(super) struct Streams {
    slots: Vec<Stream>,
    first_free: u32,
    /// Streams of the peer, and pushed ones, that are not free.
    count: u32,
    /// Where to find a number: slots in a table that is probed linearly from the number's own place. The numbers of a
    /// session are consecutive, so collisions are rare; a client that makes them can make no more than it has streams.
    table: Vec<u32>,
}

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            first_free: NONE,
            count: 0,
            table: Vec::new(),
        }
    }

    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Adds a stream in its first state.
    pub(super) fn insert(&mut self, id: u32) -> StreamKey {
        if (self.len() + 1) * 2 > self.table.len() {
            self.grow();
        }
        self.count += 1;
        let slot = match self.slots.get_mut(self.first_free as usize) {
            Some(free) => {
                let slot = self.first_free;
                self.first_free = free.next;
                slot
            }
            None => {
                self.slots.push(Stream::default());
                (self.slots.len() - 1) as u32
            }
        };
        if let Some(stream) = self.slots.get_mut(slot as usize) {
            // The buffer for trailers is used again.
            let mut trailers = std::mem::take(&mut stream.trailers);
            trailers.clear();
            *stream = Stream {
                id,
                trailers,
                blocked_since_ms: u64::MAX,
                previous: NONE,
                next: NONE,
                ..Stream::default()
            };
        }
        self.enter(id, slot);
        StreamKey { slot, id }
    }

    /// Frees a stream's place.
    pub(super) fn remove(&mut self, key: StreamKey) {
        let Some(stream) = self.get_mut(key) else {
            return;
        };
        stream.id = 0;
        let (before, slot) = (self.first_free, key.slot);
        if let Some(stream) = self.slots.get_mut(slot as usize) {
            stream.next = before;
        }
        self.first_free = slot;
        self.count -= 1;
        self.leave(key);
    }

    #[inline]
    pub(super) fn get(&self, key: StreamKey) -> Option<&Stream> {
        let stream = self.slots.get(key.slot as usize)?;
        (stream.id == key.id && key.id != 0).then_some(stream)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: StreamKey) -> Option<&mut Stream> {
        let stream = self.slots.get_mut(key.slot as usize)?;
        (stream.id == key.id && key.id != 0).then_some(stream)
    }

    /// The stream in a place, for lists that hold places of streams only.
    #[inline]
    pub(super) fn at(&mut self, slot: u32) -> Option<&mut Stream> {
        self.slots.get_mut(slot as usize)
    }

    /// Finds a stream by its number.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<StreamKey> {
        if self.table.is_empty() {
            return None;
        }
        let mut place = self.home(id);
        loop {
            let slot = *self.table.get(place)?;
            let stream = self.slots.get(slot as usize)?;
            if stream.id == id {
                return Some(StreamKey { slot, id });
            }
            place = (place + 1) & (self.table.len() - 1);
        }
    }

    /// All streams.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (StreamKey, &mut Stream)> {
        self.slots
            .iter_mut()
            .enumerate()
            .filter(|(_, stream)| stream.id != 0)
            .map(|(slot, stream)| {
                let key = StreamKey {
                    slot: slot as u32,
                    id: stream.id,
                };
                (key, stream)
            })
    }

    #[inline]
    fn home(&self, id: u32) -> usize {
        // The lowest bit tells whose stream it is.
        (id >> 1) as usize & (self.table.len() - 1)
    }

    fn enter(&mut self, id: u32, slot: u32) {
        let mask = self.table.len() - 1;
        let mut place = self.home(id);
        while let Some(entry) = self.table.get_mut(place) {
            if *entry == NONE {
                *entry = slot;
                return;
            }
            place = (place + 1) & mask;
        }
    }

    /// Takes a number out of the table, and closes the gap for those that were put behind it.
    fn leave(&mut self, key: StreamKey) {
        let mask = self.table.len() - 1;
        let mut gap = self.home(key.id);
        while self.table.get(gap).is_some_and(|slot| *slot != key.slot) {
            gap = (gap + 1) & mask;
        }
        let mut place = gap;
        loop {
            place = (place + 1) & mask;
            let slot = self.table.get(place).copied().unwrap_or(NONE);
            let Some(stream) = self.slots.get(slot as usize) else {
                break;
            };
            // It may move to the gap if its own place is not between the two.
            let distance = place.wrapping_sub(self.home(stream.id)) & mask;
            if distance >= place.wrapping_sub(gap) & mask {
                if let Some(entry) = self.table.get_mut(gap) {
                    *entry = slot;
                }
                gap = place;
            }
        }
        if let Some(entry) = self.table.get_mut(gap) {
            *entry = NONE;
        }
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(16);
        self.table.clear();
        self.table.resize(size, NONE);
        for slot in 0..self.slots.len() {
            match self.slots.get(slot) {
                Some(stream) if stream.id != 0 => self.enter(stream.id, slot as u32),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn streams_are_found_as_in_a_map() {
        // xorshift: the same sequence in each run.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) % below
        };
        let mut streams = Streams::new();
        let mut model: HashMap<u32, StreamKey> = HashMap::new();
        for _ in 0..20_000 {
            // Numbers far apart share their places in the table.
            let id = (random(60) * [1, 64, 128][random(3) as usize] + 1) as u32;
            match model.get(&id).copied() {
                Some(key) => {
                    streams.remove(key);
                    assert!(streams.get(key).is_none());
                    model.remove(&id);
                }
                None => {
                    let key = streams.insert(id);
                    assert!(!model.values().any(|other| other.slot == key.slot));
                    model.insert(id, key);
                }
            }
            assert_eq!(streams.len(), model.len());
            for (id, key) in &model {
                assert_eq!(streams.find(*id), Some(*key));
                assert_eq!(streams.get(*key).map(|stream| stream.id), Some(*id));
            }
            assert_eq!(streams.find(99_999), None);
            assert_eq!(streams.iter_mut().count(), model.len());
        }
        assert!(streams.slots.len() < 200);
    }
}
