//! Portico's TLS server as BoringSSL's test runner (BoGo) wants to drive it: it calls the runner, shakes hands, sends
//! back each byte inverted, and ends with 0 when all was well, with 89 when the test asks for something that the server
//! does not have, else with 1. `conformance/tls/bogo` runs it. It is never shipped.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a program for tests"
)]

mod exporter;
mod options;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use options::{Alpn, Arguments, Settings, Unimplemented};
use portico_tls::{
    AlpnChoice, Connection, Context, Refusal, ServerNames, SessionInfo, VerifyError,
};

/// What the runner takes for "this implementation does not have that".
const UNIMPLEMENTED: u8 = 89;
/// A file to append the reasons for it to, a line each.
const REASONS: &str = "BOGO_UNIMPLEMENTED_FILE";
/// How long to wait for the runner's end of a connection that has failed, so that it reads the alert first.
const GOODBYE: Duration = Duration::from_secs(5);
/// RFC 8446, 4.1.3: the random of a ServerHello that is a HelloRetryRequest begins so.
const RETRY_REQUEST: [u8; 8] = [0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words
        .peek()
        .is_some_and(|word| word == "-is-handshaker-supported")
    {
        println!("No");
        return ExitCode::SUCCESS;
    }
    match run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Unimplemented(Unimplemented(reason))) => {
            note(&reason);
            ExitCode::from(UNIMPLEMENTED)
        }
        Err(Failure::Failed(what)) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Unimplemented(Unimplemented),
    Failed(String),
}

impl From<Unimplemented> for Failure {
    fn from(why: Unimplemented) -> Self {
        Self::Unimplemented(why)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(format!("I/O: {error}"))
    }
}

fn failed<T>(what: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Failed(what.into()))
}

fn note(reason: &str) {
    let Some(path) = std::env::var_os(REASONS) else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path);
    // One write, so that lines of programs side by side don't mix.
    let written = file.and_then(|mut file| file.write_all(format!("{reason}\n").as_bytes()));
    if let Err(error) = written {
        eprintln!("the reason can't be noted: {error}");
    }
}

fn run(words: impl Iterator<Item = String>) -> Result<(), Failure> {
    let arguments = Arguments::parse(words)?;
    let names = server_names(&arguments.initial)?;
    // Sessions in memory are a context's own.
    let resumed = if arguments.initial.no_ticket == arguments.resumed.no_ticket {
        Arc::clone(&names)
    } else {
        server_names(&arguments.resumed)?
    };
    for index in 0..=arguments.resume_count {
        let (settings, names) = if index == 0 {
            (&arguments.initial, &names)
        } else {
            (&arguments.resumed, &resumed)
        };
        let address: SocketAddr = if arguments.ipv6 {
            (Ipv6Addr::LOCALHOST, arguments.port).into()
        } else {
            (Ipv4Addr::LOCALHOST, arguments.port).into()
        };
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(&arguments.shim_id.to_le_bytes())?;
        Exchange::new(stream, settings, Arc::clone(names)).run(index > 0)?;
    }
    Ok(())
}

fn server_names(settings: &Settings) -> Result<Arc<ServerNames>, Failure> {
    let old = |version| version != 0 && version < 0x0303;
    if old(settings.max_version) {
        let text = "a version before TLS 1.2 as the highest: Portico has none";
        return Err(Unimplemented(text.into()).into());
    }
    match Context::new(&settings.context()?) {
        Ok(context) => Ok(Arc::new(ServerNames::new(context))),
        // A key, group or scheme that docs/tls.md has no place for.
        Err(error) => {
            Err(Unimplemented(format!("option {}: {}", error.field(), error.code())).into())
        }
    }
}

/// One connection.
struct Exchange<'a> {
    stream: TcpStream,
    settings: &'a Settings,
    tls: Connection,
    plaintext: Vec<u8>,
    output: Vec<u8>,
    retry_request: bool,
}

impl<'a> Exchange<'a> {
    fn new(stream: TcpStream, settings: &'a Settings, names: Arc<ServerNames>) -> Self {
        let asks = settings.asynchronous
            || settings.expected.advertised_alpn.is_some()
            || !matches!(settings.alpn, Alpn::Nothing);
        Self {
            stream,
            settings,
            tls: Connection::new(names, asks),
            plaintext: Vec::new(),
            output: Vec::new(),
            retry_request: false,
        }
    }

    fn run(mut self, may_resume: bool) -> Result<(), Failure> {
        let result = self.converse(may_resume);
        if result.is_err() {
            // The alert; then the end of what is sent, and the runner's end.
            let _ = self.flush();
            let _ = self.stream.shutdown(Shutdown::Write);
            let _ = self.stream.set_read_timeout(Some(GOODBYE));
            let mut rest = [0; 4_096];
            while matches!(self.stream.read(&mut rest), Ok(1..)) {}
        }
        result
    }

