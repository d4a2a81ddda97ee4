//! Ports of the configuration that can't be opened.

use std::fs;
use std::net::TcpListener;

use crate::harness::{Host, command, folder, free_port, get, wait_for};

fn occupied_port() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
fn a_host_does_not_start_without_a_port_that_its_configuration_demands() {
    let folder = folder();
    let (taken, also_taken) = (occupied_port(), occupied_port());
    let file = folder.path().join("portico.toml");
    let listener = |port: &TcpListener| {
        let port = port.local_addr().unwrap().port();
        format!("[[listener]]\naddress = \"127.0.0.1:{port}\"\n")
    };
    fs::write(&file, listener(&taken) + &listener(&also_taken)).unwrap();
    let path = file.display().to_string();
    let output = command(folder.path(), &["host", "--config", &path]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    for port in [&taken, &also_taken] {
        let port = port.local_addr().unwrap().port();
        assert!(error.contains(&format!("port {port} is in use")), "{error}");
    }
    assert!(error.contains("optional = true"), "{error}");
}

#[test]
fn an_optional_port_is_told_as_missing_and_opened_when_it_is_free() {
    let folder = folder();
    let taken = occupied_port();
    let port = taken.local_addr().unwrap().port();
    let file = folder.path().join("portico.toml");
    let text = format!("[[listener]]\naddress = \"127.0.0.1:{port}\"\noptional = true\n");
    fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    let host = Host::start_in(folder, &["--config", &path]);
    let listener = &host.status()["listeners"][0];
    assert_eq!(listener["port"], port);
    let problem = listener["problem"].as_str().unwrap();
    assert!(problem.contains("is in use"), "{problem}");
    let text = host.done(&["status"]);
    assert!(
        text.contains(&format!("port {port} is not open: ")),
        "{text}"
    );
    assert!(host.log().contains("WARN"), "{}", host.log());
    drop(taken);
    // Another test may have the port for a while.
    wait_for("the port to be opened", || {
        host.status()["listeners"][0]["problem"].is_null()
    });
    assert_eq!(get(port, "/").unwrap().0, 404);
    assert_eq!(host.log().matches("is in use").count(), 1, "{}", host.log());
}

#[test]
fn a_reload_that_cannot_open_a_port_changes_nothing_and_says_so() {
    let folder = folder();
    let (first, second) = (free_port(), free_port());
    let taken = occupied_port();
    let taken_port = taken.local_addr().unwrap().port();
    let file = folder.path().join("portico.toml");
    let text = |address: &str, port: u16| format!("[[listener]]\naddress = \"{address}:{port}\"\n");
    fs::write(&file, text("127.0.0.1", first)).unwrap();
    let path = file.display().to_string();
    let host = Host::start_in(folder, &["--config", &path]);
    fs::write(
        &file,
        text("127.0.0.2", first) + &text("127.0.0.1", second) + &text("127.0.0.1", taken_port),
    )
    .unwrap();
    let error = host.refused(1, &["reload"]);
    assert!(
        error.contains(&format!("port {taken_port} is in use")),
        "{error}"
    );
    assert!(!error.contains("is in force"), "{error}");
    assert_eq!(get(first, "/").unwrap().0, 404);
    assert!(
        get(second, "/").is_err(),
        "a port of the refused file is open"
    );
    let listeners = host.status()["listeners"].clone();
    assert_eq!(listeners.as_array().unwrap().len(), 1, "{listeners}");
    assert!(host.log().contains("stays in force"), "{}", host.log());
    drop(taken);
    host.done(&["reload"]);
    assert_eq!(get(second, "/").unwrap().0, 404);
    assert!(get(first, "/").is_err(), "it has moved to another address");
}
