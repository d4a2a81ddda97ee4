//! The life of a host process.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_dispatch::ShardThread;
use portico_locate::{effective_user, host_location};
use portico_router::Scheme;
use portico_sys::descriptors;
use portico_sys::socket::{is_unix, local_address};
use tokio::net::UnixListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until};

use crate::applications::Verdict;
use crate::control::Control;
use crate::handover::{self, Received, TakeOver};
use crate::host::{Host, Phase, Start};
use crate::listeners::{Listeners, is_tcp_listener};
use crate::place::{self, Place, Taken};
use crate::protocol::Reply;
use crate::registry::Owner;
use crate::rules::UnknownNames;
use crate::settings::Settings;
use crate::state::StateFile;
use crate::succession;
use crate::systemd::{self, Activated};
use crate::users::parse_prefix;
use crate::watchdog::{self, Heart};
use crate::worker_signals::{self, WorkerSignals};
use crate::{Failure, code, configuration, process_limits, reload, upgrade};

/// How often the host looks after what does not tell by itself.
const TICK: Duration = Duration::from_millis(250);
/// Every how many ticks rates are sampled and certificates' files looked at.
const TICKS_A_SECOND: u32 = 4;
/// How long the host waits for last words to be written.
const LAST_WORDS: Duration = Duration::from_millis(500);

const HTTPS_PORT: u16 = 443;

/// How a host's life ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to stop, was not needed any more, or has handed over.
    Stopped,
    /// The one application that it was started for has ended, or can't be kept up.
    WithApplication(Verdict),
    /// It did not begin: another one runs at this socket, with this process id if it is known.
    AnotherRuns {
        /// The socket.
        socket: PathBuf,
        /// Its process.
        pid: Option<u32>,
    },
}

/// Runs a host until it ends. To be called first thing in `main`, for what the service manager hands over. Blocks.
///
/// # Errors
/// It could not start.
pub fn run(start: Start) -> Result<Ended, Failure> {
    let activated = systemd::activated_sockets();
    process_limits::raise_descriptors();
    let Some(received) = handover::receive()? else {
        return begin(start, activated);
    };
    let channel = received.channel.try_clone();
    take_over(start, received).inspect_err(|failure| {
        let message = failure.message.clone();
        if let Ok(mut channel) = channel {
            // The old host notices our end in any case.
            let _ = channel.write_all(&TakeOver::Failed { message }.to_line());
        }
    })
}

fn begin(start: Start, activated: Vec<Activated>) -> Result<Ended, Failure> {
    let settings = configuration::read(start.configuration.as_deref())?;
    let named = start.socket.as_deref().or(settings.socket.as_deref());
    let socket = host_location(named, start.on_demand).path;
    let place = match succession::take(&socket, start.on_demand)? {
        Taken::Host(place) => place,
        Taken::Occupied(pid) => return Ok(Ended::AnotherRuns { socket, pid }),
    };
    let (control, sockets, kept) = sort(activated);
    let mut host = make(
        start,
        settings,
        place,
        Listeners::with_inherited(sockets, kept, false),
        UnknownNames::Close,
    )?;
    require_all(host.open_configured())?;
    if let Some(application) = host.start.application.clone() {
        host.applications.add(application, Instant::now());
    }
    let control = match control {
        Some(fd) => StdListener::from(fd),
        None => host.place.listen(mode(&host))?,
    };
    live(host, control, None)
}

fn take_over(start: Start, received: Received) -> Result<Ended, Failure> {
    let Received {
        handover,
        control,
        lock,
        sockets,
        channel,
    } = received;
    handover.check_records()?;
    let place = Place::inherit(Path::new(&handover.socket), lock, handover.owns_socket);
    let scheme = |https: &bool| if *https { Scheme::Https } else { Scheme::Http };
    let kept = handover.kept_ports.iter();
    let kept = kept.map(|(port, https)| (*port, scheme(https))).collect();
    let settings = configuration::read(start.configuration.as_deref())?;
    let listeners = Listeners::with_inherited(sockets, kept, true);
    // Where a name is not known the old host, which knew it, goes on.
    let mut host = make(start, settings, place, listeners, UnknownNames::Refuse)?;
    for expected in handover.expected {
        let prefix = parse_prefix(&expected.prefix)?;
        let owner = Owner {
            uid: expected.uid,
            gids: expected.gids,
        };
        host.expect(&prefix, &owner, expected.members, upgrade::RETURN_WITHIN);
    }
    host.publish_routes();
    require_all(host.open_configured())?;
    live(host, StdListener::from(control), Some(channel))
}

/// Without a port that it demands a configuration is not in force: half a server that says it is ready is found out by
/// its users.
fn require_all(failures: Vec<Failure>) -> Result<(), Failure> {
    let Some(first) = failures.first() else {
        return Ok(());
    };
    let messages: Vec<_> = failures.iter().map(|failure| &*failure.message).collect();
    let text = format!(
        "{}. With `optional = true` in its [[listener]] the host starts without it, and tries again",
        messages.join("\n")
    );
    Err(Failure {
        code: first.code.clone(),
        message: text,
    })
}

