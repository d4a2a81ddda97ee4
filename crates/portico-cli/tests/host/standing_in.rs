//! Other users who stand in for a host: no application says a word to them.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};

use crate::harness::{Host, PROGRAM, can_be_another_user, folder};

const ANN: u32 = 10_017;
const BOB: u32 = 10_018;
const VARIABLE: &str = "PORTICO_TEST_STAND_IN";

/// A process of another user that listens, and counts what it is told.
struct StandIn {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl StandIn {
    fn start(user: u32, listener: Option<OwnedFd>, path: &Path) -> Self {
        let input = listener.map_or_else(Stdio::null, Stdio::from);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "stand_in_process", "--nocapture"])
            .env(VARIABLE, path)
            .uid(user)
            .gid(user)
            .stdin(input)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut stand_in = Self { child, output };
        stand_in.wait_for("it listens");
        stand_in
    }

    /// In a folder of its own, where all may connect.
    fn in_folder(user: u32, folder: &Path) -> Self {
        fs::create_dir(folder).unwrap();
        chown(folder, Some(user), Some(user)).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        Self::start(user, None, &folder.join("host.sock"))
    }

    fn wait_for(&mut self, words: &str) -> String {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "it ended");
        }
        line
    }

    /// What it heard from its one connection.
    fn heard(mut self) -> String {
        let line = self.wait_for("heard");
        self.child.wait().unwrap();
        line
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What [`StandIn::start`] runs, in this same program.
pub(crate) fn process_main() {
    let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        return;
    };
    let listener = match UnixListener::bind(&path) {
        Ok(listener) => {
            fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
            listener
        }
        // It was bound by a user who may.
        Err(_) => {
            let bound = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
            listen(&bound, 8).unwrap();
            UnixListener::from(bound)
        }
    };
    println!("it listens");
    let (mut stream, _) = listener.accept().unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    println!("heard {heard:?}");
    std::process::exit(0);
}

/// `portico status` of a user who names no socket.
fn status(user: u32, runtime: Option<&Path>, named: Option<&Path>) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("status").uid(user).gid(user);
    for (name, value) in [("XDG_RUNTIME_DIR", runtime), ("PORTICO_HOST", named)] {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.output().unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, parts: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_folder_that_another_user_made_in_tmp_is_not_used() {
    if !can_be_another_user() {
        return;
    }
    let taken = PathBuf::from(format!("/tmp/portico-{ANN}"));
    let _ = fs::remove_dir_all(&taken);
    let _stand_in = StandIn::in_folder(BOB, &taken);
    let output = status(ANN, None, None);
    fs::remove_dir_all(&taken).unwrap();
    assert_refused(&output, &["belongs to user 10018", "PORTICO_HOST"]);
}

#[test]
fn the_runtime_folder_of_another_user_is_not_used_by_root_either() {
    if !can_be_another_user() {
        return;
    }
    let top = folder();
    let runtime = top.path().join("runtime");
    fs::create_dir(&runtime).unwrap();
    chown(&runtime, Some(BOB), Some(BOB)).unwrap();
    let _stand_in = StandIn::in_folder(BOB, &runtime.join("portico"));
    for user in [0, ANN] {
        let output = status(user, Some(&runtime), None);
        assert_refused(&output, &["belongs to user 10018", "unset it"]);
        let named = runtime.join("portico/host.sock");
        let output = status(user, None, Some(&named));
        assert_refused(&output, &["belongs to user 10018"]);
    }
}

#[test]
fn another_user_who_listens_in_a_safe_folder_hears_nothing() {
    if !can_be_another_user() {
        return;
    }
    let top = folder();
    let path = top.path().join("host.sock");
    let bound = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&bound, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
    let stand_in = StandIn::start(BOB, Some(bound), &path);
    let output = status(ANN, None, Some(&path));
    assert_refused(&output, &["is user 10018", "nothing was sent"]);
    assert_eq!(stand_in.heard(), "heard \"\"\n");
}

#[test]
fn root_may_ask_a_users_own_host_by_naming_it_on_the_command_line() {
    if !can_be_another_user() {
        return;
    }
    let top = folder();
    let own = top.path().join("own");
    fs::create_dir(&own).unwrap();
    chown(&own, Some(BOB), Some(BOB)).unwrap();
    let host = Command::new(PROGRAM)
        .arg("host")
        .arg("--socket")
        .arg(own.join("host.sock"))
        .arg("--state")
        .arg(own.join("state"))
        .env_remove("PORTICO_HOST")
        .stderr(Stdio::null())
        .uid(BOB)
        .gid(BOB)
        .spawn()
        .unwrap();
    let host = Host {
        child: host,
        folder: top,
    };
    let socket = own.join("host.sock").display().to_string();
    let ask = |command: &str| {
        let mut asked = Command::new(PROGRAM);
        asked.args([command, "--socket", &socket]).output().unwrap()
    };
    crate::harness::wait_for("the host", || ask("status").status.success());
    assert!(ask("stop").status.success());
    drop(host);
}
