//! How it is made sure that there is one host at a control socket, and where it keeps what outlives it.
//!
//! A host holds a lock (flock(2)) on a file beside its socket for as long as it lives, and hands it on at an upgrade.
//! Who holds it may replace a socket that a dead host left. The socket is made under another name and renamed, so it
//! has its mode, and a process that listens, from its first moment.

use std::cell::Cell;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portico_locate::folder;
use portico_locate::{ConnectError, Location, NamedBy, SYSTEM_SOCKET, connect, effective_user};
use portico_sys::files::{self, Access};
use rustix::fs::{FlockOperation, flock};

use crate::{Failure, code};

/// How long a second host waits for a first one that has the lock to answer, or to end.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);
const SHORT_STEP: Duration = Duration::from_millis(1);

/// The folder of what must outlive the host: `explicit`, else systemd's, else `/var/lib/portico` for root, else the
/// user's (XDG base directories).
#[must_use]
pub fn state_folder(explicit: Option<&Path>) -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = explicit {
        return folder.to_owned();
    }
    if let Some(folder) = variable("STATE_DIRECTORY") {
        return PathBuf::from(folder);
    }
    if effective_user() == 0 {
        return PathBuf::from("/var/lib/portico");
    }
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(variable("HOME").unwrap_or_default()).join(".local/state");
    state.unwrap_or_else(home).join("portico")
}

/// The folder of applications' logs: `configured`, else beside the state file if its folder was named, else systemd's, else
/// `/var/log/portico` for root, else the user's.
#[must_use]
pub fn log_folder(state: Option<&Path>, configured: Option<&Path>) -> PathBuf {
    let of_system = std::env::var_os("LOGS_DIRECTORY").filter(|value| !value.is_empty());
    match (configured, state, of_system) {
        (Some(folder), _, _) => folder.to_owned(),
        (None, None, Some(folder)) => PathBuf::from(folder),
        (None, None, None) if effective_user() == 0 => PathBuf::from("/var/log/portico"),
        (None, state, _) => state_folder(state).join("logs"),
    }
}

/// Being the host of a socket.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    lock: File,
    /// Whether the socket was made here (or by the host before), and not by a service manager, which keeps it.
    owns_socket: Cell<bool>,
}

/// What came of the attempt.
#[derive(Debug)]
pub enum Taken {
    /// This process is the host.
    Host(Place),
    /// Another one answers there, with this process id if it is known.
    Occupied(Option<u32>),
}

impl Place {
    /// Takes the place of the host at this socket. Waits, if the lock is held and no host answers (a host that starts
    /// or ends), for at most five seconds.
    ///
    /// # Errors
    /// The folder can't be made, is not the user's alone, or the lock is held by a process that does not answer.
    pub fn take(path: &Path) -> Result<Taken, Failure> {
        Self::take_with(path, STEP)
    }

    /// The same for one who knows that the host before is about to end, and wants to be the first then.
    ///
    /// # Errors
    /// As [`Place::take`].
    pub(crate) fn take_at_once(path: &Path) -> Result<Taken, Failure> {
        Self::take_with(path, SHORT_STEP)
    }

