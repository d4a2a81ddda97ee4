//! Who is at the other end of a Unix socket, by the kernel's word: what it was when it connected.

use std::os::fd::{AsFd, AsRawFd};

use crate::{Errno, Result};

/// Most groups that a process can have (`NGROUPS_MAX`).
const MAX_GROUPS: usize = 65_536;

/// The peer of a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Process id; 0 if the process lives in a namespace whose processes can't be seen from here.
    pub pid: i32,
    /// Effective user.
    pub uid: u32,
    /// Effective group, and the supplementary ones after it.
    pub gids: Vec<u32>,
}

/// The credentials of a connected socket's peer (`SO_PEERCRED`, `SO_PEERGROUPS`).
///
/// # Errors
/// `EINVAL`, `ENODATA`, `ENOPROTOOPT` for sockets that aren't connected Unix ones.
pub fn peer_credentials(socket: impl AsFd) -> Result<Credentials> {
    // `struct ucred`: pid, uid, gid. rustix has a type for it, in which a pid of 0 is not possible.
    let mut peer = vec![u32::MAX; 3];
    read_option(&socket, libc::SO_PEERCRED, &mut peer)?;
    let &[pid, uid, gid] = peer.as_slice() else {
        return Err(Errno::INVAL);
    };
    // What the kernel says of a socket without another end.
    if uid == u32::MAX {
        return Err(Errno::NOTCONN);
    }
    let mut groups = vec![0; 32];
    read_option(&socket, libc::SO_PEERGROUPS, &mut groups)?;
    groups.insert(0, gid);
    Ok(Credentials {
        pid: i32::try_from(pid).unwrap_or(0),
        uid,
        gids: groups,
    })
}

/// Reads a socket option that is an array of 32-bit numbers; the kernel says how many there are.
#[expect(unsafe_code, reason = "socket options that rustix does not have")]
fn read_option(socket: impl AsFd, option: i32, numbers: &mut Vec<u32>) -> Result<()> {
    loop {
        let room = size_of_val(numbers.as_slice());
        let mut bytes = libc::socklen_t::try_from(room).map_err(|_| Errno::NOMEM)?;
        // SAFETY: the pointer and `bytes` describe the memory of `numbers`, which the kernel fills with plain numbers
        // (any bits are a `u32`); `bytes` is read and written as one `socklen_t`. The borrow keeps the descriptor open.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                numbers.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        let error = std::io::Error::last_os_error();
        let count = usize::try_from(bytes).unwrap_or(0) / size_of::<u32>();
        if result == 0 {
            numbers.truncate(count);
            return Ok(());
        }
        let errno = Errno::from_io_error(&error).unwrap_or(Errno::INVAL);
        if errno != Errno::RANGE || count <= numbers.len() || count > MAX_GROUPS {
            return Err(errno);
        }
        numbers.resize(count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_peer_of_a_pair_is_this_process() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let peer = peer_credentials(&ours).unwrap();
        assert_eq!(peer.pid, i32::try_from(std::process::id()).unwrap());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        let mut groups: Vec<_> = rustix::process::getgroups()
            .unwrap()
            .iter()
            .map(|group| group.as_raw())
            .collect();
        groups.insert(0, rustix::process::getegid().as_raw());
        assert_eq!(peer.gids, groups);
    }

    #[test]
    fn all_groups_are_read_and_the_kernel_knows_no_more_than_the_bound() {
        let most = std::fs::read_to_string("/proc/sys/kernel/ngroups_max").unwrap();
        assert_eq!(most.trim().parse(), Ok(MAX_GROUPS));
        // A thread of its own: the groups are those of the thread that makes the sockets.
        let seen = std::thread::spawn(|| {
            let group = |number| rustix::process::Gid::from_raw(number);
            let groups: Vec<_> = (1..=65_537).map(group).collect();
            let more = rustix::thread::set_thread_groups(&groups);
            if more == Err(Errno::PERM) {
                return None; // Only the superuser chooses its groups.
            }
            assert_eq!(more, Err(Errno::INVAL));
            rustix::thread::set_thread_groups(&groups[..MAX_GROUPS]).unwrap();
            let (ours, _theirs) = UnixStream::pair().unwrap();
            Some(peer_credentials(&ours).unwrap().gids)
        });
        if let Some(gids) = seen.join().unwrap() {
            assert!(gids[1..].iter().copied().eq(1..=65_536));
        }
    }

    #[test]
    fn other_sockets_have_no_credentials() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(peer_credentials(&socket).is_err());
    }
}
