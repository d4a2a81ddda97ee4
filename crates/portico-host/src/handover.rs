//! What a host hands to the program that takes over, and how it travels: over a socket pair that is the new program's
//! standard input, as lines of JSON with descriptors. (Not by numbers in the environment, as systemd does it: numbers
//! would have to survive exec, in a process with threads, and be trusted on the other side.)

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use portico_channel::shared::FINGERPRINT;
use portico_sys::{Errno, descriptors};
use serde::{Deserialize, Serialize};

use crate::lines::LineBuffer;
use crate::place::Place;
use crate::{Failure, code};

/// Set for a program that is to take over.
pub(crate) const VARIABLE: &str = "PORTICO_UPGRADE";
const VERSION: u32 = 1;
/// Sockets in one message; the kernel takes 253 descriptors.
const BATCH: usize = 200;
/// Room for thousands of prefixes.
const MAX_LINE_BYTES: usize = 64 << 20;
const READ_BYTES: usize = 64 * 1024;
/// How long the new program waits for the old one's words.
const PATIENCE: Duration = Duration::from_secs(10);

/// The old host's word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handover {
    pub(crate) version: u32,
    /// Fingerprint of the old host's records, which are its applications'; 0 from one of before there was one.
    #[serde(default)]
    pub(crate) records: u32,
    /// Path of the control socket.
    pub(crate) socket: String,
    /// Whether its file is the host's to remove.
    pub(crate) owns_socket: bool,
    /// How many listening sockets follow the control socket and the lock.
    pub(crate) sockets: usize,
    /// Ports that are kept open whoever needs them: the service manager's. Whether each is for `https`.
    pub(crate) kept_ports: BTreeMap<u16, bool>,
    /// Prefixes whose processes will register again.
    pub(crate) expected: Vec<Expected>,
}

/// A prefix of the old host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Expected {
    pub(crate) prefix: String,
    pub(crate) uid: u32,
    pub(crate) gids: Vec<u32>,
    /// How many processes serve it; 0: its queue waits for one.
    pub(crate) members: u32,
}

/// The new program's word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(crate) enum TakeOver {
    /// It could start: it registers applications from now on.
    Ready,
    /// It could not.
    Failed { message: String },
    /// It accepts connections: the old one may stop to.
    Serving,
}

/// What has arrived.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) handover: Handover,
    pub(crate) control: OwnedFd,
    pub(crate) lock: OwnedFd,
    pub(crate) sockets: Vec<OwnedFd>,
    pub(crate) channel: UnixStream,
}

impl Handover {
    pub(crate) fn new(
        place: &Place,
        kept_ports: BTreeMap<u16, bool>,
        expected: Vec<Expected>,
    ) -> Self {
        Self {
            version: VERSION,
            records: FINGERPRINT,
            socket: place.path().display().to_string(),
            owns_socket: place.owns_socket(),
            sockets: 0,
            kept_ports,
            expected,
        }
    }

    /// Whether the applications of the old host can register with this program. Without any it may take over.
    ///
    /// # Errors
    /// They were built from other tables of records.
    pub(crate) fn check_records(&self) -> Result<(), Failure> {
        let members = self.expected.iter().map(|it| u64::from(it.members));
        let members: u64 = members.sum();
        if self.records == FINGERPRINT || members == 0 {
            return Ok(());
        }
        let text = format!(
            "this program ({}) and the old host, where applications serve ({members} registrations), were built from \
             different tables of records, and it could not serve these applications: end them or stop the host, then \
             start all with the same version",
            env!("CARGO_PKG_VERSION")
        );
        Err(Failure::new(code::UPGRADE, text))
    }

    /// Sends everything. Blocks; `channel` is a blocking socket with a timeout.
    pub(crate) fn send(
        &self,
        mut channel: &UnixStream,
        control: BorrowedFd<'_>,
        lock: BorrowedFd<'_>,
        sockets: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let handover = Self {
            sockets: sockets.len(),
            ..self.clone()
        };
        let mut line = serde_json::to_vec(&handover)?;
        line.push(b'\n');
        let sent = descriptors::send(channel, &line, &[control, lock])?;
        channel.write_all(line.get(sent..).unwrap_or_default())?;
        for batch in sockets.chunks(BATCH) {
            descriptors::send(channel, b"\n", batch)?;
        }
        Ok(())
    }
}

