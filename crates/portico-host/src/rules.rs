//! Configuration and run-time state together: what is in force.

use portico_router::{Reservation, ReservationConflict, Reservations};

use crate::certificates::Certificates;
use crate::protocol::ReservationRecord;
use crate::registry::Rules;
use crate::settings::Settings;
use crate::state::State;
use crate::{Failure, process_limits, users};

/// What a name means that the system's databases don't know (now) in a reservation of the configuration. In a run-time
/// one it is always [`UnknownNames::Close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownNames {
    /// The configuration can't be used; something else is in force meanwhile.
    Refuse,
    /// No user gets in by that name; it is looked up again later.
    Close,
}

/// Rules for the registry. A prefix that is reserved somewhere is never left open: a reservation whose names are not known
/// lets in those that are, and root. A run-time one that contradicts the configuration gives way to it where the
/// configuration reserves the prefix itself or one above it, and stays in force where it reserves some below. What is
/// wrong is told, and stays in the state file. May block on the user database.
///
/// # Errors
/// The first reservation of the configuration that can't be used.
pub(crate) fn rules(
    settings: &Settings,
    state: &State,
    unknown_names: UnknownNames,
) -> Result<Rules, Failure> {
    let room = process_limits::room(settings.shards);
    let mut rules = Rules {
        default_queue: settings.default_queue.clone(),
        sites: settings.sites.clone(),
        reservations: Reservations::new(settings.unreserved),
        members: Some(room.members),
        members_of_a_user: Some(room.members_of_a_user),
        ..Rules::default()
    };
    for record in &settings.reservations {
        let (reservation, unknown) = users::known_part(record)?;
        match unknown {
            Some(failure) if unknown_names == UnknownNames::Refuse => return Err(failure),
            unknown => rules.note_unknown(&reservation, unknown),
        }
        rules
            .reservations
            .add(reservation)
            .map_err(|conflict| Failure::new(conflict.code(), conflict.to_string()))?;
    }
    for record in &state.reservations {
        if let Err(failure) = rules.add_at_run_time(record) {
            tracing::error!(
                "the reservation of {} is not in force: {failure}",
                record.prefix
            );
        }
    }
    Ok(rules)
}

impl Rules {
    fn add_at_run_time(&mut self, record: &ReservationRecord) -> Result<(), Failure> {
        let (reservation, unknown) = users::known_part(record)?;
        match self.reservations.add(reservation.clone()) {
            Ok(()) => {}
            // Without it what lies above the other one would be open to all.
            Err(conflict @ ReservationConflict::Nested { .. })
                if conflict.outer() == Some(&reservation.prefix) =>
            {
                tracing::error!("{conflict}");
                self.problems
                    .insert(reservation.prefix.clone(), conflict.to_string());
                self.reservations.insert(reservation.clone());
            }
            Err(conflict) => return Err(Failure::new(conflict.code(), conflict.to_string())),
        }
        self.note_unknown(&reservation, unknown);
        Ok(())
    }

    fn note_unknown(&mut self, reservation: &Reservation, unknown: Option<Failure>) {
        let Some(failure) = unknown else {
            return;
        };
        self.unknown_names = true;
        let text = format!(
            "{}. Until then only root and those of its users and groups that are known may register it",
            failure.message
        );
        tracing::error!("the reservation of {}: {text}", reservation.prefix);
        self.problems.insert(reservation.prefix.clone(), text);
    }
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
