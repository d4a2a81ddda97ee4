//! Clients that count.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::harness::{get, wait_for};

/// Clients that make one request after the other until they are told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU32>,
    clients: Vec<std::thread::JoinHandle<Vec<String>>>,
}

impl Load {
    pub(crate) fn start(port: u16, clients: usize) -> Self {
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

    pub(crate) fn wait_for_more(&self, count: u32) {
        let before = self.answered.load(Ordering::SeqCst);
        wait_for("answers", || {
            self.answered.load(Ordering::SeqCst) >= before + count
        });
    }

    /// Returns what went wrong.
    pub(crate) fn stop(self) -> Vec<String> {
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
