//! Connecting to a control socket, and looking at who listens there before a byte is sent.

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portico_sys::{Errno, peer_credentials};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::folder::{self, FolderError, Owners};
use crate::location::locations;
use crate::{Location, NamedBy, effective_user};

/// Why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// No process listens there: no host is running.
    Absent {
        /// The socket.
        socket: PathBuf,
        /// What connect(2) said.
        error: io::Error,
    },
    /// Others could have put the socket there.
    Folder(FolderError),
    /// The process that listens there can't be trusted by this one.
    Stranger {
        /// The socket.
        socket: PathBuf,
        /// Who.
        uid: u32,
    },
    /// A process listens and takes no connection: stuck, or a great many are before us.
    Busy {
        /// The socket.
        socket: PathBuf,
    },
    /// connect(2) failed otherwise.
    System {
        /// The socket.
        socket: PathBuf,
        /// How.
        error: io::Error,
    },
}

/// Connects to the first host there is where a client looks ([`locations`]). The location is the one that the result is
/// about: where no host is running, the last one. Blocks for at most `patience` at each.
pub fn find(
    explicit: Option<&Path>,
    patience: Duration,
) -> (Location, Result<UnixStream, ConnectError>) {
    let (first, then) = locations(explicit);
    match (connect(&first, patience), then) {
        (Err(ConnectError::Absent { .. }), Some(then)) => {
            let result = connect(&then, patience);
            (then, result)
        }
        (result, _) => (first, result),
    }
}

/// Connects to the host at this location. Blocks for at most `patience`, also where later reads and writes wait.
///
/// # Errors
/// [`ConnectError`].
pub fn connect(location: &Location, patience: Duration) -> Result<UnixStream, ConnectError> {
    let socket = &location.path;
    let owners = match location.named_by {
        NamedBy::Option | NamedBy::System => Owners::OneMore,
        NamedBy::Variable | NamedBy::Runtime | NamedBy::Temporary => Owners::UsAndRoot,
    };
    let checked = folder::check(folder::of(socket), owners).map_err(|error| {
        if error.is_missing() || location.named_by == NamedBy::System && error.is_denied() {
            return absent(socket, Errno::NOENT.into());
        }
        ConnectError::Folder(error.named_by(location.named_by))
    })?;
    let file = socket.file_name().unwrap_or_default();
    let stream = open(&checked.path.join(file), patience).map_err(|errno| match errno {
        Errno::NOENT | Errno::CONNREFUSED => absent(socket, errno.into()),
        // It is for some users, and this is none of them.
        Errno::ACCESS if location.named_by == NamedBy::System => absent(socket, errno.into()),
        Errno::AGAIN => ConnectError::Busy {
            socket: socket.clone(),
        },
        _ => failed(socket, errno),
    })?;
    let peer = peer_credentials(&stream).map_err(|errno| failed(socket, errno))?;
    let trusted = [Some(0), Some(effective_user()), checked.other_user];
    if !trusted.contains(&Some(peer.uid)) {
        return Err(ConnectError::Stranger {
            socket: socket.clone(),
            uid: peer.uid,
        });
    }
    Ok(stream)
}

/// connect(2), which waits where too many connections have not been accepted.
fn open(socket: &Path, patience: Duration) -> Result<UnixStream, Errno> {
    let address = SocketAddrUnix::new(socket)?;
    let flags = SocketFlags::CLOEXEC;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    for direction in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&stream, direction, Some(patience))?;
    }
    rustix::net::connect(&stream, &address)?;
    Ok(stream.into())
}

fn absent(socket: &Path, error: io::Error) -> ConnectError {
    ConnectError::Absent {
        socket: socket.to_owned(),
        error,
    }
}

fn failed(socket: &Path, errno: Errno) -> ConnectError {
    ConnectError::System {
        socket: socket.to_owned(),
        error: errno.into(),
    }
}

impl ConnectError {
    /// The stable code that applications see.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "ERR_PORTICO_NO_HOST",
            Self::Folder(_) => "ERR_PORTICO_HOST_FOLDER",
            Self::Stranger { .. } => "ERR_PORTICO_HOST_USER",
            Self::Busy { .. } | Self::System { .. } => "ERR_PORTICO_HOST",
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { socket, error } => {
                write!(out, "no host listens on {}: {error}", socket.display())
            }
            Self::Folder(error) => error.fmt(out),
            Self::Stranger { socket, uid } => write!(
                out,
                "who listens on {} is user {uid}, and neither root nor user {}: nothing was sent. Find out who that is, or name \
                 another host with PORTICO_HOST",
                socket.display(),
                effective_user()
            ),
            Self::Busy { socket } => write!(
                out,
                "the host at {} takes no connections: it is stuck or overloaded, and its log says more",
                socket.display()
            ),
            Self::System { socket, error } if error.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    out,
                    "user {} may not connect to the host at {}: it is another user's own",
                    effective_user(),
                    socket.display()
                )
            }
            Self::System { socket, error } => {
                write!(
                    out,
                    "the host at {} can't be reached: {error}",
                    socket.display()
                )
            }
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Absent { error, .. } | Self::System { error, .. } => Some(error),
            Self::Folder(error) => Some(error),
            Self::Stranger { .. } | Self::Busy { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    const PATIENCE: Duration = Duration::from_millis(100);

    fn location(folder: &tempfile::TempDir) -> Location {
        Location {
            path: folder.path().join("host.sock"),
            named_by: NamedBy::Variable,
        }
    }

    #[test]
    fn our_own_host_is_connected_to_and_one_that_is_gone_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let location = location(&folder);
        let absent = |location: &Location| {
            matches!(
                connect(location, PATIENCE),
                Err(ConnectError::Absent { .. })
            )
        };
        assert!(absent(&location));
        let listener = UnixListener::bind(&location.path).unwrap();
        connect(&location, PATIENCE).unwrap();
        drop(listener);
        assert!(absent(&location));
        let nowhere = Location {
            path: folder.path().join("no/such/host.sock"),
            ..location
        };
        assert!(absent(&nowhere));
    }

    #[test]
    fn no_connection_is_made_in_a_folder_that_other_users_may_write_to() {
        let folder = tempfile::tempdir().unwrap();
        let location = location(&folder);
        let _listener = UnixListener::bind(&location.path).unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let error = connect(&location, PATIENCE).unwrap_err();
        assert_eq!(error.code(), "ERR_PORTICO_HOST_FOLDER");
        assert!(error.to_string().contains("chmod go-w"), "{error}");
    }

    #[test]
    fn a_host_that_accepts_nothing_is_waited_for_no_longer_than_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let location = location(&folder);
        let listener = UnixListener::bind(&location.path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut waiting = Vec::new();
        let error = loop {
            match connect(&location, PATIENCE) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10, "all were taken");
        };
        assert!(matches!(error, ConnectError::Busy { .. }), "{error}");
    }
}
