//! Where a host is found, and whether who is found there may be trusted: the same for applications, commands and the host.
//!
//! [`locations`] are the control sockets to try, [`connect`] and [`find`] connect, after they have looked at the folders
//! on the way ([`folder`]) and before a byte is sent at who listens.
//!
//! | socket | who may listen there | why |
//! |---|---|---|
//! | the user's own, `PORTICO_HOST` | this user, root | no other user can have made it: all folders on the way belong to this user or root, and no other may write to them |
//! | the system's, `--socket` of a command | also the one user whom its folder belongs to | root gave that folder to this user (a service user, say), in a folder that only root may write to |
//!
//! Root can do anything to any process anyway. Folders such as `/tmp`, which all may write to, are passed only where the
//! sticky bit keeps others from replacing what is in them, and what is in them is this user's or root's.
#![forbid(unsafe_code)]

mod connect;
pub mod folder;
mod location;

pub use connect::{ConnectError, connect, find};
pub use location::{Location, NamedBy, SOCKET_VARIABLE, SYSTEM_SOCKET, host_location, locations};

/// The user this process acts as.
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
