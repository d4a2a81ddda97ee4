//! Descriptors that travel over a Unix stream socket (`SCM_RIGHTS`, unix(7)).
//!
//! They arrive with the first byte of the bytes they were sent with. One receive may begin with bytes that were sent
//! before, but never goes past a piece that brought descriptors. Nothing here waits on a non-blocking socket.
//!
//! Who receives descriptors closes them some day, even those that it throws away unseen, and the close of the last copy
//! may wait: for a file system that its sender runs (FUSE), or a lock that its sender holds. So a socket on which
//! descriptors of strangers could arrive [refuses](refuse) them.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::{Errno, Result};

/// Most descriptors of one message: the kernel's `SCM_MAX_FD`.
pub const MAX_DESCRIPTORS: usize = 253;

/// Room for the ancillary data of a full message: 4 bytes a descriptor, and the header.
const ANCILLARY_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS));

/// Sends bytes, and copies of the descriptors with the first of them. Returns how many bytes the kernel took; if they
/// are fewer than given, the descriptors have gone with them, and the rest is sent without any.
///
/// # Errors
/// `EINVAL` for no bytes or more than [`MAX_DESCRIPTORS`]; `EAGAIN`, `EPIPE`, `ETOOMANYREFS` and others of sendmsg(2):
/// nothing was sent then.
pub fn send(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<usize> {
    let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fits =
        descriptors.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    if bytes.is_empty() || !fits {
        return Err(Errno::INVAL);
    }
    sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )
}

/// Receives bytes, and appends the descriptors that came with them, close-on-exec. 0 means that the peer has ended
/// its side.
///
/// # Errors
/// `EAGAIN`, `ECONNRESET` and others of recvmsg(2). `EMFILE` if descriptors were lost because this process may not
/// have so many: those that did arrive are closed, and the connection is of no more use.
pub fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> Result<usize> {
    let mut space = [MaybeUninit::uninit(); ANCILLARY_BYTES];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(buffer)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let before = descriptors.len();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        descriptors.truncate(before);
        return Err(Errno::MFILE);
    }
    Ok(received.bytes)
}

/// `SO_PASSRIGHTS` of `asm-generic/socket.h`: the number on every architecture that Node has programs for.
const SO_PASSRIGHTS: i32 = 83;

/// From now on descriptors can't be sent to this socket (the sender gets `EPERM`), nor to those accepted from it if it
/// listens. Whether that is so: Linux can do it since 6.16.
pub fn refuse(socket: impl AsFd) -> bool {
    set_pass_rights(socket, false)
}

/// Whether [`refuse`] works on this kernel.
#[must_use]
pub fn can_be_refused() -> bool {
    std::os::unix::net::UnixStream::pair().is_ok_and(|(socket, _)| refuse(socket))
}

#[expect(unsafe_code, reason = "a socket option that rustix does not have")]
fn set_pass_rights(socket: impl AsFd, on: bool) -> bool {
    let value = i32::from(on);
    let bytes = libc::socklen_t::try_from(size_of_val(&value)).unwrap_or(0);
    // SAFETY: the pointer and `bytes` describe `value`, which the kernel reads. The borrow keeps the descriptor open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const value).cast(),
            bytes,
        )
    };
    result == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wake;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_arrive_with_the_first_byte_of_their_message_and_close_on_exec() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let wakes = [Wake::new().unwrap(), Wake::new().unwrap()];
        (&ours).write_all(b"before").unwrap();
        send(&ours, b"with", &[wakes[0].as_fd(), wakes[1].as_fd()]).unwrap();
        (&ours).write_all(b"after").unwrap();

        let mut buffer = [0; 32];
        let mut descriptors = Vec::new();
        let count = receive(&theirs, &mut buffer, &mut descriptors).unwrap();
        assert_eq!(
            (&buffer[..count], descriptors.len()),
            (&b"beforewith"[..], 2)
        );
        let flags = rustix::io::fcntl_getfd(&descriptors[0]).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));

        wakes[1].wake();
        let mut counter = [0; 8];
        rustix::io::read(&descriptors[1], &mut counter).unwrap();
        assert_eq!(u64::from_ne_bytes(counter), 1);
        let mut rest = [0; 5];
        (&theirs).read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"after");
    }

    #[test]
    fn as_many_descriptors_as_the_kernel_allows_travel_at_once_and_one_more_is_refused() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let wake = Wake::new().unwrap();
        let many = [wake.as_fd(); MAX_DESCRIPTORS + 1];
        assert_eq!(send(&ours, b"x", &many), Err(Errno::INVAL));
        assert_eq!(send(&ours, b"x", &many[1..]), Ok(1));
        let mut descriptors = Vec::new();
        assert_eq!(receive(&theirs, &mut [0; 4], &mut descriptors), Ok(1));
        assert_eq!(descriptors.len(), MAX_DESCRIPTORS);
    }

    #[test]
    fn a_socket_that_refuses_descriptors_still_takes_bytes() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        if !refuse(&theirs) {
            return; // A kernel before 6.16.
        }
        let sent = send(&ours, b"x", &[ours.as_fd()]);
        assert_eq!(sent, Err(Errno::PERM));
        assert_eq!(send(&ours, b"x", &[]), Ok(1));
        // The other direction is another socket's matter.
        assert_eq!(send(&theirs, b"x", &[ours.as_fd()]), Ok(1));
    }

    #[test]
    fn the_end_of_the_peers_side_is_no_bytes() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(ours);
        let mut descriptors = Vec::new();
        assert_eq!(receive(&theirs, &mut [0; 4], &mut descriptors), Ok(0));
        assert!(send(&theirs, b"x", &[]).is_err());
    }
}
