//! Processes that come and go under load.

use crate::application::Application;
use crate::harness::{Host, free_port, wait_for};
use crate::load::Load;

#[test]
fn processes_are_replaced_under_load_and_no_request_fails() {
    let host = Host::start(&[]);
    let port = free_port();
    let prefix = format!("http://*:{port}/");
    let start = || Application::start(&host.socket(), &prefix, "it").unwrap();
    let mut applications = vec![start(), start()];
    let load = Load::start(port, 4);
    for _ in 0..40 {
        load.wait_for_more(20);
        applications.push(start());
        applications.remove(0).leave();
    }
    // The only one goes, and the next comes a little later: requests wait.
    for application in applications {
        application.leave();
    }
    wait_for("requests to wait", || {
        host.status()["prefixes"][0]["waiting"] != 0
    });
    let _last = start();
    load.wait_for_more(20);
    let failures = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn a_certificate_and_a_configuration_change_under_load_and_no_request_fails() {
    let folder = crate::harness::folder();
    let file = folder.path().join("portico.toml");
    let path = file.display().to_string();
    let write = |seconds: u32| {
        let text = format!("[limits]\nkeep_alive_timeout = \"{seconds}s\"\n");
        std::fs::write(&file, text).unwrap();
    };
    write(5);
    let host = Host::start_in(folder, &["--config", &path]);
    let port = free_port();
    let _application =
        Application::start(&host.socket(), &format!("http://*:{port}/"), "it").unwrap();
    let load = Load::start(port, 4);
    for seconds in 6..26 {
        load.wait_for_more(10);
        write(seconds);
        host.done(&["reload"]);
    }
    load.wait_for_more(10);
    let failures = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
}
