//! Applications of the tests: they register over the real socket and answer every request with their name.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use portico_application::{AttachedEngine, Registration};
use portico_channel::layout::{event, request_flag, response_flag};
use portico_channel::shared::{FINGERPRINT, LAYOUT_VERSION};
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_host::protocol::PROTOCOL_VERSION;
use portico_locate::{Location, NamedBy};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

/// How long a wait may last before flags are looked at again.
const STEP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// The first line of an application.
pub(crate) fn register_line(prefix: &str, name: &str) -> String {
    json!({
        "type": "register",
        "protocol": PROTOCOL_VERSION,
        "layout": LAYOUT_VERSION,
        "records": FINGERPRINT,
        "prefix": prefix,
        "process": { "pid": std::process::id(), "program": name, "node": "20.0.0" },
        // Of a process that a host has started.
        "worker": std::env::var("PORTICO_WORKER").ok().map(|id| json!({ "id": id })),
    })
    .to_string()
}

/// Registers; the host's answer if it refuses.
fn register(socket: &Path, prefix: &str, name: &str) -> Result<Registration, Value> {
    let line = register_line(prefix, name);
    let location = Location {
        path: socket.to_owned(),
        named_by: NamedBy::Variable,
    };
    let registration = portico_application::register(&location, &line)
        .unwrap_or_else(|error| panic!("{prefix}: {error}"));
    if registration.channels.is_some() {
        Ok(registration)
    } else {
        Err(serde_json::from_str(&registration.answer).unwrap())
    }
}

