//! `portico logs`: what the workers of an application wrote. The files are read where they lie, so that what was written is
//! there also when the application has stopped.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use portico_host::applications::timestamp;

use crate::{Failed, applications};

/// How often files are looked at for more.
const STEP: Duration = Duration::from_millis(200);
/// Characters of a time as [`timestamp`] writes it.
const TIME_LENGTH: usize = 24;
/// Where programs that write JSON have the time of a line.
const TIME_FIELDS: [&str; 4] = ["time", "timestamp", "@timestamp", "ts"];

/// Arguments of `portico logs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    portico logs shop\n  \
    portico logs shop --since 10m --follow\n  \
    portico logs shop --since 2026-11-22T20:00 | grep ERROR\n\n\
    A line has its time (UTC), slot, process, and `out` or `err`. Lines that are JSON stay as the program wrote them.")]
pub(crate) struct LogsArguments {
    /// Its name
    name: String,
    /// Go on with what is written from now on, until interrupted
    #[arg(long, short)]
    follow: bool,
    /// All lines of the last seconds, minutes, hours or days (30s, 10m, 2h, 1d), or from a time on (UTC)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<String>,
    /// So many lines at most, the last ones [default: 100, or all with --since]
    #[arg(long, short = 'n', value_name = "NUMBER")]
    lines: Option<usize>,
}

/// A line, and when it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    time: String,
    text: Vec<u8>,
}

pub(crate) fn run(socket: Option<&Path>, arguments: &LogsArguments) -> Result<(), Failed> {
    let folder = applications::log_folder(socket, &arguments.name)?;
    let failed = |error: io::Error| unreadable(&folder, &error);
    // From where `--follow` goes on is known before the lines are read: none is missed, and none comes twice.
    let ends = ends(&folder).map_err(failed)?;
    let limit = arguments.lines.unwrap_or(if arguments.since.is_some() {
        usize::MAX
    } else {
        100
    });
    let mut lines = Vec::new();
    for (path, end) in &ends {
        lines.extend(of_slot(path, end.at, arguments.since.as_deref(), limit).map_err(failed)?);
    }
    lines.sort_by(|one, other| one.time.cmp(&other.time));
    let from = lines.len().saturating_sub(limit);
    for line in lines.iter().skip(from) {
        if !print(&line.text)? {
            return Ok(());
        }
    }
    match arguments.follow {
        true => follow(&folder, ends),
        false => Ok(()),
    }
}

/// Shows what is written from now on, until the reader has gone.
fn follow(folder: &Path, mut ends: BTreeMap<PathBuf, End>) -> Result<(), Failed> {
    loop {
        std::thread::sleep(STEP);
        for line in news(folder, &mut ends).map_err(|error| unreadable(folder, &error))? {
            if !print(&line)? {
                return Ok(());
            }
        }
    }
}

fn unreadable(folder: &Path, error: &io::Error) -> Failed {
    let folder = folder.display();
    Failed::new(format!("the logs in {folder} can't be read: {error}"))
}

/// Whether the reader is still there.
fn print(line: &[u8]) -> Result<bool, Failed> {
    let mut out = io::stdout().lock();
    match out.write_all(line).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failed::new(format!(
            "standard output can't be written: {error}"
        ))),
    }
}

/// How far a slot's log has been read.
#[derive(Debug)]
struct End {
    file: File,
    at: u64,
    /// The beginning of a line whose end has not been written.
    begun: Vec<u8>,
}

/// The logs of all slots, each with its end. An application that has written nothing has no folder.
fn ends(folder: &Path) -> io::Result<BTreeMap<PathBuf, End>> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other?,
    };
    let mut found = BTreeMap::new();
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            let mut file = File::open(&path)?;
            let at = file.seek(SeekFrom::End(0))?;
            let begun = Vec::new();
            found.insert(path, End { file, at, begun });
        }
    }
    Ok(found)
}

/// What a slot's log has up to its end, and the ones before it.
fn of_slot(path: &Path, end: u64, since: Option<&str>, limit: usize) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut number = 0;
    loop {
        let file = match number {
            0 => path.to_owned(),
            _ => PathBuf::from(format!("{}.{number}", path.display())),
        };
        let opened = match File::open(&file) {
            Err(error) if number > 0 && error.kind() == io::ErrorKind::NotFound => break,
            other => other?,
        };
        let written = opened.metadata()?.modified()?;
        if since.is_some_and(|since| &*timestamp(written) < since) {
            break;
        }
        let mut text = Vec::new();
        let length = if number == 0 { end } else { u64::MAX };
        opened.take(length).read_to_end(&mut text)?;
        let mut older = split(&text);
        older.append(&mut lines);
        lines = older;
        if lines.len() >= limit {
            break;
        }
        number += 1;
    }
    lines.retain(|line| since.is_none_or(|since| &*line.time >= since));
    let from = lines.len().saturating_sub(limit);
    Ok(lines.split_off(from))
}

/// Lines with their times. One without a time has that of the one before.
fn split(text: &[u8]) -> Vec<Line> {
    let mut time = String::new();
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| {
            if let Some(own) = time_of(line) {
                time = own;
            }
            Line {
                time: time.clone(),
                text: line.to_vec(),
            }
        })
        .collect()
}

fn time_of(line: &[u8]) -> Option<String> {
    if line.starts_with(b"{") {
        let object: serde_json::Value = serde_json::from_slice(line).ok()?;
        let value = TIME_FIELDS.iter().find_map(|name| object.get(name))?;
        if let Some(text) = value.as_str() {
            return is_time(text.as_bytes()).then(|| text.to_owned());
        }
        // In milliseconds, or in seconds.
        let number = value.as_f64()?;
        let seconds = if number > 1e11 {
            number / 1000.0
        } else {
            number
        };
        let since = Duration::try_from_secs_f64(seconds).ok()?;
        return SystemTime::UNIX_EPOCH.checked_add(since).map(timestamp);
    }
    let time = line.get(..TIME_LENGTH).filter(|text| is_time(text))?;
    String::from_utf8(time.to_vec()).ok()
}

