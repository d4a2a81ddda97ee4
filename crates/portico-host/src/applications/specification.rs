//! What an application is, and how it is run.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use portico_router::UrlPrefix;
use portico_supervisor::Policy;
use portico_sys::spawn::Isolation;

use crate::registry::Owner;

/// An application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specification {
    /// Its name, for people.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What its servers are attached to.
    pub listen: Listen,
    /// Variables over those of the host.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether it gets all variables of the host, but for the host's own. Otherwise only those that say where it is and in
    /// which language.
    pub inherits_environment: bool,
    /// Folder of the package `portico`, which workers load first.
    pub package: PathBuf,
    /// User, umask.
    pub isolation: Isolation,
    /// How many workers it has.
    pub instances: u32,
    /// Where its output goes.
    pub output: Output,
    /// How long a worker may take none of the requests that are there for it, before it is killed. `None`: for ever.
    pub hang_timeout: Option<Duration>,
    /// Requests after which a worker is replaced. `None`: never for that.
    pub max_requests: Option<u64>,
    /// Bytes of memory beyond which a worker is replaced. `None`: no limit.
    pub max_memory: Option<u64>,
    /// The same of JavaScript's heap.
    pub max_heap: Option<u64>,
    /// The age at which a worker is replaced, or up to a tenth before. `None`: never for that.
    pub max_age: Option<Duration>,
    /// Whether a worker is ready, and gets requests, only when its program has said so.
    pub wait_ready: bool,
    /// Whether its program is told to end by a message, if it listens to messages, in place of SIGTERM.
    pub shutdown_message: bool,
    /// When its workers are started, replaced and given up.
    pub policy: Policy,
}

/// What an application's servers are attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Each port that it listens on is opened by the host.
    AnyPort,
    /// These prefixes, for the server that listens on `port`.
    Prefixes {
        /// The number that the program listens on.
        port: u16,
        /// Whether the number is the program's own: otherwise it is told by `PORT`, and port 0 counts too.
        is_fixed: bool,
        /// URL prefixes.
        prefixes: Vec<String>,
    },
    /// Nothing: it serves no requests.
    Nothing,
}

/// Where the output of workers goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Where the host's goes, untouched.
    Inherited,
    /// To the host's standard output, each line with the number of its slot.
    Terminal,
    /// To a log of each slot.
    Logs(LogLimits),
}

/// How much is kept of the output of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Bytes of a file.
    pub max_bytes: u64,
    /// How long a file that is full is kept after its last line.
    pub max_age: Duration,
    /// Full files that are kept.
    pub files: u32,
}

impl Specification {
    /// The user that it runs as.
    pub(crate) fn uid(&self) -> u32 {
        let identity = self.isolation.identity.as_ref();
        identity.map_or_else(
            || rustix::process::geteuid().as_raw(),
            |identity| identity.uid,
        )
    }

    /// The user and the groups that it runs as.
    pub(crate) fn owner(&self) -> Owner {
        let identity = self.isolation.identity.as_ref();
        let own = || rustix::process::getegid().as_raw();
        let gids = identity.map_or_else(|| vec![own()], |identity| identity.groups.clone());
        Owner {
            uid: self.uid(),
            gids,
        }
    }

    /// The prefixes that are declared for it.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = UrlPrefix> {
        let declared = match &self.listen {
            Listen::Prefixes { prefixes, .. } => prefixes.as_slice(),
            Listen::AnyPort | Listen::Nothing => &[],
        };
        // They have been checked where they were read.
        declared
            .iter()
            .filter_map(|text| UrlPrefix::parse(text).ok())
    }

    /// Whether workers of both are started in the same way: those that run need not be replaced.
    pub(crate) fn starts_as(&self, other: &Self) -> bool {
        let start = |own: &Self| {
            let own = own.clone();
            (
                (own.command, own.directory, own.listen, own.package),
                (own.environment, own.inherits_environment, own.isolation),
                own.output,
            )
        };
        start(self) == start(other)
    }

    /// A number that is another one, most probably, where workers would be started in another way.
    pub(crate) fn start_number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let start = (&self.command, &self.directory, &self.package);
        start.hash(&mut hasher);
        (&self.environment, self.inherits_environment).hash(&mut hasher);
        format!("{:?} {:?} {:?}", self.listen, self.isolation, self.output).hash(&mut hasher);
        hasher.finish()
    }

    /// How many of its prefixes a worker registers before it is ready.
    pub(crate) fn expected_registrations(&self) -> usize {
        match &self.listen {
            Listen::AnyPort => 1,
            Listen::Prefixes { prefixes, .. } => prefixes.len(),
            Listen::Nothing => 0,
        }
    }
}
