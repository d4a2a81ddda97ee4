//! Starting a program that shall have nothing of its starter but what it is given: no descriptors, no privileges to gain,
//! a process group of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};

/// The first descriptor that is none of standard input, output and error.
const FIRST_CLOSED: libc::c_uint = 3;

/// Who a program runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// What is done between fork and exec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Who it runs as. `None`: as its starter.
    pub identity: Option<Identity>,
    /// Its mask of file modes. `None`: its starter's.
    pub umask: Option<u32>,
    /// Whether it is ended (SIGTERM) when the thread that started it ends.
    pub ends_with_starter: bool,
}

/// A program that was started, as leader of a process group that has its number.
///
/// Its number stays its own until [`Process::reap`]. Dropped, it runs on, and leaves a zombie behind when it ends.
#[derive(Debug)]
pub struct Process {
    /// `None`: another process has started it.
    child: Option<Child>,
    pid: Pid,
    descriptor: OwnedFd,
    start_time: u64,
}

/// Starts a command in a process group of its own, with standard input, output and error as the only descriptors, and
/// without the possibility to gain privileges by programs that it starts (`no_new_privs`). What the child has of the
/// pipes that the command asks for stays in it.
///
/// # Errors
/// As of [`Command::spawn`]; `EPERM` if this process may not become that user.
#[expect(unsafe_code, reason = "a function that runs between fork and exec")]
pub fn spawn(command: &mut Command, isolation: Isolation) -> io::Result<Process> {
    command.process_group(0);
    // SAFETY: between fork and exec only async-signal-safe functions may be called, and nothing may be allocated:
    // `prepare` makes system calls on memory that exists, and its errors are numbers.
    unsafe { command.pre_exec(move || prepare(&isolation)) };
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
    // Nothing else waits for it, so the number is its own.
    let descriptor = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
    Ok(Process {
        child: Some(child),
        pid,
        descriptor,
        start_time: start_time(pid).unwrap_or(0),
    })
}

/// When a process was started, in ticks since the machine was: with its number it names one process for ever (proc(5),
/// `/proc/PID/stat`, field 22).
fn start_time(pid: Pid) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()))?;
    // The name, in parentheses, may have any character; the fields behind it begin with the third.
    let behind_name = text.rsplit_once(')').map(|(_, fields)| fields);
    let field = behind_name.and_then(|fields| fields.split_ascii_whitespace().nth(19));
    let number = field.and_then(|field| field.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Runs in the child, before the program.
#[expect(
    unsafe_code,
    reason = "system calls that have no safe form between fork and exec"
)]
fn prepare(isolation: &Isolation) -> io::Result<()> {
    let check = |result: libc::c_int| match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    if let Some(mask) = isolation.umask {
        // SAFETY: changes a number of this process and nothing else.
        unsafe { libc::umask(mask) };
    }
    if let Some(identity) = &isolation.identity {
        // SAFETY: pointer and count describe the memory of `groups`, which the kernel reads. (Not through the C
        // library's functions for all threads: the child has one thread.)
        check(unsafe { libc::setgroups(identity.groups.len(), identity.groups.as_ptr()) })?;
        // SAFETY: plain numbers.
        check(unsafe { libc::setgid(identity.gid) })?;
        // SAFETY: plain numbers.
        check(unsafe { libc::setuid(identity.uid) })?;
    }
    // SAFETY: plain numbers; the arguments that are not used must be 0.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    if isolation.ends_with_starter {
        // After the change of user, which takes it back. SAFETY: plain numbers.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0) })?;
    }
    // The pipe by which std tells a failed exec is closed by exec too. SAFETY: plain numbers; nothing is closed yet.
    let closed = check(unsafe {
        let flags = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
        libc::close_range(FIRST_CLOSED, libc::c_uint::MAX, flags)
    });
    // A kernel before 5.11: what this process opens is close-on-exec by itself.
    closed.or(Ok(()))
}

impl Process {
    /// A process that another one has started with [`spawn`], by its number and [`Process::start_time`].
    ///
    /// # Errors
    /// `NotFound`: it has ended. Others: it can't be told.
    pub fn adopt(pid: i32, started: u64) -> io::Result<Self> {
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
        let descriptor = pidfd_open(pid, PidfdFlags::NONBLOCK).map_err(|error| match error {
            rustix::io::Errno::SRCH => io::ErrorKind::NotFound.into(),
            other => io::Error::from(other),
        })?;
        // Behind the descriptor: the number can't become another's between the two.
        if start_time(pid)? != started {
            return Err(io::ErrorKind::NotFound.into());
        }
        let process = Self {
            child: None,
            pid,
            descriptor,
            start_time: started,
        };
        match process.has_ended() {
            true => Err(io::ErrorKind::NotFound.into()),
            false => Ok(process),
        }
    }

    /// When it was started, in the machine's ticks.
    #[must_use]
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// Whether it was started by this process, which learns how it ends.
    #[must_use]
    pub fn is_child(&self) -> bool {
        self.child.is_some()
    }

