//! The commands, their words and exit codes.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use crate::application::Application;
use crate::harness::{Host, can_be_another_user, command, folder, free_port, get, wait_for};

#[test]
fn without_a_host_commands_say_so_with_exit_code_3() {
    let folder = folder();
    for arguments in [
        &["status"][..],
        &["stop"],
        &["reload"],
        &["reserve", "list"],
        &["cert", "list"],
        &["upgrade"],
    ] {
        let output = command(folder.path(), arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("no host is running at") && error.contains("portico host"),
            "{error}"
        );
    }
}

#[test]
fn wrong_usage_is_exit_code_2_and_help_has_examples() {
    let folder = folder();
    let output = command(folder.path(), &["dance"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    for topic in [
        "host",
        "status",
        "reserve add",
        "cert add",
        "stop",
        "upgrade",
    ] {
        let arguments: Vec<_> = topic.split(' ').chain(["--help"]).collect();
        let output = command(folder.path(), &arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains("Examples:"),
            "{text}"
        );
    }
}

#[test]
fn status_is_plain_text_where_the_output_is_no_terminal() {
    let host = Host::start(&[]);
    let text = host.done(&["status"]);
    assert!(
        text.contains("running for") && text.contains("no prefix is registered"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn reservations_outlive_the_host_and_answer_503() {
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = format!("http://+:{port}/a/");
    host.done(&[
        "reserve",
        "add",
        &prefix,
        "--user",
        "root",
        "--group",
        "root",
        "--delegate",
    ]);
    let twice = host.refused(1, &["reserve", "add", &prefix, "--everyone"]);
    assert!(twice.contains("reserved already"), "{twice}");
    let unknown = host.refused(
        1,
        &["reserve", "add", "http://+:81/", "--user", "no such user"],
    );
    assert!(unknown.contains("knows no user"), "{unknown}");
    let malformed = host.refused(1, &["reserve", "add", "81", "--everyone"]);
    assert!(
        malformed.contains("ERR_PORTICO_PREFIX_INVALID"),
        "{malformed}"
    );

    let mut host = host;
    host.done(&["stop"]);
    assert!(host.wait_for_end().success());
    let folder = std::mem::replace(&mut host.folder, folder());
    let host = Host::start_in(folder, &[]);
    let list = host.done(&["reserve", "list"]);
    assert_eq!(
        list,
        format!("{prefix}  for root, group root, who may reserve below it\n")
    );
    let other = Application::start(&host.socket(), &format!("http://*:{port}/"), "other").unwrap();
    assert_eq!(get(port, "/").unwrap(), (200, "other".into()));
    assert_eq!(get(port, "/a/").unwrap().0, 503);
    host.done(&["reserve", "remove", &prefix]);
    assert_eq!(get(port, "/a/").unwrap(), (200, "other".into()));
    assert_eq!(host.done(&["reserve", "list"]), "no reservations\n");
    assert!(
        host.refused(1, &["reserve", "remove", &prefix])
            .contains("there is no reservation")
    );
    drop(other);
}

#[test]
fn only_root_and_the_hosts_own_user_may_change_it() {
    if !can_be_another_user() {
        return;
    }
    let host = Host::start(&[]);
    for arguments in [
        &["stop"][..],
        &["reload"],
        &["upgrade"],
        &["reserve", "add", "http://+:8080/", "--everyone"],
        &["cert", "list"],
    ] {
        let output = command(host.folder.path(), arguments)
            .uid(10_001)
            .gid(10_001)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && error.contains("EACCES"),
            "{arguments:?}: {error}"
        );
    }
    let output = command(host.folder.path(), &["status"])
        .uid(10_001)
        .gid(10_001)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_bad_configuration_is_told_and_the_one_before_stays() {
    let folder = folder();
    let port = free_port();
    let file = folder.path().join("portico.toml");
    let path = file.display().to_string();
    fs::write(
        &file,
        format!("[[listener]]\naddress = \"127.0.0.1:{port}\"\n"),
    )
    .unwrap();
    let host = Host::start_in(folder, &["--config", &path]);
    host.done(&["check-config", &path]);
    assert_eq!(get(port, "/").unwrap().0, 404);

    fs::write(&file, "[[listener]]\nadress = \"127.0.0.1:1\"\n").unwrap();
    for arguments in [&["check-config", path.as_str()][..], &["reload"]] {
        let error = host.refused(1, arguments);
        assert!(
            error.contains("portico.toml:2:1") && error.contains("address"),
            "{error}"
        );
    }
    assert_eq!(get(port, "/").unwrap().0, 404);

    let second = free_port();
    fs::write(
        &file,
        format!("[[listener]]\naddress = \"127.0.0.1:{second}\"\n"),
    )
    .unwrap();
    host.done(&["reload"]);
    assert_eq!(get(second, "/").unwrap().0, 404);
    wait_for("the first port to close", || get(port, "/").is_err());
}

/// A certificate and its key as PEM files; `until` the year of its end.
fn certificate(folder: &Path, name: &str, until: i32) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2000, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
    let certificate = parameters.self_signed(&key).unwrap();
    fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

#[test]
fn a_configuration_is_checked_with_all_that_it_names() {
    let folder = folder();
    certificate(folder.path(), "a.test", 2099);
    certificate(folder.path(), "b.test", 2099);
    certificate(folder.path(), "old.test", 2010);
    let file = folder.path().join("portico.toml");
    let path = file.display().to_string();
    let entry = |certificate: &str, key: &str| {
        format!(
            "[[certificate]]\nport = 8443\nnames = [\"{certificate}.x\"]\ncertificate = \"{certificate}.pem\"\nkey = \"{key}.key\"\n"
        )
    };
    let check = || {
        command(folder.path(), &["check-config", &path])
            .output()
            .unwrap()
    };
    fs::write(&file, entry("a.test", "a.test")).unwrap();
    assert!(check().status.success());

    let reservation = "[[reservation]]\nprefix = \"http://+:80/\"\nusers = [\"no-such-user\"]\n";
    let text = entry("a.test", "b.test")
        + &entry("missing", "a.test")
        + &entry("old.test", "old.test")
        + reservation;
    fs::write(&file, text).unwrap();
    let output = check();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = error.lines().collect();
    let expected = [
        (
            "portico.toml:1:1: ",
            "does not belong to the first certificate",
        ),
        ("portico.toml:6:1: ", "missing.pem can't be used: "),
        ("portico.toml:11:1: ", "expired on Fri, 01 Jan 2010"),
        ("portico.toml:16:1: ", "no-such-user"),
    ];
    assert_eq!(lines.len(), expected.len(), "{error}");
    for (line, (place, why)) in lines.iter().zip(expected) {
        assert!(line.starts_with("portico: "), "{line}");
        assert!(line.contains(place) && line.contains(why), "{line}");
        assert!(!line.contains("error:"), "{line}");
    }
}

#[test]
fn the_example_of_a_configuration_is_good() {
    let folder = folder();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/portico.toml");
    let output = command(folder.path(), &["check-config", example]).output();
    assert!(output.unwrap().status.success());
}

#[test]
fn a_log_level_or_a_time_that_cannot_be_understood_is_told() {
    let folder = folder();
    let mut host = command(folder.path(), &["host", "--on-demand"]);
    host.env("PORTICO_LOG", "nonsense").stderr(Stdio::piped());
    let file = folder.path().join("portico.toml");
    fs::write(&file, "[host]\nidle_exit = \"1s\"\n").unwrap();
    host.arg("--config").arg(&file);
    let output = host.output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(
        log.contains("WARN") && log.contains("\"nonsense\""),
        "{log}"
    );

    let output = command(folder.path(), &["stop", "--drain", "soon"]).output();
    let error = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(error.contains("a number of seconds from 0 on"), "{error}");
    assert!(!error.contains("float"), "{error}");
}
