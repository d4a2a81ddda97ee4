//! A secure context: what connections of a listener, or of one of its names, share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, ProducesTickets, ServerConfig, StoresServerSessions};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion, version};

use crate::client_auth::{ClientAuth, ClientDemand, Verifier};
use crate::client_hello::SessionOffer;
use crate::identity::Identities;
use crate::key_log::KeyLogLines;
use crate::keying::SecretLog;
use crate::session_cache::{MAX_SESSIONS, SessionCache};
use crate::tickets::{TICKET_KEYS_BYTES, Ticketer};
use crate::{AlpnChoice, ContextError, ContextOptions, names, pfx, suites};

/// OpenSSL's default, in seconds.
const DEFAULT_SESSION_TIMEOUT: u32 = 7_200;
/// Most session stores that a context for a name keeps a configuration for.
const MAX_ADOPTED: usize = 4;

/// Keys, certificates and settings, ready for use. Cheap to clone; threads may share it.
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

struct Inner {
    configs: Configs,
    sessions: Arc<Sessions>,
    client_auth: Option<ClientAuth>,
    has_identity: bool,
    highest_version: u16,
    key_log: bool,
    /// Configurations with the sessions of other (default) contexts.
    adopted: Mutex<Vec<(Weak<Sessions>, Configs)>>,
}

/// How sessions of a listener are kept.
struct Sessions {
    store: Arc<dyn StoresServerSessions>,
    tickets: Option<Arc<dyn ProducesTickets>>,
}

#[derive(Clone)]
struct Configs {
    /// For clients that take tickets: nothing is kept here.
    tickets: Arc<ServerConfig>,
    /// The same for those that come back with one: they get one new ticket, not two, as with OpenSSL.
    resuming: Arc<ServerConfig>,
    /// For the others: sessions by id.
    ids: Arc<ServerConfig>,
}

