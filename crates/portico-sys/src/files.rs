//! Files that others could have put in our way: links, FIFOs without a writer, devices, other users' files, endless
//! ones. Nothing here waits for anything but the disk, and no byte is read or written before the open file has been
//! looked at.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};

use crate::Errno;

/// What a file of ours is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be read; it must be there.
    Read,
    /// To be read and written; made if it is not there, for its user alone.
    Update,
    /// To be written at its end; made if it is not there, for its user alone.
    Append,
    /// To be written; made, for its user alone, and must not be there.
    Create,
}

/// Opens a file that belongs to this process's user or to root, has one name, and can't be written by others. Does not
/// follow a symbolic link. Who is to be kept from replacing it must be kept from writing to its folder.
///
/// # Errors
/// Those of open(2); what is wrong with the file, in words.
pub fn open_own(path: &Path, access: Access) -> io::Result<File> {
    let flags = match access {
        Access::Read => OFlags::RDONLY,
        Access::Update => OFlags::RDWR | OFlags::CREATE,
        Access::Append => OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
        Access::Create => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
    };
    let (file, found) = open_regular(path, flags | OFlags::NOFOLLOW)?;
    let user = rustix::process::geteuid().as_raw();
    let mode = found.st_mode & 0o7777;
    let wrong = if found.st_uid != 0 && found.st_uid != user {
        format!("it belongs to user {}", found.st_uid)
    } else if may_others_write(mode, found.st_uid, found.st_gid) {
        format!("others may write to it (mode {mode:04o}): chmod go-w")
    } else if found.st_nlink > 1 {
        format!("it has {} names (hard links)", found.st_nlink)
    } else {
        return Ok(file);
    };
    Err(refused(wrong))
}

/// Whether others than its owner and root may write to a file or folder. A person's account often has a group of its own
/// (with the account's number), and a `umask` that lets this group write: that is no other user as long as the group has no
/// further members. The groups of services are not taken for that, since other services are members of them. An access
/// control list shows as what it lets a group do.
#[must_use]
pub fn may_others_write(mode: u32, uid: u32, gid: u32) -> bool {
    let may_group = mode & 0o020 != 0 && !(uid == gid && is_private_group(gid));
    mode & 0o002 != 0 || may_group
}

/// Lowest number of a person's account (login.defs, UID_MIN).
const FIRST_PERSON: u32 = 1000;

fn is_private_group(gid: u32) -> bool {
    let groups = || std::fs::read_to_string("/etc/group").unwrap_or_default();
    gid >= FIRST_PERSON && !has_members(&groups(), gid)
}

/// Whether a group has members in the text of /etc/group: besides those whose first group it is.
fn has_members(groups: &str, gid: u32) -> bool {
    let number = gid.to_string();
    groups.lines().any(|line| {
        let mut parts = line.split(':').skip(2);
        parts.next() == Some(&number) && parts.next().is_some_and(|members| !members.is_empty())
    })
}

/// All of a file of at most `limit` bytes, wherever links lead.
///
/// # Errors
/// Those of open(2) and read(2); what is wrong with the file, in words.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path, OFlags::RDONLY)?;
    read_all(file, limit)
}

