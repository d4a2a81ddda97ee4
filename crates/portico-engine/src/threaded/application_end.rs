//! The application's thread.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use portico_channel::Sleeper;
use portico_channel::layout::{SLOT_BITS, SLOT_MASK, command, response_flag};
use portico_channel::{
    CommandWriter, EventWriter, RecordView, Records, RingReader, RingWriter, ring,
};
use portico_sys::{Errno, Wake, socket};

use super::engine_end::{Application, EngineEnd};
use super::lane::{BESIDE, BESIDE_BYTES, Beside, MAX_HEADER_SIZE, RING_BYTES, Shared};
use super::{MAX_THREADS, thread_bits};
use crate::{CommandError, Counters, ListenerId, ListenerOptions, Shard, TurnOutcome};

/// One engine thread as its application sees it.
#[derive(Debug)]
struct Lane {
    shared: Arc<Shared>,
    commands: RingWriter,
    events: RingReader,
    /// Commands that found no room in the ring. Bounded by what the application queues: its streams see no progress
    /// (`FLUSHED`) until these are applied.
    waiting: Vec<u8>,
    thread: Option<JoinHandle<()>>,
}

/// Shards on threads of their own, with the interface of a [`Shard`] but for [`ThreadedEngine::take`] and
/// [`ThreadedEngine::submit`]. Dropping it ends the threads and closes everything.
#[derive(Debug)]
pub struct ThreadedEngine {
    lanes: Vec<Lane>,
    application: Arc<Application>,
    /// Which lane `take` looks at first.
    turn: usize,
    /// Which lane gets the next adopted socket.
    adopting: usize,
}

impl ThreadedEngine {
    /// Starts `threads` threads (at least one, at most 64).
    ///
    /// # Errors
    /// Those of making descriptors and threads.
    pub fn new(threads: usize) -> io::Result<Self> {
        let threads = threads.clamp(1, MAX_THREADS);
        let application = Arc::new(Application {
            wake: Wake::new()?,
            sleeper: Sleeper::default(),
        });
        let mut engine = Self {
            lanes: Vec::new(),
            application,
            turn: 0,
            adopting: 0,
        };
        let slot_bits = SLOT_BITS - thread_bits(threads);
        for index in 0..threads {
            let base = u32::try_from(index).unwrap_or(0) << slot_bits;
            let count = if threads == 1 {
                SLOT_MASK as usize
            } else {
                1 << slot_bits
            };
            engine
                .lanes
                .push(Lane::start(index, base, count, &engine.application)?);
        }
        engine.application.sleeper.fall_asleep();
        Ok(engine)
    }

    /// A descriptor that is readable when [`ThreadedEngine::take`] has something.
    #[must_use]
    pub fn poll_fd(&self) -> RawFd {
        self.application.wake.as_fd().as_raw_fd()
    }

    /// Takes event records of the threads. After [`TurnOutcome::Idle`] the descriptor tells when there are more.
    pub fn take(&mut self, events: &mut EventWriter<'_>) -> TurnOutcome {
        self.application.sleeper.wake_up();
        self.application.wake.clear();
        for step in 0..self.lanes.len() {
            let index = (self.turn + step) % self.lanes.len();
            let Some(lane) = self.lanes.get_mut(index) else {
                continue;
            };
            lane.send_waiting();
            if let Some(bytes) = lane.take(events) {
                // The next call begins here, with fresh memory.
                self.turn = index;
                return TurnOutcome::NeedSpace(bytes);
            }
        }
        self.turn = (self.turn + 1) % self.lanes.len();
        self.application.sleeper.fall_asleep();
        if self.has_pending_events() {
            self.application.sleeper.wake_up();
            return TurnOutcome::More;
        }
        TurnOutcome::Idle
    }

    /// Hands commands over to the threads they concern. `external` is the body of the last record (flag `EXTERNAL`);
    /// it is copied.
    ///
    /// # Errors
    /// [`CommandError`]: the records can't be told apart, or an earlier submission held a bad one, which has come out
    /// meanwhile (its offset is then that within its part of the submission).
    pub fn submit(&mut self, commands: &[u8], external: Option<&[u8]>) -> Result<(), CommandError> {
        let mut records = Records::new(commands);
        let bits = thread_bits(self.lanes.len());
        let mut result = Ok(());
        loop {
            let offset = records.offset();
            match records.next() {
                None => break,
                Some(Err(_)) => {
                    result = Err(CommandError::Malformed { offset });
                    break;
                }
                Some(Ok(record)) => {
                    let bytes = commands.get(offset..records.offset()).unwrap_or_default();
                    self.route(record, bytes, external, bits);
                }
            }
        }
        for lane in &mut self.lanes {
            lane.send_waiting();
            lane.shared.wake_engine();
        }
        let reported = self.lanes.iter().find_map(|lane| lane.shared.take_error());
        result.and(reported.map_or(Ok(()), Err))
    }

