//! The configuration file in the host's own terms.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use portico_cache::QueryRule;
use portico_cache::site_rule::{Location, PathPattern, SiteRule, SiteRules};
use portico_cache::store::StoreLimits;
use portico_cache::storing::{Rule, SetCookie};
use portico_config::{
    CacheLocation, CacheOptions, CertificateOptions, Config, HttpVersion, Id, Limits, QueryKey,
    ReservationOptions, SiteCacheRule,
};
use portico_dispatch::{Affinity, QueueOptions};
use portico_engine::{ListenerOptions, Protocols};
use portico_router::Scheme;

use crate::applications::configured;
use crate::certificates::Certificates;
use crate::protocol::{CertificateRecord, ReservationRecord};
use crate::registry::Registry;
use crate::rules::{self, UnknownNames};
use crate::settings::{ListenerSettings, MAX_SHARDS, Settings};
use crate::state::State;
use crate::{Failure, code, users};

/// Reads the file; without one: the defaults. Blocks on the disk.
///
/// # Errors
/// All that is wrong with it, a line each, with line and column.
pub fn read(path: Option<&Path>) -> Result<Settings, Failure> {
    let Some(path) = path else {
        return Ok(Settings::default());
    };
    let (settings, wrong) = load(path)?;
    match wrong.is_empty() {
        true => Ok(settings),
        false => Err(Failure::new(code::CONFIGURATION, wrong.join("\n"))),
    }
}

/// The file's settings, and what is wrong with its applications, which are not among them then.
fn load(path: &Path) -> Result<(Settings, Vec<String>), Failure> {
    let config = Config::load(path).map_err(|errors| {
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        Failure::new(code::CONFIGURATION, lines.join("\n"))
    })?;
    let mut settings = settings(config);
    let mut wrong = Vec::new();
    for options in &settings.config.applications {
        let read = configured::specification(options)
            .and_then(|own| rules::check_declared(&settings.reservations, &own).map(|()| own));
        match read {
            Ok(specification) => settings.applications.push(specification),
            Err(text) => wrong.push(format!(
                "{}:{}:1: [[application]] {}: {text}",
                path.display(),
                options.line,
                options.name
            )),
        }
    }
    Ok((settings, wrong))
}

/// Reads the file and all that it names, as a host would that starts with it: certificates and keys, users and groups, the
/// programs of applications.
/// Ports are not opened. Blocks on the disk and on the user database.
///
/// # Errors
/// All that is wrong, a line each, with the file and the line; also a certificate that has expired.
pub fn check(path: &Path) -> Result<(), Failure> {
    let (settings, mut wrong) = load(path)?;
    let place = |line: usize| format!("{}:{line}:1", path.display());
    let mut certificates = Certificates::default();
    let lines = settings.config.certificates.iter().map(|own| own.line);
    for (record, line) in settings.certificates.iter().zip(lines) {
        if let Err(failure) = certificates.add(record.clone()) {
            wrong.push(format!(
                "{}: [[certificate]] {}",
                place(line),
                failure.message
            ));
        }
        let expired = certificates.expired().find(|(own, _)| *own == record);
        wrong.extend(expired.map(|(_, text)| format!("{}: [[certificate]] {text}", place(line))));
    }
    let lines = settings.config.reservations.iter().map(|own| own.line);
    for (record, line) in settings.reservations.iter().zip(lines) {
        if let Err(failure) = users::reservation(record) {
            wrong.push(format!(
                "{}: [[reservation]] {}",
                place(line),
                failure.message
            ));
        }
    }
    if wrong.is_empty() {
        let rules = rules::rules(&settings, &State::default(), UnknownNames::Refuse)?;
        Registry::default().apply(rules)?;
        return Ok(());
    }
    Err(Failure::new(code::CONFIGURATION, wrong.join("\n")))
}

