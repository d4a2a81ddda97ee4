//! What workers write: read by tasks of the control side, written by a thread of its own, since a terminal or a disk may
//! let its writer wait. A worker whose lines are not written soon enough waits at its pipe.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver as Pipe;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{oneshot, watch};

use crate::applications::log_file::{self, LogFile};
use crate::applications::specification::LogLimits;

/// Lines that wait to be written.
const WAITING_LINES: usize = 256;
/// Bytes of a line; a longer one goes on in the next.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Lines of a worker's output that are kept to say why it ended.
const MAX_KEPT_LINES: usize = 40;
/// Bytes of each of them.
const MAX_KEPT_BYTES: usize = 1000;
const READ_BYTES: usize = 16 * 1024;

/// Colours of the terminal for the slots, by their numbers in SGR.
const COLOURS: [u8; 6] = [36, 33, 32, 35, 34, 31];

/// The last lines that a worker wrote.
pub(super) type LastLines = Rc<RefCell<VecDeque<String>>>;

/// Whom lines are from, and where they go.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) slot: u32,
    pub(super) is_error: bool,
    /// `None`: to the host's own standard output and error.
    pub(super) log: Option<LogTarget>,
}

/// The log of a slot.
#[derive(Clone, Debug)]
pub(super) struct LogTarget {
    /// Of the application's logs.
    pub(super) folder: PathBuf,
    pub(super) limits: LogLimits,
    /// What stands before each line, behind the time: slot, process and stream.
    pub(super) worker: String,
}

/// What the thread is to do.
#[derive(Debug)]
enum Work {
    Write(Arc<Source>, Vec<u8>),
    /// Say when all that came before has been written.
    Flush(oneshot::Sender<()>),
}

/// The thread that writes.
#[derive(Clone, Debug)]
pub(super) struct Writer(Sender<Work>);

impl Writer {
    /// Starts the thread, which ends when the last writer and the last reading task have gone.
    pub(super) fn start() -> io::Result<Self> {
        let (sender, receiver) = channel(WAITING_LINES);
        std::thread::Builder::new()
            .name("portico-output".into())
            .spawn(move || write_all(receiver))?;
        Ok(Self(sender))
    }

    /// Reads a pipe to its end, or until `stop` says so.
    pub(super) async fn copy(
        self,
        pipe: OwnedFd,
        source: Source,
        last: LastLines,
        mut stop: watch::Receiver<bool>,
    ) {
        let Ok(mut pipe) = Pipe::from_owned_fd(pipe) else {
            return;
        };
        let source = Arc::new(source);
        let mut lines = Lines::default();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = tokio::select! {
                count = pipe.read(&mut buffer) => count.unwrap_or(0),
                _ = stop.wait_for(|stop| *stop) => 0,
            };
            lines.push(buffer.get(..count).unwrap_or_default());
            while let Some(line) = lines.next(count == 0) {
                keep(&last, &line);
                // The thread ends with the process only.
                let _ = self.0.send(Work::Write(Arc::clone(&source), line)).await;
            }
            if count == 0 {
                return;
            }
        }
    }

    /// Waits until all that was read has been written.
    pub(super) async fn flush(self) {
        let (done, written) = oneshot::channel();
        if self.0.send(Work::Flush(done)).await.is_ok() {
            let _ = written.await;
        }
    }
}

fn keep(last: &LastLines, line: &[u8]) {
    let mut last = last.borrow_mut();
    if last.len() >= MAX_KEPT_LINES {
        last.pop_front();
    }
    let kept = line.get(..MAX_KEPT_BYTES).unwrap_or(line);
    last.push_back(String::from_utf8_lossy(kept).trim_end().to_owned());
}

/// Bytes that become lines.
#[derive(Debug, Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next line, with its end; at the end of all the rest, too.
    fn next(&mut self, is_end: bool) -> Option<Vec<u8>> {
        let end = self.0.iter().position(|byte| *byte == b'\n');
        let length = match end {
            Some(end) => end + 1,
            None if self.0.len() >= MAX_LINE_BYTES || is_end && !self.0.is_empty() => self.0.len(),
            None => return None,
        };
        let rest = self.0.split_off(length);
        let mut line = std::mem::replace(&mut self.0, rest);
        if end.is_none() {
            line.push(b'\n');
        }
        Some(line)
    }
}

