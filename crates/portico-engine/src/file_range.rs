//! Ranges of open files, as parts of bodies.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use portico_sys::{files, socket};

/// A file ends before its range does or can't be read, or the application has taken lent memory away: what is missing
/// can't be sent any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// A range of an open regular file, sent without being read into memory as a whole: by sendfile(2) where nothing has to
/// be done to the bytes, else (TLS, HTTP/2) in pieces of at most 64 KiB, read when the output has room for them. An answer
/// that waits, for its turn or for a slow client, holds the descriptor and no bytes. The descriptor's own position is
/// neither used nor moved; clones share the descriptor, which is closed with the last of them.
///
/// What is sent is what the file holds at that moment. `Content-Length` has been sent before: if the file turns out to end
/// before the range does, or can't be read, the connection is reset, and nothing is sent in place of what is missing. In
/// HTTP/2 that ends the other streams of the connection too.
///
/// Reading a regular file can't be made non-blocking: parts that are not in the page cache hold up the shard's other
/// connections for as long as the disk takes, in each turn for at most 2 MiB of each connection. Whoever serves files from
/// slow disks has them read ahead before it answers.
///
/// sendfile(2) to a client that has gone raises `SIGPIPE`, which the process must ignore, as every Rust program and Node
/// do.
#[derive(Clone, Debug)]
pub struct FileRange {
    file: Arc<OwnedFd>,
    start: u64,
    end: u64,
}

impl FileRange {
    /// `length` bytes from `offset` on of a regular file that is open for reading. Nothing is checked here.
    #[must_use]
    pub fn new(file: Arc<OwnedFd>, offset: u64, length: u64) -> Self {
        Self {
            file,
            start: offset,
            end: offset.saturating_add(length),
        }
    }

    /// Bytes in the range.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Takes the first `count` bytes away, at most all.
    pub(crate) fn skip(&mut self, count: u64) {
        self.start = self.start.saturating_add(count).min(self.end);
    }

    /// Reads its first bytes, as many as `buffer` has room for or fewer.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Gone> {
        let most = self.at_most(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        match files::read_at(&self.file, buffer, self.start) {
            Ok(count) if count > 0 || buffer.is_empty() => Ok(count),
            _ => Err(Gone),
        }
    }

    /// Has the kernel send its first bytes, `most` or fewer; 0: the file ends before the range does.
    pub(crate) fn send(&self, to: impl AsFd, most: usize) -> portico_sys::Result<usize> {
        socket::send_file(to, &self.file, self.start, self.at_most(most))
    }

    fn at_most(&self, count: usize) -> usize {
        usize::try_from(self.len()).map_or(count, |length| length.min(count))
    }
}
