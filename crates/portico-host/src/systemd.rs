//! What systemd wants to know and hands over: sd_notify(3) and sd_listen_fds(3).

use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use portico_sys::inherited;

/// Tells the service manager lines such as `READY=1`; without one nothing happens.
pub(crate) fn notify(lines: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let text = path.to_string_lossy();
    let address = match text.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name.as_bytes()),
        None => SocketAddr::from_pathname(&path),
    };
    let sent = address.and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(lines.as_bytes(), &address)
    });
    if let Err(error) = sent {
        tracing::warn!(%error, "systemd can't be told: {}", lines.trim_end());
    }
}

/// A socket of socket activation, with its `FileDescriptorName=` (empty if there is none).
#[derive(Debug)]
pub(crate) struct Activated {
    /// The name.
    pub(crate) name: String,
    /// The socket.
    pub(crate) socket: OwnedFd,
}

/// The sockets that systemd started this process with. To be called first thing in `main`; a second call gets none.
#[must_use]
pub(crate) fn activated_sockets() -> Vec<Activated> {
    let variable = |name| std::env::var(name).ok();
    let count = count(
        variable("LISTEN_PID").as_deref(),
        variable("LISTEN_FDS").as_deref(),
        std::process::id(),
    );
    if count == 0 {
        return Vec::new();
    }
    let names = variable("LISTEN_FDNAMES").unwrap_or_default();
    let names = names
        .split(':')
        .map(str::to_owned)
        .chain(std::iter::repeat(String::new()));
    inherited::take(count)
        .into_iter()
        .zip(names)
        .map(|(socket, name)| Activated { name, socket })
        .collect()
}

/// How many sockets are meant for this process.
fn count(pid: Option<&str>, descriptors: Option<&str>, own: u32) -> usize {
    let ours = pid.and_then(|pid| pid.parse().ok()) == Some(own);
    let count = descriptors
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    if ours { count } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_taken_only_if_they_are_meant_for_this_process() {
        for (pid, descriptors, expected) in [
            (Some("7"), Some("2"), 2),
            (Some("8"), Some("2"), 0),
            (None, Some("2"), 0),
            (Some("7"), None, 0),
            (Some("7"), Some("-1"), 0),
            (Some("seven"), Some("x"), 0),
        ] {
            assert_eq!(count(pid, descriptors, 7), expected);
        }
    }
}