impl Context {
    /// Checks the options and makes a context of them. Does not block; takes about a millisecond with an RSA key.
    ///
    /// # Errors
    /// The first option that cannot be honoured: a key that does not belong to its certificate, an unknown suite...
    pub fn new(options: &ContextOptions) -> Result<Self, ContextError> {
        let mut identities = options.identities.clone();
        let mut more_anchors = Vec::new();
        for file in &options.pfx {
            let opened = pfx::open(file)?;
            identities.push(opened.identity);
            more_anchors.extend(opened.others);
        }
        let versions = versions(options)?;
        let provider = Arc::new(provider(options, &versions)?);
        let algorithms = provider.signature_verification_algorithms;
        let client_auth = ClientAuth::new(options, &more_anchors, algorithms)?;
        let tls13 = versions.contains(&&version::TLS13);
        let identities = Identities::new(&identities, &options.signature_schemes, tls13)?;
        let has_identity = !identities.is_empty();
        let builder = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| no_suites(&error))?;
        let builder = match &client_auth {
            Some(auth) => builder.with_client_cert_verifier(Verifier::new(
                auth,
                algorithms,
                &options.signature_schemes,
            )),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(identities));
        config.alpn_protocols.clone_from(&options.alpn);
        config.ignore_client_order = options.honor_cipher_order;
        config.enable_secret_extraction = true;
        let sessions = Arc::new(Sessions::new(options)?);
        let inner = Inner {
            configs: Configs::new(config, &sessions),
            sessions,
            client_auth,
            has_identity,
            highest_version: if tls13 { 0x0304 } else { 0x0303 },
            key_log: options.key_log,
            adopted: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Whether both are the same context (not: equal ones).
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn has_identity(&self) -> bool {
        self.inner.has_identity
    }

    /// TLS 1.3, unless the options leave it out.
    pub(crate) fn highest_version(&self) -> u16 {
        self.inner.highest_version
    }

    /// What clients must show of certificates; `None` if they are not even asked for one.
    #[must_use]
    pub fn client_demand(&self) -> Option<&ClientDemand> {
        self.client_auth().map(ClientAuth::demand)
    }

    pub(crate) fn client_auth(&self) -> Option<&ClientAuth> {
        self.inner.client_auth.as_ref()
    }

    /// The configuration for one connection, with the sessions of the listener's default context.
    pub(crate) fn config(
        &self,
        default: &Self,
        offer: SessionOffer,
        alpn: AlpnChoice<'_>,
    ) -> (Arc<ServerConfig>, Option<Arc<KeyLogLines>>) {
        let configs = if self.same(default) {
            self.inner.configs.clone()
        } else {
            self.inner.adopt(&default.inner.sessions)
        };
        let mut config = match offer {
            SessionOffer { resumes: true, .. } => configs.resuming,
            SessionOffer { tickets: true, .. } => configs.tickets,
            SessionOffer { .. } => configs.ids,
        };
        match alpn {
            AlpnChoice::Context => {}
            AlpnChoice::Protocol(name) => {
                Arc::make_mut(&mut config).alpn_protocols = vec![name.to_vec()];
            }
            AlpnChoice::Ignore => Arc::make_mut(&mut config).alpn_protocols = Vec::new(),
        }
        let lines = self.inner.key_log.then(Arc::<KeyLogLines>::default);
        if let Some(lines) = &lines {
            Arc::make_mut(&mut config).key_log = Arc::<KeyLogLines>::clone(lines);
        }
        (config, lines)
    }
}

impl Inner {
    fn adopt(&self, sessions: &Arc<Sessions>) -> Configs {
        let mut adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        adopted.retain(|(owner, _)| owner.strong_count() > 0);
        let wanted = Arc::downgrade(sessions);
        if let Some((_, configs)) = adopted.iter().find(|(owner, _)| owner.ptr_eq(&wanted)) {
            return configs.clone();
        }
        let configs = Configs::new(ServerConfig::clone(&self.configs.ids), sessions);
        if adopted.len() >= MAX_ADOPTED {
            adopted.remove(0);
        }
        adopted.push((wanted, configs.clone()));
        configs
    }
}

impl Configs {
    fn new(mut config: ServerConfig, sessions: &Sessions) -> Self {
        config.key_log = Arc::new(SecretLog);
        config.session_storage = Arc::clone(&sessions.store);
        let ids;
        if let Some(tickets) = &sessions.tickets {
            config.ticketer = Arc::clone(tickets);
            ids = Arc::new(config.clone());
            config.session_storage = Arc::new(NoServerSessionStorage {});
        } else {
            ids = Arc::new(config.clone());
        }
        let tickets = Arc::new(config.clone());
        config.send_tls13_tickets = 1;
        Self {
            tickets,
            resuming: Arc::new(config),
            ids,
        }
    }
}

impl Sessions {
    fn new(options: &ContextOptions) -> Result<Self, ContextError> {
        let given = options.ticket_keys.len();
        if given != 0 && given != TICKET_KEYS_BYTES {
            let text =
                format!("`ticketKeys` must have {TICKET_KEYS_BYTES} bytes; these are {given}");
            return Err(ContextError::new(
                "ERR_INVALID_ARG_VALUE",
                "ticketKeys",
                text,
            ));
        }
        let lifetime = match options.session_timeout {
            0 => DEFAULT_SESSION_TIMEOUT,
            seconds => seconds,
        };
        let ticketer = options
            .tickets
            .then(|| Ticketer::new(&options.ticket_keys, lifetime));
        let ticketer = ticketer.transpose().map_err(|_| {
            let text = "the system gave no random bytes for session ticket keys";
            ContextError::new("ERR_CRYPTO_OPERATION_FAILED", "ticketKeys", text)
        })?;
        Ok(Self {
            store: Arc::new(SessionCache::new(MAX_SESSIONS, lifetime)),
            tickets: ticketer.map(|ticketer| Arc::new(ticketer) as Arc<dyn ProducesTickets>),
        })
    }
}

fn versions(
    options: &ContextOptions,
) -> Result<Vec<&'static SupportedProtocolVersion>, ContextError> {
    let lowest = options.min_version.max(0x0303);
    let highest = if options.max_version == 0 {
        0x0304
    } else {
        options.max_version
    };
    let all = [(0x0304, &version::TLS13), (0x0303, &version::TLS12)];
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|(number, _)| (lowest..=highest).contains(number))
        .map(|(_, version)| version)
        .collect();
    if chosen.is_empty() {
        let text = format!(
            "no TLS version is left between `minVersion` {lowest:#06x} and `maxVersion` {highest:#06x}: TLS 1.2 \
             (0x0303) and TLS 1.3 (0x0304) are supported; older ones are not, because they are broken (RFC 8996)"
        );
        return Err(ContextError::new(
            "ERR_TLS_INVALID_PROTOCOL_VERSION",
            "maxVersion",
            text,
        ));
    }
    Ok(chosen)
}

