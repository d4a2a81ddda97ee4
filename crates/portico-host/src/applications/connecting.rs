//! The connection on which a worker's process speaks of itself.

use std::time::Instant;

use portico_supervisor::WorkerId;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::admission::beginning;
use crate::applications::speaking::Speaker;
use crate::control::{Connection, Control};
use crate::host::Host;
use crate::protocol::{PROTOCOL_VERSION, Reply, WorkerLine, WorkerWord};
use crate::{Failure, code};

/// Connections of the processes of one worker, at most.
const MAX_CONNECTIONS: usize = 64;
/// Characters of a reason that the log repeats.
const MAX_REASON_CHARACTERS: usize = 200;

/// The application, the worker, the number of the connection, and what is to be said on it.
type Entered = (String, WorkerId, u64, UnboundedReceiver<WorkerWord>);

impl Control {
    /// The life of such a connection, until it ends.
    pub(crate) async fn attend_worker(&self, mut connection: Connection, protocol: u32, id: &str) {
        let entered = self.host.borrow_mut().enter_worker(protocol, id);
        let (name, worker, speaker, mut words) = match entered {
            Ok(found) => found,
            Err(failure) => {
                // It does not matter whether it hears why.
                let _ = connection.write(&failure.into(), &[]).await;
                return;
            }
        };
        let mut written = connection.write(&Reply::Worker, &[]).await;
        while written.is_ok() {
            let line = tokio::select! {
                line = connection.next() => line,
                Some(word) = words.recv() => {
                    written = connection.write_word(&word).await;
                    continue;
                }
            };
            let Ok(Some(line)) = line else {
                break;
            };
            let Ok(line) = serde_json::from_str::<WorkerLine>(&line) else {
                continue;
            };
            let from = (worker, speaker);
            self.host.borrow_mut().hear_worker(&name, from, &line);
            if !matches!(line, WorkerLine::Pong { .. }) {
                self.attention.notify_one();
            }
            if matches!(line, WorkerLine::Recycle { .. }) {
                written = connection.write(&Reply::Recycling, &[]).await;
            }
        }
        self.host.borrow_mut().leave_worker(&name, worker, speaker);
    }
}

impl Host {
    fn enter_worker(&mut self, protocol: u32, id: &str) -> Result<Entered, Failure> {
        if protocol != PROTOCOL_VERSION {
            let text = format!(
                "the process speaks version {protocol} of the control protocol, and the host version {PROTOCOL_VERSION}"
            );
            return Err(Failure::new(code::PROTOCOL, text));
        }
        for (name, entry) in &mut self.applications.entries {
            for (worker, life) in &mut entry.lives {
                if life.identity != id {
                    continue;
                }
                if life.speakers.len() >= MAX_CONNECTIONS {
                    let text = format!(
                        "the processes of a worker have {MAX_CONNECTIONS} such connections, at most"
                    );
                    return Err(Failure::new(code::LIMIT, text));
                }
                let (sender, words) = unbounded_channel();
                self.applications.last_speaker += 1;
                let speaker = self.applications.last_speaker;
                life.speakers.push(Speaker::new(speaker, sender));
                return Ok((name.clone(), *worker, speaker, words));
            }
        }
        let text = "the host has not started this worker, or it has ended";
        Err(Failure::new(code::APPLICATION, text))
    }

    fn leave_worker(&mut self, name: &str, worker: WorkerId, speaker: u64) {
        if let Some(life) = self.applications.life(name, worker) {
            life.speakers.retain(|own| own.id != speaker);
        }
    }

    pub(super) fn recycle(&mut self, name: &str, worker: WorkerId, reason: Option<&str>) {
        if let Some(entry) = self.applications.entries.get_mut(name) {
            let reason = beginning(
                reason.unwrap_or("no reason was given"),
                MAX_REASON_CHARACTERS,
            );
            tracing::info!(
                application = name,
                "a worker asks to be replaced: {reason:?}"
            );
            entry.machine.recycle_worker(Instant::now(), worker);
            self.applications.has_changed = true;
        }
    }
}
