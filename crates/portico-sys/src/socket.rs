//! Stream sockets. All are non-blocking and close-on-exec.

use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketFlags, SocketType,
    acceptfrom_with, socketpair, sockopt,
};

use crate::{Address, Errno, Result};

/// Two sockets that are connected to each other.
///
/// # Errors
/// `EMFILE`, `ENFILE`, `ENOMEM`.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Takes a connection from a listening socket, with the peer's address.
///
/// # Errors
/// `EAGAIN` if none waits; `EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`; errors of the connection itself
/// (`ECONNABORTED`, `EPROTO`, ...).
pub fn accept(listener: impl AsFd) -> Result<(OwnedFd, Address)> {
    let (socket, address) =
        acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    Ok((socket, address.map(Address::from).unwrap_or_default()))
}

/// listen(2).
///
/// # Errors
/// `EADDRINUSE` and others of listen(2).
pub fn listen(socket: impl AsFd, backlog: i32) -> Result<()> {
    rustix::net::listen(socket, backlog)
}

/// Makes a descriptor from elsewhere non-blocking and close-on-exec.
///
/// # Errors
/// None in practice.
pub fn prepare(socket: impl AsFd) -> Result<()> {
    rustix::io::ioctl_fionbio(&socket, true)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)
}

/// Receives into `buffer`; 0 means that the peer has ended its side.
///
/// # Errors
/// `EAGAIN`, `ECONNRESET` and others of recv(2).
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<usize> {
    rustix::net::recv(socket, buffer, RecvFlags::empty()).map(|(count, _)| count)
}

/// Sends what the kernel takes. A broken connection is an error, never a signal.
///
/// # Errors
/// `EAGAIN`, `EPIPE`, `ECONNRESET` and others of send(2).
pub fn send(socket: impl AsFd, bytes: &[u8]) -> Result<usize> {
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)
}

/// [`send`] of several pieces.
///
/// # Errors
/// As [`send`].
pub fn send_vectored(socket: impl AsFd, pieces: &[IoSlice<'_>]) -> Result<usize> {
    rustix::net::sendmsg(
        socket,
        pieces,
        &mut SendAncillaryBuffer::default(),
        SendFlags::NOSIGNAL,
    )
}

/// [`send_vectored`], where more follows at once: the kernel may wait for it with a packet that is not full.
///
/// # Errors
/// As [`send`].
pub fn send_vectored_before_more(socket: impl AsFd, pieces: &[IoSlice<'_>]) -> Result<usize> {
    let flags = SendFlags::NOSIGNAL | SendFlags::MORE;
    rustix::net::sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), flags)
}

/// Sends up to `count` bytes of a file from `offset` on, what the kernel takes; 0: the file ends there. Waits for the disk,
/// never for the peer. The file's own position stays as it is. A broken connection raises `SIGPIPE`, since sendfile(2) has
/// no flag against it: the process must ignore that signal.
///
/// # Errors
/// `EAGAIN`, `EPIPE`, `ECONNRESET`, `EIO` and others of sendfile(2).
pub fn send_file(
    socket: impl AsFd,
    file: impl AsFd,
    mut offset: u64,
    count: usize,
) -> Result<usize> {
    rustix::fs::sendfile(socket, file, Some(&mut offset), count)
}

/// Ends our side of the connection (FIN after what is queued in the kernel).
///
/// # Errors
/// `ENOTCONN`.
pub fn end(socket: impl AsFd) -> Result<()> {
    rustix::net::shutdown(socket, Shutdown::Write)
}

/// Makes the coming close of the descriptor reset the connection.
///
/// # Errors
/// None in practice.
pub fn reset_on_close(socket: impl AsFd) -> Result<()> {
    sockopt::set_socket_linger(socket, Some(Duration::ZERO))
}

/// Whether the socket is a Unix one (no IP addresses, no TCP options).
#[must_use]
pub fn is_unix(socket: impl AsFd) -> bool {
    matches!(sockopt::socket_domain(socket), Ok(AddressFamily::UNIX))
}

/// Our end's address.
#[must_use]
pub fn local_address(socket: impl AsFd) -> Address {
    rustix::net::getsockname(socket)
        .map(Address::from)
        .unwrap_or_default()
}

