//! How a host begins: alone, with the service manager's sockets, or in the place of the host before it.

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
use tokio::task::{LocalSet, spawn_local};

use crate::applications::Verdict;
use crate::control::Control;
use crate::handover::{self, Received, TakeOver};
use crate::host::{Host, Start};
use crate::listeners::Listeners;
use crate::place::{self, Place, Taken};
use crate::port_sockets::is_tcp_listener;
use crate::registry::Owner;
use crate::rules::UnknownNames;
use crate::serving::serve;
use crate::settings::Settings;
use crate::state::StateFile;
use crate::succession;
use crate::systemd::{self, Activated};
use crate::users::parse_prefix;
use crate::watchdog::{self, Heart};
use crate::{Failure, configuration, process_limits, upgrade};

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
    host.adopt_workers();
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
    // Until this one serves, the old one decides about them.
    host.applications.pause();
    host.applications.expect_old_host();
    host.adopt_workers();
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

impl Host {
    /// The applications of the configuration, with the workers of the host before that run.
    fn adopt_workers(&mut self) {
        let (now, configured) = (Instant::now(), &self.settings.applications);
        if self.start.application.is_none() {
            self.applications.adopt(self.place.path(), configured, now);
            self.applications.configure(configured, now);
        }
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