/// All of an open file of at most `limit` bytes.
///
/// # Errors
/// Those of read(2); that it is larger.
pub fn read_all(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = file.take(limit + 1).read_to_end(&mut bytes)?;
    if u64::try_from(count).unwrap_or(u64::MAX) > limit {
        return Err(refused(format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// Reads into `buffer` from `offset` on, however the file was opened; 0: the file ends there. The file's own position
/// stays as it is.
///
/// # Errors
/// `EIO`, `EINVAL` and others of pread(2).
pub fn read_at(file: impl AsFd, buffer: &mut [u8], offset: u64) -> crate::Result<usize> {
    rustix::io::retry_on_intr(|| rustix::io::pread(&file, &mut *buffer, offset))
}

/// `NONBLOCK`: the open of a FIFO or device does not wait either.
fn open_regular(path: &Path, flags: OFlags) -> io::Result<(File, Stat)> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let descriptor = open(path, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| match errno {
        Errno::LOOP if flags.contains(OFlags::NOFOLLOW) => refused("it is a symbolic link"),
        // A FIFO or a socket.
        Errno::NXIO => refused("it is no regular file"),
        _ => errno.into(),
    })?;
    let found = fstat(descriptor.as_fd())?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(refused("it is no regular file"));
    }
    Ok((File::from(descriptor), found))
}

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::other(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mknodat};
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    const ALL: [Access; 4] = [Access::Read, Access::Update, Access::Append, Access::Create];

    fn folder_with_file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        open_own(&path, Access::Create)
            .unwrap()
            .write_all(b"precious")
            .unwrap();
        (folder, path)
    }

    fn why(path: &Path, access: Access) -> String {
        open_own(path, access).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_made_for_its_user_alone_and_kept_as_it_is() {
        let (_folder, path) = folder_with_file();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        open_own(&path, Access::Update).unwrap();
        open_own(&path, Access::Append)
            .unwrap()
            .write_all(b" more")
            .unwrap();
        let file = open_own(&path, Access::Read).unwrap();
        assert_eq!(read_all(file, 13).unwrap(), b"precious more");
        let again = open_own(&path, Access::Create).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn links_are_not_followed() {
        let (folder, path) = folder_with_file();
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        for access in [Access::Read, Access::Update, Access::Append] {
            assert!(why(&link, access).contains("symbolic link"), "{access:?}");
        }
        assert!(open_own(&link, Access::Create).is_err());
        fs::remove_file(&link).unwrap();
        fs::hard_link(&path, &link).unwrap();
        for access in [Access::Read, Access::Update, Access::Append] {
            assert!(why(&link, access).contains("2 names"), "{access:?}");
        }
        assert_eq!(read(&path, 8).unwrap(), b"precious");
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let (folder, _) = folder_with_file();
        let fifo = folder.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), folder.path()] {
            for access in ALL {
                assert!(open_own(path, access).is_err(), "{path:?} {access:?}");
            }
            assert!(read(path, 1000).is_err(), "{path:?}");
        }
    }

    #[test]
    fn other_users_files_and_those_that_others_may_write_to_are_refused() {
        let (_folder, path) = folder_with_file();
        fs::set_permissions(&path, Permissions::from_mode(0o620)).unwrap();
        assert!(why(&path, Access::Read).contains("mode 0620"));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        open_own(&path, Access::Read).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(10_001), None).unwrap();
            assert!(why(&path, Access::Update).contains("user 10001"));
        }
    }

    #[test]
    fn a_users_own_group_has_no_other_member() {
        for (mode, uid, gid, others) in [
            (0o600, 1000, 1000, false),
            (0o775, 60_123, 60_123, false),
            (0o775, 33, 33, true),
            (0o775, 1000, 100, true),
            (0o775, 0, 0, true),
            (0o757, 1000, 1000, true),
            (0o755, 1000, 100, false),
        ] {
            let row = format!("{mode:o} {uid} {gid}");
            assert_eq!(may_others_write(mode, uid, gid), others, "{row}");
        }
    }

    #[test]
    fn a_group_with_members_is_not_one_users_own() {
        let groups = "root:x:0:\nada:x:1000:\ngrace:x:1001:alan\n";
        for (gid, members) in [(1000, false), (1001, true), (1002, false), (100, false)] {
            assert_eq!(has_members(groups, gid), members, "{gid}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read_to_its_end() {
        let (folder, path) = folder_with_file();
        assert_eq!(read(&path, 8).unwrap(), b"precious");
        assert!(read(&path, 7).unwrap_err().to_string().contains("7 bytes"));
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(read(&link, 8).unwrap(), b"precious");
    }
}
