//! One engine thread as its application sees it: the ends of the rings, and what found no room in them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use portico_channel::layout::{command, destroy_flag, event, response_flag};
use portico_channel::{
    CommandWriter, EventWriter, External, RecordView, Records, RingReader, RingWriter, ring,
};

use super::engine_end::EngineEnd;
use super::lending::{Lending, Parcel, Returned};
use super::shared::{Application, BESIDE, Beside, Shared, gone, write_to_ring};
use crate::Shard;
use crate::limits::{BESIDE_BYTES, RING_BYTES};

/// One engine thread as its application sees it.
#[derive(Debug)]
pub(super) struct ShardLink {
    pub(super) shared: Arc<Shared>,
    commands: RingWriter,
    events: RingReader,
    /// Events that came beside the ring, and how many of their bytes have been taken.
    large: Option<(Vec<u8>, usize)>,
    /// Commands that found no room in the ring. Bounded by what the application queues: its streams see no progress
    /// (`FLUSHED`) until these are applied.
    waiting: Vec<u8>,
    /// Large bodies on their way.
    lending: Lending,
    /// Connections and exchanges whose end was in the events taken last. The application may still write about them before it reads
    /// of it.
    over: Vec<Over>,
    /// Empty between calls; kept for its memory.
    returned: Vec<Returned>,
    pub(super) thread: Option<JoinHandle<()>>,
}

impl ShardLink {
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
            large: None,
            waiting: Vec::new(),
            lending: Lending::default(),
            over: Vec::new(),
            returned: Vec::new(),
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
        for over in self.over.drain(..) {
            match over {
                (token, None) => self.lending.forget(token),
                (token, Some(sequence)) => self.lending.give_up(token, sequence),
            }
        }
        let next = self.take_records(events);
        self.wake_if_room_was_wanted();
        next
    }

    fn take_records(&mut self, events: &mut EventWriter<'_>) -> Option<usize> {
        loop {
            // What came beside the ring came before what is in it now.
            while let Some((large, taken)) = &mut self.large {
                let rest = large.get(*taken..).unwrap_or_default();
                match whole_records(rest, events.remaining()) {
                    (0, Next::TooLarge(bytes)) => return Some(bytes),
                    (0, _) => self.large = None,
                    (fits, _) => {
                        let records = rest.get(..fits).unwrap_or_default();
                        hand_over(records, events, &self.lending, &mut self.over);
                        *taken += fits;
                    }
                }
            }
            let bytes = self.events.peek();
            if bytes.is_empty() {
                return None;
            }
            match whole_records(bytes, events.remaining()) {
                (0, Next::TooLarge(bytes)) => return Some(bytes),
                (0, Next::Beside(mark)) => {
                    self.events.consume(mark);
                    self.large = self.shared.take_large_events().map(|large| (large, 0));
                }
                (0, Next::End) => return None,
                (fits, _) => {
                    let records = bytes.get(..fits).unwrap_or_default();
                    hand_over(records, events, &self.lending, &mut self.over);
                    self.events.consume(fits);
                }
            }
        }
    }

    fn wake_if_room_was_wanted(&self) {
        if self.shared.wants_room.must_be_woken() {
            self.shared.wake.wake();
        }
    }

    /// Queues one record, in order.
    pub(super) fn queue(
        &mut self,
        record: RecordView<'_>,
        bytes: &[u8],
        external: Option<External<'_>>,
    ) {
        let uses_external = matches!(
            record.kind(),
            command::RESPOND | command::DATA | command::RAW | command::FEED
        ) && record.flags() & response_flag::EXTERNAL != 0;
        let Some(external) = external.filter(|_| uses_external) else {
            if self.lending.is_empty() || !self.lending.keeps(record, bytes) {
                self.write_plain(bytes);
            }
            return;
        };
        if record.kind() == command::FEED {
            return self.write_beside(bytes, Some(external.bytes()));
        }
        let mut lending = std::mem::take(&mut self.lending);
        lending.lend(record, external, |parcel| self.write_parcel(parcel));
        self.lending = lending;
        self.note_waiting();
    }

    /// Sends what waited for pieces of bodies to be sent.
    pub(super) fn take_returned(&mut self) {
        let mut returned = std::mem::take(&mut self.returned);
        self.shared.take_returned(&mut returned);
        if !returned.is_empty() {
            let mut lending = std::mem::take(&mut self.lending);
            for piece in returned.drain(..) {
                lending.returned(piece, |parcel| self.write_parcel(parcel));
            }
            self.lending = lending;
            self.note_waiting();
            self.shared.wake_engine();
        }
        self.returned = returned;
    }

    /// Tells the engine thread whether to wake us for what it gives back.
    fn note_waiting(&self) {
        let waits = !self.lending.is_empty() && self.lending.waits();
        self.shared.lending_waits.store(waits, Ordering::Release);
    }

    fn write_parcel(&mut self, parcel: Parcel<'_>) {
        match parcel {
            Parcel::Record(record) => self.write_plain(record),
            Parcel::Piece { record, body } => self.write_beside(record, Some(body)),
            Parcel::Gone { token } => {
                let mut end = CommandWriter::new();
                end.write(destroy_flag::RESET, command::Destroy { token }, &[]);
                self.write(end.as_bytes());
            }
        }
    }

    fn write_plain(&mut self, record: &[u8]) {
        if record.len() > BESIDE_BYTES {
            self.write_beside(record, None);
        } else {
            self.write(record);
        }
    }

    fn write_beside(&mut self, record: &[u8], body: Option<&[u8]>) {
        let external = body.map(|body| self.shared.copy_beside(body));
        self.shared.push_beside(Beside {
            commands: record.to_vec(),
            external,
        });
        let mut mark = CommandWriter::new();
        mark.unlisted(BESIDE, 0, &[0], &[]);
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
        self.events.is_empty() && self.large.is_none() && !self.shared.has_returned()
    }
}

/// The connections, and single exchanges of connections, whose end is among some records.
fn over_in(records: &[u8]) -> impl Iterator<Item = Over> {
    let over = |record: RecordView<'_>| match record.kind() {
        event::CLOSED => Some((record.token(), None)),
        event::RESET => Some((record.token(), Some(record.sequence()))),
        _ => None,
    };
    Records::new(records).flatten().filter_map(over)
}

/// Gives records to the application. There is room for them.
fn hand_over(
    records: &[u8],
    events: &mut EventWriter<'_>,
    lending: &Lending,
    over: &mut Vec<Over>,
) {
    if !lending.is_empty() {
        over.extend(over_in(records));
    }
    let taken = events.append(records);
    debug_assert!(taken.is_ok());
}

/// A connection that is over, or one of its exchanges alone.
type Over = (u32, Option<u32>);

/// What ends a row of records.
enum Next {
    /// Nothing more is there; or a word of zero, at the end of the ring's memory.
    End,
    /// A record of so many bytes that does not fit.
    TooLarge(usize),
    /// The record, of so many bytes, that stands for events beside the ring.
    Beside(usize),
}

/// Length of the whole records at the start of `bytes` that fit into `room`, and what is behind them.
fn whole_records(bytes: &[u8], room: usize) -> (usize, Next) {
    let mut records = Records::new(bytes);
    loop {
        let start = records.offset();
        match records.next() {
            Some(Ok(record)) if record.kind() == BESIDE => {
                return (start, Next::Beside(record.size()));
            }
            Some(Ok(record)) if start + record.size() > room => {
                return (start, Next::TooLarge(record.size()));
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return (start, Next::End),
        }
    }
}
