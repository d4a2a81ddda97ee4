//! A wake-up between two processes of which one does not trust the other.
//!
//! [`crate::Wake`] is one object with one set of flags, whoever holds it: a process that got a copy could take
//! `O_NONBLOCK` off, fill the counter, and the next wake-up would wait for ever. It could also have the last copy closed
//! under a lock that it holds (eventpoll(7) takes one). The two ends of a socket pair are two objects: what a process
//! does to its end changes nothing at ours. Besides, every call here says itself that it must not wait.
//!
//! Descriptors can travel over sockets, and dropping one that belongs to a slow file system may wait. So nothing at all
//! can be sent to a [`Ringer`], and no descriptors to a [`Bell`] (since Linux 6.16, which can refuse them).

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown,
    socketpair,
};

use crate::{Result, descriptors};

/// The end that is rung: readable from [`Ringer::ring`] until [`Bell::clear`].
#[derive(Debug)]
pub struct Bell {
    socket: OwnedFd,
    /// Rings since the last clearing.
    heard: Cell<u8>,
}

/// The end that rings.
#[derive(Debug)]
pub struct Ringer {
    socket: OwnedFd,
}

/// After so many rings a bell that is only watched is cleared. The kernel keeps about 270 unread ones.
const CLEARED_EVERY: u8 = 16;

/// More than the kernel keeps.
const UNREAD_BYTES: usize = 512;

/// A bell, and what rings it. Either may be handed to another process ([`OwnedFd`]).
///
/// # Errors
/// `EMFILE`, `ENFILE`, `ENOMEM`.
pub fn bell() -> Result<(Ringer, Bell)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (ringer, bell) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    shutdown(&ringer, Shutdown::Read)?;
    descriptors::refuse(&bell);
    Ok((Ringer { socket: ringer }, bell.into()))
}

impl Ringer {
    /// Makes the other end readable. Never waits.
    #[inline]
    pub fn ring(&self) {
        // EAGAIN: so much is unread that the bell is readable in any case. EPIPE: the other end has gone.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = send(&self.socket, &[1], flags);
    }
}

impl Bell {
    /// Takes the rings back. Never waits.
    #[inline]
    pub fn clear(&self) {
        self.heard.set(0);
        // What is left of more than a bell ever holds keeps it readable. EAGAIN: it had not been rung.
        let _ = recv(&self.socket, &mut [0; UNREAD_BYTES], RecvFlags::DONTWAIT);
    }

    /// For a bell that is watched for edges ([`crate::Interest::Wake`]): to be called at each, so that there is always
    /// room for the next ring. Costs a system call only now and then.
    #[inline]
    pub fn note_ring(&self) {
        self.heard.set(self.heard.get() + 1);
        if self.heard.get() >= CLEARED_EVERY {
            self.clear();
        }
    }
}

impl From<OwnedFd> for Bell {
    /// A bell that came from another process.
    fn from(socket: OwnedFd) -> Self {
        Self {
            socket,
            heard: Cell::new(0),
        }
    }
}

impl From<OwnedFd> for Ringer {
    /// A ringer that came from another process.
    fn from(socket: OwnedFd) -> Self {
        Self { socket }
    }
}

impl From<Bell> for OwnedFd {
    fn from(bell: Bell) -> Self {
        bell.socket
    }
}

impl From<Ringer> for OwnedFd {
    fn from(ringer: Ringer) -> Self {
        ringer.socket
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsFd for Ringer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoll, Errno, Interest, ReadyList};
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::time::Duration;

    fn is_readable(epoll: &Epoll) -> bool {
        let wait = epoll.wait(&mut ReadyList::new(1), Some(Duration::ZERO), |_| ());
        wait.unwrap() == 1
    }

    fn make_blocking(end: impl AsFd) {
        let flags = fcntl_getfl(&end).unwrap();
        fcntl_setfl(&end, flags - OFlags::NONBLOCK).unwrap();
        assert!(!fcntl_getfl(&end).unwrap().contains(OFlags::NONBLOCK));
    }

    #[test]
    fn a_bell_is_readable_from_the_ring_to_the_clearing() {
        let (ringer, bell) = bell().unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(&bell, 1, Interest::Readable).unwrap();
        assert!(!is_readable(&epoll));
        for _ in 0..3 {
            ringer.ring();
        }
        assert!(is_readable(&epoll));
        bell.clear();
        assert!(!is_readable(&epoll));
        bell.clear();
    }

    #[test]
    fn a_bell_that_is_watched_gives_an_edge_for_each_of_a_thousand_rings() {
        let (ringer, bell) = bell().unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(&bell, 1, Interest::Wake).unwrap();
        for number in 0..1000 {
            ringer.ring();
            assert!(is_readable(&epoll), "ring {number}");
            assert!(!is_readable(&epoll), "ring {number} told twice");
            bell.note_ring();
        }
    }

    #[test]
    fn whatever_the_holder_of_one_end_does_the_other_end_never_waits() {
        // The bell is elsewhere and never cleared.
        let (ringer, bell) = bell().unwrap();
        make_blocking(&bell);
        for _ in 0..10_000 {
            ringer.ring();
        }
        // Not even a flag of its own would make it wait.
        make_blocking(&ringer);
        ringer.ring();
        drop(bell);
        ringer.ring();
        // The ringer is elsewhere.
        let (ringer, bell) = super::bell().unwrap();
        make_blocking(&ringer);
        make_blocking(&bell);
        bell.clear();
        drop(ringer);
        bell.clear();
    }

    #[test]
    fn nothing_can_be_sent_to_a_ringer_and_no_descriptors_to_a_bell() {
        let (ringer, bell) = bell().unwrap();
        assert_eq!(descriptors::send(&bell, b"x", &[]), Err(Errno::PIPE));
        if descriptors::can_be_refused() {
            let sent = descriptors::send(&ringer, b"x", &[ringer.as_fd()]);
            assert_eq!(sent, Err(Errno::PERM));
        }
        assert_eq!(descriptors::send(&ringer, b"x", &[]), Ok(1));
    }
}