    fn route(&mut self, record: RecordView<'_>, bytes: &[u8], external: Option<&[u8]>, bits: u32) {
        let to_all = matches!(
            record.kind(),
            command::TEMPLATE | command::CLOSE_IDLE | command::CLOSE_ALL
        );
        if to_all {
            for lane in &mut self.lanes {
                lane.queue(record, bytes, None);
            }
            return;
        }
        let index = (record.word(2) & SLOT_MASK) >> (SLOT_BITS - bits);
        if let Some(lane) = usize::try_from(index)
            .ok()
            .and_then(|index| self.lanes.get_mut(index))
        {
            lane.queue(record, bytes, external);
        }
    }

    /// Whether [`ThreadedEngine::take`] would find something now.
    #[must_use]
    pub fn has_pending_events(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.events.is_empty())
    }

    /// As [`Shard::listen`]; all threads accept from the socket. A `max_header_size` above 64 KB counts as 64 KB.
    ///
    /// # Errors
    /// Those of listen(2) and of copying the descriptor.
    pub fn listen(
        &mut self,
        fd: OwnedFd,
        backlog: i32,
        options: ListenerOptions,
    ) -> io::Result<ListenerId> {
        socket::prepare(&fd)?;
        socket::listen(&fd, backlog)?;
        let options = within_bounds(options);
        let mut copies = Vec::new();
        for _ in 1..self.lanes.len() {
            copies.push(fd.try_clone()?);
        }
        copies.push(fd);
        let shared_count = Arc::default();
        let results = self.ask_all(|_| {
            let (copy, options) = (copies.pop(), options.clone());
            let count = Arc::clone(&shared_count);
            move |shard: &mut Shard| match copy {
                Some(copy) => shard.add_listening(copy, options, count),
                None => Err(gone()),
            }
        });
        first_of(results)?
    }

    /// As [`Shard::create_listener`].
    pub fn create_listener(&mut self, options: ListenerOptions) -> ListenerId {
        let options = within_bounds(options);
        let shared_count = Arc::default();
        let results = self.ask_all(|_| {
            let (options, count) = (options.clone(), Arc::clone(&shared_count));
            move |shard: &mut Shard| shard.add_without_socket(options, count)
        });
        first_of(results).unwrap_or(ListenerId(u32::MAX))
    }

    /// As [`Shard::adopt`]; the threads take turns.
    ///
    /// # Errors
    /// As [`Shard::adopt`].
    pub fn adopt(&mut self, listener: ListenerId, fd: OwnedFd) -> io::Result<()> {
        self.adopting = (self.adopting + 1) % self.lanes.len();
        let lane = self.lanes.get(self.adopting).ok_or_else(gone)?;
        lane.ask(move |shard| shard.adopt(listener, fd))
            .recv()
            .map_err(|_| gone())?
    }

    /// As [`Shard::update_listener`].
    pub fn update_listener(&mut self, listener: ListenerId, options: ListenerOptions) {
        let options = within_bounds(options);
        self.ask_all(|_| {
            let options = options.clone();
            move |shard: &mut Shard| shard.update_listener(listener, options)
        });
    }

    /// As [`Shard::close_listener`].
    pub fn close_listener(&mut self, listener: ListenerId) {
        self.ask_all(|_| move |shard: &mut Shard| shard.close_listener(listener));
    }

    /// As [`Shard::connection_count`], of all threads.
    #[must_use]
    pub fn connection_count(&self, listener: ListenerId) -> usize {
        // Any thread knows: the count is shared.
        self.lanes
            .first()
            .and_then(|lane| {
                lane.ask(move |shard| shard.connection_count(listener))
                    .recv()
                    .ok()
            })
            .unwrap_or(0)
    }

    /// As [`Shard::counters`], of all threads.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for counters in self.ask_all(|_| |shard: &mut Shard| shard.counters()) {
            sum.add(&counters);
        }
        sum
    }

    /// The thread that a connection lives on.
    fn lane_of(&self, token: u32) -> Option<&Lane> {
        let bits = thread_bits(self.lanes.len());
        let index = (token & SLOT_MASK) >> (SLOT_BITS - bits);
        self.lanes.get(usize::try_from(index).ok()?)
    }

    /// As [`Shard::connection_traffic`]. Waits for the thread's answer.
    pub fn connection_traffic(&mut self, token: u32) -> Option<(u64, u64)> {
        let answer = self
            .lane_of(token)?
            .ask(move |shard| shard.connection_traffic(token));
        answer.recv().ok().flatten()
    }

    /// As [`Shard::set_connection_ref`].
    pub fn set_connection_ref(&mut self, token: u32, referenced: bool) {
        if let Some(lane) = self.lane_of(token) {
            let shared = Arc::clone(&lane.shared);
            let answer = lane.ask(move |shard| {
                shard.set_connection_ref(token, referenced);
                shared
                    .referenced
                    .store(shard.referenced_connections(), Ordering::Release);
            });
            let _ = answer.recv();
        }
    }

    /// As [`Shard::referenced_connections`], as of each thread's last turn.
    #[must_use]
    pub fn referenced_connections(&self) -> usize {
        self.lanes
            .iter()
            .map(|lane| lane.shared.referenced.load(Ordering::Acquire))
            .sum()
    }

    /// As [`Shard::add_tls_context`].
    pub fn add_tls_context(&mut self, context: portico_tls::Context) -> u32 {
        let results = self.ask_all(|_| {
            let context = context.clone();
            move |shard: &mut Shard| shard.add_tls_context(context)
        });
        first_of(results).unwrap_or(0)
    }

    /// As [`Shard::release_tls_context`].
    pub fn release_tls_context(&mut self, context: u32) {
        self.ask_all(|_| move |shard: &mut Shard| shard.release_tls_context(context));
    }

    /// As [`Shard::add_server_name`].
    pub fn add_server_name(&mut self, listener: ListenerId, pattern: &str, context: u32) {
        self.ask_all(|_| {
            let pattern = pattern.to_owned();
            move |shard: &mut Shard| shard.add_server_name(listener, &pattern, context)
        });
    }

    /// Asks every thread the same, and waits for all answers. A control call takes a turn of the slowest thread.
    fn ask_all<T: Send + 'static, F>(&self, mut call: impl FnMut(usize) -> F) -> Vec<T>
    where
        F: FnOnce(&mut Shard) -> T + Send + 'static,
    {
        let answers: Vec<_> = self
            .lanes
            .iter()
            .enumerate()
            .map(|(index, lane)| lane.ask(call(index)))
            .collect();
        answers
            .into_iter()
            .filter_map(|answer| answer.recv().ok())
            .collect()
    }
}