fn make(
    start: Start,
    settings: Settings,
    place: Place,
    listeners: Listeners,
    unknown_names: UnknownNames,
) -> Result<Host, Failure> {
    let state_file = StateFile::in_folder(&place::state_folder(start.state.as_deref()));
    let state = state_file.load()?;
    Host::new(
        start,
        place,
        settings,
        state,
        state_file,
        listeners,
        unknown_names,
    )
}

/// The system's host is for all users (reservations decide), a user's own for that user.
fn mode(host: &Host) -> u32 {
    if effective_user() == 0 && !host.start.on_demand {
        0o666
    } else {
        0o600
    }
}

/// The control socket and the ports among the service manager's sockets, and what the ports are for: `https` if the
/// socket is named so (`FileDescriptorName=https`), or is port 443.
fn sort(activated: Vec<Activated>) -> (Option<OwnedFd>, Vec<OwnedFd>, BTreeMap<u16, Scheme>) {
    let mut control = None;
    let mut sockets = Vec::new();
    let mut ports = BTreeMap::new();
    for Activated { name, socket } in activated {
        if is_tcp_listener(&socket) {
            let port = local_address(&socket).port;
            let https = name == Scheme::Https.as_str() || port == HTTPS_PORT;
            let scheme = if https { Scheme::Https } else { Scheme::Http };
            ports.insert(port, scheme);
            sockets.push(socket);
        } else if is_unix(&socket) && control.is_none() {
            control = Some(socket);
        } else {
            tracing::warn!(
                "a socket of the service manager ({name:?}) is neither the control socket nor a TCP port that listens"
            );
        }
    }
    (control, sockets, ports)
}

fn live(host: Host, control: StdListener, channel: Option<StdStream>) -> Result<Ended, Failure> {
    let failed =
        |error: std::io::Error| Failure::system("the control side can't be started", error);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    control.set_nonblocking(true).map_err(failed)?;
    // No client sends the host any. Those accepted refuse them too.
    descriptors::refuse(&control);
    let heart = Arc::new(Heart::default());
    let pulses = host.shards.iter().map(ShardThread::pulse).collect();
    watchdog::start(pulses, Arc::clone(&heart))?;
    let verdict = LocalSet::new().block_on(&runtime, async {
        let listener = UnixListener::from_std(control).map_err(failed)?;
        let control = Control::new(host, listener);
        let accepting = spawn_local(control.clone().accept_all());
        let result = serve(&control, channel, &heart).await;
        heart.finish();
        accepting.abort();
        result.map(|()| control.host.borrow().applications.verdict)
    })?;
    Ok(verdict.map_or(Ended::Stopped, Ended::WithApplication))
}

async fn serve(
    control: &Control,
    channel: Option<StdStream>,
    heart: &Heart,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::system("signals can't be received", error);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(failed)?;
    let news = control.host.borrow_mut().applications.take_news();
    let mut signals = WorkerSignals::listen(control).map_err(failed)?;
    let mut news = news.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    say_started(control, channel.as_ref());
    let mut taking_over = channel.map(|channel| (channel, Instant::now() + upgrade::RETURN_WITHIN));
    let mut tick: u32 = 0;
    loop {
        heart.beat();
        let now = Instant::now();
        control.host.borrow_mut().tend_applications(now);
        let timeout = control.host.borrow().applications.next_timeout(now);
        tokio::select! {
            _ = ticks.tick() => {
                tick = tick.wrapping_add(1);
                look_after(&mut control.host.borrow_mut(), tick.is_multiple_of(TICKS_A_SECOND));
            }
            () = control.attention.notified() => {}
            Some(ended) = news.recv() => {
                control.host.borrow_mut().handle_output_ended(&ended, Instant::now());
            }
            () = sleep_until(timeout.unwrap_or(now).into()), if timeout.is_some() => {}
            () = signals.next(control) => {}
            _ = terminate.recv() => control.begin_stop(None),
            _ = interrupt.recv() => control.begin_stop(None),
            _ = hang_up.recv() => hang_up_heard(&mut control.host.borrow_mut()),
        }
        if let Some((channel, _)) =
            taking_over.take_if(|(_, until)| has_taken_over(control, *until))
        {
            begin_serving(control, &channel);
        }
        if control.host.borrow().is_done_with_application() {
            control.begin_stop(None);
        }
        if is_over(control) {
            break;
        }
    }
    end(control).await;
    Ok(())
}

