//! TCP sockets that listen.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};

use crate::Result;

/// A socket that listens at this address, non-blocking and close-on-exec. `[::]` takes IPv4 too, unless `only_v6`.
/// `backlog` connections may wait to be accepted; the kernel lowers it to `net.core.somaxconn`.
///
/// # Errors
/// `EADDRINUSE`, `EACCES` (a port below 1024), `EADDRNOTAVAIL`, `EAFNOSUPPORT` (no IPv6 here) and others of socket(2),
/// bind(2) and listen(2).
pub fn tcp(address: SocketAddr, only_v6: bool, backlog: i32) -> Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // Connections of an earlier listener that linger in TIME_WAIT don't keep us from the port.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, only_v6)?;
    }
    bind(&socket, &address)?;
    listen(&socket, backlog)?;
    Ok(socket)
}

/// Whether a socket listens.
#[must_use]
pub fn is_listening(socket: impl AsFd) -> bool {
    matches!(sockopt::socket_acceptconn(socket), Ok(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Errno, socket::local_address};
    use std::net::{Ipv6Addr, TcpStream};

    #[test]
    fn a_port_that_listens_can_be_connected_to_and_not_be_taken_again() {
        let first = tcp(SocketAddr::from(([127, 0, 0, 1], 0)), false, 8).unwrap();
        assert!(is_listening(&first));
        let port = local_address(&first).port;
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        let again = tcp(SocketAddr::from(([127, 0, 0, 1], port)), false, 8);
        assert_eq!(again.unwrap_err(), Errno::ADDRINUSE);
    }

    #[test]
    fn the_ipv6_wildcard_takes_ipv4_too() {
        let Ok(socket) = tcp(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), false, 8) else {
            return; // No IPv6 here.
        };
        TcpStream::connect(("127.0.0.1", local_address(&socket).port)).unwrap();
    }
}
