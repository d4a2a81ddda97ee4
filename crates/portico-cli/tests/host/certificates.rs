//! `https` ports: certificates by port and name, and their renewal.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::application::Application;
use crate::harness::{Host, folder, free_port, wait_for};

/// Writes a new certificate of this name, and a copy of it for clients to trust.
fn issue(folder: &Path, file: &str, name: &str) -> (String, String) {
    let issued = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let path = |end: &str| folder.join(format!("{file}.{end}")).display().to_string();
    fs::write(path("key"), issued.signing_key.serialize_pem()).unwrap();
    fs::write(path("pem"), issued.cert.pem()).unwrap();
    fs::write(path("trusted"), issued.cert.pem()).unwrap();
    (path("pem"), path("key"))
}

/// The version of HTTP that a client speaks that would rather speak HTTP/2.
fn version(folder: &Path, trusted: &str, name: &str, port: u16) -> String {
    let output = Command::new("curl")
        .args([
            "-sS",
            "--http2",
            "--max-time",
            "20",
            "-o",
            "/dev/null",
            "-w",
            "%{http_version} %{http_code}",
            "--resolve",
            &format!("{name}:{port}:127.0.0.1"),
            "--cacert",
        ])
        .arg(folder.join(format!("{trusted}.trusted")))
        .arg(format!("https://{name}:{port}/"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn https_ports_speak_http_2_unless_their_listener_says_otherwise() {
    let folder = folder();
    let (pem, key) = issue(folder.path(), "a", "a.test");
    let (port, old_port) = (free_port(), free_port());
    let file = folder.path().join("portico.toml");
    let text = format!(
        "[[listener]]\naddress = \"*:{old_port}\"\ntls = true\nprotocols = [\"http/1.1\"]\n\
         [[certificate]]\nport = {old_port}\ncertificate = \"{pem}\"\nkey = \"{key}\"\n"
    );
    fs::write(&file, text).unwrap();
    let host = Host::start_in(folder, &["--config", &file.display().to_string()]);
    host.done(&["cert", "add", "--cert", &pem, "--key", &key]);
    for (port, expected) in [(port, "2 200"), (old_port, "1.1 200")] {
        let prefix = format!("https://*:{port}/");
        let _application = Application::start(&host.socket(), &prefix, "it").unwrap();
        assert_eq!(version(host.folder.path(), "a", "a.test", port), expected);
    }
}

/// What a client gets that trusts this certificate alone; empty if it does not trust the host.
fn get(folder: &Path, trusted: &str, name: &str, port: u16) -> String {
    let output = Command::new("curl")
        .args([
            "-sS",
            "--max-time",
            "20",
            "--resolve",
            &format!("{name}:{port}:127.0.0.1"),
            "--cacert",
        ])
        .arg(folder.join(format!("{trusted}.trusted")))
        .arg(format!("https://{name}:{port}/"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn certificates_are_chosen_by_name_and_renewed_without_a_restart() {
    let host = Host::start(&[]);
    let port = free_port();
    let folder = host.folder.path().to_owned();
    let (a_pem, a_key) = issue(&folder, "a", "a.test");
    let (b_pem, b_key) = issue(&folder, "b", "b.test");
    host.done(&["cert", "add", "--cert", &a_pem, "--key", &a_key]);
    let wrong = host.refused(1, &["cert", "add", "--cert", &b_pem, "--key", &a_key]);
    assert!(wrong.contains("b.pem can't be used"), "{wrong}");
    let _application =
        Application::start(&host.socket(), &format!("https://*:{port}/"), "it").unwrap();
    assert_eq!(get(&folder, "a", "a.test", port), "it");
    assert_eq!(get(&folder, "b", "b.test", port), "");
    // While the port is open.
    host.done(&[
        "cert",
        "add",
        "--cert",
        &b_pem,
        "--key",
        &b_key,
        "--port",
        &port.to_string(),
    ]);
    assert_eq!(get(&folder, "a", "a.test", port), "it");
    assert_eq!(get(&folder, "b", "b.test", port), "it");
    let list = host.done(&["cert", "list"]);
    assert!(
        list.contains(&format!("{b_pem}  port {port}  b.test")),
        "{list}"
    );
    // Renewed: noticed by itself.
    issue(&folder, "a", "a.test");
    wait_for("the new certificate", || {
        get(&folder, "a", "a.test", port) == "it"
    });
    // A bad file: the one before stays.
    fs::write(&a_pem, "nonsense").unwrap();
    wait_for("the problem to be seen", || {
        host.done(&["cert", "list"])
            .contains("no certificate in it")
    });
    assert_eq!(get(&folder, "a", "a.test", port), "it");
    // One that is bound to a port is removed with its port, and one for all ports without.
    let bound = format!(
        "there is no certificate {b_pem} for all ports; `portico cert remove {b_pem} --port {port}` removes"
    );
    let unbound = format!(
        "there is no certificate {a_pem} for port {port}; `portico cert remove {a_pem}` removes"
    );
    for (arguments, expected) in [
        (vec!["cert", "remove", &b_pem], bound.as_str()),
        (
            vec!["cert", "remove", &a_pem, "--port", &port.to_string()],
            &unbound,
        ),
        (vec!["cert", "remove", &b_key], "`portico cert list` shows"),
    ] {
        let text = host.refused(1, &arguments);
        assert!(text.contains(expected), "{text}");
    }
    host.done(&["cert", "remove", &b_pem, "--port", &port.to_string()]);
    assert_eq!(get(&folder, "b", "b.test", port), "");
}

#[test]
fn a_certificate_of_the_configuration_is_removed_there() {
    let folder = folder();
    let (pem, key) = issue(folder.path(), "a", "a.test");
    let file = folder.path().join("portico.toml");
    let text = format!("[[certificate]]\nport = 8443\ncertificate = \"{pem}\"\nkey = \"{key}\"\n");
    fs::write(&file, text).unwrap();
    let path = file.display().to_string();
    let host = Host::start_in(folder, &["--config", &path]);
    for port in [&["--port", "8443"][..], &[]] {
        let error = host.refused(1, &[&["cert", "remove", &pem], port].concat());
        assert!(error.contains("in the configuration file"), "{error}");
    }
    // The same file, added for all ports at run time, can go.
    host.done(&["cert", "add", "--cert", &pem, "--key", &key]);
    host.done(&["cert", "remove", &pem]);
}
