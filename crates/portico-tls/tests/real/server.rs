//! A tiny HTTPS server on loopback: one thread, blocking sockets, one connection after the other.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use portico_tls::{AlpnChoice, Connection, ServerNames, SessionInfo, TlsError};

/// What happened on one connection.
#[derive(Debug, Default)]
pub struct Report {
    pub session_info: Option<SessionInfo>,
    pub error: Option<TlsError>,
    pub key_log: Vec<u8>,
    pub peer_closed: bool,
    pub asked: bool,
}

/// A running server. It ends with the test's process.
pub struct Server {
    pub address: SocketAddr,
    reports: Receiver<Report>,
}

impl Server {
    pub fn start(names: Arc<ServerNames>, ask: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, reports) = channel();
        std::thread::spawn(move || serve(&listener, &names, ask, &sender));
        Self { address, reports }
    }

    /// The report on the next connection that ended.
    pub fn report(&self) -> Report {
        self.reports.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

fn serve(listener: &TcpListener, names: &Arc<ServerNames>, ask: bool, reports: &Sender<Report>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let connection = Connection::new(Arc::clone(names), ask);
        let mut session = Session {
            stream,
            connection,
            report: Report::default(),
        };
        session.run();
        let Session { stream, report, .. } = session;
        // The report first, so that who waits for the client finds it.
        let gone = reports.send(report).is_err();
        drop(stream);
        if gone {
            return;
        }
    }
}

struct Session {
    stream: TcpStream,
    connection: Connection,
    report: Report,
}

impl Session {
    /// Reads until the client closes, and answers each blank line that ends a request, and each line `Q`.
    fn run(&mut self) {
        let mut buffer = vec![0; 4_096];
        let mut request = Vec::new();
        loop {
            let Ok(length @ 1..) = self.stream.read(&mut buffer) else {
                return;
            };
            if !self.take(&mut buffer[..length], &mut request) {
                return;
            }
            if request.ends_with(b"\r\n\r\n") || request.ends_with(b"ping\n") {
                request.clear();
                let body = format!("{:?}\n", self.report.session_info);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let mut output = Vec::new();
                let parts: [&[u8]; 2] = [head.as_bytes(), body.as_bytes()];
                self.connection.write_parts(&parts, &mut output).unwrap();
                let _ = self.stream.write_all(&output);
            }
        }
    }

    fn take(&mut self, input: &mut [u8], request: &mut Vec<u8>) -> bool {
        let mut output = Vec::new();
        let mut result = self.connection.handle_input(input, request, &mut output);
        if matches!(result, Ok(status) if status.client_hello) {
            self.report.asked = true;
            result = self
                .connection
                .provide(None, AlpnChoice::Context, request, &mut output);
        }
        for line in self.connection.take_key_log() {
            self.report.key_log.extend(line);
        }
        if let Some(session_info) = self.connection.take_session_info() {
            self.report.session_info = Some(*session_info);
        }
        let open = match result {
            Ok(status) => {
                if status.peer_closed {
                    self.report.peer_closed = true;
                    self.connection.close_notify(&mut output);
                }
                !status.peer_closed
            }
            Err(error) => {
                self.report.error = Some(error);
                false
            }
        };
        let _ = self.stream.write_all(&output);
        open
    }
}
