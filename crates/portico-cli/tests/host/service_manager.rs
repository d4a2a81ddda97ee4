//! What systemd does: sockets of its own, and readiness.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::application::Application;
use crate::harness::{Host, PROGRAM, folder, free_port, get, wait_for};

/// Starts the host as sd_listen_fds(3) describes it: with this socket as number 3.
fn start_with(socket: OwnedFd) -> Host {
    let folder = folder();
    let log = File::create(folder.path().join("log")).unwrap();
    let script =
        r#"exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec "$0" "$@""#;
    let child = Command::new("sh")
        .args(["-c", script, PROGRAM, "host", "--socket"])
        .arg(folder.path().join("host.sock"))
        .arg("--state")
        .arg(folder.path().join("state"))
        .stdin(Stdio::from(socket))
        .stderr(Stdio::from(log))
        .spawn()
        .unwrap();
    let host = Host { child, folder };
    wait_for("the host to run", || {
        host.portico(&["status"]).status.success()
    });
    host
}

#[test]
fn a_port_that_was_opened_for_the_host_is_used_and_never_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = start_with(listener.into());
    assert_eq!(get(port, "/").unwrap().0, 404);
    let prefix = format!("http://*:{port}/");
    let application = Application::start(&host.socket(), &prefix, "it").unwrap();
    assert_eq!(application.answer["address"]["address"], "127.0.0.1");
    assert_eq!(get(port, "/").unwrap(), (200, "it".into()));
    drop(application);
    wait_for("it to be gone", || host.processes(&prefix) == 0);
    // Its successor too, and the one after that.
    for _ in 0..2 {
        host.done(&["upgrade"]);
    }
    let _application = Application::start(&host.socket(), &prefix, "again").unwrap();
    assert_eq!(get(port, "/").unwrap(), (200, "again".into()));
    host.done(&["stop"]);
}

#[test]
fn the_service_manager_is_told_when_the_host_is_ready_and_when_it_stops() {
    let folder = folder();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let heard = || {
        let mut buffer = [0; 256];
        let count = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..count]).into_owned()
    };
    let mut command = crate::harness::command(folder.path(), &["host"]);
    let child = command
        .env("NOTIFY_SOCKET", &path)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut host = Host { child, folder };
    assert_eq!(heard(), "READY=1\n");
    let _application =
        Application::start(&host.socket(), &format!("http://*:{}/", free_port()), "it").unwrap();
    host.done(&["upgrade"]);
    let pid = host.status()["pid"].clone();
    let mut told = [heard(), heard()];
    told.sort();
    assert_eq!(told, [format!("MAINPID={pid}\n"), "READY=1\n".to_owned()]);
    assert!(host.wait_for_end().success());
    host.done(&["stop"]);
    assert_eq!(heard(), "STOPPING=1\n");
}