pub(crate) fn settings(config: Config) -> Settings {
    let shards = match config.host.shards {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => usize::try_from(count).unwrap_or(1),
    };
    let shards = u32::try_from(shards)
        .unwrap_or(MAX_SHARDS)
        .clamp(1, MAX_SHARDS);
    let limits = limits(&config.limits);
    let mut settings = Settings {
        shards,
        socket: config.host.socket.clone(),
        idle_exit: config.host.idle_exit,
        drain: config.host.drain_timeout,
        cache: cache(&config.cache),
        default_queue: QueueOptions::from(&config.queue),
        sites: Default::default(),
        unreserved: config.host.unreserved,
        reservations: config.reservations.iter().map(reservation).collect(),
        certificates: config.certificates.iter().map(certificate).collect(),
        listeners: Default::default(),
        applications: Vec::new(),
        limits,
        config: Config::default(),
    };
    for site in &config.sites {
        let options = QueueOptions {
            retry_safe: site.retry_safe_methods,
            affinity: site.affinity.as_ref().map_or(Affinity::None, affinity),
            cache: site_cache(&site.cache),
            ..QueueOptions::from(&site.queue)
        };
        settings.sites.insert(site.prefix.clone(), options);
    }
    for listener in &config.listeners {
        let entry = settings.listeners.entry(listener.address.port);
        let entry = entry.or_insert_with(|| ListenerSettings {
            scheme: if listener.tls {
                Scheme::Https
            } else {
                Scheme::Http
            },
            addresses: Vec::new(),
            backlog: listener.backlog,
            protocols: protocols(listener.protocols.as_deref(), listener.tls),
            optional: true,
        });
        entry.optional &= listener.optional;
        entry.addresses.extend(listener.address.ip);
    }
    settings.config = config;
    settings
}

fn cache(options: &CacheOptions) -> StoreLimits {
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    StoreLimits {
        budget_bytes: bytes(options.max_bytes),
        max_body_bytes: bytes(options.max_entry_bytes),
        ..StoreLimits::default()
    }
}

/// What a site keeps; `None`: it has no rules.
fn site_cache(rules: &[SiteCacheRule]) -> Option<Arc<SiteRules>> {
    let rules: Vec<_> = rules.iter().map(|rule| Arc::new(site_rule(rule))).collect();
    (!rules.is_empty()).then(|| Arc::new(SiteRules(rules)))
}

fn site_rule(rule: &SiteCacheRule) -> SiteRule {
    let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
    SiteRule {
        path: rule.path.clone().map(PathPattern::new),
        extensions: rule.extensions.clone(),
        rule: rule.duration.map_or(Rule::Standard, Rule::Profile),
        query: match &rule.vary_by_query {
            QueryKey::All => QueryRule::All,
            QueryKey::None => QueryRule::None,
            QueryKey::Names(names) => QueryRule::Names(names.clone()),
        },
        headers: lower(&rule.vary_by_header),
        location: match rule.location {
            CacheLocation::AsAnswered => Location::AsAnswered,
            CacheLocation::Any => Location::Any,
            CacheLocation::Client => Location::Client,
            CacheLocation::Server => Location::Server,
        },
        min_hits: rule.min_hits,
        period: rule.min_hits_period,
        bypass_cookies: rule.bypass_cookies.clone(),
        bypass_headers: lower(&rule.bypass_headers),
        set_cookie: if rule.strip_set_cookie {
            SetCookie::Strip
        } else {
            SetCookie::Refuse
        },
    }
}

/// Versions of HTTP as a listener names them, or its default.
fn protocols(named: Option<&[HttpVersion]>, is_tls: bool) -> Protocols {
    let has = |version| named.map(|named| named.contains(&version));
    Protocols {
        http1: has(HttpVersion::Http1).unwrap_or(true),
        http2: has(HttpVersion::Http2).unwrap_or(is_tls),
    }
}

fn affinity(rule: &portico_config::Affinity) -> Affinity {
    match rule {
        portico_config::Affinity::Cookie(name) => Affinity::Cookie(name.clone()),
        portico_config::Affinity::Header(name) => Affinity::Header(name.clone()),
        portico_config::Affinity::Segment(number) => Affinity::Segment(*number),
    }
}

fn limits(limits: &Limits) -> ListenerOptions {
    ListenerOptions {
        headers_timeout: limits.headers_timeout,
        request_timeout: limits.request_timeout,
        keep_alive_timeout: limits.keep_alive_timeout,
        keep_alive_timeout_buffer: limits.keep_alive_timeout_buffer,
        min_bytes_per_second: limits.min_bytes_per_second,
        timeout: limits.timeout,
        connections_checking_interval: limits.connections_checking_interval,
        max_requests_per_socket: limits.max_requests_per_socket,
        max_headers_count: limits.max_headers_count,
        max_header_size: usize::try_from(limits.max_header_size).unwrap_or(usize::MAX),
        max_connections: Some(limits.max_connections).filter(|count| *count > 0),
        no_delay: limits.no_delay,
        keep_alive: limits.keep_alive,
        keep_alive_initial_delay: limits.keep_alive_initial_delay,
        high_water_mark: usize::try_from(limits.high_water_mark).unwrap_or(usize::MAX),
        handshake_timeout: limits.handshake_timeout,
        ..ListenerOptions::default()
    }
}

