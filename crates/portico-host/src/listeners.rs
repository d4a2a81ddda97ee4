//! Ports: their sockets, and the listeners of all shards on them.
//!
//! A port is opened by the first prefix that needs it, or because it is configured or inherited. All shards accept on
//! the same socket. What changes on a port (limits, certificates) is put into force by new listeners on the same
//! socket before the old ones stop: no connection is refused, and open ones keep what they had.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use portico_dispatch::{Endpoint, ShardThread};
use portico_engine::{ListenerId, ListenerOptions};
use portico_router::Scheme;
use portico_sys::socket;

use crate::certificates::Loaded;
use crate::protocol::AddressRecord;
use crate::{Failure, code, port_sockets};

/// What a port is to be like.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Addresses; none: all.
    pub addresses: Vec<IpAddr>,
    /// Connections that the kernel keeps until they are accepted.
    pub backlog: u32,
    /// Limits and timeouts.
    pub limits: ListenerOptions,
    /// Certificates, the default first. Empty for `http`.
    pub certificates: Vec<Loaded>,
}

impl Wanted {
    /// Where the configuration names no addresses, the port is opened on this one only, if it is one: a program that
    /// listens on the loopback address is not for others.
    pub(crate) fn keep_to(&mut self, address: Option<&str>) {
        if self.addresses.is_empty() {
            let address: Option<IpAddr> = address.and_then(|text| text.parse().ok());
            self.addresses
                .extend(address.filter(|ip| !ip.is_unspecified()));
        }
    }
}

/// The ports that are open.
#[derive(Debug, Default)]
pub struct Listeners {
    ports: BTreeMap<u16, Port>,
    /// Sockets from the service manager or the host before, for when their port is opened.
    inherited: BTreeMap<u16, Vec<OwnedFd>>,
    /// Ports of the service manager's sockets, with the scheme that they have while no prefix says another: open whoever
    /// needs them, since it keeps them open too.
    kept: BTreeMap<u16, Scheme>,
    /// Ports are bound, but shards don't accept yet: the host before does.
    paused: bool,
}

#[derive(Debug)]
struct Port {
    wanted: Wanted,
    sockets: Vec<OwnedFd>,
    /// For each shard.
    accepting: Vec<Accepting>,
    /// Open connections, of all shards and of listeners that others have replaced.
    connections: Arc<AtomicU32>,
}

/// What one shard has for a port.
#[derive(Debug, Default)]
struct Accepting {
    listeners: Vec<ListenerId>,
    contexts: Vec<u32>,
}

impl Listeners {
    /// Uses these sockets for their ports, of which `kept` never close. `paused`: shards accept only after
    /// [`Listeners::resume`].
    #[must_use]
    pub fn with_inherited(
        sockets: Vec<OwnedFd>,
        kept: BTreeMap<u16, Scheme>,
        paused: bool,
    ) -> Self {
        let mut inherited: BTreeMap<u16, Vec<OwnedFd>> = BTreeMap::new();
        for socket in sockets {
            // A service manager's may wait in accept(2), and with it all of a shard. It can't fail on a socket.
            let _ = socket::prepare(&socket);
            let port = socket::local_address(&socket).port;
            inherited.entry(port).or_default().push(socket);
        }
        Self {
            inherited,
            kept,
            paused,
            ..Self::default()
        }
    }

