//! The control socket: connections, and what is said on each.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use portico_dispatch::MemberId;
use portico_sys::{Credentials, Errno, descriptors, peer_credentials};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::admission::{Admission, beginning};
use crate::host::{Host, Phase};
use crate::lines::LineBuffer;
use crate::protocol::{Answer, CacheCommand, Register, Reply, Request, WorkerWord};
use crate::visitors::{Visit, Visitors};
use crate::{Failure, code, process_limits, reload, upgrade};

/// How long a connection may take to say what it wants, and to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause after an error of accept(2): out of descriptors, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const READ_BYTES: usize = 4096;
/// Characters of a line of the log that strangers can make long.
const MAX_LOGGED_CHARACTERS: usize = 500;

/// What all tasks of the control side share. All run on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) host: Rc<RefCell<Host>>,
    /// Whether the control socket is accepted from.
    pub(crate) accepting: Rc<watch::Sender<bool>>,
    /// Something happened that the main loop should look at now.
    pub(crate) attention: Rc<Notify>,
    /// Connections that have not registered, by user.
    visitors: Rc<Visitors>,
    /// Set when the host has ended, and those who wait for that may be told.
    pub(crate) ended: Rc<watch::Sender<bool>>,
    /// Who waits to be told.
    pub(crate) waiting: Rc<Cell<usize>>,
    pub(crate) listener: Rc<UnixListener>,
}

impl Control {
    pub(crate) fn new(host: Host, listener: UnixListener) -> Self {
        Self {
            host: Rc::new(RefCell::new(host)),
            accepting: Rc::new(watch::Sender::new(true)),
            attention: Rc::default(),
            visitors: Rc::new(Visitors::new(process_limits::visits_of_a_user())),
            ended: Rc::new(watch::Sender::new(false)),
            waiting: Rc::default(),
            listener: Rc::new(listener),
        }
    }

    /// Accepts connections, and serves each in a task of its own. Never ends by itself.
    pub(crate) async fn accept_all(self) {
        let mut accepting = self.accepting.subscribe();
        let mut tasks = JoinSet::new();
        loop {
            if accepting.wait_for(|on| *on).await.is_err() {
                return;
            }
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.receive(stream, &mut tasks),
                    Err(error) => {
                        tracing::error!(%error, "the control socket can't be accepted from");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                _ = accepting.changed() => {}
                Some(_) = tasks.join_next() => {}
            }
        }
    }

    fn receive(&self, stream: UnixStream, tasks: &mut JoinSet<()>) {
        let peer = match peer_credentials(&stream) {
            Ok(peer) => peer,
            Err(error) => {
                tracing::warn!(%error, "who connected to the control socket can't be known");
                return;
            }
        };
        let Some(visit) = self.visitors.enter(peer.uid) else {
            if self.may_log(peer.uid) {
                tracing::warn!(
                    uid = peer.uid,
                    "all connections that this user may have wait for answers; one more was closed"
                );
            }
            return;
        };
        let control = self.clone();
        tasks.spawn_local(async move { control.serve(stream, peer, visit).await });
    }

    fn may_log(&self, uid: u32) -> bool {
        self.host.borrow_mut().log.allows(uid, Instant::now())
    }

    async fn serve(&self, stream: UnixStream, peer: Credentials, visit: Visit) {
        let mut connection = Connection {
            stream,
            lines: LineBuffer::default(),
        };
        loop {
            // Whoever waits for the answer to a long command is not told to hurry.
            let line = tokio::select! {
                line = timeout(PATIENCE, connection.next()) => line,
                () = visit.given_away() => return,
            };
            let request = match line {
                Ok(Ok(Some(line))) => Request::parse(&line),
                Ok(Err(failure)) => Err(failure),
                Ok(Ok(None)) | Err(_) => return,
            };
            match request {
                Ok(Request::Register(register)) => {
                    self.register(connection, &peer, register, visit).await;
                    return;
                }
                Ok(Request::Worker { protocol, id }) => {
                    drop(visit);
                    self.attend_worker(connection, protocol, &id).await;
                    return;
                }
                Ok(request) => {
                    visit.set_idle(false);
                    let reply = match self.command(&peer, request, &visit).await {
                        Ok(answer) => Reply::Ok(Box::new(answer)),
                        Err(failure) => failure.into(),
                    };
                    visit.set_idle(true);
                    if connection.write(&reply, &[]).await.is_err() {
                        return;
                    }
                }
                Err(failure) => {
                    // It does not matter whether it hears why.
                    let _ = connection.write(&failure.into(), &[]).await;
                    return;
                }
            }
        }
    }

