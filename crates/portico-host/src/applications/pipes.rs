//! The pipes that workers write to. They have names, and a worker has its ends open for reading too: when the host ends or
//! is killed, a worker's output waits in its pipe for the next host, which opens it by its name. (Without a reader its next
//! line would be an error, and the end of most programs.)

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Gid, Mode, OFlags, Uid, fchown, mknodat, open};

/// Names of a worker's pipes, and whether each is for its standard error.
const STREAMS: [(&str, bool); 2] = [("out", false), ("err", true)];
/// Bytes that a pipe takes while no host reads it. The system may allow less.
const CAPACITY: usize = 256 * 1024;

/// A pipe that a worker writes to.
#[derive(Debug)]
pub(super) struct WorkerPipe {
    path: PathBuf,
    pub(super) is_error: bool,
}

/// The folder of a host's pipes, beside its control socket.
pub(super) fn folder(socket: &Path) -> PathBuf {
    socket.with_extension("workers")
}

/// The pipes of a worker, with the worker's ends. `owner`: who may open them by `/dev/stdout`.
pub(super) fn make(
    folder: &Path,
    identity: &str,
    owner: Option<(u32, u32)>,
) -> io::Result<[(WorkerPipe, OwnedFd); 2]> {
    if !folder.is_dir() {
        DirBuilder::new().mode(0o700).create(folder)?;
    }
    let [first, second] = STREAMS.map(|(name, is_error)| {
        let path = folder.join(format!("{identity}.{name}"));
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let pipe = WorkerPipe { path, is_error };
        let end = open(&pipe.path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        if let Some((uid, gid)) = owner {
            fchown(&end, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        // More room is a convenience.
        let _ = rustix::pipe::fcntl_setpipe_size(&end, CAPACITY);
        io::Result::Ok((pipe, end))
    });
    Ok([first?, second?])
}

/// Takes away the names of pipes that no worker has. A worker's identity is the beginning of its pipes' names.
pub(super) fn remove_others(folder: &Path, identities: &BTreeSet<String>) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        let mut own = STREAMS.iter().filter_map(|(stream, _)| {
            let identity = name.to_str()?.strip_suffix(stream)?;
            identity.strip_suffix('.')
        });
        if own
            .next()
            .is_some_and(|identity| !identities.contains(identity))
        {
            let _ = fs::remove_file(file.path());
        }
    }
}

impl WorkerPipe {
    /// The pipes that a worker got from the host before this one.
    pub(super) fn of(folder: &Path, identity: &str) -> impl Iterator<Item = Self> {
        STREAMS
            .map(|(name, is_error)| Self {
                path: folder.join(format!("{identity}.{name}")),
                is_error,
            })
            .into_iter()
    }

    /// The host's end.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(open(&self.path, flags, Mode::empty())?)
    }

    /// Takes its name away, when its worker has ended.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn output_waits_for_the_next_reader_and_ends_with_its_writer() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("host.workers");
        let [(pipe, writer), _] = make(&folder, "0.1.a", None).unwrap();
        let mut writer = fs::File::from(writer);
        let mut text = [0; 16];
        let mut reader = fs::File::from(pipe.open().unwrap());
        writer.write_all(b"one").unwrap();
        assert_eq!(reader.read(&mut text).unwrap(), 3);
        drop(reader);
        writer.write_all(b"two").unwrap();
        let mut reader = fs::File::from(pipe.open().unwrap());
        drop(writer);
        assert_eq!(reader.read(&mut text).unwrap(), 3);
        assert_eq!(
            (reader.read(&mut text).unwrap(), &text[..3]),
            (0, &b"two"[..])
        );
        pipe.remove();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
