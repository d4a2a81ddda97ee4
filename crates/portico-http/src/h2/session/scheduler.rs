//! Which stream sends next (RFC 9218, section 10).
//!
//! The lowest urgency goes first. Within one there are streams in the order of their numbers, each to its end, and
//! streams that take turns; a frame of the former alternates with one of the latter. A stream takes turns if it is
//! incremental, or if the client has said nothing: clients without priorities expect streams side by side.
//!
//! Only streams are listed that have something to send and a window for it.

use super::streams::{NONE, StreamKey, Streams};
use crate::h2::priority::Priority;

const URGENCIES: usize = 8;

/// The first and the last of a list that is linked through the streams.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
};

/// The streams of one urgency.
#[derive(Clone, Copy, Debug)]
struct Level {
    in_order: List,
    in_turns: List,
    /// The next frame is one of those in turns.
    is_their_turn: bool,
}

/// The streams that can send.
#[derive(Debug)]
pub(super) struct Scheduler {
    levels: [Level; URGENCIES],
}

impl Scheduler {
    pub(super) fn new() -> Self {
        let level = Level {
            in_order: EMPTY,
            in_turns: EMPTY,
            is_their_turn: false,
        };
        Self {
            levels: [level; URGENCIES],
        }
    }

    /// Adds a stream, if it is not listed.
    pub(super) fn add(&mut self, streams: &mut Streams, key: StreamKey) {
        let Some(stream) = streams.get_mut(key).filter(|stream| !stream.is_scheduled) else {
            return;
        };
        stream.is_scheduled = true;
        let takes_turns = stream.priority.incremental || !stream.has_priority;
        let level = &mut self.levels[usize::from(stream.priority.urgency) % URGENCIES];
        if takes_turns {
            let last = level.in_turns.last;
            level.in_turns.insert_behind(streams, last, key.slot);
        } else {
            let mut before = level.in_order.last;
            while let Some(other) = streams.at(before).filter(|other| other.id > key.id) {
                before = other.previous;
            }
            level.in_order.insert_behind(streams, before, key.slot);
        }
    }

    /// Removes a stream, if it is listed.
    pub(super) fn remove(&mut self, streams: &mut Streams, key: StreamKey) {
        let Some(stream) = streams.get_mut(key).filter(|stream| stream.is_scheduled) else {
            return;
        };
        stream.is_scheduled = false;
        let takes_turns = stream.priority.incremental || !stream.has_priority;
        let level = &mut self.levels[usize::from(stream.priority.urgency) % URGENCIES];
        let list = match takes_turns {
            true => &mut level.in_turns,
            false => &mut level.in_order,
        };
        list.remove(streams, key.slot);
    }

    /// Changes a stream's priority, in the list that it is in or not.
    pub(super) fn reprioritize(
        &mut self,
        streams: &mut Streams,
        key: StreamKey,
        priority: Priority,
    ) {
        let was_scheduled = streams.get(key).is_some_and(|stream| stream.is_scheduled);
        self.remove(streams, key);
        if let Some(stream) = streams.get_mut(key) {
            stream.priority = priority;
            stream.has_priority = true;
        }
        if was_scheduled {
            self.add(streams, key);
        }
    }

    /// Whether a stream is listed.
    pub(super) fn has_streams(&self) -> bool {
        self.levels.iter().any(|level| !level.is_empty())
    }

    /// The stream that sends a frame now. One that takes turns goes to the end of its list.
    pub(super) fn next(&mut self, streams: &mut Streams) -> Option<StreamKey> {
        let level = self.levels.iter_mut().find(|level| !level.is_empty())?;
        let is_their_turn =
            level.in_order.first == NONE || (level.is_their_turn && level.in_turns.first != NONE);
        level.is_their_turn = !is_their_turn;
        let slot = match is_their_turn {
            true => level.in_turns.first,
            false => level.in_order.first,
        };
        if is_their_turn && level.in_turns.last != slot {
            level.in_turns.remove(streams, slot);
            let last = level.in_turns.last;
            level.in_turns.insert_behind(streams, last, slot);
        }
        let id = streams.at(slot)?.id;
        Some(StreamKey { slot, id })
    }
}

impl Level {
    fn is_empty(&self) -> bool {
        self.in_order.first == NONE && self.in_turns.first == NONE
    }
}

impl List {
    /// Puts a stream behind another one, or first.
    fn insert_behind(&mut self, streams: &mut Streams, before: u32, slot: u32) {
        let next = match streams.at(before) {
            Some(before) => std::mem::replace(&mut before.next, slot),
            None => std::mem::replace(&mut self.first, slot),
        };
        match streams.at(next) {
            Some(next) => next.previous = slot,
            None => self.last = slot,
        }
        if let Some(stream) = streams.at(slot) {
            stream.previous = before;
            stream.next = next;
        }
    }

    fn remove(&mut self, streams: &mut Streams, slot: u32) {
        let Some(stream) = streams.at(slot) else {
            return;
        };
        let (previous, next) = (stream.previous, stream.next);
        (stream.previous, stream.next) = (NONE, NONE);
        match streams.at(previous) {
            Some(previous) => previous.next = next,
            None => self.first = next,
        }
        match streams.at(next) {
            Some(next) => next.previous = previous,
            None => self.last = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        streams: Streams,
        scheduler: Scheduler,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                streams: Streams::new(),
                scheduler: Scheduler::new(),
            }
        }

        fn add(&mut self, id: u32, priority: Option<&str>) -> StreamKey {
            let key = self.streams.insert(id);
            let stream = self.streams.get_mut(key).unwrap();
            stream.has_priority = priority.is_some();
            stream.priority = Priority::parse(priority.unwrap_or_default().as_bytes());
            self.scheduler.add(&mut self.streams, key);
            key
        }

        fn order(&mut self, count: usize) -> Vec<u32> {
            (0..count)
                .filter_map(|_| self.scheduler.next(&mut self.streams))
                .map(|key| key.id)
                .collect()
        }
    }

    #[test]
    fn urgency_comes_first_then_the_number() {
        let mut bench = Bench::new();
        let seven = bench.add(7, Some("u=3"));
        bench.add(1, Some("u=5"));
        let three = bench.add(3, Some("u=3"));
        bench.add(5, Some("u=3"));
        assert_eq!(bench.order(3), [3, 3, 3]);
        bench.scheduler.remove(&mut bench.streams, three);
        bench.scheduler.remove(&mut bench.streams, three);
        assert_eq!(bench.order(2), [5, 5]);
        let first = Priority::parse(b"u=0");
        bench
            .scheduler
            .reprioritize(&mut bench.streams, seven, first);
        assert_eq!(bench.order(2), [7, 7]);
    }

    #[test]
    fn incremental_streams_and_those_without_a_priority_take_turns() {
        let mut bench = Bench::new();
        bench.add(1, Some("i"));
        let three = bench.add(3, None);
        bench.add(5, Some("i"));
        assert_eq!(bench.order(6), [1, 3, 5, 1, 3, 5]);
        bench.scheduler.remove(&mut bench.streams, three);
        assert_eq!(bench.order(4), [1, 5, 1, 5]);
        bench.add(7, Some("u=3"));
        assert_eq!(bench.order(5), [7, 1, 7, 5, 7]);
    }

    #[test]
    fn nothing_to_send_is_nothing() {
        let mut bench = Bench::new();
        let key = bench.add(1, None);
        bench.scheduler.remove(&mut bench.streams, key);
        assert_eq!(bench.order(1), [0; 0]);
    }
}
