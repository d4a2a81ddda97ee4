//! The control sockets where a host may be.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::effective_user;

/// The socket of the host for all users.
pub const SYSTEM_SOCKET: &str = "/run/portico/host.sock";
/// The environment variable that names another one.
pub const SOCKET_VARIABLE: &str = "PORTICO_HOST";
/// The environment variable with the folder of a user's sockets, by the XDG base directories.
const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";

/// A control socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Its path.
    pub path: PathBuf,
    /// Why it is this one.
    pub named_by: NamedBy,
}

/// What a control socket was named by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// `--socket`: a person, for this command.
    Option,
    /// [`SOCKET_VARIABLE`].
    Variable,
    /// It is the system's.
    System,
    /// It is this user's own, in `XDG_RUNTIME_DIR`.
    Runtime,
    /// It is this user's own, in `/tmp`.
    Temporary,
}

impl Location {
    /// Whether an application may start a host there. Where a person or a service manager has named the place it is
    /// theirs to start one, with its configuration.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self.named_by, NamedBy::Runtime | NamedBy::Temporary)
    }
}

/// Where a client looks: at `explicit`, else at `PORTICO_HOST`; else for the system's host, and then for the user's own.
#[must_use]
pub fn locations(explicit: Option<&Path>) -> (Location, Option<Location>) {
    match named(explicit) {
        Some(location) => (location, None),
        None => (system(), Some(own())),
    }
}

/// The socket that a new host makes: `explicit`, else `PORTICO_HOST`, else the system's for root (unless it is started on
/// demand), else the user's own.
#[must_use]
pub fn host_location(explicit: Option<&Path>, on_demand: bool) -> Location {
    named(explicit).unwrap_or_else(|| {
        if effective_user() == 0 && !on_demand {
            system()
        } else {
            own()
        }
    })
}

fn named(explicit: Option<&Path>) -> Option<Location> {
    let option = explicit.map(|path| Location {
        path: path.to_owned(),
        named_by: NamedBy::Option,
    });
    option.or_else(|| {
        variable(SOCKET_VARIABLE).map(|path| Location {
            path: PathBuf::from(path),
            named_by: NamedBy::Variable,
        })
    })
}

fn system() -> Location {
    Location {
        path: PathBuf::from(SYSTEM_SOCKET),
        named_by: NamedBy::System,
    }
}

/// Not below `TMPDIR`: that differs from one process of a user to the next, and this is where they meet.
fn own() -> Location {
    own_in(variable(RUNTIME_VARIABLE), effective_user())
}

fn own_in(runtime: Option<OsString>, uid: u32) -> Location {
    // The specification says to ignore relative ones.
    let runtime = runtime.map(PathBuf::from).filter(|path| path.is_absolute());
    match runtime {
        Some(folder) => Location {
            path: folder.join("portico").join("host.sock"),
            named_by: NamedBy::Runtime,
        },
        None => Location {
            path: PathBuf::from(format!("/tmp/portico-{uid}/host.sock")),
            named_by: NamedBy::Temporary,
        },
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_socket_is_in_the_runtime_folder_or_else_in_tmp() {
        let path = |runtime: Option<&str>| own_in(runtime.map(OsString::from), 1000).path;
        assert_eq!(
            path(Some("/run/user/1000")),
            Path::new("/run/user/1000/portico/host.sock")
        );
        for none in [None, Some("run/user/1000")] {
            assert_eq!(path(none), Path::new("/tmp/portico-1000/host.sock"));
        }
    }

    #[test]
    fn an_application_may_start_a_host_only_at_the_users_own_place() {
        let path = Path::new("/srv/host.sock");
        assert!(!locations(Some(path)).0.is_own());
        assert!(!system().is_own());
        assert!(own().is_own());
    }
}
