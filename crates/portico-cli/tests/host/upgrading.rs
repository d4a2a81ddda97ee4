//! `portico upgrade`.

use crate::application::Application;
use crate::harness::{Host, PROGRAM, free_port, get};
use crate::load::Load;

#[test]
fn a_new_program_takes_over_under_load_and_no_request_fails() {
    let mut host = Host::start(&[]);
    let port = free_port();
    let prefix = format!("http://*:{port}/");
    let _application = Application::start(&host.socket(), &prefix, "it").unwrap();
    let load = Load::start(port, 4);
    load.wait_for_more(50);
    let first = host.status()["pid"].clone();
    let said = host.done(&["upgrade"]);
    assert!(said.contains("has taken over"), "{said}");
    let second = host.status()["pid"].clone();
    assert_ne!(first, second);
    assert_eq!(host.processes(&prefix), 1);
    load.wait_for_more(50);
    assert!(host.wait_for_end().success());
    // And once more, from the program that took over.
    host.done(&["upgrade"]);
    assert_ne!(host.status()["pid"], second);
    load.wait_for_more(50);
    let failures = load.stop();
    assert!(failures.is_empty(), "{failures:?}\n{}", host.log());
    host.done(&["stop"]);
}

#[test]
fn a_new_program_that_can_not_start_leaves_the_old_one_as_it_was() {
    let host = Host::start(&[]);
    let port = free_port();
    let _application =
        Application::start(&host.socket(), &format!("http://*:{port}/"), "it").unwrap();
    for (program, part) in [
        ("/no/such/program", "can't be started"),
        ("/bin/false", "it ended"),
    ] {
        let error = host.refused(1, &["upgrade", "--program", program]);
        assert!(error.contains(part), "{error}");
        assert_eq!(get(port, "/").unwrap(), (200, "it".into()));
        assert_eq!(host.status()["pid"], host.child.id());
    }
    host.done(&["upgrade", "--program", PROGRAM]);
    host.done(&["stop", "--drain", "0"]);
}
