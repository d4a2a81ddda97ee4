//! `portico upgrade`: another program takes over, and no connection is refused meanwhile.
//!
//! ```text
//!  old host                                   new program
//!  stops accepting control connections
//!  starts it ────────── sockets, lock ──────▶ reads the configuration, makes its shards
//!            ◀───────────────── ready ─────── accepts control connections
//!  tells applications "moved" ··············▶ they register here too
//!            ◀─────────────── serving ─────── all are back (or 10 s have passed): accepts HTTP connections
//!  stops accepting HTTP connections, drains, ends
//! ```
//!
//! Until "ready" any failure leaves the old host as it was; if the new program dies before "serving", the old one takes
//! the control socket back.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Channel;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use portico_router::Scheme;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::control::Control;
use crate::handover::{self, Expected, Handover, TakeOver};
use crate::host::{Host, Phase};
use crate::lines::LineBuffer;
use crate::protocol::{Answer, Reply};
use crate::{Failure, code, systemd};

/// How long the new program may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// How long it waits for applications to come back.
pub(crate) const RETURN_WITHIN: Duration = Duration::from_secs(10);
/// How long the old host waits for "serving": applications' time, and some.
const SERVING_WITHIN: Duration = Duration::from_secs(20);
/// How long tasks take to see that they are to read no more.
const READING_ENDS_WITHIN: Duration = Duration::from_millis(10);
/// How long it may take to write what workers have written.
const OUTPUT_WITHIN: Duration = Duration::from_secs(2);
/// How long connections of the old host may go on: downloads and WebSockets end by themselves some day.
const DRAIN: Duration = Duration::from_secs(3600);

/// Lets a new program take over.
///
/// # Errors
/// Why it could not; this host goes on.
pub(crate) async fn hand_over(
    control: &Control,
    program: Option<String>,
) -> Result<Answer, Failure> {
    begin(control)?;
    let result = try_hand_over(control, program).await;
    let mut host = control.host.borrow_mut();
    match result {
        Ok(pid) => {
            systemd::notify(&format!("MAINPID={pid}\n"));
            host.handed_over = true;
            host.applications.hand_over();
            host.drain(DRAIN);
            tracing::info!(
                pid,
                "the new program has taken over; this one ends with its last connection"
            );
            drop(host);
            control.attention.notify_one();
            Ok(Answer::said(format!("process {pid} has taken over")))
        }
        Err(failure) => {
            host.applications.resume();
            // Some may have ended meanwhile.
            host.notice_ends();
            // It may have been told to stop meanwhile.
            if host.phase == Phase::HandingOver {
                host.phase = Phase::Running;
                control.accepting.send_replace(true);
            }
            tracing::error!("{failure}; this host goes on");
            Err(failure)
        }
    }
}

fn begin(control: &Control) -> Result<(), Failure> {
    let mut host = control.host.borrow_mut();
    if host.phase != Phase::Running || host.listeners.is_paused() {
        let text = "the host is about to end, or an upgrade is under way already";
        return Err(Failure::new(code::UPGRADE, text));
    }
    if host.start.application.is_some() {
        let text = "this host runs a program whose processes would end with it: end it, and start the new one";
        return Err(Failure::new(code::UPGRADE, text));
    }
    // What is written down now is what the new program finds.
    let host = &mut *host;
    host.applications.pause();
    host.applications.save_record_now(host.place.path());
    host.phase = Phase::HandingOver;
    control.accepting.send_replace(false);
    Ok(())
}

async fn try_hand_over(control: &Control, program: Option<String>) -> Result<u32, Failure> {
    let (ours, theirs) = Channel::pair().map_err(|error| failed(&error))?;
    let mut child = Running(Some(start(&control.host.borrow(), program, theirs)?));
    let pid = child.pid();
    tracing::info!(pid, "the new program starts");
    send(control, &ours)?;
    ours.set_nonblocking(true).map_err(|error| failed(&error))?;
    let mut words = Words {
        stream: UnixStream::from_std(ours).map_err(|error| failed(&error))?,
        lines: LineBuffer::default(),
    };
    words.expect(&TakeOver::Ready, READY_WITHIN).await?;
    control.host.borrow().tell_all(&Reply::Moved);
    words.expect(&TakeOver::Serving, SERVING_WITHIN).await?;
    child.0 = None;
    control.host.borrow().applications.stop_reading();
    // What has been read is written before the new program reads on, which it does when `words` is closed.
    sleep(READING_ENDS_WITHIN).await;
    let written = control.host.borrow().applications.flush_output();
    let _ = timeout(OUTPUT_WITHIN, written).await;
    Ok(pid)
}

