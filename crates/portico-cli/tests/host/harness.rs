//! A host, its commands, and clients.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_portico");
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running host with a folder of its own.
pub(crate) struct Host {
    pub(crate) child: Child,
    pub(crate) folder: TempDir,
}

impl Host {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(folder(), arguments)
    }

    pub(crate) fn start_in(folder: TempDir, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, None)
    }

    /// With so many descriptors.
    pub(crate) fn start_with(
        folder: TempDir,
        arguments: &[&str],
        descriptors: Option<u32>,
    ) -> Self {
        let child = Self::spawn(&folder, arguments, descriptors);
        let host = Self { child, folder };
        host.wait_until_it_listens();
        host
    }

    /// SIGKILL, then another one at the same socket.
    pub(crate) fn crash_and_start(&mut self, arguments: &[&str]) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = Self::spawn(&self.folder, arguments, None);
        self.wait_until_it_listens();
    }

    fn wait_until_it_listens(&self) {
        wait_for("the host to listen", || {
            UnixStream::connect(self.socket()).is_ok()
        });
    }

    fn spawn(folder: &TempDir, arguments: &[&str], descriptors: Option<u32>) -> Child {
        let mut command = command(folder.path(), &[&["host"], arguments].concat());
        if let Some(count) = descriptors {
            let mut limited = Command::new("sh");
            let script = format!("ulimit -n {count}; exec \"$0\" \"$@\"");
            limited.args(["-c", &script]).arg(command.get_program());
            command = {
                limited.args(command.get_args());
                limited
            };
        }
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(folder.path().join("log"))
            .unwrap();
        command.stderr(Stdio::from(log)).spawn().unwrap()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("host.sock")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// `portico ARGUMENTS` for this host.
    pub(crate) fn portico(&self, arguments: &[&str]) -> Output {
        command(self.folder.path(), arguments).output().unwrap()
    }

    /// The same, which must succeed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.portico(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {output:?}\n{}",
            self.log()
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same, which must fail with this code. Returns its standard error.
    pub(crate) fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.portico(arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {output:?}"
        );
        String::from_utf8(output.stderr).unwrap()
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.done(&["status", "--json"])).unwrap()
    }

    /// How many processes serve a prefix.
    pub(crate) fn processes(&self, prefix: &str) -> usize {
        let status = self.status();
        let prefixes = status["prefixes"].as_array().unwrap();
        let found = prefixes.iter().find(|entry| entry["prefix"] == prefix);
        found.map_or(0, |entry| entry["processes"].as_array().unwrap().len())
    }

    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_for("the host to end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.portico(&["stop", "--drain", "0"]);
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the host\n{}", self.log());
        }
    }
}

/// A folder that other users may look into.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command.args(["--socket".as_ref(), folder.join("host.sock").as_os_str()]);
    if arguments.first() == Some(&"host") {
        command.args(["--state".as_ref(), folder.join("state").as_os_str()]);
    }
    // Not loaded: the workers of these tests are no Node.
    command.env("PORTICO_PACKAGE", folder);
    for variable in [
        "PORTICO_HOST",
        "PORTICO_LOG",
        "NO_COLOR",
        "NOTIFY_SOCKET",
        "STATE_DIRECTORY",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Whether processes of other users can be started: only root can, and they must be able to read the programs.
pub(crate) fn can_be_another_user() -> bool {
    let own = std::env::current_exe().unwrap();
    let closed = [own.as_path(), Path::new(PROGRAM)]
        .into_iter()
        .flat_map(Path::ancestors)
        .find(|path| {
            fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o005 != 0o005)
        });
    if let Some(path) = closed {
        eprintln!("not tested: other users can't read {}", path.display());
    }
    rustix::process::geteuid().is_root() && closed.is_none()
}

/// Looks again and again until it is so.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A port that is free.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Status and body of one request on a connection of its own.
pub(crate) fn get(port: u16, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let status = text.get(9..12).and_then(|status| status.parse().ok());
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    match (status, body) {
        (Some(status), Some(body)) => Ok((status, body)),
        _ => Err(std::io::Error::other(format!("no answer: {text:?}"))),
    }
}