fn write_all(mut work: Receiver<Work>) {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (output, error) = (io::stdout(), io::stderr());
    let coloured = (
        output.is_terminal() && !no_colour,
        error.is_terminal() && !no_colour,
    );
    let mut logs = Logs::default();
    while let Some(work) = work.blocking_recv() {
        let (source, line) = match work {
            Work::Write(source, line) => (source, line),
            Work::Flush(done) => {
                // Whoever asked may have stopped to wait.
                let _ = done.send(());
                continue;
            }
        };
        if let Some(target) = &source.log {
            logs.write(source.slot, target, &line);
            continue;
        }
        // A reader that has gone is the user's choice; the workers go on.
        let _ = if source.is_error {
            write_line(&mut error.lock(), coloured.1, source.slot, &line)
        } else {
            write_line(&mut output.lock(), coloured.0, source.slot, &line)
        };
    }
}

/// The logs that are open.
#[derive(Default)]
struct Logs {
    open: BTreeMap<(PathBuf, u32), (LogLimits, LogFile)>,
    /// Whether the last line could not be written: that is told once.
    has_failed: bool,
}

impl Logs {
    fn write(&mut self, slot: u32, target: &LogTarget, line: &[u8]) {
        match self.try_write(slot, target, line) {
            Ok(()) => self.has_failed = false,
            Err(error) => {
                self.open.remove(&(target.folder.clone(), slot));
                if !std::mem::replace(&mut self.has_failed, true) {
                    let folder = target.folder.display();
                    tracing::error!(
                        "the log of slot {slot} in {folder} can't be written: {error}; lines are lost until it can"
                    );
                }
            }
        }
    }

    fn try_write(&mut self, slot: u32, target: &LogTarget, line: &[u8]) -> io::Result<()> {
        let line = log_file::format(SystemTime::now(), &target.worker, line);
        let key = (target.folder.clone(), slot);
        if let Some((limits, log)) = self.open.get_mut(&key)
            && *limits == target.limits
        {
            return log.write(&line);
        }
        let mut log = LogFile::open(&target.folder, slot, target.limits)?;
        log.write(&line)?;
        self.open.insert(key, (target.limits, log));
        Ok(())
    }
}

fn write_line(out: &mut impl Write, coloured: bool, slot: u32, line: &[u8]) -> io::Result<()> {
    let mut text = Vec::with_capacity(line.len() + 16);
    if coloured {
        let number = usize::try_from(slot).unwrap_or(0) % COLOURS.len();
        let colour = COLOURS.get(number).copied().unwrap_or(0);
        write!(text, "\x1b[{colour}m{slot} |\x1b[0m ")?;
    } else {
        write!(text, "{slot} | ")?;
    }
    text.extend_from_slice(line);
    out.write_all(&text)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_lines_and_the_rest_ends_with_the_pipe() {
        let mut lines = Lines::default();
        lines.push(b"one\ntw");
        assert_eq!(lines.next(false).as_deref(), Some(&b"one\n"[..]));
        assert_eq!(lines.next(false), None);
        lines.push(b"o\n\nrest");
        assert_eq!(lines.next(false).as_deref(), Some(&b"two\n"[..]));
        assert_eq!(lines.next(false).as_deref(), Some(&b"\n"[..]));
        assert_eq!(lines.next(false), None);
        assert_eq!(lines.next(true).as_deref(), Some(&b"rest\n"[..]));
        assert_eq!(lines.next(true), None);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; MAX_LINE_BYTES]);
        assert_eq!(
            lines.next(false).map(|line| line.len()),
            Some(MAX_LINE_BYTES + 1)
        );
    }

    #[test]
    fn so_many_last_lines_are_kept() {
        let last = LastLines::default();
        for number in 0..100 {
            keep(&last, format!("{number}\n").as_bytes());
        }
        keep(&last, &[b'x'; 5000]);
        let last = last.borrow();
        assert_eq!((last.len(), last[0].as_str()), (MAX_KEPT_LINES, "61"));
        assert_eq!(last[MAX_KEPT_LINES - 1].len(), MAX_KEPT_BYTES);
    }

    #[test]
    fn lines_carry_the_number_of_their_slot() {
        let mut text = Vec::new();
        write_line(&mut text, false, 3, b"hello\n").unwrap();
        write_line(&mut text, true, 0, b"hello\n").unwrap();
        assert_eq!(text, b"3 | hello\n\x1b[36m0 |\x1b[0m hello\n");
    }
}