fn start(host: &Host, program: Option<String>, input: Channel) -> Result<Child, Failure> {
    let program = program.map_or_else(|| host.program.clone(), Into::into);
    Command::new(&program)
        .args(std::env::args_os().skip(1))
        .env(handover::VARIABLE, "1")
        .env_remove("LISTEN_FDS")
        .env_remove("LISTEN_PID")
        .env_remove("LISTEN_FDNAMES")
        .stdin(Stdio::from(OwnedFd::from(input)))
        .spawn()
        .map_err(|error| {
            let text = format!("{} can't be started: {error}", program.display());
            Failure::new(code::UPGRADE, text)
        })
}

fn send(control: &Control, channel: &Channel) -> Result<(), Failure> {
    let host = control.host.borrow();
    let expected = host.registry.queues().values().map(|queue| Expected {
        prefix: queue.prefix.to_string(),
        uid: queue.owner().uid,
        gids: queue.owner().gids.clone(),
        members: u32::try_from(queue.members.len()).unwrap_or(u32::MAX),
    });
    let kept = host.listeners.kept_ports().iter();
    let handover = Handover::new(
        &host.place,
        kept.map(|(port, scheme)| (*port, *scheme == Scheme::Https))
            .collect(),
        expected.collect(),
    );
    let sockets: Vec<_> = host.listeners.sockets().map(AsFd::as_fd).collect();
    channel
        .set_write_timeout(Some(READY_WITHIN))
        .and_then(|()| {
            handover.send(
                channel,
                control.listener.as_fd(),
                host.place.lock().as_fd(),
                &sockets,
            )
        })
        // One that has ended already: what it said, or its end, tells more.
        .or_else(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Ok(()),
            _ => Err(failed(&error)),
        })
}

fn failed(error: &std::io::Error) -> Failure {
    Failure::new(
        code::UPGRADE,
        format!("the new program could not take over: {error}"),
    )
}

/// The new program, until it serves: ended if anything fails before.
struct Running(Option<Child>);

impl Running {
    fn pid(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the new program says.
struct Words {
    stream: UnixStream,
    lines: LineBuffer,
}

impl Words {
    async fn expect(&mut self, wanted: &TakeOver, within: Duration) -> Result<(), Failure> {
        let said = timeout(within, self.next()).await;
        let text = match said {
            Ok(Ok(progress)) if progress == *wanted => return Ok(()),
            Ok(Ok(TakeOver::Failed { message })) => message,
            Ok(Ok(other)) => format!("it said {other:?}, and {wanted:?} was expected"),
            Ok(Err(failure)) => failure.message,
            Err(_) => format!(
                "it did not say {wanted:?} within {} seconds",
                within.as_secs()
            ),
        };
        Err(Failure::new(
            code::UPGRADE,
            format!("the new program did not take over: {text}"),
        ))
    }

    async fn next(&mut self) -> Result<TakeOver, Failure> {
        loop {
            if let Some(line) = self.lines.next_line()? {
                let progress = serde_json::from_str(&line);
                return progress.map_err(|error| Failure::new(code::UPGRADE, error.to_string()));
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer).await {
                Ok(0) => return Err(ended()),
                Ok(count) => self.lines.push(buffer.get(..count).unwrap_or_default()),
                // It ended with bytes of ours unread.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(ended()),
                Err(error) => return Err(failed(&error)),
            }
        }
    }
}

fn ended() -> Failure {
    let text = "it ended (what it wrote to its standard error says why)";
    Failure::new(code::UPGRADE, text)
}
