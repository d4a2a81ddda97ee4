//! The end of workers, and what the host does about it.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use portico_supervisor::{Exit, Phase, WorkerId};
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::applications::life::{self, Life};
use crate::applications::pipes::WorkerPipe;
use crate::host::Host;

/// How long the last output of a worker is waited for after its end: others may hold its pipe.
const LAST_OUTPUT: Duration = Duration::from_millis(300);
/// Lines of a failed worker's output that are told with its failure.
const REPEATED_LINES: usize = 5;
/// What V8 writes before it ends the process.
const HEAP_IS_FULL: &str = "heap out of memory";

/// The output of a worker that has ended has been read.
#[derive(Debug)]
pub(crate) struct OutputEnded {
    name: String,
    worker: WorkerId,
}

impl Host {
    /// Some process has ended: looks which of the workers'.
    pub(crate) fn notice_ends(&mut self) {
        let news = self.applications.news.clone();
        for (name, entry) in &mut self.applications.entries {
            for (worker, life) in &mut entry.lives {
                if life.end_was_seen || !life.process.has_ended() {
                    continue;
                }
                life.end_was_seen = true;
                let phase = entry.machine.worker(*worker).map(|worker| worker.phase);
                if phase == Some(Phase::Stopping) {
                    // A shell may not have passed the signal on.
                    life.process.terminate_group();
                } else {
                    life.process.kill_group();
                }
                let ended = OutputEnded {
                    name: name.clone(),
                    worker: *worker,
                };
                let copying = std::mem::take(&mut life.copying);
                let news = news.clone();
                spawn_local(async move {
                    for task in copying {
                        let _ = timeout(LAST_OUTPUT, task).await;
                    }
                    // The main loop ends only with the host.
                    let _ = news.send(ended);
                });
            }
        }
    }

    /// What a worker wrote has been read; others of its group may finish what they have, if it was asked to end: until they
    /// are gone, or their time is over.
    pub(crate) fn handle_output_ended(&mut self, ended: &OutputEnded, now: Instant) {
        let OutputEnded { name, worker } = ended;
        let Some(entry) = self.applications.entries.get_mut(name) else {
            return;
        };
        let phase = entry.machine.worker(*worker).map(|worker| worker.phase);
        let Some(life) = entry.lives.get_mut(worker) else {
            return;
        };
        life.leader_ended = true;
        if phase != Some(Phase::Stopping) || life.registrations.is_empty() {
            self.finish(name, *worker, now);
        }
    }

    /// The worker has been killed, or its last registration has gone.
    pub(super) fn finish_if_all_ended(&mut self, name: &str, worker: WorkerId, now: Instant) {
        let life = self.applications.life(name, worker);
        if life.is_some_and(|life| life.leader_ended) {
            self.finish(name, worker, now);
        }
    }

    /// The worker is no more.
    fn finish(&mut self, name: &str, worker: WorkerId, now: Instant) {
        let Some(entry) = self.applications.entries.get_mut(name) else {
            return;
        };
        let Some(life) = entry.lives.remove(&worker) else {
            return;
        };
        life.process.kill_group();
        life.pipes.iter().for_each(WorkerPipe::remove);
        self.applications.has_changed = true;
        let left = life.registrations.iter().map(|entry| entry.member);
        let left: Vec<_> = left.collect();
        let machine_worker = entry.machine.worker(worker).cloned();
        let slot = machine_worker.as_ref().map_or(0, |worker| worker.slot);
        let was_expected = machine_worker.is_some_and(|worker| worker.is_leaving());
        let (pid, lived, was_killed, was_ready, was_hung) = (
            life.process.pid(),
            now.duration_since(life.started),
            life.was_killed,
            life.ready_after.is_some(),
            life.was_hung,
        );
        let last = life.last_lines.take();
        let status = life.process.reap().ok();
        let ended = match was_hung {
            true => "it took nothing of what was there for it, or its event loop did not turn, and was killed".to_owned(),
            false => explain(status, was_killed, &last),
        };
        let lived = format!("{:.1} s", lived.as_secs_f64());
        let success = status.is_some_and(|status| status.success());
        let is_done = success && !was_ready && entry.machine.policy().may_finish;
        if was_expected || is_done {
            tracing::info!(
                application = name,
                slot,
                pid,
                "a worker has ended after {lived}: {ended}"
            );
        } else {
            tracing::warn!(
                application = name,
                slot,
                pid,
                "a worker ended by itself after {lived}: {ended}"
            );
            entry.last_status = status;
            entry.last_failure = Some((format!("{ended}{}", quoted(&last)), now));
            entry.failures += 1;
        }
        let exit = if success {
            Exit::Success
        } else {
            Exit::Failure
        };
        entry.machine.handle_exited(now, worker, exit);
        // Of processes that have left the group.
        for member in left {
            self.leave(member);
        }
    }
}

fn explain(status: Option<ExitStatus>, was_killed: bool, last: &VecDeque<String>) -> String {
    let ended = life::describe(status);
    let by_kill = status.and_then(|status| status.signal()) == Some(9);
    if last.iter().any(|line| line.contains(HEAP_IS_FULL)) {
        format!("{ended}: its heap was full (V8's limit: --max-old-space-size)")
    } else if by_kill && !was_killed {
        format!(
            "{ended}, which the host did not send: by a user, or by the kernel for lack of memory"
        )
    } else {
        ended
    }
}

fn quoted(last: &VecDeque<String>) -> String {
    let from = last.len().saturating_sub(REPEATED_LINES);
    let lines: Vec<_> = last.iter().skip(from).map(String::as_str).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("; it wrote last:\n  {}", lines.join("\n  "))
}

impl Life {
    /// Seconds since it started.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.duration_since(self.started)
    }
}
