//! Ends a host that is stuck, so that its service manager (or the next application) starts another.
//!
//! A thread of its own asks every shard once a second whether it still turns, and looks whether the control side does.
//! It also hears TERM and INT itself: a control side that waits for a stuck shard would never get to them. Whatever the
//! rest of the process waits for, this thread waits for nothing but its clock; not even for the log.
//!
//! Time is counted in looks, not in seconds of the clock, so that a process that was stopped and goes on is not
//! taken for one that was stuck.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Duration;

use portico_dispatch::Pulse;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use crate::Failure;

/// The exit code of a host that was ended because it was stuck.
pub const STUCK_EXIT_CODE: i32 = 4;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Looks after which the log names a thread that does not turn.
const WARN_LOOKS: u32 = 5;
/// Looks after which a shard that does not turn ends the host: its connections have long been lost.
const END_LOOKS: u32 = 20;
/// The same if the host has been told to end. A control side that does not turn ends the host only then, for shards
/// serve without it.
const TOLD_TO_END_LOOKS: u32 = 5;
/// How long the last words may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What the control side tells of itself.
#[derive(Debug, Default)]
pub(crate) struct Heart {
    beats: AtomicU64,
    finished: AtomicBool,
}

impl Heart {
    /// The control side turns.
    pub(crate) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// The host has ended, and nothing but closing is left to do.
    pub(crate) fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }
}

/// Starts the thread. It runs as long as the process.
///
/// # Errors
/// The thread, or its signals, can't be had.
pub(crate) fn start(shards: Vec<Pulse>, heart: Arc<Heart>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::system("the watchdog can't be started", error);
    let (started, result) = sync_channel(1);
    std::thread::Builder::new()
        .name("portico-watch".into())
        .spawn(move || run(shards, heart, |told| started.send(told).is_ok()))
        .map_err(failed)?;
    let told = result.recv().map_err(|_| std::io::ErrorKind::Other.into());
    told.and_then(|told| told).map_err(failed)
}

fn run(shards: Vec<Pulse>, heart: Arc<Heart>, started: impl Fn(std::io::Result<()>) -> bool) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            started(Err(error));
            return;
        }
    };
    runtime.block_on(async {
        let (mut terminate, mut interrupt) = match signals() {
            Ok(signals) => signals,
            Err(error) => {
                started(Err(error));
                return;
            }
        };
        started(Ok(()));
        let mut watch = Watch::new(shards, heart);
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = looks.tick() => watch.look(),
                _ = terminate.recv() => watch.told_to_end = true,
                _ = interrupt.recv() => watch.told_to_end = true,
            }
        }
    });
}

fn signals() -> std::io::Result<(Signal, Signal)> {
    Ok((
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ))
}

struct Watch {
    shards: Vec<Shard>,
    heart: Arc<Heart>,
    beats: u64,
    control: Patience,
    told_to_end: bool,
}

struct Shard {
    pulse: Pulse,
    asked: Option<Receiver<()>>,
    patience: Patience,
}

impl Watch {
    fn new(shards: Vec<Pulse>, heart: Arc<Heart>) -> Self {
        let watched = |pulse| Shard {
            pulse,
            asked: None,
            patience: Patience::default(),
        };
        Self {
            shards: shards.into_iter().map(watched).collect(),
            heart,
            beats: 0,
            control: Patience::default(),
            told_to_end: false,
        }
    }

    fn look(&mut self) {
        let finished = self.heart.finished.load(Ordering::Relaxed);
        if !finished {
            for shard in &mut self.shards {
                let turns = shard.turns();
                let limit = match self.told_to_end {
                    true => TOLD_TO_END_LOOKS,
                    false => END_LOOKS,
                };
                act(shard.patience.look(turns, limit), shard.pulse.name());
            }
        }
        let beats = self.heart.beats.load(Ordering::Relaxed);
        let beats_on = beats != std::mem::replace(&mut self.beats, beats);
        // One that waits for a silent shard is not the one to blame.
        let turns =
            beats_on || !finished && self.shards.iter().any(|shard| shard.patience.missed > 0);
        let limit = match (finished, self.told_to_end) {
            (true, _) => END_LOOKS,
            (false, true) => TOLD_TO_END_LOOKS,
            (false, false) => u32::MAX,
        };
        let name = "the control side (portico)";
        act(self.control.look(turns, limit), name);
    }
}

