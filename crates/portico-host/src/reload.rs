//! Reading the configuration again. The old one stays in force when the new one is bad.

use crate::host::Host;
use crate::protocol::Answer;
use crate::rules::{self, UnknownNames};
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
    let mut notes: Vec<_> = host
        .settings
        .config
        .needs_restart(&settings.config)
        .into_iter()
        .map(|name| format!("{name} takes effect with the next start or `portico upgrade`"))
        .collect();
    let moved: Vec<u16> = host
        .listeners
        .open_ports()
        .map(|(port, _)| port)
        .filter(|port| {
            let addresses = |listeners: &crate::settings::Settings| {
                listeners
                    .listeners
                    .get(port)
                    .map(|listener| listener.addresses.clone())
                    .unwrap_or_default()
            };
            addresses(&settings) != addresses(&host.settings)
        })
        .collect();
    host.settings = settings;
    host.certificates = certificates;
    host.publish_routes();
    host.refresh_listeners(false);
    host.close_unneeded_listeners();
    for port in moved {
        if let Err(failure) = host.move_listener(port) {
            notes.push(failure.message);
        }
    }
    let failures = host.open_configured();
    notes.extend(failures.iter().map(|failure| failure.message.clone()));
    if let Some(first) = failures.into_iter().next() {
        return Err(Failure::new(
            code::CONFIGURATION,
            format!("the configuration is in force, but: {}", first.message),
        ));
    }
    let mut text = "the configuration and the certificates were read again".to_owned();
    for note in notes {
        text.push_str("; ");
        text.push_str(&note);
    }
    Ok(Answer::said(text))
}
