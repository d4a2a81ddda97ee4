//! Files and programs: `openssl` and `curl` as found on the machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory that goes away with the value.
pub struct Files(PathBuf);

impl Files {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("portico-tls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    /// Runs openssl in the directory; the words of `command` are separated by spaces.
    pub fn openssl(&self, command: &str) -> Output {
        let output = run_in(&self.0, "openssl", command.split(' '));
        assert!(
            output.status.success(),
            "openssl {command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    pub fn der(&self, name: &str) -> Vec<u8> {
        self.openssl(&format!("x509 -in {name} -outform DER"))
            .stdout
    }

    pub fn key(&self, name: &str) -> Vec<u8> {
        self.openssl(&format!("pkcs8 -topk8 -nocrypt -in {name} -outform DER"))
            .stdout
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether the program is there. Without it its tests say so and pass.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("version").output().is_ok();
    if !found {
        eprintln!("{program} is not installed: skipped");
    }
    found
}

fn run_in<'a>(directory: &Path, program: &str, arguments: impl Iterator<Item = &'a str>) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// `openssl s_client` that sends `ping`, reads the answer and quits. Gives all that it printed.
pub fn s_client(address: SocketAddr, arguments: &str) -> String {
    // A line with `Q` alone makes s_client close the connection; what comes before it must have time to be answered.
    let script = format!(
        "(printf 'ping\\n'; sleep 0.5; printf 'Q\\n') | timeout 15 openssl s_client -connect {address} {arguments} 2>&1"
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// curl with these arguments; gives its standard output and its status.
pub fn curl(address: SocketAddr, arguments: &str) -> (String, i32) {
    let url = format!("https://localhost:{}/", address.port());
    let output = Command::new("curl")
        .args([
            "-sk",
            "--max-time",
            "15",
            "--resolve",
            &format!("localhost:{}:127.0.0.1", address.port()),
        ])
        .args(arguments.split(' ').filter(|argument| !argument.is_empty()))
        .arg(url)
        .output()
        .unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        output.status.code().unwrap_or(-1),
    )
}
