//! Which ports the host has open, by what the configuration, the service manager and the registrations demand.

use std::time::{Duration, Instant};

use portico_engine::{ListenerOptions, Protocols};
use portico_router::Scheme;

use crate::host::{Host, Phase};
use crate::listeners::Wanted;
use crate::{Failure, code};

/// Connections that wait to be accepted on ports that the configuration does not name. The kernel lowers it to
/// `net.core.somaxconn`.
const BACKLOG: u32 = 4096;

/// How often it is tried to open a port that could not be opened.
const RETRY_EVERY: Duration = Duration::from_secs(5);

/// Versions of HTTP on a port that the configuration does not name.
fn default_protocols(scheme: Scheme) -> Protocols {
    Protocols {
        http1: true,
        http2: scheme == Scheme::Https,
    }
}

impl Host {
    /// What a port is to be like, by the settings in force.
    pub(crate) fn wanted(&self, port: u16, scheme: Scheme) -> Wanted {
        let configured = self.settings.listeners.get(&port);
        let certificates = match scheme {
            Scheme::Https => self.certificates.for_port(port),
            Scheme::Http => Vec::new(),
        };
        let protocols = configured
            .filter(|listener| listener.scheme == scheme)
            .map_or_else(|| default_protocols(scheme), |listener| listener.protocols);
        Wanted {
            scheme,
            addresses: configured.map_or_else(Vec::new, |listener| listener.addresses.clone()),
            backlog: configured.map_or(BACKLOG, |listener| listener.backlog),
            limits: ListenerOptions {
                protocols,
                ..self.settings.limits.clone()
            },
            certificates,
        }
    }

    /// Opens the ports that the configuration or the service manager names. What can't be opened is tried again
    /// ([`Host::retry_unopened`]), and a reason that is new is logged. Returns the reasons for which the configuration
    /// can't be put into force.
    pub(crate) fn open_configured(&mut self) -> Vec<Failure> {
        let mut ports = self.listeners.kept_ports().clone();
        ports.extend(self.registry.ports());
        let listeners = self.settings.listeners.iter();
        ports.extend(listeners.map(|(port, listener)| (*port, listener.scheme)));
        let before = std::mem::take(&mut self.unopened);
        let mut forbidding = Vec::new();
        for (port, scheme) in ports {
            let wanted = self.wanted(port, scheme);
            let Err(failure) = self.listeners.open(&self.shards, port, wanted) else {
                continue;
            };
            if self.is_required(port, &failure) {
                forbidding.push(failure.clone());
            } else if before.get(&port) != Some(&failure) {
                tracing::warn!("{failure}; it is tried again every 5 seconds");
            }
            self.unopened.insert(port, failure);
        }
        self.tried_unopened = Instant::now();
        forbidding
    }

    /// Whether the configuration demands that the port is open. Where only the certificate is missing, it may come by
    /// `portico cert add`.
    fn is_required(&self, port: u16, failure: &Failure) -> bool {
        let listener = self.settings.listeners.get(&port);
        let is_kept = self.listeners.kept_ports().contains_key(&port);
        listener.map_or(!is_kept, |listener| !listener.optional)
            && failure.code != code::NO_CERTIFICATE
    }

    /// Tries again to open what could not be opened, every few seconds.
    pub(crate) fn retry_unopened(&mut self, now: Instant) {
        let is_due = now.duration_since(self.tried_unopened) >= RETRY_EVERY;
        if self.unopened.is_empty() || !is_due || self.phase != Phase::Running {
            return;
        }
        for failure in self.open_configured() {
            tracing::debug!("{failure}");
        }
    }

    /// Closes the ports that neither a queue nor the configuration needs.
    pub(crate) fn close_unneeded_listeners(&mut self) {
        let used = self.registry.ports();
        let configured = &self.settings.listeners;
        let needed = |port| used.contains_key(&port) || configured.contains_key(&port);
        self.listeners.close_unneeded(&self.shards, needed);
    }

    /// Puts certificates and limits as they are now into force on all open ports.
    pub(crate) fn refresh_listeners(&mut self, only_tls: bool) {
        let ports: Vec<_> = self.listeners.open_ports().collect();
        for (port, scheme) in ports {
            if only_tls && scheme == Scheme::Http {
                continue;
            }
            let wanted = self.wanted(port, scheme);
            if let Err(failure) = self.listeners.change(&self.shards, port, wanted) {
                tracing::error!("{failure}; the port goes on as it was");
            }
        }
    }

    /// Opens a port anew, at the addresses of the settings in force; the port is closed if that fails. Returns the reason
    /// for which the configuration can't be put into force.
    pub(crate) fn move_listener(&mut self, port: u16) -> Option<Failure> {
        let open = self.listeners.open_ports().find(|(open, _)| *open == port);
        let (_, scheme) = open?;
        self.listeners.close(&self.shards, port);
        let wanted = self.wanted(port, scheme);
        let failure = self.listeners.open(&self.shards, port, wanted).err()?;
        self.unopened.insert(port, failure.clone());
        self.is_required(port, &failure).then_some(failure)
    }
}