    async fn register(
        &self,
        mut connection: Connection,
        peer: &Credentials,
        register: Register,
        visit: Visit,
    ) {
        let asked = register.prefix.clone();
        visit.set_idle(false);
        let turn = visit.turn().await;
        let admitted = self.host.borrow_mut().register(peer, register);
        drop(turn);
        drop(visit);
        let admission = match admitted {
            Ok(admission) => admission,
            Err(failure) => {
                if self.may_log(peer.uid) {
                    let text = format!("{asked:?} refused: {failure}");
                    let text = beginning(&text, MAX_LOGGED_CHARACTERS);
                    tracing::warn!(uid = peer.uid, pid = peer.pid, "{text}");
                }
                // It does not matter whether it hears why.
                let _ = connection.write(&failure.into(), &[]).await;
                return;
            }
        };
        let member = admission.member;
        self.attention.notify_one();
        if let Err(failure) = self.attend(&mut connection, admission).await {
            let reply = Reply::from(failure).into_closed();
            let _ = connection.write(&reply, &[]).await;
        }
        self.host.borrow_mut().gone(member);
        self.attention.notify_one();
    }

    /// The life of a registration, until its connection ends.
    async fn attend(
        &self,
        connection: &mut Connection,
        admission: Admission,
    ) -> Result<(), Failure> {
        let Admission {
            member,
            reply,
            descriptors,
            mut lines,
        } = admission;
        if connection.write(&reply, &descriptors).await.is_err() {
            return Ok(());
        }
        drop(descriptors);
        loop {
            tokio::select! {
                line = connection.next() => match line? {
                    None => return Ok(()),
                    Some(line) => {
                        let reply = self.hear(member, &line)?;
                        if connection.write(&reply, &[]).await.is_err() {
                            return Ok(());
                        }
                    }
                },
                line = lines.recv() => match line {
                    Some(line) => {
                        let last = matches!(line, Reply::Closed { .. });
                        if connection.write(&line, &[]).await.is_err() || last {
                            return Ok(());
                        }
                    }
                    // The host has dropped the registration.
                    None => return Ok(()),
                },
            }
        }
    }

    fn hear(&self, member: MemberId, line: &str) -> Result<Reply, Failure> {
        match Request::parse(line)? {
            Request::Leave => {
                self.host.borrow_mut().leave(member);
                Ok(Reply::Left)
            }
            Request::Cache(command) => {
                let answer = self.host.borrow().member_cache(member, &command);
                Ok(match answer {
                    Ok(answer) => Reply::Ok(Box::new(answer)),
                    Err(failure) => failure.into(),
                })
            }
            _ => Err(Failure::new(
                code::REQUEST,
                "a connection that has registered can only leave, or ask of its own answers; use another one",
            )),
        }
    }

