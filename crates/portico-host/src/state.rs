//! Reservations and certificates made at run time, in a file that outlives the host.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::protocol::{CertificateRecord, ReservationRecord};

const FILE: &str = "state.json";
const VERSION: u32 = 1;

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

    /// Reads the file. One that can't be understood is put aside under another name, which is returned with the
    /// reason, and the state is empty.
    ///
    /// # Errors
    /// The file is there and can't be read or put aside.
    pub fn load(&self) -> Result<(State, Option<String>), Failure> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((State::default(), None));
            }
            Err(error) => return Err(self.failed("can't be read", &error)),
        };
        let problem = match serde_json::from_slice::<State>(&bytes) {
            Ok(state) if state.version == VERSION => return Ok((state, None)),
            Ok(state) => format!(
                "it has version {}, and this program knows {VERSION}",
                state.version
            ),
            Err(error) => error.to_string(),
        };
        let aside = self.aside();
        fs::rename(&self.path, &aside)
            .map_err(|error| self.failed("can't be put aside", &error))?;
        let told = format!(
            "the state file {} can't be understood ({problem}); it was kept as {}, and the reservations and certificates \
             in it are not in force: correct it, put it back and start the host again, or add them again",
            self.path.display(),
            aside.display()
        );
        Ok((State::default(), Some(told)))
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
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let state = State {
            version: VERSION,
            ..state.clone()
        };
        let mut bytes = serde_json::to_vec_pretty(&state)?;
        bytes.push(b'\n');
        let new = self.path.with_extension("json.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        File::open(folder)?.sync_all()
    }

    fn aside(&self) -> PathBuf {
        let free = |number: &u32| !self.numbered(*number).exists();
        self.numbered((1..).find(free).unwrap_or(u32::MAX))
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.path.with_extension(format!("json.broken-{number}"))
    }

    fn failed(&self, what: &str, error: &io::Error) -> Failure {
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
        assert_eq!(file.load().unwrap(), (State::default(), None));
        let mut state = State::default();
        state.reservations.push(ReservationRecord {
            prefix: "http://+:80/".into(),
            users: vec!["ann".into()],
            ..ReservationRecord::default()
        });
        file.save(&state).unwrap();
        assert_eq!(file.load().unwrap().0.reservations, state.reservations);
    }

    #[test]
    fn a_broken_file_is_kept_aside_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = StateFile::in_folder(folder.path());
        for (number, text) in ["{", r#"{"version":9}"#].into_iter().enumerate() {
            fs::write(&file.path, text).unwrap();
            let (state, told) = file.load().unwrap();
            assert_eq!(state, State::default());
            let kept = folder
                .path()
                .join(format!("state.json.broken-{}", number + 1));
            assert_eq!(fs::read_to_string(&kept).unwrap(), text);
            assert!(told.unwrap().contains(&kept.display().to_string()));
            assert!(!file.path.exists());
        }
    }
}
