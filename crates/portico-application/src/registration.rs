//! Registering: one line to the host's control socket, one line and the channels back.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use portico_channel::shared::OpenError;
use portico_locate::{ConnectError, Location, connect};
use portico_sys::{Bell, Errno, Ringer, descriptors};

use crate::Channels;

/// How long the host may take to accept the connection, and to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a line at most.
const LINE_BYTES: usize = 64 * 1024;

/// What a host gave for a registration.
#[derive(Debug)]
pub struct Registration {
    /// The host's answer, without its line feed.
    pub answer: String,
    /// The connection to the host: it lasts as long as the registration.
    pub control: OwnedFd,
    /// The channels; `None` where the answer says why there are none.
    pub channels: Option<Channels>,
}

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is no host, or none that may be trusted; nothing was sent.
    Connect(ConnectError),
    /// Speaking to the host failed, or it ended.
    Connection(io::Error),
    /// What the host handed over are no channels that this program understands.
    Channel(OpenError),
    /// The host's answer is longer than a line may be, not UTF-8, or came with the wrong descriptors.
    Answer,
}

impl RegisterError {
    /// Its code, as `docs/errors.md` lists it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connect(error) => error.code(),
            Self::Channel(OpenError::Version { .. } | OpenError::Records { .. }) => {
                "ERR_PORTICO_PROTOCOL"
            }
            _ => "ERR_PORTICO_HOST",
        }
    }
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(error) => error.fmt(f),
            Self::Connection(error) => write!(f, "the connection to the host failed: {error}"),
            Self::Channel(error) => error.fmt(f),
            Self::Answer => f.write_str("the host's answer can't be understood"),
        }
    }
}

impl std::error::Error for RegisterError {}

/// Finds the host ([`portico_locate::find`]) and sends it `request` (a line without its line feed). Returns what came
/// back, and where the host is or would be. Blocks until the host has answered, at most 30 s.
///
/// # Errors
/// [`RegisterError`]. That the host refused the registration is no error: see [`Registration::answer`].
pub fn find_and_register(request: &str) -> (Location, Result<Registration, RegisterError>) {
    let (location, stream) = portico_locate::find(None, PATIENCE);
    let registration = stream
        .map_err(RegisterError::Connect)
        .and_then(|stream| converse(stream, request));
    (location, registration)
}

/// The same for the host at this location.
///
/// # Errors
/// As [`find_and_register`].
pub fn register(location: &Location, request: &str) -> Result<Registration, RegisterError> {
    let stream = connect(location, PATIENCE).map_err(RegisterError::Connect)?;
    converse(stream, request)
}

fn converse(stream: UnixStream, request: &str) -> Result<Registration, RegisterError> {
    send_line(&stream, request).map_err(RegisterError::Connection)?;
    let (answer, descriptors) = receive_line(&stream)?;
    let channels = open(descriptors)?;
    Ok(Registration {
        answer,
        control: stream.into(),
        channels,
    })
}

fn send_line(stream: &UnixStream, request: &str) -> io::Result<()> {
    use io::Write;
    let mut stream = stream;
    stream.write_all(request.as_bytes())?;
    stream.write_all(b"\n")
}

/// Reads to the line feed and not beyond: what the host says later is for whoever watches the connection.
fn receive_line(stream: &UnixStream) -> Result<(String, Vec<OwnedFd>), RegisterError> {
    let mut line = Vec::new();
    let mut received = Vec::new();
    let mut byte = [0u8; 1];
    loop {
        match descriptors::receive(stream, &mut byte, &mut received) {
            Ok(0) => {
                return Err(RegisterError::Connection(
                    io::ErrorKind::UnexpectedEof.into(),
                ));
            }
            Ok(_) if byte == [b'\n'] => break,
            Ok(_) if line.len() < LINE_BYTES => line.extend_from_slice(&byte),
            Ok(_) => return Err(RegisterError::Answer),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(RegisterError::Connection(errno.into())),
        }
    }
    let text = String::from_utf8(line).map_err(|_| RegisterError::Answer)?;
    Ok((text, received))
}

/// The application's bell, then for each shard its memory and what rings it.
fn open(descriptors: Vec<OwnedFd>) -> Result<Option<Channels>, RegisterError> {
    let mut descriptors = descriptors.into_iter();
    let Some(bell) = descriptors.next() else {
        return Ok(None);
    };
    let mut channels = Vec::new();
    while let Some(memory) = descriptors.next() {
        let ringer = descriptors.next().ok_or(RegisterError::Answer)?;
        channels.push((memory, Ringer::from(ringer)));
    }
    if channels.is_empty() {
        return Err(RegisterError::Answer);
    }
    Channels::open(Bell::from(bell), channels)
        .map(Some)
        .map_err(RegisterError::Channel)
}
