//! A listener's place in the routing table, and which of its host names a connection may ask for: a client that was let
//! in under one server name has shown what that name demands, and gets nothing of a name that demands more.

use std::sync::Arc;

use portico_router::Lookup;
use portico_tls::{ClientDemand, ServerNames};

use crate::Endpoint;
use crate::answers::Refusal;

/// What a shard knows of one of its listeners.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) endpoint: Endpoint,
    /// Its TLS contexts, where any of them asks clients for certificates.
    names: Option<Arc<ServerNames>>,
}

impl Listening {
    pub(crate) fn new(endpoint: Endpoint, names: Option<Arc<ServerNames>>) -> Self {
        Self {
            endpoint,
            names: names.filter(|names| names.has_client_demands()),
        }
    }

    /// How a connection stands before its handshake is known: it has shown nothing.
    pub(crate) fn admission(&self) -> Option<Admission> {
        let names = Arc::clone(self.names.as_ref()?);
        Some(Admission { names, made: None })
    }
}

/// What the client of a connection has shown of certificates, on a listener where some names ask for one.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    /// The contexts as they were when the connection was opened: open ones keep what they had.
    names: Arc<ServerNames>,
    /// The demand under which the handshake was made.
    made: Option<ClientDemand>,
}

impl Admission {
    /// The handshake is complete; the client named this server in it, or none (empty).
    pub(crate) fn secured(&mut self, server_name: &[u8]) {
        self.made = self
            .names
            .select(text(server_name))
            .client_demand()
            .copied();
    }

    /// Refuses a request that names a host which demands a client certificate that its connection was not asked for: 421
    /// (RFC 9110, 15.5.20). Without a name, the demand is that of the default certificate, as in a handshake without one.
    ///
    /// Of a target with an authority (RFC 9112, 3.2.2 and 3.2.3) and `Host`, neither may demand more: the router goes by
    /// the first, and applications read the second.
    pub(crate) fn check(&self, lookup: &Lookup<'_>) -> Result<(), Refusal> {
        // A target that can't be understood is for the router to refuse.
        if let Ok(name) = lookup.host_name() {
            self.check_name(name)?;
        }
        if lookup.host.is_none() || lookup.target.starts_with(b"/") {
            return Ok(());
        }
        let field = Lookup {
            target: b"/",
            ..*lookup
        };
        // The router does not look at this one.
        self.check_name(field.host_name().map_err(|_| Refusal::BadTarget)?)
    }

    fn check_name(&self, name: Option<&[u8]>) -> Result<(), Refusal> {
        let demand = self.names.select(name.and_then(text)).client_demand();
        let is_met = demand.is_none_or(|demand| demand.is_met_by(self.made.as_ref()));
        is_met.then_some(()).ok_or(Refusal::Misdirected)
    }
}

/// A server name; `None` where there is none. Whatever is in a host that a [`Lookup`] understands is ASCII.
fn text(name: &[u8]) -> Option<&str> {
    std::str::from_utf8(name)
        .ok()
        .filter(|name| !name.is_empty())
}
