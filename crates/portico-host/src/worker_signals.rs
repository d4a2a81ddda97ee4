//! The ends of processes, and signals that a host passes on to its one application.

use std::io;

use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
use rustix::process::{Signal, getpid};
use tokio::signal::unix::{self, SignalKind, signal};

use crate::control::Control;
use crate::host::Host;

/// The signals.
#[derive(Debug)]
pub(crate) struct WorkerSignals {
    child: unix::Signal,
    /// SIGUSR1 and SIGUSR2, of a host that runs one program.
    user: Option<[unix::Signal; 2]>,
}

impl WorkerSignals {
    pub(crate) fn listen(control: &Control) -> io::Result<Self> {
        let runs_program = control.host.borrow().start.application.is_some();
        let listen = || -> io::Result<_> {
            let first = signal(SignalKind::user_defined1())?;
            Ok([first, signal(SignalKind::user_defined2())?])
        };
        Ok(Self {
            child: signal(SignalKind::child())?,
            user: runs_program.then(listen).transpose()?,
        })
    }

    /// Waits for one, and does what it is for.
    pub(crate) async fn next(&mut self, control: &Control) {
        let passed_on = tokio::select! {
            _ = self.child.recv() => None,
            signal = user_signal(self.user.as_mut()) => Some(signal),
        };
        let mut host = control.host.borrow_mut();
        match passed_on {
            Some(signal) => host.applications.pass_on(signal),
            None => {
                host.notice_ends();
                reap_orphans(&host);
            }
        }
    }
}

async fn user_signal(signals: Option<&mut [unix::Signal; 2]>) -> Signal {
    let Some([first, second]) = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = first.recv() => Signal::USR1,
        _ = second.recv() => Signal::USR2,
    }
}

/// Reaps processes whose parents have ended, if they have become children of this one: it is the first process of a
/// container. A host that has handed its workers over stays their parent.
pub(crate) fn reap_orphans(host: &Host) {
    if !getpid().is_init() && !host.handed_over {
        return;
    }
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
    while let Ok(status) = waitid(Id::All, flags | WaitPidFlag::WNOWAIT) {
        // A worker is reaped when its output has been read. What comes behind it is found a second later.
        let orphan = status
            .pid()
            .filter(|pid| !host.applications.is_leader(pid.as_raw()));
        let Some(orphan) = orphan else { return };
        let _ = waitpid(orphan, Some(WaitPidFlag::WNOHANG));
    }
}
