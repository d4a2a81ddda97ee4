//! What the host and the processes of a worker say to each other beside requests: how they are, that one is ready, that it
//! is to end.

use std::time::{Duration, Instant};

use portico_supervisor::{Phase, WorkerId};
use tokio::sync::mpsc::UnboundedSender;

use crate::applications::life::Life;
use crate::host::Host;
use crate::protocol::{WorkerLine, WorkerWord};

/// A process of a worker that has a connection of its own.
#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) id: u64,
    words: UnboundedSender<WorkerWord>,
    /// The question that it has not answered, and when it was asked.
    asked: Option<(u64, Instant)>,
    pub(super) health: Option<Health>,
}

/// What a process has said of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Health {
    /// Bytes of JavaScript's objects.
    pub(super) heap_used: u64,
    /// Which part of the time its event loop was busy, from 0 to 1.
    pub(super) event_loop: f64,
}

impl Speaker {
    pub(super) fn new(id: u64, words: UnboundedSender<WorkerWord>) -> Self {
        Self {
            id,
            words,
            asked: None,
            health: None,
        }
    }

    fn say(&self, word: WorkerWord) {
        // Its connection has ended already.
        let _ = self.words.send(word);
    }
}

impl Life {
    /// How long a question has waited for its answer. A process that has never answered one does not know the question.
    pub(super) fn unanswered(&self, now: Instant) -> Duration {
        let asked = self.speakers.iter();
        let asked = asked.filter(|speaker| speaker.health.is_some());
        let waits = asked.filter_map(|speaker| Some(now.duration_since(speaker.asked?.1)));
        waits.max().unwrap_or_default()
    }

    /// Bytes of JavaScript's objects in the process that has most.
    pub(super) fn heap_used(&self) -> Option<u64> {
        let health = self.speakers.iter().filter_map(|speaker| speaker.health);
        health.map(|health| health.heap_used).max()
    }

    /// Which part of the time the busiest event loop was busy, in percent.
    pub(super) fn event_loop_percent(&self) -> Option<u32> {
        let health = self.speakers.iter().filter_map(|speaker| speaker.health);
        let busy = health.map(|health| (health.event_loop.clamp(0.0, 1.0) * 100.0).round());
        // From 0 to 100.
        busy.map(|percent| percent as u32).max()
    }

    /// Asks it to end by a message. `false`: it has no process that could hear it.
    pub(super) fn say_shutdown(&self) -> bool {
        for speaker in &self.speakers {
            speaker.say(WorkerWord::Shutdown);
        }
        !self.speakers.is_empty()
    }
}

impl Host {
    /// Asks all processes how they are. The next question waits for the answer to this one.
    pub(crate) fn ask_workers(&mut self, now: Instant) {
        let entries = self.applications.entries.values_mut();
        let lives = entries.flat_map(|entry| entry.lives.values_mut());
        for speaker in lives.flat_map(|life| life.speakers.iter_mut()) {
            if speaker.asked.is_none() {
                self.applications.last_question += 1;
                let id = self.applications.last_question;
                speaker.asked = Some((id, now));
                speaker.say(WorkerWord::Ping { id });
            }
        }
    }

    /// A process of a worker says something.
    pub(super) fn hear_worker(
        &mut self,
        name: &str,
        (worker, speaker): (WorkerId, u64),
        line: &WorkerLine,
    ) {
        let now = Instant::now();
        let phase = self.applications.phase(name, worker);
        let Some(life) = self.applications.life(name, worker) else {
            return;
        };
        match line {
            WorkerLine::Ready => {
                life.said_ready = true;
                self.notice_ready(name, worker, now);
            }
            WorkerLine::Pong {
                id,
                heap_used,
                event_loop,
            } => {
                let mut speakers = life.speakers.iter_mut();
                let asked = speakers.find(|own| own.id == speaker && own.asked.is_some());
                if let Some(own) = asked.filter(|own| own.asked.is_some_and(|asked| asked.0 == *id))
                {
                    own.asked = None;
                    own.health = Some(Health {
                        heap_used: *heap_used,
                        event_loop: *event_loop,
                    });
                }
            }
            WorkerLine::Shutdown { heard } => {
                if !heard && phase == Some(Phase::Stopping) {
                    life.process.terminate();
                }
            }
            WorkerLine::Recycle { reason } => self.recycle(name, worker, reason.as_deref()),
        }
    }
}
