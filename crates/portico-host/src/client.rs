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
    read_line(stream, MAX_ANSWER_BYTES)
}

/// A line of at most `limit` bytes, its end included.
fn read_line(stream: impl Read, limit: u64) -> io::Result<String> {
    let mut line = Vec::new();
    let count = BufReader::new(stream.take(limit)).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        let is_too_long = u64::try_from(count).unwrap_or(u64::MAX) >= limit;
        return Err(if is_too_long {
            let text = format!("its answer has more than {limit} bytes");
            io::Error::new(io::ErrorKind::InvalidData, text)
        } else {
            io::ErrorKind::UnexpectedEof.into()
        });
    }
    String::from_utf8(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_have_its_limit_and_not_a_byte_more() {
        assert_eq!(read_line(&b"abc\nx"[..], 4).unwrap(), "abc\n");
        // Cut off in the middle of a character, too.
        for answer in ["abcd\n", "abcd", "abc\u{e9}\n"] {
            let error = read_line(answer.as_bytes(), 4).unwrap_err();
            assert_eq!(error.to_string(), "its answer has more than 4 bytes");
        }
        for answer in ["", "abc"] {
            let error = read_line(answer.as_bytes(), 4).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn an_answer_without_end_is_read_up_to_the_limit() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let host = std::thread::spawn(move || io::copy(&mut io::repeat(b' '), &mut theirs));
        let error = ask(&ours, &Request::Status, None).unwrap_err();
        let AskError::Broken(error) = error else {
            panic!("{error:?}")
        };
        let expected = format!("its answer has more than {MAX_ANSWER_BYTES} bytes");
        assert_eq!(error.to_string(), expected);
        drop(ours);
        host.join().unwrap().unwrap_err();
    }
}