    fn converse(&mut self, may_resume: bool) -> Result<(), Failure> {
        let mut input = vec![0; 16_384];
        let mut peer_closed = false;
        while self.tls.session_info().is_none() {
            let Some(closed) = self.receive(&mut input)? else {
                return failed("HANDSHAKE_EOF: the connection ended during the handshake");
            };
            peer_closed |= closed;
        }
        self.check(may_resume)?;
        if let (Some(export), Some(facts)) = (self.settings.export(), self.tls.session_info()) {
            let material = export.compute(facts);
            self.write(&material)?;
        }
        if self.settings.writes_first {
            self.write(b"hello")?;
        }
        if self.settings.shuts_down {
            self.tls.close_notify(&mut self.output);
            self.flush()?;
            if !self.settings.check_close_notify {
                return Ok(());
            }
        }
        loop {
            let mut data = std::mem::take(&mut self.plaintext);
            if !self.settings.shuts_down {
                data.iter_mut().for_each(|byte| *byte ^= 0xff);
                self.write(&data)?;
            }
            if peer_closed {
                self.tls.close_notify(&mut self.output);
                return self.flush();
            }
            match self.receive(&mut input)? {
                Some(closed) => peer_closed = closed,
                None if self.settings.check_close_notify => {
                    return failed("TRUNCATED: the connection ended without close_notify");
                }
                None => return Ok(()),
            }
        }
    }

    /// Takes what has come, and gives whether close_notify was in it. `None` at the end of the connection.
    fn receive(&mut self, input: &mut [u8]) -> Result<Option<bool>, Failure> {
        let count = match self.stream.read(input) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
            Err(error) => return Err(error.into()),
        };
        if count == 0 {
            return Ok(None);
        }
        let step = if self.settings.asynchronous { 1 } else { count };
        let mut closed = false;
        for piece in input[..count].chunks_mut(step) {
            let status = self
                .tls
                .handle_input(piece, &mut self.plaintext, &mut self.output);
            let mut status = status.map_err(|error| Failure::Failed(describe(&error)))?;
            closed |= status.peer_closed;
            if status.client_hello {
                status = self.answer_hello()?;
                closed |= status.peer_closed;
            }
        }
        self.flush()?;
        Ok(Some(closed))
    }

    /// What `SNICallback` and `ALPNCallback` do.
    fn answer_hello(&mut self) -> Result<portico_tls::Status, Failure> {
        let hello = self.tls.client_hello().cloned().unwrap_or_default();
        let expected = &self.settings.expected.advertised_alpn;
        if expected.as_ref().is_some_and(|alpn| *alpn != hello.alpn) {
            return failed(format!("the client advertised {:?}", hello.alpn));
        }
        let alpn = match &self.settings.alpn {
            Alpn::Nothing => AlpnChoice::Context,
            Alpn::Select(protocol) => AlpnChoice::Protocol(protocol),
            Alpn::Decline => AlpnChoice::Ignore,
            Alpn::Reject if hello.alpn.is_empty() => AlpnChoice::Ignore,
            Alpn::Reject => {
                let error = self.tls.refuse(Refusal::Alpn, &mut self.output);
                return failed(describe(&error));
            }
        };
        let status = self
            .tls
            .provide(None, alpn, &mut self.plaintext, &mut self.output);
        status.map_err(|error| Failure::Failed(describe(&error)))
    }

    fn check(&self, may_resume: bool) -> Result<(), Failure> {
        let Some(facts) = self.tls.session_info() else {
            return failed("the handshake left no facts");
        };
        let differences = differences(facts, self.settings, self.retry_request, may_resume);
        if differences.is_empty() {
            Ok(())
        } else {
            failed(format!(
                "expected something else: {}",
                differences.join(", ")
            ))
        }
    }

    fn write(&mut self, data: &[u8]) -> Result<(), Failure> {
        let written = self.tls.write(data, &mut self.output);
        written.map_err(|error| Failure::Failed(describe(&error)))?;
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Failure> {
        // Content type, version, length, message type, length, version: then the random.
        self.retry_request |= self.output.get(11..19) == Some(&RETRY_REQUEST[..]);
        let written = self.stream.write_all(&self.output);
        self.output.clear();
        match written {
            Err(error)
                if error.kind() == ErrorKind::BrokenPipe
                    || error.kind() == ErrorKind::ConnectionReset =>
            {
                Ok(())
            }
            other => Ok(other?),
        }
    }
}

fn describe(error: &portico_tls::TlsError) -> String {
    format!("{}: {}", error.code(), error.message())
}

/// What is not as the runner wants it.
fn differences(
    facts: &SessionInfo,
    settings: &Settings,
    retried: bool,
    may_resume: bool,
) -> Vec<String> {
    let expected = &settings.expected;
    let mut found = Vec::new();
    let mut compare = |what: &str, differs: bool| {
        if differs {
            found.push(what.to_owned());
        }
    };
    compare(
        "version",
        expected.version.is_some_and(|want| want != facts.version),
    );
    compare(
        "group",
        expected.curve.is_some_and(|want| want != facts.named_group),
    );
    compare(
        "server name",
        expected.server_name.is_some() && expected.server_name != facts.server_name,
    );
    compare(
        "protocol",
        expected.alpn.is_some() && expected.alpn != facts.alpn,
    );
    compare(
        "retry request",
        expected.retry_request.is_some_and(|want| want != retried),
    );
    if may_resume {
        compare(
            "resumption",
            facts.resumed != expected.resumed.unwrap_or(true),
        );
    }
    if let Some(file) = &expected.peer_chain {
        compare(
            "client certificates",
            options::certificates(file) != facts.peer_certificates,
        );
    }
    let judged = settings.require_certificate || settings.verify_peer || expected.verified;
    let judged = judged && (settings.require_certificate || !facts.peer_certificates.is_empty());
    compare(
        "verification",
        judged && facts.verify_error != VerifyError::Ok,
    );
    found
}
