//! What a host writes down of its workers, for the host that comes after it: at an upgrade, or when this one is killed. The
//! file lies beside the workers' pipes, and goes when all of them have ended.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use portico_supervisor::Phase;
use portico_sys::files::{self, Access};
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;
const FILE: &str = "record.json";
/// Room for the workers of a thousand applications.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// All applications of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    /// Which start of the machine it is of: process numbers mean nothing in another one.
    boot: String,
    pub(super) applications: BTreeMap<String, ApplicationRecord>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ApplicationRecord {
    /// `Specification::start_number` of its workers.
    pub(super) start: u64,
    pub(super) is_stopped: bool,
    /// Workers that it is to have, and that the configuration said.
    pub(super) instances: (u32, u32),
    pub(super) failures: u64,
    pub(super) workers: Vec<LifeRecord>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LifeRecord {
    pub(super) worker: u64,
    pub(super) slot: u32,
    pub(super) identity: String,
    pub(super) pid: i32,
    /// `Process::start_time`.
    pub(super) start_time: u64,
    /// Milliseconds since 1970.
    pub(super) started: u64,
    pub(super) ready_after_ms: Option<u64>,
    pub(super) state: State,
    pub(super) is_outdated: bool,
    pub(super) requests: u64,
}

/// Where it is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Starting,
    Ready,
    Draining,
    Stopping,
    Killed,
}

impl From<Phase> for State {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Starting => Self::Starting,
            Phase::Ready => Self::Ready,
            Phase::Draining => Self::Draining,
            Phase::Stopping => Self::Stopping,
            Phase::Killed => Self::Killed,
        }
    }
}

impl From<State> for Phase {
    fn from(state: State) -> Self {
        match state {
            State::Starting => Self::Starting,
            State::Ready => Self::Ready,
            State::Draining => Self::Draining,
            State::Stopping => Self::Stopping,
            State::Killed => Self::Killed,
        }
    }
}

impl Record {
    pub(super) fn new(applications: BTreeMap<String, ApplicationRecord>) -> Self {
        Self {
            version: VERSION,
            boot: boot(),
            applications,
        }
    }

    /// What the host before has left in this folder. Nothing, if that was before the machine's last start.
    ///
    /// # Errors
    /// There is something, and it can't be used.
    pub(super) fn load(folder: &Path) -> io::Result<Self> {
        let file = match files::open_own(&path(folder), Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            other => other?,
        };
        let mut text = Vec::new();
        file.take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
        let record: Self = serde_json::from_slice(&text)?;
        if record.version != VERSION {
            let text = format!("it is of version {}, not {VERSION}", record.version);
            return Err(io::Error::other(text));
        }
        if record.boot != boot() {
            return Ok(Self::default());
        }
        Ok(record)
    }

    /// Writes it, in one step. Without applications: takes it away.
    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        let path = path(folder);
        if self.applications.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if !folder.is_dir() {
            DirBuilder::new().mode(0o700).create(folder)?;
        }
        let new = path.with_extension("new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = files::open_own(&new, Access::Create)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(new, path)
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The number that Linux gives to each start of the machine.
fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_of_another_start_of_the_machine_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("host.workers");
        assert_eq!(Record::load(&folder).unwrap(), Record::default());
        let worker = LifeRecord {
            worker: 7,
            slot: 1,
            identity: "1.7.ab".into(),
            pid: 123,
            start_time: 456,
            started: 789,
            ready_after_ms: Some(5),
            state: State::Ready,
            is_outdated: true,
            requests: 9,
        };
        let application = ApplicationRecord {
            start: 1,
            is_stopped: false,
            instances: (3, 2),
            failures: 4,
            workers: vec![worker],
        };
        let mut record = Record::new(BTreeMap::from([("app".to_owned(), application)]));
        record.save(&folder).unwrap();
        assert_eq!(Record::load(&folder).unwrap(), record);
        record.boot = "another".into();
        record.save(&folder).unwrap();
        assert_eq!(Record::load(&folder).unwrap(), Record::default());
        record.version = 9;
        record.save(&folder).unwrap();
        let error = Record::load(&folder).unwrap_err().to_string();
        assert!(error.contains("version 9"), "{error}");
        record.applications.clear();
        record.save(&folder).unwrap();
        assert_eq!(Record::load(&folder).unwrap(), Record::default());
    }

    #[test]
    fn a_record_of_more_than_its_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = vec![b' '; usize::try_from(MAX_RECORD_BYTES).unwrap() + 2];
        fs::write(path(folder.path()), text).unwrap();
        assert!(Record::load(folder.path()).is_err());
    }
}
