//! The host's state, and what may be done to it. One thread owns it; nothing here waits, but for shards (well under a
//! millisecond) and, where said, for the disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_dispatch::{LeftBehind, MemberId, ShardThread, owner_of};
use portico_engine::OutputCache;
use portico_router::UrlPrefix;
use tokio::sync::mpsc::UnboundedSender;

use crate::applications::{Applications, Specification};
use crate::certificates::Certificates;
use crate::listeners::Listeners;
use crate::log_budget::LogBudget;
use crate::place::{self, Place};
use crate::protocol::Reply;
use crate::registry::Registry;
use crate::rules::{self, UnknownNames};
use crate::settings::Settings;
use crate::state::{State, StateFile};
use crate::status::Rates;
use crate::user_memories::UserMemories;
use crate::{Failure, code};

/// Least time between two attempts to look up names that were not known.
const LOOK_UP_EVERY: Duration = Duration::from_secs(5);

/// How a host was started.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Configuration file.
    pub configuration: Option<PathBuf>,
    /// Control socket, if it was named.
    pub socket: Option<PathBuf>,
    /// Folder of the state file, if it was named.
    pub state: Option<PathBuf>,
    /// Started by an application: ends when no process is registered any more.
    pub on_demand: bool,
    /// The one application of `portico run`. The host ends with it.
    pub application: Option<Specification>,
}

/// Where the host is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// As usual.
    Running,
    /// A new program is being started to take over; nothing may change meanwhile.
    HandingOver,
    /// Nothing new is accepted; open connections may finish until then.
    Draining(Instant),
    /// The connections have ended; the host's own workers are ending.
    Ending,
}

/// The host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) start: Start,
    pub(crate) place: Place,
    /// This program's file, for an upgrade to another one at the same path.
    pub(crate) program: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) state: State,
    pub(crate) state_file: StateFile,
    pub(crate) shards: Vec<ShardThread>,
    /// Answers that are kept.
    pub(crate) cache: Arc<OutputCache>,
    pub(crate) registry: Registry,
    pub(crate) listeners: Listeners,
    pub(crate) certificates: Certificates,
    pub(crate) rates: Rates,
    pub(crate) phase: Phase,
    pub(crate) started: Instant,
    /// Since when no process is registered.
    pub(crate) idle_since: Instant,
    /// Prefixes of the host before this one, with how many processes of theirs have not come back.
    pub(crate) expected: BTreeMap<UrlPrefix, u32>,
    /// A new program has taken over the control socket.
    pub(crate) handed_over: bool,
    /// When names that were not known were looked up last.
    names_looked_up: Instant,
    /// Lines that other users have had.
    pub(crate) log: LogBudget,
    pub(crate) sessions: BTreeMap<MemberId, UnboundedSender<Reply>>,
    /// What is kept for the members of each user.
    pub(crate) memories: UserMemories,
    /// Ports that the configuration or the service manager names and that are not open, with the reason.
    pub(crate) unopened: BTreeMap<u16, Failure>,
    /// When they were tried last.
    pub(crate) tried_unopened: Instant,
    /// Processes that the host starts itself.
    pub(crate) applications: Applications,
}