/// What the old host sends to this program, if this program was started to take over. Blocks until it is there.
///
/// # Errors
/// The old host broke off, or its words aren't understood.
pub(crate) fn receive() -> Result<Option<Received>, Failure> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(None);
    }
    let failed = |what: &str| {
        Failure::new(
            code::UPGRADE,
            format!("taking over from the old host: {what}"),
        )
    };
    let channel = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(UnixStream::from)
        .map_err(|error| failed(&error.to_string()))?;
    receive_from(channel)
        .map(Some)
        .map_err(|error| failed(&error.to_string()))
}

fn receive_from(channel: UnixStream) -> io::Result<Received> {
    channel.set_read_timeout(Some(PATIENCE))?;
    let mut lines = LineBuffer::with_limit(MAX_LINE_BYTES);
    let mut found = Vec::new();
    let mut handover: Option<Handover> = None;
    loop {
        if handover.is_none()
            && let Some(line) = lines.next_line().map_err(io::Error::other)?
        {
            handover = Some(read(&line)?);
        }
        if let Some(handover) = handover.take_if(|handover| found.len() >= handover.sockets + 2) {
            let sockets = found.split_off(2);
            let lock = found.pop().ok_or(Errno::BADMSG)?;
            let control = found.pop().ok_or(Errno::BADMSG)?;
            return Ok(Received {
                handover,
                control,
                lock,
                sockets,
                channel,
            });
        }
        let mut buffer = vec![0; READ_BYTES];
        match descriptors::receive(&channel, &mut buffer, &mut found)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => lines.push(buffer.get(..count).unwrap_or_default()),
        }
    }
}

fn read(line: &str) -> io::Result<Handover> {
    let handover: Handover = serde_json::from_str(line)?;
    if handover.version != VERSION {
        let text = format!(
            "it speaks version {} of the hand-over, this program {VERSION}: stop the host and start the new one",
            handover.version
        );
        return Err(io::Error::other(text));
    }
    Ok(handover)
}

impl TakeOver {
    pub(crate) fn to_line(&self) -> Vec<u8> {
        // Strings only: can't fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_sys::Wake;

    #[test]
    fn everything_arrives_however_much_there_is() {
        for count in [0, 1, BATCH, 2 * BATCH + 1] {
            let (old, new) = UnixStream::pair().unwrap();
            let wake = Wake::new().unwrap();
            let sockets = vec![wake.as_fd(); count];
            let expected = Expected {
                prefix: "http://*:8080/".repeat(200),
                uid: 1,
                gids: vec![2],
                members: 3,
            };
            let handover = Handover {
                version: VERSION,
                records: FINGERPRINT,
                kept_ports: BTreeMap::from([(80, false)]),
                expected: vec![expected; 100],
                ..Handover::default()
            };
            let received = std::thread::scope(|scope| {
                let task = scope.spawn(|| receive_from(new).unwrap());
                handover
                    .send(&old, wake.as_fd(), wake.as_fd(), &sockets)
                    .unwrap();
                task.join().unwrap()
            });
            assert_eq!(received.sockets.len(), count);
            assert_eq!(received.handover.expected, handover.expected);
            assert_eq!(received.handover.kept_ports, handover.kept_ports);
        }
    }

    #[test]
    fn an_old_host_of_another_version_is_refused() {
        let line = r#"{"version":9,"socket":"","owns_socket":true,"sockets":0,"kept_ports":{},"expected":[]}"#;
        assert!(read(line).unwrap_err().to_string().contains("version 9"));
    }

    #[test]
    fn an_old_host_with_registrations_of_other_records_is_refused_and_one_without_is_not() {
        let line = |records: &str, members: u32| {
            format!(
                r#"{{"version":{VERSION},{records}"socket":"","owns_socket":true,"sockets":0,"kept_ports":{{}},"expected":[{{"prefix":"http://*:80/","uid":1,"gids":[],"members":{members}}}]}}"#
            )
        };
        let ours = format!(r#""records":{FINGERPRINT},"#);
        let theirs = format!(r#""records":{},"#, FINGERPRINT ^ 1);
        for records in [theirs.as_str(), ""] {
            let failure = read(&line(records, 2)).unwrap().check_records();
            let text = failure.unwrap_err().message;
            assert!(text.contains("2 registrations"), "{text}");
            assert!(text.contains("different tables of records"), "{text}");
            assert!(read(&line(records, 0)).unwrap().check_records().is_ok());
        }
        assert!(read(&line(&ours, 2)).unwrap().check_records().is_ok());
    }
}
