//! Folders: who could have put something into them.

use std::fmt;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use portico_sys::files::may_others_write;

use crate::{NamedBy, effective_user};

/// A folder that only its user, root and whoever is named here can put anything into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Its path without symbolic links.
    pub path: PathBuf,
    /// The one user beside this one and root whom it, or a folder above it, belongs to.
    pub other_user: Option<u32>,
}

/// Whether folders may belong to another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// To this user and root only.
    UsAndRoot,
    /// To one more user, whom root has given one of its folders.
    OneMore,
}

/// Why a folder is not safe.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// It can't be looked at, or made.
    System {
        /// Which.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no folder.
    NotAFolder {
        /// What.
        path: PathBuf,
    },
    /// Another user owns it, or a folder above it.
    Owner {
        /// Which.
        folder: PathBuf,
        /// Its owner.
        uid: u32,
        /// What led there, if that is known.
        named_by: Option<NamedBy>,
    },
    /// Others may write to it, or to a folder above it.
    Writable {
        /// Which.
        folder: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// Looks at a folder and all above it.
///
/// # Errors
/// [`FolderError`].
pub fn check(folder: &Path, owners: Owners) -> Result<Checked, FolderError> {
    let failed = |folder: &Path, error| FolderError::System {
        folder: folder.to_owned(),
        error,
    };
    let path = fs::canonicalize(folder).map_err(|error| failed(folder, error))?;
    let mut way = Way::new(owners);
    let mut above = PathBuf::new();
    let last = path.components().count();
    for (index, component) in path.components().enumerate() {
        above.push(component);
        let found = fs::symlink_metadata(&above).map_err(|error| failed(&above, error))?;
        way.pass(&above, &found, index + 1 == last)?;
    }
    Ok(Checked {
        path,
        other_user: way.other_user,
    })
}

/// Makes a folder, and those above it that are missing, and looks at it as [`check`] does. New ones get this mode.
///
/// # Errors
/// [`FolderError`].
pub fn make(folder: &Path, mode: u32) -> Result<Checked, FolderError> {
    // What is there is looked at first: nothing is made in another user's folder.
    let there = folder.ancestors().find(|path| path.exists());
    let there = there.unwrap_or(Path::new("."));
    if let Err(error) = check(there, Owners::UsAndRoot) {
        // Fit to go through, not to end in.
        let is_sticky = matches!(error, FolderError::Writable { mode, .. } if mode & STICKY != 0);
        if there == folder || !is_sticky {
            return Err(error);
        }
    }
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(folder)
        .map_err(|error| FolderError::System {
            folder: folder.to_owned(),
            error,
        })?;
    check(folder, Owners::UsAndRoot)
}

/// The folder of a socket or file; the current one for a bare name.
#[must_use]
pub fn of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new(Component::CurDir.as_os_str()),
        Some(folder) => folder,
        None => Path::new("/"),
    }
}

const STICKY: u32 = 0o1000;

/// The way down from the root.
struct Way {
    owners: Owners,
    user: u32,
    /// Who owns the root folder. In a namespace of users this may be a number that stands for all users outside, root
    /// among them.
    root: u32,
    /// All may write to the folder above; what they put there is theirs.
    in_sticky: bool,
    other_user: Option<u32>,
}

impl Way {
    fn new(owners: Owners) -> Self {
        Self {
            owners,
            user: effective_user(),
            root: 0,
            in_sticky: false,
            other_user: None,
        }
    }

    fn pass(&mut self, folder: &Path, found: &Metadata, is_last: bool) -> Result<(), FolderError> {
        if !found.is_dir() {
            return Err(FolderError::NotAFolder {
                path: folder.to_owned(),
            });
        }
        let uid = found.uid();
        if folder.parent().is_none() {
            self.root = uid;
        }
        let trusted = uid == 0 || uid == self.user || uid == self.root && !self.in_sticky;
        if !trusted && !self.may_be_others(uid) {
            return Err(FolderError::Owner {
                folder: folder.to_owned(),
                uid,
                named_by: None,
            });
        }
        if !trusted {
            self.other_user = Some(uid);
        }
        let mode = found.mode() & 0o7777;
        self.in_sticky = may_others_write(mode, uid, found.gid());
        if self.in_sticky && (is_last || mode & STICKY == 0) {
            return Err(FolderError::Writable {
                folder: folder.to_owned(),
                mode,
            });
        }
        Ok(())
    }

    fn may_be_others(&self, uid: u32) -> bool {
        self.owners == Owners::OneMore
            && !self.in_sticky
            && self.other_user.is_none_or(|other| other == uid)
    }
}

impl FolderError {
    /// Says what led to the folder.
    pub(crate) fn named_by(mut self, by: NamedBy) -> Self {
        if let Self::Owner { named_by, .. } = &mut self {
            *named_by = Some(by);
        }
        self
    }

