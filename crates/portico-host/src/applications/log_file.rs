//! The log of one slot of an application: `SLOT.log`, with `SLOT.log.1`, `.2` and so on before it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::IgnoredAny;

use crate::applications::specification::LogLimits;

/// How often it is looked whether files are too old.
const LOOK_EVERY: Duration = Duration::from_secs(600);
const SECONDS_OF_A_DAY: u64 = 86_400;

/// An open log.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    limits: LogLimits,
    file: File,
    bytes: u64,
    looked: Instant,
}

impl LogFile {
    /// Opens it to add lines. Makes its folder.
    pub(super) fn open(folder: &Path, slot: u32, limits: LogLimits) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(folder)?;
        let path = folder.join(format!("{slot}.log"));
        let file = append(&path)?;
        let log = Self {
            bytes: file.metadata()?.len(),
            path,
            limits,
            file,
            looked: Instant::now(),
        };
        log.remove_old();
        Ok(log)
    }

    /// Adds a line, in one piece. Where it does not fit, the file is put behind first.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let added = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.bytes > 0 && self.bytes.saturating_add(added) > self.limits.max_bytes {
            self.rotate()?;
        } else if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.remove_old();
        }
        self.file.write_all(line)?;
        self.bytes += added;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let kept = self.limits.files;
        for number in (1..kept).rev() {
            // There may be fewer.
            let _ = fs::rename(self.numbered(number), self.numbered(number + 1));
        }
        if kept == 0 {
            fs::remove_file(&self.path)?;
        } else {
            fs::rename(&self.path, self.numbered(1))?;
        }
        self.remove_old();
        self.file = append(&self.path)?;
        self.bytes = 0;
        Ok(())
    }

    /// Files beyond the number, and those whose last line is too old.
    fn remove_old(&self) {
        let now = SystemTime::now();
        let folder = self.path.parent().map(fs::read_dir);
        for file in folder.into_iter().flatten().flatten().flatten() {
            let path = file.path();
            let Some(number) = self.number_of(&path) else {
                continue;
            };
            let written = file.metadata().and_then(|found| found.modified());
            let age = written.ok().and_then(|at| now.duration_since(at).ok());
            let is_old = age.is_some_and(|age| age > self.limits.max_age);
            if number > self.limits.files || is_old {
                // Another attempt follows.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn number_of(&self, path: &Path) -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        let own = self.path.file_name()?.to_str()?;
        name.strip_prefix(own)?.strip_prefix('.')?.parse().ok()
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true).mode(0o640).open(path)
}

/// A line as it is written: with the time and the worker before it. One that is a JSON object stays as it is, for those who
/// read it.
pub(super) fn format(at: SystemTime, worker: &str, line: &[u8]) -> Vec<u8> {
    let text = line.trim_ascii();
    let is_object = text.starts_with(b"{") && text.ends_with(b"}");
    if is_object && serde_json::from_slice::<IgnoredAny>(text).is_ok() {
        return line.to_vec();
    }
    let mut whole = format!("{} {worker} ", timestamp(at)).into_bytes();
    whole.extend_from_slice(line);
    whole
}

/// A time as logs have it, in UTC: `2026-11-22T20:11:04.123Z`. Later times sort behind.
#[must_use]
pub fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (
        since.as_secs() / SECONDS_OF_A_DAY,
        since.as_secs() % SECONDS_OF_A_DAY,
    );
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let milliseconds = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// Year, month and day of a number of days since 1970. Years are counted from March on, so that the day of a leap year is
/// the last one.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    let days = days + FROM_MARCH_OF_YEAR_0;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> LogLimits {
        LogLimits {
            max_bytes: 10,
            max_age: Duration::from_secs(3600),
            files: 2,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_full_file_is_put_behind_and_so_many_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("app");
        let mut log = LogFile::open(&folder, 3, limits()).unwrap();
        for number in 0..8 {
            log.write(format!("{number}234\n").as_bytes()).unwrap();
        }
        assert_eq!(names(&folder), ["3.log", "3.log.1", "3.log.2"]);
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text("3.log"), "6234\n7234\n");
        assert_eq!(text("3.log.2"), "2234\n3234\n");
        // It goes on where it was, and a line is never cut.
        let mut log = LogFile::open(&folder, 3, limits()).unwrap();
        log.write(b"a line that is longer than a file\n").unwrap();
        assert_eq!(text("3.log.1"), "6234\n7234\n");
        assert_eq!(text("3.log"), "a line that is longer than a file\n");
        // Other slots are not its own.
        assert_eq!(log.number_of(&folder.join("33.log.1")), None);
    }

    #[test]
    fn files_go_when_their_last_line_is_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("0.log.1");
        fs::write(&old, "old\n").unwrap();
        fs::write(folder.path().join("0.log.2"), "newer\n").unwrap();
        let at = SystemTime::now() - Duration::from_secs(3700);
        File::options()
            .write(true)
            .open(&old)
            .unwrap()
            .set_modified(at)
            .unwrap();
        LogFile::open(folder.path(), 0, limits()).unwrap();
        assert_eq!(names(folder.path()), ["0.log", "0.log.2"]);
    }

    #[test]
    fn lines_get_time_and_worker_and_json_stays_as_it_is() {
        let at = UNIX_EPOCH + Duration::from_millis(1_795_378_264_123);
        let format =
            |line: &str| String::from_utf8(format(at, "0:7 out", line.as_bytes())).unwrap();
        assert_eq!(
            format("hello\n"),
            "2026-11-22T20:11:04.123Z 0:7 out hello\n"
        );
        assert_eq!(format("{\"a\": [1]}\n"), "{\"a\": [1]}\n");
        for text in ["{ a: 1 }\n", "{}{}\n", "[1]\n", "{\n"] {
            assert!(format(text).ends_with(&format!(" out {text}")), "{text}");
        }
    }

    #[test]
    fn days_are_counted_with_leap_years() {
        for (days, expected) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_453, (2025, 12, 31)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