impl Shard {
    /// Whether it has answered the question of the last look. Asks the next one.
    fn turns(&mut self) -> bool {
        let answer = self.asked.as_ref().map(Receiver::try_recv);
        if answer == Some(Err(TryRecvError::Empty)) {
            return false;
        }
        // A thread that has died gives no answer any more, so the next look finds it silent.
        self.asked = Some(self.pulse.ask());
        true
    }
}

/// How often a thread has not turned between two looks, one after the other.
#[derive(Debug, Default)]
struct Patience {
    missed: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Finding {
    Nothing,
    /// For so many looks now.
    Stuck(u32),
    TurnsAgain,
    EndHost(u32),
}

impl Patience {
    fn look(&mut self, turns: bool, limit: u32) -> Finding {
        if turns {
            let missed = std::mem::take(&mut self.missed);
            return if missed >= WARN_LOOKS {
                Finding::TurnsAgain
            } else {
                Finding::Nothing
            };
        }
        self.missed = self.missed.saturating_add(1);
        if self.missed >= limit {
            Finding::EndHost(self.missed)
        } else if self.missed == WARN_LOOKS {
            Finding::Stuck(self.missed)
        } else {
            Finding::Nothing
        }
    }
}

fn act(finding: Finding, name: &str) {
    match finding {
        Finding::Nothing => {}
        Finding::Stuck(seconds) => say(format!(
            "{name} has not turned for {seconds} s; a shard that stays so ends the host after {END_LOOKS} s"
        )),
        Finding::TurnsAgain => say(format!("{name} turns again")),
        Finding::EndHost(seconds) => {
            say(format!(
                "{name} is stuck: it has not turned for {seconds} s. The host ends at once with exit code \
                 {STUCK_EXIT_CODE}, so that it can be started again"
            ));
            portico_sys::end_process(STUCK_EXIT_CODE);
        }
    }
}

/// Into the log, by a thread of its own: a log that no process reads may be what the host is stuck at.
fn say(text: String) {
    let (done, written) = sync_channel(1);
    let thread = std::thread::Builder::new().spawn(move || {
        tracing::error!("{text}");
        // The caller waits no more if it took long.
        let _ = done.send(());
    });
    if thread.is_ok() {
        let _ = written.recv_timeout(LAST_WORDS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(turns: impl Iterator<Item = bool>, limit: u32) -> Vec<(u32, Finding)> {
        let mut patience = Patience::default();
        let found = turns.map(|turns| patience.look(turns, limit));
        (1..)
            .zip(found)
            .filter(|(_, finding)| *finding != Finding::Nothing)
            .collect()
    }

    #[test]
    fn a_thread_that_does_not_turn_is_named_once_and_then_ends_the_host() {
        let silent = std::iter::repeat_n(false, 20);
        assert_eq!(
            looks(silent, END_LOOKS),
            [(5, Finding::Stuck(5)), (20, Finding::EndHost(20))]
        );
    }

    #[test]
    fn a_thread_that_turns_now_and_then_is_left_alone() {
        let turns = (1..=100).map(|look| look % 4 == 0);
        assert_eq!(looks(turns, END_LOOKS), []);
        let turns = (1..=20).map(|look| look % 10 == 0);
        let found: Vec<_> = looks(turns, END_LOOKS);
        assert_eq!(
            found,
            [
                (5, Finding::Stuck(5)),
                (10, Finding::TurnsAgain),
                (15, Finding::Stuck(5)),
                (20, Finding::TurnsAgain)
            ]
        );
    }

    #[test]
    fn a_host_that_was_told_to_end_has_less_time_and_a_control_side_alone_has_all() {
        let silent = || std::iter::repeat_n(false, 5);
        assert_eq!(
            looks(silent(), TOLD_TO_END_LOOKS),
            [(5, Finding::EndHost(5))]
        );
        let long = std::iter::repeat_n(false, 1000);
        assert_eq!(looks(long, u32::MAX), [(5, Finding::Stuck(5))]);
    }
}
