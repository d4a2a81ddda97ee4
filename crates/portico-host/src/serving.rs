//! The turns of a host's control side: signals, the ends of processes, what is due by time; and its end.

use std::io::{self, Write};
use std::os::unix::net::UnixStream as StdStream;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_local;
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until, timeout};

use crate::control::Control;
use crate::handover::TakeOver;
use crate::host::{Host, Phase};
use crate::protocol::Reply;
use crate::watchdog::Heart;
use crate::worker_signals::{self, WorkerSignals};
use crate::{Failure, code, reload, systemd, upgrade};

/// How often the host looks after what does not tell by itself.
const TICK: Duration = Duration::from_millis(250);
/// Every how many ticks rates are sampled and certificates' files looked at.
const TICKS_A_SECOND: u32 = 4;
/// How long the host waits for last words to be written.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a new host waits until the old one reads no worker's output any more.
const OLD_STOPS_READING: Duration = Duration::from_secs(5);

/// Serves until it is over. A `channel` leads to the host before, which is told how far this one has come.
///
/// # Errors
/// Signals can't be received.
pub(crate) async fn serve(
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
    announce_start(control, channel.as_ref());
    if channel.is_none() {
        control.host.borrow_mut().applications.read_adopted();
    }
    let mut taking_over = channel.map(|channel| (channel, Instant::now() + upgrade::RETURN_WITHIN));
    let mut tick: u32 = 0;
    loop {
        heart.beat();
        let now = Instant::now();
        control.host.borrow_mut().tend_applications(now);
        let next = control.host.borrow().applications.next_timeout(now);
        tokio::select! {
            _ = ticks.tick() => {
                tick = tick.wrapping_add(1);
                look_after(&mut control.host.borrow_mut(), tick.is_multiple_of(TICKS_A_SECOND));
            }
            () = control.attention.notified() => {}
            Some(ended) = news.recv() => {
                control.host.borrow_mut().handle_output_ended(&ended, Instant::now());
            }
            () = sleep_until(next.unwrap_or(now).into()), if next.is_some() => {}
            () = signals.next(control) => {}
            _ = terminate.recv() => control.begin_stop(None),
            _ = interrupt.recv() => control.begin_stop(None),
            _ = hang_up.recv() => handle_hang_up(&mut control.host.borrow_mut()),
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

fn announce_start(control: &Control, mut channel: Option<&StdStream>) {
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
    host.applications.resume();
    let reading = read_when_the_old_host_has_stopped(control.clone(), channel.try_clone());
    spawn_local(reading);
    tracing::info!("has taken over");
    systemd::notify("READY=1\n");
}

/// Two that read the same output would have half of each line.
async fn read_when_the_old_host_has_stopped(control: Control, channel: io::Result<StdStream>) {
    let channel = channel.and_then(|channel| {
        channel.set_nonblocking(true)?;
        UnixStream::from_std(channel)
    });
    if let Ok(mut channel) = channel {
        // It closes its end. One that is stuck is not waited for.
        let _ = timeout(OLD_STOPS_READING, channel.read(&mut [0; 1])).await;
    }
    control.host.borrow_mut().applications.read_adopted();
}

fn look_after(host: &mut Host, every_second: bool) {
    let now = Instant::now();
    host.tend(now);
    host.look_after_adopted(now);
    if every_second {
        let totals = host.totals();
        host.rates.sample(now, &totals);
        host.end_hung_workers(&totals, now);
        host.ask_workers(now);
        host.replace_used_workers(&totals, now);
        host.refresh_certificates(false);
        host.retry_unopened(now);
        worker_signals::reap_orphans(host);
    }
    let unused = host.registry.members().is_empty()
        && host.expected.is_empty()
        && host.applications.is_empty();
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
fn handle_hang_up(host: &mut Host) {
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
        let mut host = control.host.borrow_mut();
        if !host.handed_over {
            systemd::notify("STOPPING=1\n");
            host.place.remove_socket();
            let host = &mut *host;
            host.applications.remove_record(host.place.path());
            let failure = Failure::new(code::HOST_STOPPING, "the host has stopped");
            host.tell_all(&Reply::from(failure).into_closed());
        }
    }
    control.ended.send_replace(true);
    let written = control.host.borrow().applications.flush_output();
    // A terminal or a disk may take nothing at all.
    let _ = timeout(LAST_WORDS, written).await;
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
}
