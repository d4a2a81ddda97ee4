//! Configuration and run-time state together: what is in force.

use portico_router::Reservations;

use crate::certificates::Certificates;
use crate::protocol::ReservationRecord;
use crate::registry::Rules;
use crate::settings::Settings;
use crate::state::State;
use crate::{Failure, users};

/// Rules for the registry. The configuration's reservations must all be good; a run-time one that is not, or that
/// contradicts them, is told and left out of force, and stays in the state file. May block on the user database.
///
/// # Errors
/// The first reservation of the configuration that can't be used.
pub(crate) fn rules(settings: &Settings, state: &State) -> Result<Rules, Failure> {
    let mut reservations = Reservations::new(settings.unreserved);
    for record in &settings.reservations {
        add(&mut reservations, record)?;
    }
    for record in &state.reservations {
        if let Err(failure) = add(&mut reservations, record) {
            tracing::warn!(
                "the reservation of {} is not in force: {failure}",
                record.prefix
            );
        }
    }
    Ok(Rules {
        default_queue: settings.default_queue.clone(),
        sites: settings.sites.clone(),
        reservations,
    })
}

fn add(reservations: &mut Reservations, record: &ReservationRecord) -> Result<(), Failure> {
    let reservation = users::reservation(record)?;
    reservations
        .add(reservation)
        .map_err(|conflict| Failure::new(conflict.code(), conflict.to_string()))
}

/// All certificates. Those of the configuration must be good; a run-time one that is not is told, and used as soon as
/// it is good. Blocks on the disk.
///
/// # Errors
/// The first certificate of the configuration that can't be used.
pub(crate) fn certificates(settings: &Settings, state: &State) -> Result<Certificates, Failure> {
    let mut certificates = Certificates::load(settings.certificates.iter().cloned())?;
    for record in &state.certificates {
        if let Err(failure) = certificates.add_known(record.clone()) {
            tracing::error!("a certificate is not in use: {failure}");
        }
    }
    Ok(certificates)
}
