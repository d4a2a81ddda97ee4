//! Configuration and run-time state together: what is in force.

use portico_router::{Reservation, ReservationConflict, Reservations, UrlPrefix};

use crate::applications::Specification;
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
    for application in &settings.applications {
        for prefix in application.prefixes() {
            rules.declare(prefix, application.uid());
        }
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

/// Whether an application may have the prefixes that are declared for it: a reservation of the configuration for the very
/// same prefix must name its user.
///
/// # Errors
/// Which one does not, in words.
pub(crate) fn check_declared(
    reservations: &[ReservationRecord],
    application: &Specification,
) -> Result<(), String> {
    for prefix in application.prefixes() {
        let text = prefix.to_string();
        let Some(record) = reservations.iter().find(|record| record.prefix == text) else {
            continue;
        };
        // What is wrong with the reservation itself is told elsewhere.
        let known = users::known_part(record).map(|(reservation, _)| reservation);
        let owner = application.owner();
        if known.is_ok_and(|reservation| !reservation.allows(owner.requester())) {
            return Err(format!(
                "it runs as user {}, and the [[reservation]] of {prefix} is for others: name the user there, or leave the \
                 reservation out, since an application's prefixes are reserved for its user",
                users::user_name(owner.uid)
            ));
        }
    }
    Ok(())
}

impl Rules {
    /// The prefix of an application of the configuration: it has a queue from the start, and is reserved for the
    /// application's user, also below a reservation for others. Whoever writes the file gives out all prefixes, as the
    /// administrator of HTTP.SYS does.
    fn declare(&mut self, prefix: UrlPrefix, uid: u32) {
        let queue = self.default_queue.clone();
        self.sites.entry(prefix.clone()).or_insert(queue);
        if self.reservations.get(&prefix).is_none() {
            self.reservations.insert(Reservation {
                prefix,
                users: vec![uid],
                groups: Vec::new(),
                everyone: false,
                delegate: false,
            });
        }
    }

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