impl Host {
    /// Makes a host with its shards. Blocks on the disk for certificates.
    ///
    /// # Errors
    /// A configured certificate or reservation can't be used; threads can't be made.
    pub(crate) fn new(
        start: Start,
        place: Place,
        settings: Settings,
        state: State,
        state_file: StateFile,
        listeners: Listeners,
        unknown_names: UnknownNames,
    ) -> Result<Self, Failure> {
        let certificates = rules::certificates(&settings, &state)?;
        let mut registry = Registry::default();
        registry.apply(rules::rules(&settings, &state, unknown_names)?)?;
        let cache = Arc::new(OutputCache::new(settings.cache));
        let shards = ShardThread::start_all_with(settings.shards, &cache);
        let now = Instant::now();
        let logs = settings.config.host.log_directory.as_deref();
        let logs = place::log_folder(start.state.as_deref(), logs);
        let host = Self {
            start,
            place,
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("portico")),
            settings,
            state,
            state_file,
            shards: shards.map_err(|error| Failure::system("a shard can't be started", error))?,
            cache,
            registry,
            listeners,
            certificates,
            rates: Rates::default(),
            phase: Phase::Running,
            started: now,
            idle_since: now,
            expected: BTreeMap::new(),
            handed_over: false,
            names_looked_up: now,
            log: LogBudget::new(now),
            sessions: BTreeMap::new(),
            memories: UserMemories::default(),
            unopened: BTreeMap::new(),
            tried_unopened: now,
            applications: Applications::new(logs),
        };
        host.publish_routes();
        Ok(host)
    }

    /// The member takes nothing new from now on.
    pub(crate) fn leave(&mut self, member: MemberId) {
        if self.registry.leave(Instant::now(), member) {
            for shard in &self.shards {
                shard.leave(member);
            }
            let owner = self.registry.members().get(&member);
            let uid = owner.map_or(0, |entry| entry.owner.uid);
            if self.log.allows(uid, Instant::now()) {
                tracing::info!(member = member.0, "{} leaves", self.prefix_of(member));
            }
        }
    }

    /// The member's connection has ended: its process is gone, or done.
    pub(crate) fn gone(&mut self, member: MemberId) {
        let prefix = self.prefix_of(member);
        let mut left_behind = LeftBehind::default();
        for shard in &self.shards {
            left_behind += shard.detach(member);
        }
        self.sessions.remove(&member);
        self.worker_lost(member);
        let Some(entry) = self.registry.gone(Instant::now(), member) else {
            return;
        };
        if self.log.allows(entry.owner.uid, Instant::now()) {
            let (member, pid) = (member.0, entry.process.pid);
            if left_behind == LeftBehind::default() {
                tracing::info!(member, pid, "{prefix} unregistered");
            } else {
                let LeftBehind { moved, lost, cut } = left_behind;
                tracing::warn!(
                    member,
                    pid,
                    program = entry.process.program.as_str(),
                    "the process of {prefix} ended with requests: {lost} got 502, {cut} connections ended in the middle of \
                     an answer or as tunnels, {moved} requests went on to other processes"
                );
            }
        }
        if self.registry.members().is_empty() {
            self.idle_since = Instant::now();
        }
    }

    /// Ends registrations whose channels broke the rules, and queues that waited long enough.
    pub(crate) fn tend(&mut self, now: Instant) {
        let broken = self.shards.iter().flat_map(ShardThread::broken_members);
        let broken: BTreeMap<_, _> = broken
            .map(|broken| (broken.id, broken.reason.text()))
            .collect();
        for (member, why) in broken {
            let prefix = self.prefix_of(member);
            let owner = self.registry.members().get(&member);
            let uid = owner.map_or(0, |entry| entry.owner.uid);
            if self.log.allows(uid, now) {
                tracing::warn!(member = member.0, "{prefix} dropped: {why}");
            }
            let text = format!("the host dropped this registration of {prefix}: {why}");
            let failure = Failure::new(code::CHANNEL, text);
            self.tell(member, Reply::from(failure).into_closed());
            self.gone(member);
        }
        let expired = self.registry.expire(now);
        if !expired.is_empty() {
            self.publish_routes();
            self.close_unneeded_listeners();
            for prefix in &expired {
                let mut open = self.listeners.open_ports();
                let what = if open.any(|(port, _)| port == prefix.port()) {
                    "its requests get 404 from now on"
                } else {
                    "its port is closed, since no other prefix needs it"
                };
                tracing::info!("{prefix} has no process any more: {what}");
            }
        }
    }

    /// Sends a line to one member.
    pub(crate) fn tell(&self, member: MemberId, line: Reply) {
        if let Some(session) = self.sessions.get(&member) {
            // Its connection has ended already; `gone` follows.
            let _ = session.send(line);
        }
    }

    /// Sends a line to all members.
    pub(crate) fn tell_all(&self, line: &Reply) {
        for member in self.sessions.keys() {
            self.tell(*member, line.clone());
        }
    }

    /// Gives all shards the table as it is now.
    pub(crate) fn publish_routes(&self) {
        let routes = Arc::new(self.registry.routes());
        for shard in &self.shards {
            shard.set_routes(Arc::clone(&routes));
        }
        let has = |owner: u64| routes.queues.keys().any(|id| owner_of(*id) == owner);
        self.cache.retain_owners(has);
    }

    /// Puts certificates as they are now into force, also on ports that could not be opened without.
    pub(crate) fn certificates_changed(&mut self) {
        self.refresh_listeners(true);
        for failure in self.open_configured() {
            tracing::error!("{failure}");
        }
    }

    /// Looks at the certificates' files. Blocks on the disk.
    pub(crate) fn refresh_certificates(&mut self, force: bool) -> Vec<Failure> {
        let (changed, news) = self.certificates.refresh(force);
        let mut failures = Vec::new();
        for item in news {
            match item {
                Ok(what) => tracing::info!("{what} read again; new connections use it"),
                Err(failure) => {
                    tracing::error!("{failure}; the one before stays in use");
                    failures.push(failure);
                }
            }
        }
        if changed {
            self.certificates_changed();
        }
        failures
    }

    /// Accepts nothing any more; connections may finish for so long.
    pub(crate) fn drain(&mut self, time: Duration) {
        self.phase = Phase::Draining(Instant::now() + time);
        self.listeners.close_all(&self.shards);
        for shard in &self.shards {
            shard.drain();
        }
    }

    /// Open connections of clients.
    pub(crate) fn connections(&self) -> usize {
        self.shards.iter().map(ShardThread::connections).sum()
    }

    /// Looks up again the names in reservations that were not known, if there are any, and not too often: it may take
    /// long where a directory server does not answer.
    pub(crate) fn look_up_names(&mut self) {
        let due = self.names_looked_up.elapsed() >= LOOK_UP_EVERY;
        if !due || !self.registry.rules().unknown_names {
            return;
        }
        let rules = rules::rules(&self.settings, &self.state, UnknownNames::Close);
        let applied = rules.and_then(|rules| self.registry.apply(rules));
        self.names_looked_up = Instant::now();
        match applied {
            Ok(()) => self.publish_routes(),
            Err(failure) => tracing::error!("{failure}; reservations stay as they were"),
        }
    }

    fn prefix_of(&self, member: MemberId) -> String {
        let queue = self
            .registry
            .members()
            .get(&member)
            .map(|member| member.queue);
        let queue = queue.and_then(|queue| self.registry.queues().get(&queue));
        queue.map_or_else(|| "a prefix".to_owned(), |queue| queue.prefix.to_string())
    }
}
