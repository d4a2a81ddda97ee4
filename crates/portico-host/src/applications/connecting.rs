//! The connection on which a worker's process speaks of itself.

use std::time::Instant;

use portico_supervisor::WorkerId;

use crate::admission::beginning;
use crate::control::{Connection, Control};
use crate::host::Host;
use crate::protocol::{PROTOCOL_VERSION, Reply, WorkerLine};
use crate::{Failure, code};

/// Connections of the processes of one worker, at most.
const MAX_CONNECTIONS: u32 = 64;
/// Characters of a reason that the log repeats.
const MAX_REASON_CHARACTERS: usize = 200;

impl Control {
    /// The life of such a connection, until it ends.
    pub(crate) async fn attend_worker(&self, mut connection: Connection, protocol: u32, id: &str) {
        let entered = self.host.borrow_mut().enter_worker(protocol, id);
        let (name, worker) = match entered {
            Ok(found) => found,
            Err(failure) => {
                // It does not matter whether it hears why.
                let _ = connection.write(&failure.into(), &[]).await;
                return;
            }
        };
        let mut written = connection.write(&Reply::Worker, &[]).await;
        while written.is_ok() {
            let Ok(Some(line)) = connection.next().await else {
                break;
            };
            if let Ok(WorkerLine::Recycle { reason }) = serde_json::from_str(&line) {
                self.host
                    .borrow_mut()
                    .recycle(&name, worker, reason.as_deref());
                self.attention.notify_one();
                written = connection.write(&Reply::Recycling, &[]).await;
            }
        }
        self.host.borrow_mut().leave_worker(&name, worker);
    }
}

impl Host {
    fn enter_worker(&mut self, protocol: u32, id: &str) -> Result<(String, WorkerId), Failure> {
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
                if life.connections >= MAX_CONNECTIONS {
                    let text = format!(
                        "the processes of a worker have {MAX_CONNECTIONS} such connections, at most"
                    );
                    return Err(Failure::new(code::LIMIT, text));
                }
                life.connections += 1;
                return Ok((name.clone(), *worker));
            }
        }
        let text = "the host has not started this worker, or it has ended";
        Err(Failure::new(code::APPLICATION, text))
    }

    fn leave_worker(&mut self, name: &str, worker: WorkerId) {
        if let Some(life) = self.applications.life(name, worker) {
            life.connections = life.connections.saturating_sub(1);
        }
    }

    fn recycle(&mut self, name: &str, worker: WorkerId, reason: Option<&str>) {
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
        }
    }
}
