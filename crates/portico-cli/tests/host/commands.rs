//! The commands, their words and exit codes.

use std::fs;
use std::os::unix::process::CommandExt;

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
fn status_is_plain_text_when_nobody_looks() {
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
