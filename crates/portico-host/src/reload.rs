//! Reading the configuration again. The old one stays in force when the new one is bad.

use std::time::Instant;

use crate::certificates::Certificates;
use crate::host::Host;
use crate::protocol::Answer;
use crate::rules::{self, UnknownNames};
use crate::settings::Settings;
use crate::{Failure, code, configuration};

/// Reads the configuration and all certificates again and puts them into force; registrations and connections go on.
/// Blocks on the disk.
///
/// # Errors
/// What is wrong with the configuration or a certificate: everything is as before.
pub(crate) fn reload(host: &mut Host) -> Result<Answer, Failure> {
    let result = apply(host);
    match &result {
        Ok(_) => tracing::info!("configuration and certificates read again"),
        Err(failure) => tracing::error!("{failure}; the configuration before stays in force"),
    }
    result
}

fn apply(host: &mut Host) -> Result<Answer, Failure> {
    let settings = configuration::read(host.start.configuration.as_deref())?;
    let certificates = rules::certificates(&settings, &host.state)?;
    host.registry
        .apply(rules::rules(&settings, &host.state, UnknownNames::Refuse)?)?;
    let notes: Vec<_> = host
        .settings
        .config
        .needs_restart(&settings.config)
        .into_iter()
        .map(|name| format!("{name} takes effect with the next start or `portico upgrade`"))
        .collect();
    let before = (
        std::mem::replace(&mut host.settings, settings),
        std::mem::replace(&mut host.certificates, certificates),
    );
    let failures = open_ports(host, &before.0);
    if !failures.is_empty() {
        put_back(host, before);
        let messages: Vec<_> = failures
            .into_iter()
            .map(|failure| failure.message)
            .collect();
        return Err(Failure::new(code::CONFIGURATION, messages.join("\n")));
    }
    host.publish_routes();
    host.refresh_listeners(false);
    host.close_unneeded_listeners();
    host.applications
        .configure(&host.settings.applications, Instant::now());
    let mut text = "the configuration and the certificates were read again".to_owned();
    let unopened = host.unopened.values();
    for note in notes.iter().chain(unopened.map(|failure| &failure.message)) {
        text.push_str("; ");
        text.push_str(note);
    }
    Ok(Answer::said(text))
}

/// Opens what the settings in force name, and moves ports to other addresses. Returns why that can't be done.
fn open_ports(host: &mut Host, before: &Settings) -> Vec<Failure> {
    let addresses = |settings: &Settings, port: u16| {
        let listener = settings.listeners.get(&port);
        listener.map(|listener| listener.addresses.clone())
    };
    let moved: Vec<u16> = host
        .listeners
        .open_ports()
        .map(|(port, _)| port)
        .filter(|port| {
            addresses(before, *port).unwrap_or_default()
                != addresses(&host.settings, *port).unwrap_or_default()
        })
        .collect();
    let mut failures = host.open_configured();
    for port in moved {
        failures.extend(host.move_listener(port));
    }
    failures
}

/// The settings before, as they were.
fn put_back(host: &mut Host, (settings, certificates): (Settings, Certificates)) {
    let refused = std::mem::replace(&mut host.settings, settings);
    host.certificates = certificates;
    let rules = rules::rules(&host.settings, &host.state, UnknownNames::Close);
    if let Err(failure) = rules.and_then(|rules| host.registry.apply(rules)) {
        tracing::error!("{failure}; reservations and sites are those of the file that was refused");
    }
    for failure in open_ports(host, &refused) {
        tracing::error!("{failure}; it is tried again every 5 seconds");
    }
    host.close_unneeded_listeners();
}
