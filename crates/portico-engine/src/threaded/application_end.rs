//! The application's thread.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use portico_channel::Sleeper;
use portico_channel::token::Division;
use portico_channel::{EventWriter, External};
use portico_sys::{Wake, socket};

use super::MAX_THREADS;
use super::shard_link::ShardLink;
use super::shared::{Application, gone};
use crate::{
    CacheSite, CommandError, Counters, ListenerId, ListenerOptions, OutputCache, Shard, TurnOutcome,
};

/// Shards on threads of their own, with the interface of a [`Shard`] but for [`ThreadedEngine::take`] and
/// [`ThreadedEngine::submit`]. Dropping it ends the threads and closes everything.
#[derive(Debug)]
pub struct ThreadedEngine {
    links: Vec<ShardLink>,
    division: Division,
    application: Arc<Application>,
    /// Which link `take` looks at first.
    turn: usize,
    /// Which link gets the next adopted socket.
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
            links: Vec::new(),
            division: Division::among(threads),
            application,
            turn: 0,
            adopting: 0,
        };
        for index in 0..threads {
            let (base, count) = (engine.division.first_slot(index), engine.division.slots());
            engine
                .links
                .push(ShardLink::start(index, base, count, &engine.application)?);
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
        for step in 0..self.links.len() {
            let index = (self.turn + step) % self.links.len();
            let Some(link) = self.links.get_mut(index) else {
                continue;
            };
            link.take_returned();
            link.send_waiting();
            if let Some(bytes) = link.take(events) {
                // The next call begins here, with fresh memory.
                self.turn = index;
                return TurnOutcome::NeedSpace(bytes);
            }
        }
        self.turn = (self.turn + 1) % self.links.len();
        self.application.sleeper.fall_asleep();
        if self.has_pending_events() {
            self.application.sleeper.wake_up();
            return TurnOutcome::More;
        }
        TurnOutcome::Idle
    }

    /// Hands commands over to the threads they concern. `external` is the body of the last record (flag `EXTERNAL`);
    /// it is copied in pieces, and kept where it is while its connection has not sent what was copied before.
    ///
    /// # Errors
    /// [`CommandError`]: the records can't be told apart, or an earlier submission held a bad one, which has come out
    /// meanwhile (its offset is then that within its part of the submission).
    pub fn submit(
        &mut self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> Result<(), CommandError> {
        let links = &mut self.links;
        let result = self
            .division
            .distribute(commands, external, links, ShardLink::queue);
        for link in &mut self.links {
            link.take_returned();
            link.send_waiting();
            link.shared.wake_engine();
        }
        let reported = self.links.iter().find_map(|link| link.shared.take_error());
        result.and(reported.map_or(Ok(()), Err))
    }

    /// Whether [`ThreadedEngine::take`] would find something now.
    #[must_use]
    pub fn has_pending_events(&self) -> bool {
        self.links.iter().any(|link| !link.is_empty())
    }

    /// As [`Shard::listen`]; all threads accept from the socket.
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
        let mut copies = Vec::new();
        for _ in 1..self.links.len() {
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
        let shared_count = Arc::default();
        let results = self.ask_all(|_| {
            let (options, count) = (options.clone(), Arc::clone(&shared_count));
            move |shard: &mut Shard| shard.add_without_socket(options, count)
        });
        first_of(results).unwrap_or(ListenerId(u32::MAX))
    }

    /// As [`Shard::use_cache`], of all threads.
    ///
    /// # Errors
    /// As [`Shard::use_cache`].
    pub fn use_cache(&mut self, cache: &Arc<OutputCache>, site: CacheSite) -> io::Result<()> {
        let results = self.ask_all(|_| {
            let (cache, site) = (Arc::clone(cache), site.clone());
            move |shard: &mut Shard| shard.use_cache(cache, site)
        });
        results.into_iter().collect()
    }

    /// As [`Shard::adopt`]; the threads take turns.
    ///
    /// # Errors
    /// As [`Shard::adopt`].
    pub fn adopt(&mut self, listener: ListenerId, fd: OwnedFd) -> io::Result<()> {
        self.adopting = (self.adopting + 1) % self.links.len();
        let link = self.links.get(self.adopting).ok_or_else(gone)?;
        link.ask(move |shard| shard.adopt(listener, fd))
            .recv()
            .map_err(|_| gone())?
    }

    /// As [`Shard::update_listener`].
    pub fn update_listener(&mut self, listener: ListenerId, options: ListenerOptions) {
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
        // The count is shared, but a thread without connections has forgotten a listener that was closed.
        self.ask_all(|_| move |shard: &mut Shard| shard.connection_count(listener))
            .into_iter()
            .max()
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
    fn link_of(&self, token: u32) -> Option<&ShardLink> {
        self.links.get(self.division.thread_of(token))
    }

    /// As [`Shard::connection_traffic`]. Waits for the thread's answer.
    pub fn connection_traffic(&mut self, token: u32) -> Option<(u64, u64)> {
        let answer = self
            .link_of(token)?
            .ask(move |shard| shard.connection_traffic(token));
        answer.recv().ok().flatten()
    }

    /// As [`Shard::set_connection_ref`].
    pub fn set_connection_ref(&mut self, token: u32, referenced: bool) {
        if let Some(link) = self.link_of(token) {
            let shared = Arc::clone(&link.shared);
            let answer = link.ask(move |shard| {
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
        self.links
            .iter()
            .map(|link| link.shared.referenced.load(Ordering::Acquire))
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
            .links
            .iter()
            .enumerate()
            .map(|(index, link)| link.ask(call(index)))
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
        for link in &self.links {
            link.shared.stop.store(true, Ordering::Release);
            link.shared.wake.wake();
        }
        for link in &mut self.links {
            if let Some(thread) = link.thread.take() {
                // A panic of the thread has been printed by its hook.
                let _ = thread.join();
            }
        }
    }
}

fn first_of<T>(results: Vec<T>) -> io::Result<T> {
    results.into_iter().next().ok_or_else(gone)
}