    /// Its number, and that of its process group.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_pid()
    }

    /// A descriptor that is readable when it has ended.
    #[must_use]
    pub fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Sends SIGTERM to it.
    pub fn terminate(&self) {
        self.send(Signal::TERM);
    }

    /// Sends a signal to it. One that has ended hears nothing.
    pub fn send(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.descriptor, signal);
    }

    /// Sends SIGTERM to all of its group.
    pub fn terminate_group(&self) {
        self.send_to_group(Signal::TERM);
    }

    /// Sends SIGKILL to all of its group.
    pub fn kill_group(&self) {
        self.send_to_group(Signal::KILL);
    }

    fn send_to_group(&self, signal: Signal) {
        // While it has not been reaped its number can't be another group's. One of another parent may have been reaped: as
        // long as its group has members no process gets its number, and the leader of another group has it. ESRCH: all are
        // gone.
        let is_own = || start_time(self.pid).map_or(true, |time| time == self.start_time);
        if self.child.is_some() || is_own() {
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Whether it has ended. It is not reaped: its number stays its own.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        if self.child.is_none() {
            let mut ended = [PollFd::new(&self.descriptor, PollFlags::IN)];
            return matches!(poll(&mut ended, Some(&Timespec::default())), Ok(1));
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(self.pid), options), Ok(Some(_)))
    }

    /// Our ends of its standard output and error, where they are pipes. Once.
    pub fn take_output(&mut self) -> (Option<OwnedFd>, Option<OwnedFd>) {
        let Some(child) = &mut self.child else {
            return (None, None);
        };
        let output = child.stdout.take().map(OwnedFd::from);
        (output, child.stderr.take().map(OwnedFd::from))
    }

    /// Reaps it, which has ended, and says how. Waits if it has not.
    ///
    /// # Errors
    /// `ECHILD` if another part of this process has reaped it, or it was started by another process.
    pub fn reap(self) -> io::Result<ExitStatus> {
        let child = self.child;
        child.map_or_else(
            || Err(rustix::io::Errno::CHILD.into()),
            |mut child| child.wait(),
        )
    }
}

/// The signal that ended a process, by its name.
#[must_use]
pub fn signal_name(status: ExitStatus) -> Option<&'static str> {
    let name = match status.signal()? {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "another signal",
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Stdio;

    fn shell(script: &str, isolation: Isolation) -> Process {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        spawn(&mut command, isolation).unwrap()
    }

    fn output(process: &mut Process) -> String {
        let mut text = String::new();
        let mut pipe = std::fs::File::from(process.take_output().0.unwrap());
        pipe.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_program_has_three_descriptors_no_new_privileges_and_a_group_of_its_own() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let inherited = rustix::io::fcntl_dupfd_cloexec(&file, 700).unwrap();
        rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
        let script = format!(
            "test -e /proc/$$/fd/{} && echo inherited; grep NoNewPrivs /proc/$$/status; umask; cut -d' ' -f1,5 /proc/$$/stat",
            std::os::fd::AsRawFd::as_raw_fd(&inherited)
        );
        let isolation = Isolation {
            umask: Some(0o027),
            ..Isolation::default()
        };
        let mut process = shell(&script, isolation);
        let pid = process.pid();
        let expected = format!("NoNewPrivs:\t1\n0027\n{pid} {pid}\n");
        assert_eq!(output(&mut process), expected);
        assert!(process.reap().unwrap().success());
    }

    #[test]
    fn the_end_of_a_program_is_seen_before_it_is_reaped_and_its_group_ends_with_it() {
        let mut process = shell("sleep 60 & echo $!; kill -SEGV $$", Isolation::default());
        let mut pipe = std::fs::File::from(process.take_output().0.unwrap());
        let mut text = [0; 16];
        let count = pipe.read(&mut text).unwrap();
        let other: i32 = std::str::from_utf8(&text[..count])
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        while !process.has_ended() {
            std::thread::yield_now();
        }
        process.kill_group();
        // The pipe's end: the other one has ended too.
        assert_eq!(pipe.read(&mut text).unwrap(), 0);
        assert_ne!(other, process.pid());
        let status = process.reap().unwrap();
        assert_eq!(signal_name(status), Some("SIGSEGV"));
    }

    #[test]
    fn a_program_runs_as_the_user_that_is_named() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root becomes another user.
        }
        let isolation = Isolation {
            identity: Some(Identity {
                uid: 12_345,
                gid: 23_456,
                groups: vec![23_456, 34_567],
            }),
            ..Isolation::default()
        };
        let mut process = shell("id -u; id -g; id -G", isolation);
        assert_eq!(output(&mut process), "12345\n23456\n23456 34567\n");
        process.reap().unwrap();
    }

    #[test]
    fn a_process_of_another_parent_is_found_by_its_number_and_start_and_by_nothing_else() {
        // Its parent is the shell, which waits for the end of its standard input.
        let script = "sleep 60 & echo $!; read line; wait $!";
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::piped());
        let mut shell = spawn(&mut command, Isolation::default()).unwrap();
        let input = shell.child.as_mut().unwrap().stdin.take();
        let mut pipe = std::fs::File::from(shell.take_output().0.unwrap());
        let mut text = [0; 16];
        let count = pipe.read(&mut text).unwrap();
        let text = std::str::from_utf8(&text[..count]).unwrap();
        let pid: i32 = text.trim().parse().unwrap();
        let started = start_time(Pid::from_raw(pid).unwrap()).unwrap();
        assert!(started > 0);
        let kind = |pid, started| Process::adopt(pid, started).unwrap_err().kind();
        assert_eq!(kind(pid, started + 1), io::ErrorKind::NotFound);
        let other = Process::adopt(pid, started).unwrap();
        assert!(!other.has_ended() && !other.is_child() && shell.is_child());
        assert_eq!((other.pid(), other.start_time()), (pid, started));
        other.terminate();
        while !other.has_ended() {
            std::thread::yield_now();
        }
        assert_eq!(kind(pid, started), io::ErrorKind::NotFound);
        assert!(other.reap().is_err());
        drop(input);
        shell.reap().unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = spawn(&mut Command::new("/nowhere"), Isolation::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
