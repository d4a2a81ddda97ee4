//! Where a host is reached, and how it is made sure that there is one host there.
//!
//! A host holds a lock (flock(2)) on a file beside its socket for as long as it lives, and hands it on at an upgrade.
//! Who holds it may replace a socket that a dead host left. The socket is made under another name and renamed, so it
//! has its mode, and somebody who listens, from its first moment.

use std::cell::Cell;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::{Failure, code};

/// The socket of the host for all users.
pub const SYSTEM_SOCKET: &str = "/run/portico/host.sock";
/// The environment variable that names another one.
pub const SOCKET_VARIABLE: &str = "PORTICO_HOST";
/// How long a second host waits for a first one that has the lock to answer, or to end.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);

/// The socket that a client uses: `explicit`, else `PORTICO_HOST`, else the system host's if somebody listens there,
/// else the user's own.
#[must_use]
pub fn client_socket(explicit: Option<&Path>) -> PathBuf {
    named(explicit).unwrap_or_else(|| {
        let system = PathBuf::from(SYSTEM_SOCKET);
        if UnixStream::connect(&system).is_ok() {
            system
        } else {
            own_socket()
        }
    })
}

/// The socket that a new host makes: `explicit`, else `PORTICO_HOST`, else the system host's for root (unless it is
/// started on demand), else the user's own.
#[must_use]
pub fn host_socket(explicit: Option<&Path>, on_demand: bool) -> PathBuf {
    named(explicit).unwrap_or_else(|| {
        if is_root() && !on_demand {
            PathBuf::from(SYSTEM_SOCKET)
        } else {
            own_socket()
        }
    })
}

fn named(explicit: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os(SOCKET_VARIABLE).filter(|value| !value.is_empty());
    explicit
        .map(Path::to_owned)
        .or_else(|| variable().map(PathBuf::from))
}

fn own_socket() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty());
    let folder = folder.map_or_else(
        || PathBuf::from(format!("/tmp/portico-{}", effective_user())),
        |folder| PathBuf::from(folder).join("portico"),
    );
    folder.join("host.sock")
}

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
    if is_root() {
        return PathBuf::from("/var/lib/portico");
    }
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(variable("HOME").unwrap_or_default()).join(".local/state");
    state.unwrap_or_else(home).join("portico")
}

/// The user this process acts as.
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn is_root() -> bool {
    effective_user() == 0
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
    /// Takes the place of the host at this socket. Waits, if the lock is held and nobody answers (a host that starts
    /// or ends), for at most five seconds.
    ///
    /// # Errors
    /// The folder can't be made, is not the user's alone, or the lock is held by somebody who does not answer.
    pub fn take(path: &Path) -> Result<Taken, Failure> {
        make_folder(path)?;
        let lock_path = lock_path(path);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(|error| failed("the lock file", &lock_path, &error))?;
        let start = Instant::now();
        while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if UnixStream::connect(path).is_ok() {
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
            std::thread::sleep(STEP);
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

    /// Takes the socket away, so that nobody connects any more; a service manager's stays. The lock is held on.
    pub fn remove_socket(&self) {
        if self.owns_socket.get() {
            // Gone already: nobody finds this host there.
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

/// Makes the socket's folder for its user alone (the system host's: for all to enter). One that is there must be the
/// user's or root's, and nobody else may write to it: who can, could put another socket there.
fn make_folder(path: &Path) -> Result<(), Failure> {
    let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    else {
        let text = format!(
            "{} is no path of a socket: name one in a folder, such as ./host.sock",
            path.display()
        );
        return Err(Failure::new(code::SYSTEM, text));
    };
    let system = Some(folder) == Path::new(SYSTEM_SOCKET).parent();
    let mode = if system { 0o755 } else { 0o700 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(folder)
        .map_err(|error| failed("the folder", folder, &error))?;
    let found =
        fs::symlink_metadata(folder).map_err(|error| failed("the folder", folder, &error))?;
    let sticky = found.mode() & 0o1000 != 0;
    let open = found.mode() & 0o022 != 0 && !sticky;
    let ours = found.uid() == effective_user() || found.uid() == 0;
    if !found.is_dir() || !ours || open {
        let text = format!(
            "the folder {} is not safe for the control socket: it must belong to this user or root, and nobody else may \
             write to it",
            folder.display()
        );
        return Err(Failure::new(code::SYSTEM, text));
    }
    Ok(())
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::system(&format!("{what} {} can't be used", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
