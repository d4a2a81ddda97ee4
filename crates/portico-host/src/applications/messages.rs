//! What is said on the control socket of applications and their workers. Part of [`crate::protocol`].

use serde::{Deserialize, Serialize};

/// What a worker's process says of the server that it registers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerRecord {
    /// `PORTICO_WORKER`, as the host gave it.
    pub id: String,
    /// The port that the program listens on.
    pub port: u16,
    /// The address that it listens on; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whether other processes of the worker may have the same port, as those of `node:cluster`.
    pub shared: bool,
}

/// A line of a worker's connection. Others are ignored, so that newer programs can say more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum WorkerLine {
    /// The program has said that it is ready.
    Ready,
    /// The answer to [`WorkerWord::Ping`].
    Pong {
        /// The question's number.
        id: u64,
        /// Bytes of JavaScript's objects.
        #[serde(default)]
        heap_used: u64,
        /// Which part of the time since the question before its event loop was busy, from 0 to 1.
        #[serde(default)]
        event_loop: f64,
    },
    /// The answer to [`WorkerWord::Shutdown`].
    Shutdown {
        /// Whether the program listens to such messages.
        heard: bool,
    },
    /// Put another worker in the place of this one: [`crate::protocol::Reply::Recycling`].
    Recycle {
        /// Why, for people.
        #[serde(default)]
        reason: Option<String>,
    },
}

/// What a host says on a worker's connection by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum WorkerWord {
    /// How are you? [`WorkerLine::Pong`].
    Ping {
        /// A number for the answer.
        id: u64,
    },
    /// The program is to end. [`WorkerLine::Shutdown`].
    Shutdown,
}

/// What is asked of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum ApplicationCommand {
    /// [`crate::protocol::Answer::applications`]: all of them.
    List,
    /// The same for one.
    Describe {
        /// Its name.
        name: String,
    },
    /// Start it, if it was stopped or has failed.
    Start {
        /// Its name.
        name: String,
    },
    /// End its workers.
    Stop {
        /// Its name.
        name: String,
    },
    /// End its workers, and start others when they have ended.
    Restart {
        /// Its name.
        name: String,
    },
    /// Replace its workers one after the other: no request fails.
    Reload {
        /// Its name.
        name: String,
    },
    /// Change the number of its workers.
    Scale {
        /// Its name.
        name: String,
        /// How many.
        instances: u32,
    },
}

impl ApplicationCommand {
    /// What it says, in a word.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Describe { .. } => "describe",
            Self::Start { .. } => "start",
            Self::Stop { .. } => "stop",
            Self::Restart { .. } => "restart",
            Self::Reload { .. } => "reload",
            Self::Scale { .. } => "scale",
        }
    }
}