fn reservation(options: &ReservationOptions) -> ReservationRecord {
    let words = |ids: &[Id]| -> Vec<String> {
        let word = |id: &Id| match id {
            Id::Name(name) => name.clone(),
            Id::Number(number) => number.to_string(),
        };
        ids.iter().map(word).collect()
    };
    ReservationRecord {
        prefix: options.prefix.to_string(),
        users: words(&options.users),
        groups: words(&options.groups),
        everyone: options.everyone,
        delegate: options.delegate,
        configured: true,
        ..ReservationRecord::default()
    }
}

fn certificate(options: &CertificateOptions) -> CertificateRecord {
    CertificateRecord {
        certificate: absolute(&options.certificate),
        key: absolute(&options.key),
        port: Some(options.port),
        names: options.names.clone(),
        client_ca: options.client_ca.as_ref().map(absolute),
        request_client_certificate: options.request_client_certificate,
        require_client_certificate: options.require_client_certificate,
        ..CertificateRecord::default()
    }
}

/// As the records have it. (A path that is not UTF-8 names no file then, and the error says so.)
fn absolute(path: &PathBuf) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_becomes_settings() {
        let text = r#"
            [host]
            shards = 2
            [queue]
            retry_after = "1500ms"
            max_in_flight_per_process = 5
            max_uploads_per_process = 7
            response_timeout = "20s"
            [limits]
            min_bytes_per_second = 100
            [[listener]]
            address = "127.0.0.1:8443"
            tls = true
            [[certificate]]
            port = 8443
            certificate = "/a.pem"
            key = "/a.key"
            [[site]]
            prefix = "http://+:8080/a/"
            retry_safe_methods = true
            affinity = { cookie = "id" }
            queue = { wait = "3s" }
            [[reservation]]
            prefix = "http://+:80/"
            users = ["ann", 1001]
        "#;
        let settings = settings(Config::parse(text, "portico.toml").unwrap());
        assert_eq!(settings.default_queue.retry_after_seconds, 2);
        assert_eq!(settings.default_queue.max_in_flight, 5);
        assert_eq!(settings.default_queue.max_uploads, 7);
        assert_eq!(
            settings.default_queue.response_timeout,
            Duration::from_secs(20)
        );
        assert_eq!(settings.limits.min_bytes_per_second, 100);
        assert_eq!(Settings::default().limits.min_bytes_per_second, 240);
        let listener = &settings.listeners[&8443];
        assert_eq!(
            (listener.scheme, listener.addresses.len()),
            (Scheme::Https, 1)
        );
        let site = settings.sites.values().next().unwrap();
        assert_eq!((site.wait, site.retry_safe), (Duration::from_secs(3), true));
        assert_eq!(site.affinity, Affinity::Cookie("id".into()));
        assert_eq!(settings.reservations[0].users, ["ann", "1001"]);
        assert_eq!(settings.certificates[0].port, Some(8443));
    }

    #[test]
    fn a_host_has_64_shards_at_most_however_many_processors_there_are() {
        let with = |shards: u32| Config::parse(&format!("[host]\nshards = {shards}\n"), "it.toml");
        assert_eq!(settings(with(64).unwrap()).shards, 64);
        let errors = with(65).unwrap_err();
        assert!(errors[0].message().contains("must be 0 to 64, not 65"));
        let mut config = Config::default();
        config.host.shards = 65;
        assert_eq!(settings(config).shards, 64);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("portico.toml");
        std::fs::write(&path, "[host]\nshard = 2\n").unwrap();
        let failure = read(Some(&path)).unwrap_err();
        assert!(
            failure.message.contains("portico.toml:2:1"),
            "{}",
            failure.message
        );
        assert!(failure.message.contains("shards"), "{}", failure.message);
    }
}