    /// Whether it is just not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.is(io::ErrorKind::NotFound)
    }

    /// Whether this user may not look at it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.is(io::ErrorKind::PermissionDenied)
    }

    fn is(&self, kind: io::ErrorKind) -> bool {
        matches!(self, Self::System { error, .. } if error.kind() == kind)
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = effective_user();
        match self {
            Self::System { folder, error } => {
                write!(
                    out,
                    "the folder {} can't be used: {error}",
                    folder.display()
                )
            }
            Self::NotAFolder { path } => write!(out, "{} is no folder", path.display()),
            Self::Owner {
                folder,
                uid,
                named_by,
            } => {
                let advice = match named_by {
                    Some(NamedBy::Runtime) => {
                        "XDG_RUNTIME_DIR is another user's (su and sudo may keep it): unset it"
                    }
                    Some(_) => {
                        "remove it if it should not be there, or name a socket in another folder (PORTICO_HOST)"
                    }
                    None => "remove it if it should not be there, or name another folder",
                };
                write!(
                    out,
                    "the folder {} belongs to user {uid}, who could replace what user {user} has there: {advice}",
                    folder.display()
                )
            }
            Self::Writable { folder, mode } => write!(
                out,
                "the folder {} (mode {mode:04o}) is not safe: others may write to it, and could replace what is there; take \
                 that right away (chmod go-w), or name another folder",
                folder.display()
            ),
        }
    }
}

impl std::error::Error for FolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { error, .. } => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    const STRANGER: u32 = 10_001;
    const OTHER_STRANGER: u32 = 10_002;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// A folder of its own with `a/b` in it.
    fn folders() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        for path in below.ancestors().take(2) {
            set_mode(path, 0o755);
        }
        (top, below)
    }

    #[test]
    fn only_its_owner_and_root_may_write_to_a_folder_or_to_one_above_it() {
        let (top, below) = folders();
        assert_eq!(check(&below, Owners::UsAndRoot).unwrap().other_user, None);
        for mode in [0o777, 0o775, 0o757] {
            for at in [below.clone(), top.path().join("a")] {
                set_mode(&at, mode);
                let error = check(&below, Owners::UsAndRoot).unwrap_err();
                assert!(
                    matches!(&error, FolderError::Writable { folder, .. } if *folder == at.canonicalize().unwrap()),
                    "{error}"
                );
                set_mode(&at, 0o755);
            }
        }
    }

    #[test]
    fn a_sticky_folder_may_be_above_what_is_ours_and_not_the_last() {
        let (top, below) = folders();
        set_mode(&top.path().join("a"), 0o1777);
        check(&below, Owners::UsAndRoot).unwrap();
        let error = check(&top.path().join("a"), Owners::UsAndRoot).unwrap_err();
        assert!(matches!(error, FolderError::Writable { mode: 0o1777, .. }));
    }

    #[test]
    fn a_strangers_folder_is_refused_but_one_that_root_gave_away_may_be_allowed() {
        if !geteuid().is_root() {
            return; // Only root can give a folder away.
        }
        let (top, below) = folders();
        let above = top.path().join("a");
        chown(&below, Some(STRANGER), None).unwrap();
        let error = check(&below, Owners::UsAndRoot).unwrap_err();
        assert!(
            matches!(error, FolderError::Owner { uid: STRANGER, .. }),
            "{error}"
        );
        let checked = check(&below, Owners::OneMore).unwrap();
        assert_eq!(checked.other_user, Some(STRANGER));
        // Not by a folder that every user may write to: there they made it themselves.
        set_mode(&above, 0o1777);
        assert!(check(&below, Owners::OneMore).is_err());
        set_mode(&above, 0o755);
        // Not two of them.
        chown(&above, Some(OTHER_STRANGER), None).unwrap();
        assert!(check(&below, Owners::OneMore).is_err());
    }

    #[test]
    fn links_are_followed_to_what_they_name() {
        let (top, below) = folders();
        let link = top.path().join("link");
        symlink(&below, &link).unwrap();
        let checked = check(&link, Owners::UsAndRoot).unwrap();
        assert_eq!(checked.path, below.canonicalize().unwrap());
        symlink("/tmp", top.path().join("tmp")).unwrap();
        let error = check(&top.path().join("tmp"), Owners::UsAndRoot).unwrap_err();
        assert!(matches!(error, FolderError::Writable { .. }), "{error}");
    }

    #[test]
    fn folders_are_made_only_in_safe_ones() {
        let (top, below) = folders();
        let new = below.join("c/d");
        make(&new, 0o700).unwrap();
        let mode = fs::metadata(&new).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        set_mode(&top.path().join("a"), 0o777);
        assert!(make(&below.join("e"), 0o700).is_err());
        assert!(!below.join("e").exists());
        // As in /tmp.
        set_mode(&top.path().join("a"), 0o1777);
        make(&top.path().join("a/f"), 0o700).unwrap();
        fs::write(below.join("file"), "").unwrap();
        assert!(make(&below.join("file"), 0o700).is_err());
    }
}
