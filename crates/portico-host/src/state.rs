//! Reservations and certificates made at run time, in a file that outlives the host.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use portico_locate::folder::{self, Owners};
use portico_sys::files::{self, Access};
use serde::{Deserialize, Serialize};

use crate::protocol::{CertificateRecord, ReservationRecord};
use crate::{Failure, code};

const FILE: &str = "state.json";
const VERSION: u32 = 1;
/// Bytes of the file, at most.
const MAX_BYTES: u64 = 64 << 20;

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// Reservations made by `portico reserve add`.
    #[serde(default)]
    pub reservations: Vec<ReservationRecord>,
    /// Certificates added by `portico cert add`.
    #[serde(default)]
    pub certificates: Vec<CertificateRecord>,
}

/// The file.
#[derive(Clone, Debug)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The file in this folder. Nothing is touched yet.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            path: folder.join(FILE),
        }
    }

    /// Reads the file; none is an empty state. Blocks on the disk.
    ///
    /// # Errors
    /// The file is there and can't be read or understood. It stays as it is, for a person to decide: without it,
    /// prefixes that it reserves would be open to all.
    pub fn load(&self) -> Result<State, Failure> {
        let failed = |error: &dyn Display| self.failed("can't be read", error);
        match folder::check(folder::of(&self.path), Owners::UsAndRoot) {
            Err(error) if error.is_missing() => return Ok(State::default()),
            checked => checked.map_err(|error| failed(&error))?,
        };
        let bytes = match files::open_own(&self.path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::default()),
            opened => opened.and_then(|file| files::read_all(file, MAX_BYTES)),
        };
        let bytes = bytes.map_err(|error| failed(&error))?;
        let problem = match serde_json::from_slice::<State>(&bytes) {
            Ok(state) if state.version == VERSION => return Ok(state),
            Ok(state) => format!(
                "it has version {}, and this program knows {VERSION}",
                state.version
            ),
            Err(error) => error.to_string(),
        };
        let text = format!(
            "the state file {} can't be understood ({problem}). It holds reservations and certificates: correct it, or move it \
             away and add them again; then start the host again",
            self.path.display()
        );
        Err(Failure::new(code::STATE, text))
    }

    /// Writes the file, whole or not at all. Blocks until the disk has it.
    ///
    /// # Errors
    /// The folder or the file can't be written: the old one is as it was.
    pub fn save(&self, state: &State) -> Result<(), Failure> {
        self.write(state)
            .map_err(|error| self.failed("can't be written", &error))
    }

    fn write(&self, state: &State) -> io::Result<()> {
        let folder = folder::of(&self.path);
        folder::make(folder, 0o700).map_err(io::Error::other)?;
        let state = State {
            version: VERSION,
            ..state.clone()
        };
        let mut bytes = serde_json::to_vec_pretty(&state)?;
        bytes.push(b'\n');
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_BYTES {
            return Err(io::Error::other(format!(
                "it would have more than {MAX_BYTES} bytes"
            )));
        }
        let new = self.path.with_extension("json.new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = files::open_own(&new, Access::Create)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        File::open(folder)?.sync_all()
    }

    fn failed(&self, what: &str, error: &dyn Display) -> Failure {
        Failure::system(
            &format!("the state file {} {what}", self.path.display()),
            error,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_loaded_and_a_missing_file_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(&folder.path().join("deep/er"));
        assert_eq!(file.load().unwrap(), State::default());
        let mut state = State::default();
        state.reservations.push(ReservationRecord {
            prefix: "http://+:80/".into(),
            users: vec!["ann".into()],
            ..ReservationRecord::default()
        });
        file.save(&state).unwrap();
        assert_eq!(file.load().unwrap().reservations, state.reservations);
    }

    #[test]
    fn a_broken_file_stops_the_start_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(folder.path());
        for text in ["{", r#"{"version":9}"#] {
            fs::write(&file.path, text).unwrap();
            let failure = file.load().unwrap_err();
            assert!(failure.message.contains("can't be understood"), "{failure}");
            assert_eq!(fs::read_to_string(&file.path).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_file_of_ours_is_neither_waited_for_nor_believed() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(folder.path());
        let fails = |part: &str| {
            let failure = file.load().unwrap_err();
            assert!(failure.message.contains(part), "{failure}");
            fs::remove_file(&file.path).unwrap();
        };
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &file.path, fifo, mode, 0).unwrap();
        fails("no regular file");
        std::os::unix::fs::symlink("/dev/zero", &file.path).unwrap();
        fails("symbolic link");
        File::create(&file.path)
            .unwrap()
            .set_len(MAX_BYTES + 1)
            .unwrap();
        fails("more than");
        // In the way of the next one; removed, not followed.
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join("state.json.new")).unwrap();
        file.save(&State::default()).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        file.load().unwrap();
    }

    #[test]
    fn a_state_may_have_its_limit_and_not_a_byte_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(folder.path());
        let with_prefix_of = |bytes: u64| {
            let mut state = State::default();
            state.reservations.push(ReservationRecord {
                prefix: "x".repeat(usize::try_from(bytes).unwrap()),
                ..ReservationRecord::default()
            });
            state
        };
        let size = || fs::metadata(&file.path).unwrap().len();
        file.save(&with_prefix_of(0)).unwrap();
        let room = MAX_BYTES - size();
        file.save(&with_prefix_of(room)).unwrap();
        assert_eq!(size(), MAX_BYTES);
        let failure = file.save(&with_prefix_of(room + 1)).unwrap_err();
        assert!(failure.message.contains("more than"), "{failure}");
        // The old one is as it was.
        let loaded = file.load().unwrap();
        assert_eq!(loaded.reservations, with_prefix_of(room).reservations);
    }
}
