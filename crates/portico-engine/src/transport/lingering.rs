//! Sockets whose connections are over for the application, but which are kept until the peer has read our last answer:
//! what it still sends is read and dropped, within bounds (RFC 9112, 9.6).

use std::os::fd::OwnedFd;

use portico_sys::{Errno, socket};

use crate::limits::{LINGER_BYTES, LINGER_MS, LINGER_TOTAL_MS, LINGERING};

#[derive(Debug)]
struct Entry {
    socket: OwnedFd,
    left: u64,
    deadline_ms: u64,
    /// When it ends though the peer still takes our answer.
    limit_ms: u64,
    /// Bytes of our answer that the peer had not taken when its time was looked at last.
    unsent: u64,
}

/// The lingering sockets of a shard.
#[derive(Debug, Default)]
pub(crate) struct Lingering {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
}

impl Lingering {
    /// Takes a socket whose side has been ended. `None` (and the socket closed) if there are too many.
    pub(crate) fn enter(&mut self, socket: OwnedFd, now_ms: u64) -> Option<usize> {
        let unsent = socket::unacknowledged(&socket).unwrap_or(0);
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.entries.len() < LINGERING => {
                self.entries.push(None);
                self.entries.len() - 1
            }
            None => return None,
        };
        if let Some(place) = self.entries.get_mut(index) {
            *place = Some(Entry {
                socket,
                left: LINGER_BYTES,
                deadline_ms: now_ms + LINGER_MS,
                limit_ms: now_ms + LINGER_TOTAL_MS,
                unsent,
            });
        }
        Some(index)
    }

    pub(crate) fn socket(&self, index: usize) -> Option<&OwnedFd> {
        Some(&self.entries.get(index)?.as_ref()?.socket)
    }

    /// Reads and drops. Closes at the peer's end, at an error, and when the bound is reached.
    pub(crate) fn drain(&mut self, index: usize, buffer: &mut [u8]) {
        let Some(Some(entry)) = self.entries.get_mut(index) else {
            return;
        };
        loop {
            match socket::receive(&entry.socket, buffer) {
                Ok(count) if count > 0 => {
                    entry.left = entry
                        .left
                        .saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
                    if entry.left == 0 {
                        break;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        self.close(index);
    }

    /// Closes a socket whose time is over; one whose peer has taken more of our answer meanwhile gets more, within
    /// bounds. Returns when to look again.
    pub(crate) fn expire(&mut self, index: usize, now_ms: u64) -> Option<u64> {
        let entry = self.entries.get_mut(index)?.as_mut()?;
        if entry.deadline_ms > now_ms {
            return None;
        }
        let unsent = socket::unacknowledged(&entry.socket).unwrap_or(0);
        if unsent == 0 || unsent >= entry.unsent || entry.limit_ms <= now_ms {
            self.close(index);
            return None;
        }
        entry.unsent = unsent;
        entry.deadline_ms = (now_ms + LINGER_MS).min(entry.limit_ms);
        Some(entry.deadline_ms)
    }

    pub(crate) fn close(&mut self, index: usize) {
        if let Some(place) = self.entries.get_mut(index)
            && place.take().is_some()
        {
            self.free.push(index);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_lingers_until_its_peer_ends_or_its_time_is_over() {
        let mut lingering = Lingering::default();
        let mut buffer = [0; 16];
        for ends in [true, false] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            let index = lingering.enter(ours.into(), 0).unwrap();
            theirs.write_all(b"more than the buffer holds").unwrap();
            lingering.drain(index, &mut buffer);
            assert!(lingering.socket(index).is_some());
            if ends {
                drop(theirs);
                lingering.drain(index, &mut buffer);
            } else {
                lingering.expire(index, LINGER_MS - 1);
                assert!(lingering.socket(index).is_some());
                lingering.expire(index, LINGER_MS);
            }
            assert!(lingering.socket(index).is_none());
        }
    }

    #[test]
    fn a_peer_that_takes_our_answer_slowly_gets_more_time_within_bounds() {
        let mut lingering = Lingering::default();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        while ours.write(&[0; 4096]).is_ok() {}
        let index = lingering.enter(ours.into(), 0).unwrap();
        let mut now = 0;
        let mut buffer = [0; 4096];
        while now < LINGER_TOTAL_MS {
            theirs.read_exact(&mut buffer).unwrap();
            now += LINGER_MS;
            let next = lingering.expire(index, now);
            assert_eq!(next.is_some(), now < LINGER_TOTAL_MS, "{now}");
        }
        assert!(lingering.socket(index).is_none());
    }

    #[test]
    fn a_peer_that_takes_nothing_of_our_answer_gets_no_more_time() {
        let mut lingering = Lingering::default();
        let (mut ours, _theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        while ours.write(&[0; 4096]).is_ok() {}
        let index = lingering.enter(ours.into(), 0).unwrap();
        assert_eq!(lingering.expire(index, LINGER_MS), None);
        assert!(lingering.socket(index).is_none());
    }

    #[test]
    fn no_more_is_dropped_than_the_bound() {
        let mut lingering = Lingering::default();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let index = lingering.enter(ours.into(), 0).unwrap();
        let mut buffer = vec![0; 64 * 1024];
        let sender = std::thread::spawn(move || while theirs.write_all(&[0; 4096]).is_ok() {});
        while lingering.socket(index).is_some() {
            lingering.drain(index, &mut buffer);
        }
        sender.join().unwrap();
    }

    #[test]
    fn beyond_the_bound_a_socket_is_closed_at_once_and_the_others_linger_on() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let most = Rlimit {
            current: limit.maximum,
            ..limit
        };
        setrlimit(Resource::Nofile, most).unwrap();
        let mut lingering = Lingering::default();
        let (ours, mut first) = UnixStream::pair().unwrap();
        first.set_nonblocking(true).unwrap();
        for _ in 0..LINGERING {
            let socket = ours.try_clone().unwrap();
            assert!(lingering.enter(socket.into(), 0).is_some());
        }
        drop(ours);
        let (ours, mut beyond) = UnixStream::pair().unwrap();
        assert!(lingering.enter(ours.into(), 0).is_none());
        assert_eq!(beyond.read(&mut [0]).unwrap(), 0, "closed");
        assert!(first.read(&mut [0]).is_err(), "open");
        // Each that ends makes room for one.
        lingering.close(7);
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert_eq!(lingering.enter(ours.into(), 0), Some(7));
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert!(lingering.enter(ours.into(), 0).is_none());
        assert_eq!(lingering.entries.len(), LINGERING);
    }
}