/// The peer's address.
#[must_use]
pub fn remote_address(socket: impl AsFd) -> Address {
    rustix::net::getpeername(socket)
        .ok()
        .flatten()
        .map(Address::from)
        .unwrap_or_default()
}

/// Bytes that the kernel has taken and the peer has not acknowledged.
///
/// # Errors
/// `EINVAL` for listening sockets.
#[expect(unsafe_code, reason = "a request that rustix does not have")]
pub fn unacknowledged(socket: impl AsFd) -> Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number of this type through the pointer, which is valid for the call; the
    // descriptor is open for as long as it is borrowed.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 {
        return Ok(u64::try_from(bytes).unwrap_or(0));
    }
    let error = std::io::Error::last_os_error();
    Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
}

/// The error that waits on a socket, 0 if none.
#[must_use]
pub fn pending_error(socket: impl AsFd) -> i32 {
    match sockopt::socket_error(socket) {
        Ok(Err(errno)) | Err(errno) => errno.raw_os_error(),
        Ok(Ok(())) => 0,
    }
}

/// Bytes that have been received and not been read; 0 if the system does not say.
#[must_use]
pub fn unread(socket: impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(socket).unwrap_or(0)
}

/// `TCP_NODELAY`. Linux hands it down from a listening socket to the connections that it accepts.
///
/// # Errors
/// `EOPNOTSUPP` on sockets that aren't TCP.
pub fn set_no_delay(socket: impl AsFd, on: bool) -> Result<()> {
    sockopt::set_tcp_nodelay(socket, on)
}

/// `SO_KEEPALIVE`, and the time before the first probe if it is at least a second. Handed down as [`set_no_delay`].
///
/// # Errors
/// `EOPNOTSUPP` on sockets that aren't TCP.
pub fn set_keep_alive(socket: impl AsFd, on: bool, delay: Duration) -> Result<()> {
    sockopt::set_socket_keepalive(&socket, on)?;
    if on && delay.as_secs() > 0 {
        sockopt::set_tcp_keepidle(&socket, delay)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::{Epoll, Interest, ReadyList};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn an_edge_comes_for_data_for_room_and_for_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, remote) = accept(&listener).unwrap();
        assert_eq!(remote, Address::from(client.local_addr().unwrap()));
        let epoll = Epoll::new().unwrap();
        epoll.add(&socket, 7, Interest::Connection).unwrap();
        let mut list = ReadyList::new(4);
        let mut wait = || {
            let mut found = Vec::new();
            epoll
                .wait(&mut list, Some(Duration::from_secs(5)), |ready| {
                    found.push(ready)
                })
                .unwrap();
            found
        };
        assert!(wait()[0].writable);
        send(&client, b"data").unwrap();
        let ready = wait();
        assert!(ready[0].token == 7 && ready[0].readable && !ready[0].hang_up);
        let mut buffer = [0; 8];
        assert_eq!(receive(&socket, &mut buffer), Ok(4));
        assert_eq!(receive(&socket, &mut buffer), Err(Errno::AGAIN));
        end(&client).unwrap();
        assert!(wait()[0].hang_up);
        assert_eq!(receive(&socket, &mut buffer), Ok(0));
    }

    #[test]
    fn what_the_peer_has_not_acknowledged_is_counted() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(unacknowledged(&ours), Ok(0));
        send(&ours, &[0; 1000]).unwrap();
        assert!(unacknowledged(&ours).unwrap() >= 1000);
        assert_eq!(receive(&theirs, &mut [0; 2000]), Ok(1000));
        assert_eq!(unacknowledged(&ours), Ok(0));
    }

    #[test]
    fn accepted_sockets_inherit_their_listeners_options() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_no_delay(&listener, true).unwrap();
        set_keep_alive(&listener, true, Duration::from_secs(30)).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = accept(&listener).unwrap();
        assert!(sockopt::tcp_nodelay(&socket).unwrap());
        assert!(sockopt::socket_keepalive(&socket).unwrap());
        assert_eq!(
            sockopt::tcp_keepidle(&socket).unwrap(),
            Duration::from_secs(30)
        );
    }
}
