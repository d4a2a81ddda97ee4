//! The applications of a configuration file.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::application::Process;
use crate::harness::{Host, can_be_another_user, command, folder, free_port, get, wait_for};
use crate::load::Load;
use crate::running::lives;

/// An application whose workers are this test program, and serve a prefix.
pub(crate) fn section(name: &str, port: u16, more: &str) -> String {
    section_with(name, port, "", more)
}

/// The same with more variables, each behind a comma.
pub(crate) fn section_with(name: &str, port: u16, variables: &str, more: &str) -> String {
    let own = std::env::current_exe().unwrap();
    format!(
        "[[application]]\nname = \"{name}\"\ncommand = [{own:?}, \"--exact\", \"worker_process\", \"--nocapture\"]\n\
         prefix = \"http://*:{port}/\"\nenvironment = {{ TEST_PREFIX = \"http://*:{port}/\"{variables} }}\n{more}\n"
    )
}

pub(crate) fn configure(folder: &TempDir, text: &str) {
    fs::write(folder.path().join("portico.toml"), text).unwrap();
}

pub(crate) fn start(folder: TempDir, text: &str) -> Host {
    configure(&folder, text);
    let file = folder.path().join("portico.toml").display().to_string();
    Host::start_in(folder, &["--config", &file])
}

/// The first processes of the workers that serve.
pub(crate) fn ready(host: &Host, name: &str) -> Vec<i32> {
    let all: Value = serde_json::from_str(&host.done(&["list", "--json"])).unwrap();
    let mut all = all.as_array().unwrap().iter();
    let Some(own) = all.find(|own| own["name"] == name) else {
        return Vec::new();
    };
    let workers = own["workers"].as_array().unwrap().iter();
    let ready = workers.filter(|worker| worker["state"] == "ready");
    let pid = |worker: &Value| i32::try_from(worker["pid"].as_i64().unwrap()).unwrap();
    ready.map(pid).collect()
}

pub(crate) fn wait_for_workers(host: &Host, name: &str, count: usize) -> Vec<i32> {
    let mut pids = Vec::new();
    wait_for(&format!("{count} workers of {name}"), || {
        pids = ready(host, name);
        pids.len() == count
    });
    pids
}

#[test]
fn a_reload_of_the_configuration_touches_the_applications_that_it_changes_and_no_others() {
    let (one, two, three) = (free_port(), free_port(), free_port());
    let stays = section("stays", one, "");
    let host = start(folder(), &[&*stays, &section("changes", two, "")].concat());
    let before = wait_for_workers(&host, "stays", 1);
    let changed = wait_for_workers(&host, "changes", 1);
    assert_eq!(get(one, "/").unwrap().0, 200);
    let (load, other) = (Load::start(one, 2), Load::start(two, 2));

    // Started in another way: replaced, and no request fails.
    configure(
        &host.folder,
        &[&*stays, &section("changes", two, "umask = \"027\"")].concat(),
    );
    host.done(&["reload"]);
    wait_for("another worker", || {
        let now = ready(&host, "changes");
        now.len() == 1 && now != changed && !lives(changed[0])
    });
    // More of them, other limits: those that are there stay.
    let replaced = ready(&host, "changes");
    let more = "umask = \"027\"\ninstances = 2\nstop_timeout = \"1s\"";
    configure(
        &host.folder,
        &[&*stays, &section("changes", two, more)].concat(),
    );
    host.done(&["reload"]);
    let both = wait_for_workers(&host, "changes", 2);
    assert!(both.contains(&replaced[0]), "{replaced:?} {both:?}");
    // A mistake changes nothing.
    configure(
        &host.folder,
        &[
            &*stays,
            "[[application]]\nname = \"b\"\ncommand = \"none.js\"\n",
        ]
        .concat(),
    );
    let text = host.refused(1, &["reload"]);
    assert!(
        text.contains("portico.toml:7:1: [[application]] b: there is no file"),
        "{text}"
    );
    other.wait_for_more(20);
    assert_eq!(other.stop(), Vec::<String>::new());
    // One goes, one comes.
    configure(
        &host.folder,
        &[&*stays, &section("comes", three, "")].concat(),
    );
    host.done(&["reload"]);
    wait_for_workers(&host, "comes", 1);
    assert_eq!(get(three, "/").unwrap().0, 200);
    wait_for("the workers of what is gone to end", || {
        both.iter().all(|pid| !lives(*pid)) && !host.done(&["list"]).contains("changes")
    });

    load.wait_for_more(20);
    assert_eq!(load.stop(), Vec::<String>::new());
    assert_eq!(ready(&host, "stays"), before);
}