impl AsFd for ThreadedEngine {
    /// The descriptor of [`ThreadedEngine::poll_fd`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.application.wake.as_fd()
    }
}

impl Drop for ThreadedEngine {
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.shared.stop.store(true, Ordering::Release);
            lane.shared.wake.wake();
        }
        for lane in &mut self.lanes {
            if let Some(thread) = lane.thread.take() {
                // A panic of the thread has been printed by its hook.
                let _ = thread.join();
            }
        }
    }
}

impl Lane {
    fn start(
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

    fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Shard) -> T + Send + 'static,
    ) -> std::sync::mpsc::Receiver<T> {
        let answer = self.shared.mailbox.post(call);
        self.shared.wake_engine();
        answer
    }

    /// Copies whole records. `Some`: one of so many bytes did not fit.
    fn take(&mut self, events: &mut EventWriter<'_>) -> Option<usize> {
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
    fn queue(&mut self, record: RecordView<'_>, bytes: &[u8], external: Option<&[u8]>) {
        let uses_external = matches!(
            record.kind(),
            command::RESPOND | command::DATA | command::RAW
        ) && record.flags() & response_flag::EXTERNAL != 0;
        let external = external.filter(|_| uses_external);
        if external.is_none() && bytes.len() <= BESIDE_BYTES {
            return self.write(bytes);
        }
        let external = external.map(<[u8]>::to_vec);
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
    fn send_waiting(&mut self) {
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
}

/// Options whose events fit into the ring.
fn within_bounds(mut options: ListenerOptions) -> ListenerOptions {
    options.max_header_size = options.max_header_size.min(MAX_HEADER_SIZE);
    options
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

fn first_of<T>(results: Vec<T>) -> io::Result<T> {
    results.into_iter().next().ok_or_else(gone)
}

/// A thread that does not answer has ended by a panic.
fn gone() -> io::Error {
    io::Error::from_raw_os_error(Errno::PIPE.raw_os_error())
}