    async fn command(
        &self,
        peer: &Credentials,
        request: Request,
        visit: &Visit,
    ) -> Result<Answer, Failure> {
        // Not through those that wait for long: they are for the host's masters.
        let turn = visit.turn().await;
        match request {
            Request::Status => {
                let status = Some(self.host.borrow().status());
                Ok(Answer {
                    status,
                    ..Answer::default()
                })
            }
            Request::Requests => {
                Host::check_master(peer)?;
                let requests = Some(self.host.borrow().requests());
                Ok(Answer {
                    requests,
                    ..Answer::default()
                })
            }
            Request::Reserve(command) => self.host.borrow_mut().reserve(peer, command),
            Request::Cache(command) => {
                if command != CacheCommand::Status {
                    Host::check_master(peer)?;
                }
                self.host.borrow().cache_command(&command)
            }
            Request::Certificate(command) => {
                Host::check_master(peer)?;
                self.host.borrow_mut().certificate(command)
            }
            Request::Application(command) => {
                Host::check_master(peer)?;
                drop(turn);
                self.command_application(command).await
            }
            Request::Reload => {
                Host::check_master(peer)?;
                reload::reload(&mut self.host.borrow_mut())
            }
            Request::Stop { drain_ms } => {
                Host::check_master(peer)?;
                let drain = drain_ms.map(Duration::from_millis);
                drop(turn);
                tracing::info!(uid = peer.uid, "asked to stop");
                Ok(self.stop(drain).await)
            }
            Request::Upgrade { program } => {
                Host::check_master(peer)?;
                drop(turn);
                tracing::info!(uid = peer.uid, "asked to upgrade");
                let control = self.clone();
                // In a task of its own: whoever asked may go away, half an upgrade may not stay.
                let task = spawn_local(async move { upgrade::hand_over(&control, program).await });
                let failed = |error| Failure::system("the upgrade did not end", error);
                task.await.map_err(failed)?
            }
            Request::Register(_) | Request::Worker { .. } | Request::Leave => Err(Failure::new(
                code::REQUEST,
                "nothing is registered on this connection",
            )),
        }
    }

    /// Lets connections finish, and waits until the host has ended.
    async fn stop(&self, drain: Option<Duration>) -> Answer {
        let mut ended = self.ended.subscribe();
        self.waiting.set(self.waiting.get() + 1);
        self.begin_stop(drain);
        // An error means that it has ended.
        let _ = ended.wait_for(|ended| *ended).await;
        self.waiting.set(self.waiting.get() - 1);
        Answer::said("the host has stopped")
    }

    /// Begins to stop; a second time: at once.
    pub(crate) fn begin_stop(&self, drain: Option<Duration>) {
        let mut host = self.host.borrow_mut();
        let time = match host.phase {
            Phase::Draining(_) => Duration::ZERO,
            Phase::Ending => {
                host.applications.kill_all();
                return;
            }
            Phase::Running | Phase::HandingOver => drain.unwrap_or(host.settings.drain),
        };
        host.drain(time);
        drop(host);
        self.attention.notify_one();
    }
}

/// A connection of the control socket.
pub(crate) struct Connection {
    stream: UnixStream,
    lines: LineBuffer,
}

impl Connection {
    /// The next line; `None`: the peer has ended. May be dropped while it waits: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if let Some(line) = self.lines.next_line()? {
                return Ok(Some(line));
            }
            let mut buffer = [0; READ_BYTES];
            match self.stream.read(&mut buffer).await {
                Ok(0) | Err(_) => return Ok(None),
                Ok(count) => self.lines.push(buffer.get(..count).unwrap_or_default()),
            }
        }
    }

    /// Writes what a worker's process is to hear.
    pub(crate) async fn write_word(&mut self, word: &WorkerWord) -> io::Result<()> {
        // Numbers and words: can't fail.
        let mut line = serde_json::to_vec(word).unwrap_or_default();
        line.push(b'\n');
        let written = timeout(PATIENCE, write_with(&mut self.stream, &line, &[])).await;
        written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    pub(crate) async fn write(&mut self, reply: &Reply, descriptors: &[OwnedFd]) -> io::Result<()> {
        let line = reply.to_line();
        let written = timeout(PATIENCE, write_with(&mut self.stream, &line, descriptors)).await;
        written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Writes bytes, with descriptors on the first.
pub(crate) async fn write_with(
    stream: &mut UnixStream,
    bytes: &[u8],
    descriptors: &[OwnedFd],
) -> io::Result<()> {
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let sent = stream
        .async_io(Interest::WRITABLE, || {
            descriptors::send(&*stream, bytes, &borrowed).map_err(|errno: Errno| errno.into())
        })
        .await?;
    stream
        .write_all(bytes.get(sent..).unwrap_or_default())
        .await
}
