//! What a host runs with: the configuration in the host's own terms.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use portico_cache::store::StoreLimits;
use portico_config::Config;
use portico_dispatch::QueueOptions;
use portico_engine::{ListenerOptions, Protocols};
use portico_router::{Scheme, Unreserved, UrlPrefix};

use crate::applications::Specification;
use crate::configuration;
use crate::protocol::{CertificateRecord, ReservationRecord};

/// Shards, at most, as in `ShardThread::start_all`; a registration's descriptors must fit into one message too.
pub const MAX_SHARDS: u32 = 64;

/// Settings in force. [`Settings::default`] is a host without a configuration file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads of the data path, 1 to [`MAX_SHARDS`]. Takes effect at start and at `portico upgrade`.
    pub shards: u32,
    /// The control socket, if the configuration names one.
    pub socket: Option<PathBuf>,
    /// How long a host that was started on demand stays after the last registration left.
    pub idle_exit: Duration,
    /// How long connections may take to finish when the host stops.
    pub drain: Duration,
    /// How much is kept of answers.
    pub cache: StoreLimits,
    /// Settings of queues that no site names.
    pub default_queue: QueueOptions,
    /// Prefixes that have a queue and a listener even without processes.
    pub sites: BTreeMap<UrlPrefix, QueueOptions>,
    /// What holds where no reservation does.
    pub unreserved: Unreserved,
    /// Reservations of the file.
    pub reservations: Vec<ReservationRecord>,
    /// Certificates of the file.
    pub certificates: Vec<CertificateRecord>,
    /// Ports that are open from start to end.
    pub listeners: BTreeMap<u16, ListenerSettings>,
    /// Programs that the host starts.
    pub applications: Vec<Specification>,
    /// Limits and timeouts of all ports.
    pub limits: ListenerOptions,
    /// All of the above as the file has it.
    pub config: Config,
}

/// Settings of one port.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Addresses to listen on; none: all, IPv6 and IPv4.
    pub addresses: Vec<IpAddr>,
    /// Connections that the kernel keeps until they are accepted.
    pub backlog: u32,
    /// Versions of HTTP.
    pub protocols: Protocols,
    /// Whether the host runs without it.
    pub optional: bool,
}

impl Default for Settings {
    fn default() -> Self {
        configuration::settings(Config::default())
    }
}