#[test]
fn the_configuration_is_checked_with_all_that_its_applications_name() {
    let folder = folder();
    let own = rustix::process::geteuid().as_raw();
    let text = format!(
        r#"
[[application]]
name = "missing"
command = "server.js"
[[application]]
name = "nowhere"
command = "true"
directory = "nowhere"
[[application]]
name = "stranger"
command = "true"
user = "no such user"
[[application]]
name = "variables"
command = "true"
environment_file = "variables"
[[application]]
name = "node"
command = "true"
node = "/nowhere/node"
[[application]]
name = "shop"
command = "true"
prefix = "http://*:8080/shop/"
[[reservation]]
prefix = "http://*:8080/shop/"
users = [{}]
"#,
        own + 1
    );
    configure(&folder, &text);
    fs::write(folder.path().join("variables"), "A=1\nB\n").unwrap();
    let file = folder.path().join("portico.toml");
    let output = command(folder.path(), &["check-config", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let mut expected = vec![
        "portico.toml:2:1: [[application]] missing: there is no file",
        "portico.toml:5:1: [[application]] nowhere: there is no folder",
        "portico.toml:9:1: [[application]] stranger: this machine knows no user \"no such user\"",
        "portico.toml:13:1: [[application]] variables: ",
        "variables:2:1: write NAME=value",
        "portico.toml:17:1: [[application]] node: there is no Node at /nowhere/node",
    ];
    if own != 0 {
        expected.push("portico.toml:21:1: [[application]] shop: it runs as user");
    }
    for line in expected {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
}

#[test]
fn the_prefix_of_an_application_is_its_users_while_no_worker_serves_it_and_others_may_have_what_lies_below()
 {
    if !can_be_another_user() {
        return;
    }
    let (port, state) = (free_port(), "instances = 1");
    let outer = section("outer", port, state);
    let own = std::env::current_exe().unwrap();
    let inner = format!(
        "[[application]]\nname = \"inner\"\ncommand = [{own:?}, \"--exact\", \"worker_process\", \"--nocapture\"]\n\
         prefix = \"http://*:{port}/inner/\"\nuser = 12345\ngroup = 12345\n\
         environment = {{ TEST_PREFIX = \"http://*:{port}/inner/\" }}\n"
    );
    let host = start(folder(), &[outer, inner].concat());
    wait_for_workers(&host, "outer", 1);
    let inner = wait_for_workers(&host, "inner", 1);
    let status = fs::read_to_string(format!("/proc/{}/status", inner[0])).unwrap();
    assert!(status.contains("Uid:\t12345\t12345"), "{status}");
    assert_eq!(get(port, "/inner/").unwrap().0, 200);
    host.done(&["stop", "outer"]);
    // Requests wait for a worker; another user does not get them.
    let prefix = format!("http://*:{port}/");
    let (_process, refused) = Process::start(&host.socket(), &prefix, "it", Some(54_321));
    assert_eq!(refused["code"], "ERR_PORTICO_PREFIX_RESERVED", "{refused}");
    host.done(&["start", "outer"]);
    assert_eq!(get(port, "/").unwrap().0, 200);
}
