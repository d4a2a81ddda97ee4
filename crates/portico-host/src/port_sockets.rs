//! Sockets that listen on TCP ports: made for a port, and asked for their addresses. What the system refuses is told in
//! words for who runs the host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use portico_sys::{Address, Errno, Family, listening, socket};

use crate::protocol::AddressRecord;
use crate::{Failure, code};

/// Binds a port at these addresses; at none: at all.
///
/// # Errors
/// `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL` and others of the system.
pub(crate) fn bind(port: u16, addresses: &[IpAddr], backlog: i32) -> Result<Vec<OwnedFd>, Failure> {
    if addresses.is_empty() {
        // As Node does: IPv6 and IPv4 in one socket, or IPv4 alone where there is no IPv6.
        let both = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let result = match listening::tcp(both, false, backlog) {
            Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) => listening::tcp(
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
                false,
                backlog,
            ),
            other => other,
        };
        return result
            .map(|fd| vec![fd])
            .map_err(|errno| refused(both, errno));
    }
    let one = |address: &IpAddr| {
        let address = SocketAddr::from((*address, port));
        listening::tcp(address, true, backlog).map_err(|errno| refused(address, errno))
    };
    addresses.iter().map(one).collect()
}

fn refused(address: SocketAddr, errno: Errno) -> Failure {
    let port = address.port();
    match errno {
        Errno::ADDRINUSE => Failure::new(
            code::EADDRINUSE,
            format!(
                "port {port} is in use by another program: stop that one (`ss -ltnp 'sport = :{port}'` shows it), or \
                 choose another port"
            ),
        ),
        Errno::ACCESS | Errno::PERM => Failure::new(
            code::EACCES,
            format!(
                "the host may not listen on port {port}: run it as root or by systemd (see docs/host.md), give it the \
                 capability CAP_NET_BIND_SERVICE, or choose a port from 1024 on"
            ),
        ),
        Errno::ADDRNOTAVAIL => Failure::new(
            code::EADDRNOTAVAIL,
            format!(
                "this machine does not have the address {}; correct the listener's `address`",
                address.ip()
            ),
        ),
        other => Failure::system(&format!("can't listen on {address}"), other),
    }
}

/// Where a socket listens, as Node writes it.
pub(crate) fn address_of(fd: &OwnedFd) -> AddressRecord {
    record(&socket::local_address(fd))
}

fn record(address: &Address) -> AddressRecord {
    let [a, b, c, d, ..] = address.bytes;
    let (text, family) = match address.family {
        Family::V4 => (Ipv4Addr::new(a, b, c, d).to_string(), "IPv4"),
        Family::V6 => (Ipv6Addr::from(address.bytes).to_string(), "IPv6"),
        Family::None => (String::new(), ""),
    };
    AddressRecord {
        address: text,
        family: family.to_owned(),
        port: address.port,
    }
}

/// Whether a descriptor is a TCP socket that listens.
#[must_use]
pub(crate) fn is_tcp_listener(fd: impl AsFd) -> bool {
    listening::is_listening(&fd) && socket::local_address(&fd).family != Family::None
}