    fn take_with(path: &Path, step: Duration) -> Result<Taken, Failure> {
        make_folder(path)?;
        let lock_path = lock_path(path);
        let mut lock = files::open_own(&lock_path, Access::Update)
            .map_err(|error| failed("the lock file", &lock_path, &error))?;
        let start = Instant::now();
        while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if is_answered(path) {
                return Ok(Taken::Occupied(read_pid(&mut lock)));
            }
            if start.elapsed() > PATIENCE {
                let pid =
                    read_pid(&mut lock).map_or_else(String::new, |pid| format!(" (process {pid})"));
                let text = format!(
                    "another host{pid} holds {} and does not answer at {}: end it, then start again",
                    lock_path.display(),
                    path.display()
                );
                return Err(Failure::new(code::EADDRINUSE, text));
            }
            std::thread::sleep(step);
        }
        let place = Self {
            path: path.to_owned(),
            lock,
            owns_socket: Cell::new(false),
        };
        place.write_pid();
        Ok(Taken::Host(place))
    }

    /// The place of the host before this one, whose lock was handed over, and its socket with it.
    #[must_use]
    pub fn inherit(path: &Path, lock: OwnedFd, owns_socket: bool) -> Self {
        let place = Self {
            path: path.to_owned(),
            lock: File::from(lock),
            owns_socket: Cell::new(owns_socket),
        };
        place.write_pid();
        place
    }

    /// Makes the socket, in place of what a dead host left.
    ///
    /// # Errors
    /// The path can't be used.
    pub fn listen(&self, mode: u32) -> Result<UnixListener, Failure> {
        let failed = |error: io::Error| failed("the control socket", &self.path, &error);
        let new = self.path.with_extension("sock.new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&new).map_err(failed)?;
        fs::set_permissions(&new, Permissions::from_mode(mode)).map_err(failed)?;
        fs::rename(&new, &self.path).map_err(failed)?;
        self.owns_socket.set(true);
        Ok(listener)
    }

    /// The socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock, to be handed on.
    #[must_use]
    pub fn lock(&self) -> &File {
        &self.lock
    }

    /// Whether the socket's file is this host's to remove.
    #[must_use]
    pub fn owns_socket(&self) -> bool {
        self.owns_socket.get()
    }

    /// Takes the socket away, so that no client connects any more; a service manager's stays. The lock is held on.
    pub fn remove_socket(&self) {
        if self.owns_socket.get() {
            // Gone already: no client finds this host there.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn write_pid(&self) {
        // For people and messages only.
        let mut file = &self.lock;
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
    }
}

fn lock_path(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

fn read_pid(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.rewind().ok()?;
    lock.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Makes the socket's folder for its user alone (the system host's: for all to enter). One that is there, and all above
/// it, must be the user's or root's, and no other user may write to it: one who can, could put another socket there.
fn make_folder(path: &Path) -> Result<(), Failure> {
    let folder = folder::of(path);
    let system = folder == folder::of(Path::new(SYSTEM_SOCKET));
    let mode = if system { 0o755 } else { 0o700 };
    folder::make(folder, mode)
        .map_err(|error| Failure::new(code::HOST_FOLDER, error.to_string()))?;
    Ok(())
}

/// Whether a host listens there.
fn is_answered(path: &Path) -> bool {
    let location = Location {
        path: path.to_owned(),
        named_by: NamedBy::Option,
    };
    matches!(
        connect(&location, STEP),
        Ok(_) | Err(ConnectError::Busy { .. })
    )
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::system(&format!("{what} {} can't be used", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn take(path: &Path) -> Place {
        match Place::take(path).unwrap() {
            Taken::Host(place) => place,
            Taken::Occupied(pid) => panic!("occupied by {pid:?}"),
        }
    }

    #[test]
    fn the_second_host_finds_the_first_and_takes_its_place_when_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/host.sock");
        let first = take(&path);
        let listener = first.listen(0o600).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let Taken::Occupied(pid) = Place::take(&path).unwrap() else {
            panic!("two hosts");
        };
        assert_eq!(pid, Some(std::process::id()));
        // As if it had been killed: the socket is left behind.
        drop((first, listener));
        assert!(path.exists() && UnixStream::connect(&path).is_err());
        let _listener = take(&path).listen(0o600).unwrap();
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let failure = Place::take(&folder.path().join("host.sock")).unwrap_err();
        assert!(failure.message.contains("not safe"), "{failure}");
    }

    #[test]
    fn a_lock_file_that_is_not_ours_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let lock = folder.path().join("host.lock");
        std::os::unix::fs::symlink(&precious, &lock).unwrap();
        let refused = || Place::take(&folder.path().join("host.sock")).unwrap_err();
        assert!(refused().message.contains("symbolic link"));
        fs::remove_file(&lock).unwrap();
        fs::hard_link(&precious, &lock).unwrap();
        assert!(refused().message.contains("hard links"));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    }

    #[test]
    fn what_lies_in_the_way_of_the_socket_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        for name in ["host.sock", "host.sock.new"] {
            std::os::unix::fs::symlink(&precious, folder.path().join(name)).unwrap();
        }
        let path = folder.path().join("host.sock");
        let _listener = take(&path).listen(0o600).unwrap();
        UnixStream::connect(&path).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        let mode = fs::metadata(&precious).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }
}