    /// Ports that are open.
    pub fn open_ports(&self) -> impl Iterator<Item = (u16, Scheme)> + '_ {
        self.ports
            .iter()
            .map(|(port, entry)| (*port, entry.wanted.scheme))
    }

    /// Ports that the service manager keeps open.
    pub fn kept_ports(&self) -> &BTreeMap<u16, Scheme> {
        &self.kept
    }

    /// All sockets that listen, for the host after this one.
    pub fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        let open = self.ports.values().flat_map(|port| &port.sockets);
        open.chain(self.inherited.values().flatten())
    }

    /// Addresses of a port that is open.
    #[must_use]
    pub fn addresses(&self, port: u16) -> Vec<AddressRecord> {
        let sockets = self.ports.get(&port).map(|port| port.sockets.as_slice());
        sockets
            .unwrap_or_default()
            .iter()
            .map(port_sockets::address_of)
            .collect()
    }

    /// Opens the port if it is closed, or open for the other scheme.
    ///
    /// # Errors
    /// `EADDRINUSE`, `EACCES`, no certificate, and others of the system: the port stays closed.
    pub fn open(
        &mut self,
        shards: &[ShardThread],
        port: u16,
        wanted: Wanted,
    ) -> Result<(), Failure> {
        let open_as = self.ports.get(&port).map(|entry| entry.wanted.scheme);
        if open_as == Some(wanted.scheme) {
            return Ok(());
        }
        if wanted.scheme == Scheme::Https && wanted.certificates.is_empty() {
            let text = format!(
                "the host has no certificate for port {port}: add one with `portico cert add --cert FILE --key FILE`, or \
                 in the configuration file"
            );
            return Err(Failure::new(code::NO_CERTIFICATE, text));
        }
        if open_as.is_some() {
            // The service manager's: open before a prefix said for what.
            return self.change(shards, port, wanted);
        }
        let sockets = match self.inherited.remove(&port) {
            Some(sockets) => sockets,
            None => port_sockets::bind(port, &wanted.addresses, backlog(&wanted))?,
        };
        let mut entry = Port {
            wanted,
            sockets,
            accepting: Vec::new(),
            connections: Arc::default(),
        };
        if !self.paused {
            entry.start(shards, port)?;
        }
        let scheme = entry.wanted.scheme;
        tracing::info!(port, %scheme, "listening");
        self.ports.insert(port, entry);
        Ok(())
    }

    /// Puts other limits or certificates into force on an open port. Another set of addresses needs a closed one.
    ///
    /// # Errors
    /// Of the system: the old ones stay in force.
    pub fn change(
        &mut self,
        shards: &[ShardThread],
        port: u16,
        wanted: Wanted,
    ) -> Result<(), Failure> {
        let Some(entry) = self.ports.get_mut(&port) else {
            return Ok(());
        };
        // Without a certificate new connections could not be served at all; the old one is better than that.
        let mut wanted = wanted;
        if wanted.scheme == Scheme::Https && wanted.certificates.is_empty() {
            wanted.certificates.clone_from(&entry.wanted.certificates);
        }
        let before = std::mem::replace(&mut entry.wanted, wanted);
        if self.paused {
            return Ok(());
        }
        let old = std::mem::take(&mut entry.accepting);
        if let Err(failure) = entry.start(shards, port) {
            entry.wanted = before;
            entry.accepting = old;
            return Err(failure);
        }
        stop(shards, &old);
        for fd in &entry.sockets {
            // On a socket that listens already it can only change the number, and not fail.
            let _ = socket::listen(fd, backlog(&entry.wanted));
        }
        Ok(())
    }

    /// Closes every port for which `needed` says no. Those of the service manager stay.
    pub fn close_unneeded(&mut self, shards: &[ShardThread], needed: impl Fn(u16) -> bool) {
        let kept = &self.kept;
        self.ports.retain(|port, entry| {
            let keep = kept.contains_key(port) || needed(*port);
            if !keep {
                stop(shards, &entry.accepting);
                tracing::info!(port, "no longer listening");
            }
            keep
        });
    }

    /// Closes a port so that it can be opened at other addresses. Those of the service manager stay.
    pub fn close(&mut self, shards: &[ShardThread], port: u16) {
        self.close_unneeded(shards, |other| other != port);
    }

    /// Closes everything. Open connections live on.
    pub fn close_all(&mut self, shards: &[ShardThread]) {
        self.inherited.clear();
        self.kept.clear();
        self.close_unneeded(shards, |_| false);
    }

    /// Whether shards don't accept yet.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Lets the shards accept, after a start that was paused.
    ///
    /// # Errors
    /// The first port where that failed; the others accept.
    pub fn resume(&mut self, shards: &[ShardThread]) -> Result<(), Failure> {
        let mut result = Ok(());
        if std::mem::replace(&mut self.paused, false) {
            for (port, entry) in &mut self.ports {
                result = result.and(entry.start(shards, *port));
            }
            // They were not needed here.
            let kept = &self.kept;
            self.inherited.retain(|port, _| kept.contains_key(port));
        }
        result
    }
}

impl Port {
    fn start(&mut self, shards: &[ShardThread], port: u16) -> Result<(), Failure> {
        let mut all = Vec::new();
        for shard in shards {
            let mut accepting = Accepting::default();
            let result = self.start_on(shard, port, &mut accepting);
            all.push(accepting);
            if let Err(error) = result {
                stop(shards, &all);
                return Err(Failure::system(
                    &format!("port {port} can't be opened"),
                    error,
                ));
            }
        }
        self.accepting = all;
        Ok(())
    }

    fn start_on(
        &self,
        shard: &ShardThread,
        port: u16,
        accepting: &mut Accepting,
    ) -> std::io::Result<()> {
        let contexts = self.wanted.certificates.iter();
        accepting.contexts = contexts
            .map(|loaded| match self.wanted.limits.protocols.http2 {
                true => shard.add_tls_context(loaded.context.clone()),
                false => shard.add_tls_context(loaded.http1_context.clone()),
            })
            .collect();
        let options = ListenerOptions {
            tls: accepting.contexts.first().copied().unwrap_or(0),
            ..self.wanted.limits.clone()
        };
        let endpoint = Endpoint {
            scheme: self.wanted.scheme,
            port,
        };
        for socket in &self.sockets {
            let id = shard.listen_with_names(
                socket.try_clone()?,
                options.clone(),
                endpoint,
                names(&self.wanted.certificates, &accepting.contexts),
                Arc::clone(&self.connections),
            )?;
            accepting.listeners.push(id);
        }
        Ok(())
    }
}

/// Names with their contexts, in the order in which the engine wants them: what is added later wins. So names with
/// `*` come before others, and of two equal ones the certificate that stands first comes last.
fn names(certificates: &[Loaded], contexts: &[u32]) -> Vec<(String, u32)> {
    let pairs = certificates.iter().zip(contexts);
    let mut names: Vec<(String, u32)> = pairs
        .flat_map(|(loaded, context)| loaded.names.iter().map(|name| (name.clone(), *context)))
        .collect();
    names.reverse();
    names.sort_by_key(|(name, _)| !name.contains('*'));
    names
}

fn stop(shards: &[ShardThread], all: &[Accepting]) {
    for (shard, accepting) in shards.iter().zip(all) {
        for listener in &accepting.listeners {
            shard.close_listener(*listener);
        }
        for context in &accepting.contexts {
            shard.release_tls_context(*context);
        }
    }
}

fn backlog(wanted: &Wanted) -> i32 {
    i32::try_from(wanted.backlog).unwrap_or(i32::MAX)
}
