//! What is said on the control socket: one JSON object per line, UTF-8, at most [`MAX_LINE_BYTES`].
//!
//! A connection either registers one prefix (its first line is [`Request::Register`]; it lasts as long as the
//! registration, and its end is the registration's end) or brings commands, each answered by one line. Unknown fields
//! are ignored, so that newer programs can say more; a change that an older program would misunderstand gets a new
//! [`PROTOCOL_VERSION`].

mod caching;
mod certificates;
mod reservations;

use serde::{Deserialize, Serialize};

use crate::Failure;
pub use crate::applications::messages::{ApplicationCommand, WorkerLine, WorkerRecord, WorkerWord};
pub use caching::{CacheCommand, CacheCounters, CacheEntry};
pub use certificates::{Certificate, CertificateRecord};
pub use reservations::{ReservationRecord, Reserve};

/// Version of this file's language. Both sides must have the same.
pub const PROTOCOL_VERSION: u32 = 2;
/// Bytes of a line, its end included. Answers to commands may be longer: the host is trusted by who asks it.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A line from an application or a command of `portico`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Request {
    /// Register a prefix. First request of its connection, which [`Request::Leave`] and [`Request::Cache`] may follow.
    Register(Register),
    /// Give this member nothing new. It finishes what it took, then closes the connection.
    Leave,
    /// This connection is a worker's: [`WorkerLine`]s follow. First request of its connection.
    Worker {
        /// The process's [`PROTOCOL_VERSION`].
        protocol: u32,
        /// `PORTICO_WORKER`, as the host gave it.
        id: String,
    },
    /// Tell what there is: [`Answer::status`].
    Status,
    /// Tell every request in flight and what it waits for: [`Answer::requests`].
    Requests,
    /// End the host.
    Stop {
        /// How long connections may take to finish, milliseconds. Absent: as configured.
        #[serde(default)]
        drain_ms: Option<u64>,
    },
    /// Read the configuration and the certificates again.
    Reload,
    /// Change or list reservations.
    Reserve(Reserve),
    /// Change or list certificates.
    Certificate(Certificate),
    /// Control the host's own applications.
    Application(ApplicationCommand),
    /// What is kept of answers. Of a connection that has registered: of its prefix alone.
    Cache(CacheCommand),
    /// Let a new program take over.
    Upgrade {
        /// Path of the program. Absent: the path that the running one was started from.
        #[serde(default)]
        program: Option<String>,
    },
}

/// One `server.listen(prefix)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// The application's [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The application's `portico_channel::shared::LAYOUT_VERSION`.
    pub layout: u32,
    /// The application's `portico_channel::shared::FINGERPRINT`; 0 from one of before there was one.
    #[serde(default)]
    pub records: u32,
    /// The URL prefix as the program wrote it.
    pub prefix: String,
    /// The process. What it says of itself is shown to people and decides nothing.
    #[serde(default)]
    pub process: Process,
    /// Of which worker of the host's own it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerRecord>,
}

/// What a process says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Process id. The kernel's word counts where it has one.
    pub pid: i32,
    /// The program, such as `chat-1.js`.
    pub program: String,
    /// Version of Node.
    pub node: String,
    /// Version of its `portico` package.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
}

/// A line from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Reply {
    /// The prefix is registered. With the line come descriptors: the application's bell, then for each shard the
    /// channel's memory and what rings the shard. Bells and what rings them are ends of socket pairs, whose other ends
    /// only the host has: a byte is a ring.
    Registered(Registered),
    /// A new host has the control socket: register there. This registration goes on until it is closed.
    Moved,
    /// [`Request::Leave`] was heard: what the member is to finish is in its channels.
    Left,
    /// The host ended the registration.
    Closed {
        /// Why, for programs.
        code: String,
        /// Why, for people.
        message: String,
    },
    /// The request was refused. A registering connection is closed after it.
    Error {
        /// One of [`crate::code`].
        code: String,
        /// What was wrong, where, and what to do.
        message: String,
    },
    /// The connection of a worker is one from now on.
    Worker,
    /// [`WorkerLine::Recycle`] was heard: the worker is replaced when another one is ready.
    Recycling,
    /// A command was carried out.
    Ok(Box<Answer>),
}