/// An application in a thread of the test.
pub(crate) struct Application {
    pub(crate) answer: Value,
    stop: Arc<AtomicBool>,
    leaves: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Application {
    /// Registers and serves until it is dropped. Registers again when the host has moved.
    pub(crate) fn start(socket: &Path, prefix: &str, name: &str) -> Result<Self, Value> {
        let registration = register(socket, prefix, name)?;
        let answer = serde_json::from_str(&registration.answer).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let leaves = Arc::new(AtomicBool::new(false));
        let server = Server {
            socket: socket.to_owned(),
            prefix: prefix.to_owned(),
            name: name.to_owned(),
            stop: Arc::clone(&stop),
            leaves: Arc::clone(&leaves),
        };
        let thread = std::thread::spawn(move || server.serve(registration));
        Ok(Self {
            answer,
            stop,
            leaves,
            thread: Some(thread),
        })
    }
}

impl Application {
    /// Whether the host has ended, or the registration.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Says that it leaves, finishes what it took, and ends.
    pub(crate) fn leave(mut self) {
        self.leaves.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Server {
    socket: PathBuf,
    prefix: String,
    name: String,
    stop: Arc<AtomicBool>,
    leaves: Arc<AtomicBool>,
}

impl Server {
    fn serve(self, registration: Registration) {
        let mut engine = AttachedEngine::from(registration.channels.unwrap());
        let mut control = UnixStream::from(registration.control);
        control.set_nonblocking(true).unwrap();
        let mut moved = None;
        let (mut left, mut heard_left) = (false, false);
        let mut memory = vec![0u8; 256 * 1024];
        let mut commands = CommandWriter::new();
        commands.template(1, b"OK", b"Content-Type: text/plain\r\n");
        engine.submit(commands.as_bytes(), None).unwrap();
        while !self.stop.load(Ordering::SeqCst) {
            wait(&engine, &control);
            match heard(&mut control) {
                Heard::Nothing => {}
                Heard::Moved => {
                    let next = self.clone();
                    let registration = register(&self.socket, &self.prefix, &self.name).unwrap();
                    moved = Some(std::thread::spawn(move || next.serve(registration)));
                }
                Heard::Left => heard_left = true,
                Heard::End => break,
            }
            let mut events = EventWriter::new(&mut memory);
            engine.take(&mut events);
            commands.clear();
            answer_all(events.written(), &mut commands, self.name.as_bytes());
            engine.submit(commands.as_bytes(), None).unwrap();
            assert!(!engine.is_broken());
            if self.leaves.load(Ordering::SeqCst) && !left {
                left = true;
                control.write_all(b"{\"type\":\"leave\"}\n").unwrap();
            }
            // Nothing more comes, and every connection has been told closed.
            if heard_left && engine.open_connections() == 0 && !engine.has_pending_events() {
                break;
            }
        }
        if let Some(next) = moved {
            next.join().unwrap();
        }
    }
}

fn wait(engine: &AttachedEngine, control: &UnixStream) {
    let mut descriptors = [
        PollFd::new(engine, PollFlags::IN),
        PollFd::new(control, PollFlags::IN),
    ];
    // Interrupted: as good as a timeout.
    let _ = poll(&mut descriptors, Some(&STEP));
}

enum Heard {
    Nothing,
    Moved,
    Left,
    End,
}

fn heard(control: &mut UnixStream) -> Heard {
    let mut buffer = [0; 4096];
    match control.read(&mut buffer) {
        Ok(0) => Heard::End,
        Ok(count) if buffer[..count].starts_with(br#"{"type":"moved""#) => Heard::Moved,
        Ok(count) if buffer[..count].starts_with(br#"{"type":"left""#) => Heard::Left,
        Ok(_) => Heard::End,
        Err(_) => Heard::Nothing,
    }
}

fn answer_all(events: &[u8], commands: &mut CommandWriter, body: &[u8]) {
    for record in Records::new(events).flatten() {
        if record.kind() != event::REQUEST {
            continue;
        }
        let connection = if record.flags() & request_flag::KEEP_ALIVE != 0 {
            response_flag::CONNECTION_KEEP_ALIVE | response_flag::KEEP_ALIVE
        } else {
            response_flag::CONNECTION_CLOSE | response_flag::CLOSE
        };
        let response = Response {
            status: 200,
            flags: response_flag::END | response_flag::CONTENT_LENGTH | connection,
            template: 1,
            body,
            content_length: body.len() as u64,
            ..Response::default()
        };
        commands.respond(record.token(), record.sequence(), &response);
    }
}

const CHILD_VARIABLE: &str = "PORTICO_TEST_APPLICATION";

/// An application in a process of its own, possibly of another user.
pub(crate) struct Process {
    pub(crate) child: Child,
}

impl Process {
    /// Starts it and waits for the host's answer, which it prints.
    pub(crate) fn start(
        socket: &Path,
        prefix: &str,
        name: &str,
        user: Option<u32>,
    ) -> (Self, Value) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "application_process", "--nocapture"])
            .env(
                CHILD_VARIABLE,
                format!("{}|{prefix}|{name}", socket.display()),
            )
            .stdout(Stdio::piped());
        if let Some(id) = user {
            command.uid(id).gid(id);
        }
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut text = String::new();
        let mut byte = [0; 1];
        let answer = loop {
            assert_eq!(
                output.read(&mut byte).unwrap(),
                1,
                "the process ended: {text}"
            );
            if byte != *b"\n" {
                text.push(char::from(byte[0]));
                continue;
            }
            if let Some(at) = text.find('{') {
                break serde_json::from_str(&text[at..]).unwrap();
            }
            text.clear();
        };
        (Self { child }, answer)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What [`Process::start`] runs, in this same program.
pub(crate) fn process_main() {
    let Ok(told) = std::env::var(CHILD_VARIABLE) else {
        return;
    };
    let mut parts = told.split('|');
    let socket = PathBuf::from(parts.next().unwrap());
    let (prefix, name) = (parts.next().unwrap(), parts.next().unwrap());
    match Application::start(&socket, prefix, name) {
        Ok(application) => {
            println!("{}", application.answer);
            // Until it is killed, or its test has gone.
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        Err(refusal) => println!("{refusal}"),
    }
    // The test reads no further.
    std::process::exit(0);
}
