//! One engine thread as its application sees it: the ends of the rings, and what found no room in them.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use portico_channel::layout::{command, response_flag};
use portico_channel::{
    CommandWriter, EventWriter, RecordView, Records, RingReader, RingWriter, ring,
};

use super::application_end::gone;
use super::engine_end::{Application, EngineEnd};
use super::lane::{BESIDE, BESIDE_BYTES, Beside, RING_BYTES, Shared};
use crate::Shard;

/// One engine thread as its application sees it.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) shared: Arc<Shared>,
    commands: RingWriter,
    events: RingReader,
    /// Commands that found no room in the ring. Bounded by what the application queues: its streams see no progress
    /// (`FLUSHED`) until these are applied.
    waiting: Vec<u8>,
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Lane {
    pub(super) fn start(
        index: usize,
        base: u32,
        count: usize,
        application: &Arc<Application>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new()?);
        let (command_writer, command_reader) = ring(RING_BYTES);
        let (event_writer, event_reader) = ring(RING_BYTES);
        let end = EngineEnd {
            shared: Arc::clone(&shared),
            commands: command_reader,
            events: event_writer,
            application: Arc::clone(application),
        };
        let name = format!("portico-{index}");
        let (made, result) = std::sync::mpsc::sync_channel(1);
        let thread =
            std::thread::Builder::new().name(name).spawn(move || {
                match Shard::with_slots(base, count)
                    .and_then(|shard| shard.watch(&end.shared.wake).map(|()| shard))
                {
                    Ok(shard) => {
                        let _ = made.send(Ok(()));
                        end.run(shard);
                    }
                    Err(error) => {
                        let _ = made.send(Err(error));
                    }
                }
            })?;
        result.recv().map_err(|_| gone())??;
        Ok(Self {
            shared,
            commands: command_writer,
            events: event_reader,
            waiting: Vec::new(),
            thread: Some(thread),
        })
    }

    pub(super) fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Shard) -> T + Send + 'static,
    ) -> std::sync::mpsc::Receiver<T> {
        let answer = self.shared.mailbox.post(call);
        self.shared.wake_engine();
        answer
    }

    /// Copies whole records. `Some`: one of so many bytes did not fit.
    pub(super) fn take(&mut self, events: &mut EventWriter<'_>) -> Option<usize> {
        loop {
            let bytes = self.events.peek();
            if bytes.is_empty() {
                break;
            }
            let (fits, next) = whole_records(bytes, events.remaining());
            if fits > 0 {
                let taken = events.append(bytes.get(..fits).unwrap_or_default());
                debug_assert!(taken.is_ok());
                self.events.consume(fits);
            }
            if fits == 0 {
                self.wake_if_room_was_wanted();
                return next;
            }
        }
        self.wake_if_room_was_wanted();
        None
    }

    fn wake_if_room_was_wanted(&self) {
        if self.shared.wants_room.must_be_woken() {
            self.shared.wake.wake();
        }
    }

    /// Queues one record, in order.
    pub(super) fn queue(&mut self, record: RecordView<'_>, bytes: &[u8], external: Option<&[u8]>) {
        let uses_external = matches!(
            record.kind(),
            command::RESPOND | command::DATA | command::RAW | command::FEED
        ) && record.flags() & response_flag::EXTERNAL != 0;
        let external = external.filter(|_| uses_external);
        if external.is_none() && bytes.len() <= BESIDE_BYTES {
            return self.write(bytes);
        }
        let external = external.map(|body| self.shared.copy_beside(body));
        self.shared.push_beside(Beside {
            commands: bytes.to_vec(),
            external,
        });
        let mut mark = CommandWriter::new();
        mark.simple(BESIDE, 0, 0);
        self.write(mark.as_bytes());
    }

    fn write(&mut self, record: &[u8]) {
        if self.waiting.is_empty() && write_to_ring(&mut self.commands, record) {
            return;
        }
        self.waiting.extend_from_slice(record);
    }

    /// Moves what waits into the ring as far as there is room. If some is left, the engine thread will wake us.
    pub(super) fn send_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        self.shared.application_wants_room.fall_asleep();
        let mut sent = 0;
        for record in Records::new(&self.waiting).flatten() {
            let bytes = self
                .waiting
                .get(sent..sent + record.size())
                .unwrap_or_default();
            if !write_to_ring(&mut self.commands, bytes) {
                break;
            }
            sent += record.size();
        }
        self.waiting.drain(..sent);
        if self.waiting.is_empty() {
            self.shared.application_wants_room.wake_up();
        }
        self.shared.wake_engine();
    }

    /// Whether there is nothing to take now.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

fn write_to_ring(ring: &mut RingWriter, record: &[u8]) -> bool {
    let Some(space) = ring
        .reserve(record.len())
        .and_then(|space| space.get_mut(..record.len()))
    else {
        return false;
    };
    space.copy_from_slice(record);
    ring.commit(record.len());
    true
}

/// Length of the whole records at the start of `bytes` that fit into `room`, and the size of the first that doesn't.
fn whole_records(bytes: &[u8], room: usize) -> (usize, Option<usize>) {
    let mut records = Records::new(bytes);
    loop {
        let start = records.offset();
        match records.next() {
            Some(Ok(record)) if start + record.size() > room => {
                return (start, Some(record.size()));
            }
            Some(Ok(_)) => {}
            // A word of zero at the end of the ring's memory.
            Some(Err(_)) | None => return (start, None),
        }
    }
}