/// The answer to [`Request::Register`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// Number of the registration.
    pub member: u32,
    /// How many channels there are.
    pub shards: u32,
    /// The prefix in its canonical form.
    pub prefix: String,
    /// Where the host listens for it: what `server.address()` returns.
    pub address: AddressRecord,
    /// Milliseconds for which idle connections are kept, as told to clients.
    pub keep_alive_timeout: u64,
}

/// An address as Node writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRecord {
    /// IP address.
    pub address: String,
    /// `IPv4` or `IPv6`.
    pub family: String,
    /// Port.
    pub port: u16,
}

/// What a command found or did. Only the asked-for part is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// What was done, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Of `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<crate::status::Status>,
    /// Of `requests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<crate::status::Requests>,
    /// Of `reserve list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservations: Option<Vec<ReservationRecord>>,
    /// Of `application list` and `describe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applications: Option<Vec<crate::applications::ApplicationStatus>>,
    /// Of `cache status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheCounters>,
    /// Of `cache show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<Vec<CacheEntry>>,
    /// Of `cache purge`: how many answers went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged: Option<u64>,
    /// Of `certificate list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<Vec<CertificateRecord>>,
}

impl Answer {
    /// An answer that only says what was done.
    #[must_use]
    pub fn said(message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::default()
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::Error {
            code: failure.code.into_owned(),
            message: failure.message,
        }
    }
}

impl Reply {
    /// The end of a registration, for the reason that an error gives. Other lines stay what they are.
    #[must_use]
    pub fn into_closed(self) -> Self {
        match self {
            Self::Error { code, message } => Self::Closed { code, message },
            other => other,
        }
    }

    /// The line, with its end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        to_line(self)
    }
}

impl Request {
    /// The line, with its end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        to_line(self)
    }

    /// Understands a line.
    ///
    /// # Errors
    /// [`crate::code::REQUEST`], naming what was not understood.
    pub fn parse(line: &str) -> Result<Self, Failure> {
        serde_json::from_str(line).map_err(|error| {
            Failure::new(
                crate::code::REQUEST,
                format!("this line of the control protocol can't be understood: {error}"),
            )
        })
    }
}

/// The types above hold strings, numbers and lists: writing them can't fail.
fn to_line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form_that_applications_write() {
        let line = r#"{"type":"register","protocol":2,"layout":1,"records":7,"prefix":"http://*:8080/1/","process":{"pid":123,"program":"chat-1.js","node":"20.20.2"}}"#;
        let request = Request::parse(line).unwrap();
        let Request::Register(register) = &request else {
            panic!("not a registration: {request:?}");
        };
        assert_eq!(register.process.pid, 123);
        assert_eq!(
            request.to_line().strip_suffix(b"\n").unwrap(),
            line.as_bytes()
        );
        for line in [
            r#"{"type":"leave"}"#,
            r#"{"type":"stop"}"#,
            r#"{"type":"reserve","action":"list"}"#,
            r#"{"type":"reserve","action":"add","prefix":"http://+:80/","users":["ann"]}"#,
            r#"{"type":"certificate","action":"remove","certificate":"/a.pem","new":1}"#,
            r#"{"type":"upgrade"}"#,
        ] {
            Request::parse(line).unwrap();
        }
    }

    #[test]
    fn a_line_that_is_not_understood_is_named() {
        for (line, what) in [
            ("hello", "expected value"),
            ("{}", "missing field `type`"),
            (r#"{"type":"dance"}"#, "unknown variant `dance`"),
            (
                r#"{"type":"register","protocol":1}"#,
                "missing field `layout`",
            ),
        ] {
            let failure = Request::parse(line).unwrap_err();
            assert_eq!(failure.code, crate::code::REQUEST);
            assert!(failure.message.contains(what), "{}", failure.message);
        }
    }

    #[test]
    fn a_registration_is_answered_in_nodes_words() {
        let reply = Reply::Registered(Registered {
            member: 7,
            shards: 2,
            prefix: "http://*:8080/1/".into(),
            address: AddressRecord {
                address: "::".into(),
                family: "IPv6".into(),
                port: 8080,
            },
            keep_alive_timeout: 5000,
        });
        assert_eq!(
            String::from_utf8(reply.to_line()).unwrap().trim_end(),
            r#"{"type":"registered","member":7,"shards":2,"prefix":"http://*:8080/1/","address":{"address":"::","family":"IPv6","port":8080},"keepAliveTimeout":5000}"#
        );
    }
}