/// Whether a text begins as a time does: `2026-11-22T`.
fn is_time(text: &[u8]) -> bool {
    let shape = b"dddd-dd-ddT";
    text.len() >= shape.len()
        && shape.iter().zip(text).all(|(shape, byte)| match shape {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

/// What has been written since, in whole lines, also of slots that are new and of logs that were put behind.
fn news(folder: &Path, all: &mut BTreeMap<PathBuf, End>) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    for (path, end) in &mut *all {
        end.read(&mut lines)?;
        let now = fs::metadata(path).map(|found| found.ino());
        if now.is_ok_and(|inode| end.file.metadata().is_ok_and(|own| own.ino() != inode)) {
            // Something may have come between the two.
            end.read(&mut lines)?;
            end.file = File::open(path)?;
            end.read(&mut lines)?;
        }
    }
    for (path, mut end) in ends(folder)? {
        if let Entry::Vacant(place) = all.entry(path) {
            end.file.seek(SeekFrom::Start(0))?;
            end.read(&mut lines)?;
            place.insert(end);
        }
    }
    Ok(lines)
}

impl End {
    fn read(&mut self, lines: &mut Vec<Vec<u8>>) -> io::Result<()> {
        self.file.read_to_end(&mut self.begun)?;
        let whole = self.begun.iter().rposition(|byte| *byte == b'\n');
        let rest = self.begun.split_off(whole.map_or(0, |at| at + 1));
        let text = std::mem::replace(&mut self.begun, rest);
        lines.extend(
            text.split_inclusive(|byte| *byte == b'\n')
                .map(<[u8]>::to_vec),
        );
        Ok(())
    }
}

/// A time as logs have it, from which on lines are shown.
fn since(text: &str) -> Result<String, String> {
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
    if is_time(format!("{text}T").as_bytes()) || is_time(text.as_bytes()) {
        return Ok(text.to_owned());
    }
    let ago = UNITS.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(*seconds)
    });
    let at = ago.and_then(|seconds| SystemTime::now().checked_sub(Duration::from_secs(seconds)));
    at.map(timestamp).ok_or_else(|| {
        "must be a number with s, m, h or d, such as 10m, or a time such as 2026-11-22T20:00".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_their_own_time_or_that_of_the_one_before() {
        let text = b"2026-11-22T20:11:04.123Z 0:7 out a\n{\"n\":1}\n{\"time\":1795378265000}\n{\"ts\":1795378266.5}\n{\"@timestamp\":\"2026-11-22T21:00:00Z\"}\n";
        let times: Vec<_> = split(text).into_iter().map(|line| line.time).collect();
        assert_eq!(
            times,
            [
                "2026-11-22T20:11:04.123Z",
                "2026-11-22T20:11:04.123Z",
                "2026-11-22T20:11:05.000Z",
                "2026-11-22T20:11:06.500Z",
                "2026-11-22T21:00:00Z"
            ]
        );
    }

    #[test]
    fn the_last_lines_and_those_since_a_time_are_found_over_several_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let line = |second: u32| format!("2026-11-22T20:00:{second:02}.000Z 0:7 out {second}\n");
        let write = |name: &str, seconds: [u32; 2]| {
            fs::write(folder.path().join(name), seconds.map(line).concat()).unwrap();
        };
        write("0.log", [5, 6]);
        write("0.log.1", [3, 4]);
        write("0.log.2", [1, 2]);
        let seconds = |since: Option<&str>, limit: usize| {
            let lines = of_slot(&path, u64::MAX, since, limit).unwrap();
            let text: Vec<_> = lines.into_iter().flat_map(|line| line.text).collect();
            let text = String::from_utf8(text).unwrap();
            let last = text.lines().map(|line| line.rsplit(' ').next().unwrap());
            last.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(seconds(None, 3), "4 5 6");
        assert_eq!(seconds(None, 100), "1 2 3 4 5 6");
        assert_eq!(seconds(Some("2026-11-22T20:00:02"), 100), "2 3 4 5 6");
        assert_eq!(seconds(Some("2026-11-22T20:00:02"), 2), "5 6");
    }

    #[test]
    fn what_is_added_is_found_also_behind_a_rotation_and_in_new_slots() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let add = |name: &str, text: &str| {
            let mut file = File::options()
                .create(true)
                .append(true)
                .open(path(name))
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        add("0.log", "before\n");
        let mut all = ends(folder.path()).unwrap();
        let mut found =
            || String::from_utf8(news(folder.path(), &mut all).unwrap().concat()).unwrap();
        add("0.log", "one\ntw");
        assert_eq!(found(), "one\n");
        add("0.log", "o\nthree\n");
        fs::rename(path("0.log"), path("0.log.1")).unwrap();
        add("0.log", "four\n");
        add("1.log", "five\n");
        assert_eq!(found(), "two\nthree\nfour\nfive\n");
        assert_eq!(found(), "");
    }

    #[test]
    fn a_time_is_one_that_has_passed_or_a_point() {
        assert!(since("10m").unwrap() < timestamp(SystemTime::now()));
        assert_eq!(since("2026-11-22T20:00").unwrap(), "2026-11-22T20:00");
        assert_eq!(since("2026-11-22").unwrap(), "2026-11-22");
        for wrong in ["", "10", "m", "-1s", "yesterday", "99999999999999999999d"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