fn say_started(control: &Control, mut channel: Option<&StdStream>) {
    let host = control.host.borrow();
    let socket = host.place.path().display();
    let (shards, version) = (host.shards.len(), env!("CARGO_PKG_VERSION"));
    match &mut channel {
        Some(channel) => {
            tracing::info!(shards, version, "taking over at {socket}");
            // If the old host is gone meanwhile, there is no one to tell.
            let _ = channel.write_all(&TakeOver::Ready.to_line());
        }
        None => {
            tracing::info!(shards, version, "the host runs at {socket}");
            systemd::notify("READY=1\n");
        }
    }
}

fn has_taken_over(control: &Control, until: Instant) -> bool {
    control.host.borrow().expected.is_empty() || Instant::now() >= until
}

fn begin_serving(control: &Control, mut channel: &StdStream) {
    let mut host = control.host.borrow_mut();
    for (prefix, count) in &host.expected {
        tracing::warn!("{count} processes of {prefix} have not come back; its requests wait");
    }
    host.expected.clear();
    let host = &mut *host;
    if let Err(failure) = host.listeners.resume(&host.shards) {
        tracing::error!("{failure}");
    }
    // If the old host is gone meanwhile, there is no one to tell.
    let _ = channel.write_all(&TakeOver::Serving.to_line());
    tracing::info!("has taken over");
    systemd::notify("READY=1\n");
}

fn look_after(host: &mut Host, every_second: bool) {
    let now = Instant::now();
    host.tend(now);
    if every_second {
        let totals = host.totals();
        host.rates.sample(now, &totals);
        host.end_hung_workers(&totals);
        host.replace_used_workers(&totals, now);
        host.refresh_certificates(false);
        host.retry_unopened(now);
        worker_signals::reap_orphans(host);
    }
    let unused = host.registry.members().is_empty() && host.expected.is_empty();
    let patience = host.settings.idle_exit;
    if host.start.on_demand
        && host.phase == Phase::Running
        && unused
        && now.duration_since(host.idle_since) >= patience
    {
        tracing::info!("no process is registered any more; ending");
        host.drain(Duration::ZERO);
    }
}

/// One that runs one program has no configuration: its workers are replaced.
fn hang_up_heard(host: &mut Host) {
    if host.start.application.is_some() {
        host.applications.recycle_all(Instant::now());
    } else {
        // `reload` has told what was wrong.
        let _ = reload::reload(host);
    }
}

fn is_over(control: &Control) -> bool {
    let mut host = control.host.borrow_mut();
    match host.phase {
        Phase::Draining(until) if Instant::now() >= until || host.has_nothing_to_finish() => {
            let now = Instant::now();
            host.phase = Phase::Ending;
            host.applications.stop_all(now);
            host.tend_applications(now);
            host.applications.are_gone()
        }
        Phase::Ending => host.applications.are_gone(),
        Phase::Draining(_) | Phase::Running | Phase::HandingOver => false,
    }
}

/// Tells those who are left, and goes.
async fn end(control: &Control) {
    {
        let host = control.host.borrow();
        if !host.handed_over {
            systemd::notify("STOPPING=1\n");
            host.place.remove_socket();
            let failure = Failure::new(code::HOST_STOPPING, "the host has stopped");
            host.tell_all(&Reply::from(failure).into_closed());
        }
    }
    control.ended.send_replace(true);
    let start = Instant::now();
    // One round for the tasks at least; then until those who asked have been answered.
    loop {
        sleep(Duration::from_millis(10)).await;
        if control.waiting.get() == 0 || start.elapsed() > LAST_WORDS {
            break;
        }
    }
    tracing::info!("the host has ended");
}

impl Host {
    /// Whether the one application that it runs for has come to its end.
    fn is_done_with_application(&self) -> bool {
        let is_over = self.applications.verdict.is_some();
        self.start.application.is_some() && is_over && self.phase == Phase::Running
    }

    /// Whether no client waits for anything. A host that runs one program does not wait for idle connections to end: who
    /// presses Ctrl-C has waited long enough.
    fn has_nothing_to_finish(&self) -> bool {
        if self.start.application.is_none() {
            return self.connections() == 0;
        }
        let totals = self.totals();
        let mut members = totals.members.values();
        let mut queues = totals.queues.values();
        members.all(|member| member.in_flight == 0) && queues.all(|queue| queue.waiting == 0)
    }

    /// Keeps a prefix of the host before this one for its user, until its processes have registered here.
    fn expect(
        &mut self,
        prefix: &portico_router::UrlPrefix,
        owner: &Owner,
        members: u32,
        within: Duration,
    ) {
        let wait = self.settings.default_queue.wait;
        let until = Instant::now() + within + wait;
        match self.registry.expect(prefix, owner, until) {
            Ok(()) if members > 0 => {
                self.expected.insert(prefix.clone(), members);
            }
            Ok(()) => {}
            Err(failure) => tracing::error!("{prefix} can't be kept for its processes: {failure}"),
        }
    }
}
