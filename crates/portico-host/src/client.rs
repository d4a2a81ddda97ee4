//! Asking a host: what the commands of `portico` use. Blocks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::Failure;
use crate::protocol::{Answer, Reply, Request};

/// Bytes of an answer, at most: room for the status of a full host.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskError {
    /// The host broke off.
    Broken(io::Error),
    /// The host refused.
    Refused(Failure),
}

/// Asks the host at the other end of a connection ([`portico_locate::find`]) and waits for its answer, for at most
/// `patience` (`None`: as long as it takes).
///
/// # Errors
/// [`AskError`].
pub fn ask(
    stream: &UnixStream,
    request: &Request,
    patience: Option<Duration>,
) -> Result<Answer, AskError> {
    let line = exchange(stream, request, patience).map_err(AskError::Broken)?;
    match serde_json::from_str::<Reply>(&line) {
        Ok(Reply::Ok(answer)) => Ok(*answer),
        Ok(Reply::Error { code, message }) => Err(AskError::Refused(Failure {
            code: code.into(),
            message,
        })),
        Ok(_) => Err(AskError::Broken(io::ErrorKind::InvalidData.into())),
        Err(error) => Err(AskError::Broken(error.into())),
    }
}

fn exchange(
    mut stream: &UnixStream,
    request: &Request,
    patience: Option<Duration>,
) -> io::Result<String> {
    stream.set_read_timeout(patience)?;
    stream.write_all(&request.to_line())?;
    let mut line = String::new();
    if BufReader::new(stream.take(MAX_ANSWER_BYTES)).read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}
