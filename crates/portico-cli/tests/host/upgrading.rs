//! `portico upgrade`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::application::Application;
use crate::harness::{Host, PROGRAM, free_port, get, wait_for};

/// Clients that make one request after the other until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU32>,
    clients: Vec<std::thread::JoinHandle<Vec<String>>>,
}

impl Load {
    fn start(port: u16, clients: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU32::new(0));
        let client = |number: usize| {
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            std::thread::spawn(move || {
                let mut failures = Vec::new();
                let mut connection = None;
                while !stop.load(Ordering::SeqCst) {
                    let result = if number.is_multiple_of(2) {
                        get(port, "/").map(|(status, _)| status)
                    } else {
                        kept_alive(&mut connection, port)
                    };
                    match result {
                        Ok(200) => {
                            answered.fetch_add(1, Ordering::SeqCst);
                        }
                        other => failures.push(format!("{other:?}")),
                    }
                }
                failures
            })
        };
        Self {
            clients: (0..clients).map(client).collect(),
            stop,
            answered,
        }
    }

    fn wait_for_more(&self, count: u32) {
        let before = self.answered.load(Ordering::SeqCst);
        wait_for("answers", || {
            self.answered.load(Ordering::SeqCst) >= before + count
        });
    }

    fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::SeqCst);
        let failures = self
            .clients
            .into_iter()
            .map(|client| client.join().unwrap());
        failures.flatten().collect()
    }
}

/// A request on a connection that is used again, unless the last answer said that it closes.
fn kept_alive(connection: &mut Option<TcpStream>, port: u16) -> std::io::Result<u16> {
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => TcpStream::connect(("127.0.0.1", port))?,
    };
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 1024];
    while !bytes.ends_with(b"it") {
        match stream.read(&mut buffer)? {
            0 => {
                return Err(std::io::Error::other(format!(
                    "ended after {} bytes",
                    bytes.len()
                )));
            }
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    if !text.contains("connection: close") {
        *connection = Some(stream);
    }
    Ok(text[9..12].parse().unwrap_or(0))
}

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
