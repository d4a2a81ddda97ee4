//! The engine thread.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portico_channel::{
    CommandWriter, EventWriter, External, LentBytes, Records, RingReader, RingWriter,
};

use super::shared::{Application, BESIDE, Beside, Piece, Shared, write_to_ring};
use crate::limits::TURN_ROOM_BYTES;
use crate::{Shard, TurnOutcome};

/// Longest wait; a wake-up or readiness ends it before.
const LONG: Duration = Duration::from_secs(3600);
/// Room for the record that stands for events beside the ring.
const MARK_ROOM_BYTES: usize = 64;

/// The engine thread's side of a link.
#[derive(Debug)]
pub(super) struct EngineEnd {
    pub(super) shared: Arc<Shared>,
    pub(super) commands: RingReader,
    pub(super) events: RingWriter,
    /// The application's thread, which one descriptor wakes for all engine threads.
    pub(super) application: Arc<Application>,
}

impl EngineEnd {
    /// Turns the shard until it is told to stop. What is queued then has been sent as far as the kernel took it.
    pub(super) fn run(mut self, mut shard: Shard) {
        let mut room = TURN_ROOM_BYTES;
        loop {
            self.apply_commands(&mut shard);
            self.run_tasks(&mut shard);
            if self.shared.is_stopping() {
                return;
            }
            let rest = self.nothing_to_do(&shard);
            let wait = if rest { Some(LONG) } else { None };
            let outcome = self.turn(&mut shard, room, wait);
            self.shared.sleeper.wake_up();
            self.shared
                .referenced
                .store(shard.referenced_connections(), Ordering::Release);
            room = match outcome {
                Some(TurnOutcome::NeedSpace(bytes)) => bytes.max(TURN_ROOM_BYTES),
                Some(_) => TURN_ROOM_BYTES,
                None => {
                    self.wait_for_room(&mut shard, room);
                    room
                }
            };
        }
    }

    /// One turn into the ring's memory, or beside it if an event is larger. `None`: the ring is too full.
    fn turn(
        &mut self,
        shard: &mut Shard,
        room: usize,
        wait: Option<Duration>,
    ) -> Option<TurnOutcome> {
        if self.is_large(room) {
            return self.turn_beside(shard, room);
        }
        let memory = self.events.reserve(room)?;
        let mut events = EventWriter::new(memory);
        let outcome = shard.turn(wait, &mut events);
        let written = events.len();
        if matches!(outcome, TurnOutcome::NeedSpace(_)) {
            // Perhaps in the middle of what was read at once: the application gets it with the rest, since what its
            // ticks do in between is seen.
            self.events.keep_back(written);
        } else {
            self.tell(written);
        }
        Some(outcome)
    }

    /// Hands over so many bytes of events, and those that were kept back.
    fn tell(&mut self, written: usize) {
        if self.events.commit(written) {
            self.application.wake_if_asleep();
        }
    }

    /// One turn into memory of its own, for an event of so many bytes: the head of a request, or the fields behind its body.
    /// What the ring has then stands for it, in its order.
    fn turn_beside(&mut self, shard: &mut Shard, room: usize) -> Option<TurnOutcome> {
        if !self.has_room(room) {
            return None;
        }
        let mut memory = vec![0; room];
        let mut events = EventWriter::new(&mut memory);
        let outcome = shard.turn(None, &mut events);
        let written = events.len();
        if written > 0 {
            memory.truncate(written);
            self.shared.put_large_events(memory);
            let mut mark = CommandWriter::new();
            mark.unlisted(BESIDE, 0, &[0], &[]);
            let is_written = write_to_ring(&mut self.events, mark.as_bytes());
            debug_assert!(is_written);
            self.application.wake_if_asleep();
        }
        Some(outcome)
    }

    /// Whether events of so many bytes travel beside the ring: a record takes half of it at most.
    fn is_large(&self, room: usize) -> bool {
        room > self.events.capacity() / 2
    }

    /// Whether there is room for events of so many bytes.
    fn has_room(&mut self, room: usize) -> bool {
        if self.is_large(room) {
            !self.shared.has_large_events() && self.events.reserve(MARK_ROOM_BYTES).is_some()
        } else {
            self.events.reserve(room).is_some()
        }
    }

    /// Whether the thread may sleep. If so it counts as asleep from here on.
    fn nothing_to_do(&mut self, shard: &Shard) -> bool {
        if shard.has_pending_events() {
            return false;
        }
        self.shared.sleeper.fall_asleep();
        let nothing = self.commands.is_empty()
            && self.shared.mailbox.is_empty()
            && !self.shared.is_stopping();
        if !nothing {
            self.shared.sleeper.wake_up();
        }
        nothing
    }

    fn apply_commands(&mut self, shard: &mut Shard) {
        loop {
            let bytes = self.commands.peek();
            if bytes.is_empty() {
                break;
            }
            let (plain, beside) = split(bytes);
            if plain > 0 {
                let commands = bytes.get(..plain).unwrap_or_default();
                if let Err(error) = shard.apply(commands, None) {
                    self.shared.report(error);
                }
                self.commands.consume(plain);
            }
            if beside > 0 {
                self.commands.consume(beside);
                if let Some(beside) = self.shared.take_beside() {
                    self.apply_beside(shard, beside);
                }
            }
        }
        if self.shared.application_wants_room.must_be_woken() {
            self.application.wake.wake();
        }
    }

    /// A submission that came beside the ring. Its body is kept where it is until it has been sent.
    fn apply_beside(&self, shard: &mut Shard, beside: Beside) {
        let Beside { commands, external } = beside;
        let result = match (external, Records::new(&commands).next()) {
            (Some(bytes), Some(Ok(record))) => {
                let piece = Rc::new(Piece::new(bytes, record, &self.shared, &self.application));
                let keep = || Some(Rc::clone(&piece) as Rc<dyn LentBytes>);
                let bytes = piece.bytes().unwrap_or_default();
                shard.apply(&commands, Some(External::lent(bytes, &keep)))
            }
            _ => shard.apply(&commands, None),
        };
        if let Err(error) = result {
            self.shared.report(error);
        }
    }

    fn run_tasks(&mut self, shard: &mut Shard) {
        while let Some(task) = self.shared.mailbox.take() {
            task(shard);
        }
    }

    /// The application is slow: the ring is full. Nothing is read from any connection until it has room, but commands
    /// are applied and output is sent.
    fn wait_for_room(&mut self, shard: &mut Shard, room: usize) {
        self.tell(0);
        self.application.wake_if_asleep();
        self.shared.wants_room.fall_asleep();
        if !self.has_room(room) && self.nothing_to_do_but_wait() {
            shard.wait_only(LONG);
        }
        self.shared.sleeper.wake_up();
        self.shared.wants_room.wake_up();
    }

    fn nothing_to_do_but_wait(&mut self) -> bool {
        self.shared.sleeper.fall_asleep();
        self.commands.is_empty() && self.shared.mailbox.is_empty() && !self.shared.is_stopping()
    }
}

/// Length of the records before the first that stands for a submission beside the ring, and that one's length.
/// Records that are no records end the first part too; applying them reports the error.
fn split(bytes: &[u8]) -> (usize, usize) {
    let mut records = Records::new(bytes);
    loop {
        let start = records.offset();
        match records.next() {
            Some(Ok(record)) if record.kind() == BESIDE => return (start, record.size()),
            Some(Ok(_)) => {}
            // A word of zero at the end of the ring's memory.
            Some(Err(_)) | None => return (start, 0),
        }
    }
}