fn provider(
    options: &ContextOptions,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<CryptoProvider, ContextError> {
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites = cipher_suites(&options.cipher_suites, versions)?;
    provider.kx_groups = named_groups(&options.named_groups)?;
    Ok(provider)
}

fn cipher_suites(
    wanted: &[u16],
    versions: &[&'static SupportedProtocolVersion],
) -> Result<Vec<SupportedCipherSuite>, ContextError> {
    let find =
        |number: u16| names::cipher_suite(number).and_then(|suite| suites::find(suite.number));
    let default = || {
        names::CIPHER_SUITES
            .iter()
            .filter_map(|suite| find(suite.number))
    };
    let mut chosen = Vec::new();
    for number in wanted {
        chosen.push(find(*number).ok_or_else(|| {
            let text = format!(
                "error:0A0000B9:SSL routines::no cipher match: the cipher suite {number:#06x} of `ciphers` is not \
                 supported; those that are: {}",
                list(names::CIPHER_SUITES.iter().map(|suite| suite.openssl_name))
            );
            ContextError::new("ERR_SSL_NO_CIPHER_MATCH", "ciphers", text)
        })?);
    }
    // The two versions' suites are separate settings in OpenSSL: naming those of one leaves the other's alone.
    for version in versions {
        if !chosen.iter().any(|suite| suite.version() == *version) {
            chosen.extend(default().filter(|suite| suite.version() == *version));
        }
    }
    Ok(chosen)
}

fn named_groups(wanted: &[u16]) -> Result<Vec<&'static dyn SupportedKxGroup>, ContextError> {
    use aws_lc_rs::kx_group::{SECP256R1, SECP384R1, X25519, X25519MLKEM768};
    let all: [&'static dyn SupportedKxGroup; 4] = [X25519MLKEM768, X25519, SECP256R1, SECP384R1];
    if wanted.is_empty() {
        return Ok(all.to_vec());
    }
    let find =
        |number: &u16| {
            all.iter().copied().find(|group| u16::from(group.name()) == *number).ok_or_else(|| {
            let text = format!(
                "the group {number:#06x} of `ecdhCurve` is not supported; those that are: {}",
                list(names::NAMED_GROUPS.iter().map(|group| group.openssl_name))
            );
            ContextError::new("ERR_CRYPTO_OPERATION_FAILED", "ecdhCurve", text)
        })
        };
    wanted.iter().map(find).collect()
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn no_suites(error: &rustls::Error) -> ContextError {
    let text = format!("error:0A0000B9:SSL routines::no cipher match: {error}");
    ContextError::new("ERR_SSL_NO_CIPHER_MATCH", "ciphers", text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_for_the_longest_known_sessions_goes_first_and_is_made_anew() {
        let context = || Context::new(&ContextOptions::default()).unwrap();
        let named = context();
        let defaults: Vec<_> = (0..=MAX_ADOPTED).map(|_| context()).collect();
        let adopt = |default: &Context| named.inner.adopt(&default.inner.sessions).ids;
        let kept = || named.inner.adopted.lock().unwrap().len();

        let first: Vec<_> = defaults[..MAX_ADOPTED].iter().map(adopt).collect();
        let again: Vec<_> = defaults[..MAX_ADOPTED].iter().map(adopt).collect();
        assert!(
            first
                .iter()
                .zip(&again)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
        assert_eq!(kept(), MAX_ADOPTED);

        let beyond = adopt(&defaults[MAX_ADOPTED]);
        assert_eq!(kept(), MAX_ADOPTED);
        assert!(Arc::ptr_eq(&beyond, &adopt(&defaults[MAX_ADOPTED])));
        assert!(Arc::ptr_eq(&first[1], &adopt(&defaults[1])));
        let anew = adopt(&defaults[0]);
        assert!(!Arc::ptr_eq(&first[0], &anew));
        // Its sessions are still those of its own default context.
        for config in [&first[0], &anew] {
            let store = &defaults[0].inner.sessions.store;
            assert!(Arc::ptr_eq(&config.session_storage, store));
        }
        assert_eq!(kept(), MAX_ADOPTED);
    }
}
