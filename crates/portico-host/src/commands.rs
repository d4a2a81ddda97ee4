//! What the commands of `portico` do to a host.

use std::time::Instant;

use portico_locate::effective_user;
use portico_sys::Credentials;

use crate::host::Host;
use crate::protocol::{Answer, Certificate, CertificateRecord, ReservationRecord, Reserve};
use crate::registry::Owner;
use crate::rules::{self, UnknownNames};
use crate::users::{self, parse_prefix, user_name};
use crate::{Failure, code};

/// Reservations made at run time, at most.
const MAX_RESERVATIONS: usize = 4096;
/// Those of one user other than root and the host's own, at most.
const MAX_RESERVATIONS_OF_A_USER: usize = 256;
/// Users and groups of one of them, at most: each is looked up.
const MAX_NAMES: usize = 64;
/// Bytes of a name, at most.
const MAX_NAME_BYTES: usize = 256;

impl Host {
    /// Whether this peer may change the host: its own user, and root.
    ///
    /// # Errors
    /// `EACCES`.
    pub(crate) fn check_master(peer: &Credentials) -> Result<(), Failure> {
        if peer.uid == 0 || peer.uid == effective_user() {
            return Ok(());
        }
        let text = format!(
            "only root and {}, whose host this is, may do that",
            user_name(effective_user())
        );
        Err(Failure::new(code::EACCES, text))
    }

    /// `portico reserve`.
    ///
    /// # Errors
    /// Not allowed, malformed, contradicting another one: nothing has changed then. A state file that can't be
    /// written.
    pub(crate) fn reserve(
        &mut self,
        peer: &Credentials,
        command: Reserve,
    ) -> Result<Answer, Failure> {
        match command {
            Reserve::List => Ok(Answer {
                reservations: Some(self.reservations()),
                ..Answer::default()
            }),
            Reserve::Add(record) => self.add_reservation(peer, record),
            Reserve::Remove { prefix } => self.remove_reservation(peer, &prefix),
        }
    }

    fn add_reservation(
        &mut self,
        peer: &Credentials,
        record: ReservationRecord,
    ) -> Result<Answer, Failure> {
        self.check_reserver(peer, &record.prefix)?;
        self.check_reservation_limits(peer, &record)?;
        let reservation = users::reservation(&record)?;
        let mut all = self.registry.rules().reservations.clone();
        all.add(reservation.clone())
            .map_err(|conflict| Failure::new(conflict.code(), conflict.to_string()))?;
        let mut state = self.state.clone();
        let prefix = reservation.prefix.to_string();
        state.reservations.push(ReservationRecord {
            prefix: prefix.clone(),
            configured: false,
            made_by: Some(peer.uid),
            problem: None,
            ..record
        });
        self.change_state(state)?;
        if self.log.allows(peer.uid, Instant::now()) {
            tracing::info!(uid = peer.uid, "{prefix} reserved");
        }
        Ok(Answer::said(format!("{prefix} is reserved")))
    }

    /// No user fills the state file, or has names looked up without end.
    fn check_reservation_limits(
        &self,
        peer: &Credentials,
        record: &ReservationRecord,
    ) -> Result<(), Failure> {
        let all = &self.state.reservations;
        let of_user = || all.iter().filter(|made| made.made_by == Some(peer.uid));
        let names = || record.users.iter().chain(&record.groups);
        let text = if all.len() >= MAX_RESERVATIONS {
            format!("this host has {MAX_RESERVATIONS} reservations made at run time")
        } else if Self::check_master(peer).is_err()
            && of_user().count() >= MAX_RESERVATIONS_OF_A_USER
        {
            format!("this user has made {MAX_RESERVATIONS_OF_A_USER} reservations")
        } else if names().count() > MAX_NAMES {
            format!("a reservation may name {MAX_NAMES} users and groups")
        } else if names().any(|name| name.len() > MAX_NAME_BYTES) {
            format!("a name may have {MAX_NAME_BYTES} bytes")
        } else {
            return Ok(());
        };
        Err(Failure::new(
            code::LIMIT,
            format!("{text}, and that is the limit"),
        ))
    }

    fn remove_reservation(&mut self, peer: &Credentials, text: &str) -> Result<Answer, Failure> {
        let prefix = parse_prefix(text)?;
        let same = |record: &ReservationRecord| {
            parse_prefix(&record.prefix).ok().as_ref() == Some(&prefix)
        };
        let made = |record: &&ReservationRecord| same(record) && record.made_by == Some(peer.uid);
        if !self.state.reservations.iter().any(|record| made(&record)) {
            self.check_reserver(peer, text)?;
        }
        if self.settings.reservations.iter().any(same) {
            let text = format!(
                "the reservation of {prefix} stands in the configuration file: remove it there, then `portico reload`"
            );
            return Err(Failure::new(code::CONFIGURATION, text));
        }
        let mut state = self.state.clone();
        let before = state.reservations.len();
        state.reservations.retain(|record| !same(record));
        if state.reservations.len() == before {
            let text = format!(
                "there is no reservation of {prefix}; `portico reserve list` shows those there are"
            );
            return Err(Failure::new(code::REQUEST, text));
        }
        self.change_state(state)?;
        if self.log.allows(peer.uid, Instant::now()) {
            tracing::info!(uid = peer.uid, "{prefix} no longer reserved");
        }
        Ok(Answer::said(format!("{prefix} is no longer reserved")))
    }

    /// The host's masters may reserve what they like, others below a reservation of theirs that says `delegate`.
    fn check_reserver(&self, peer: &Credentials, text: &str) -> Result<(), Failure> {
        if Self::check_master(peer).is_ok() {
            return Ok(());
        }
        let prefix = parse_prefix(text)?;
        let owner = Owner {
            uid: peer.uid,
            gids: peer.gids.clone(),
        };
        self.registry
            .rules()
            .reservations
            .may_reserve(&prefix, owner.requester())
            .map_err(|denied| Failure::new(denied.code(), format!("{prefix}: {denied}")))
    }

    /// Puts run-time reservations into force, then into the file. If the file can't be written they are in force until
    /// the host ends, and the caller is told.
    fn change_state(&mut self, state: crate::state::State) -> Result<(), Failure> {
        let rules = rules::rules(&self.settings, &state, UnknownNames::Close)?;
        self.registry.apply(rules)?;
        self.state = state;
        self.publish_routes();
        self.close_unneeded_listeners();
        self.state_file.save(&self.state)
    }

    /// All reservations: those of the configuration first.
    fn reservations(&self) -> Vec<ReservationRecord> {
        let configured = self
            .settings
            .reservations
            .iter()
            .map(|record| ReservationRecord {
                configured: true,
                ..record.clone()
            });
        let problems = &self.registry.rules().problems;
        let with_problem = |record: ReservationRecord| {
            let prefix = parse_prefix(&record.prefix).ok();
            ReservationRecord {
                problem: prefix.and_then(|prefix| problems.get(&prefix).cloned()),
                ..record
            }
        };
        configured
            .chain(self.state.reservations.iter().cloned())
            .map(with_problem)
            .collect()
    }

    /// `portico cert`. Blocks on the disk.
    ///
    /// # Errors
    /// Not usable, not there: nothing has changed then. A state file that can't be written.
    pub(crate) fn certificate(&mut self, command: Certificate) -> Result<Answer, Failure> {
        match command {
            Certificate::List => Ok(Answer {
                certificates: Some(self.certificate_list()),
                ..Answer::default()
            }),
            Certificate::Add(record) => {
                self.certificates.add(record.clone())?;
                let text = format!("{} is in use for new connections", record.certificate);
                self.state.certificates.push(record);
                self.certificates_changed();
                self.state_file.save(&self.state)?;
                Ok(Answer::said(text))
            }
            Certificate::Remove { certificate, port } => {
                self.remove_certificate(&certificate, port)
            }
        }
    }

    fn remove_certificate(
        &mut self,
        certificate: &str,
        port: Option<u16>,
    ) -> Result<Answer, Failure> {
        let is =
            |record: &CertificateRecord| record.certificate == certificate && record.port == port;
        let is_configured = |record: &CertificateRecord| {
            record.certificate == certificate && port.is_none_or(|port| record.port == Some(port))
        };
        let is_of_run_time = self.state.certificates.iter().any(is);
        if !is_of_run_time && self.settings.certificates.iter().any(is_configured) {
            let text = format!(
                "{certificate} stands in the configuration file: remove it there, then `portico reload`"
            );
            return Err(Failure::new(code::CONFIGURATION, text));
        }
        let before = self.state.certificates.len();
        self.state.certificates.retain(|record| !is(record));
        if self.state.certificates.len() == before {
            return Err(self.no_certificate(certificate, port));
        }
        self.certificates.remove(certificate, port);
        self.certificates_changed();
        self.state_file.save(&self.state)?;
        Ok(Answer::said(format!(
            "{certificate} is no longer used for new connections"
        )))
    }

    /// Says that a file is no certificate for this port (`None`: for all ports), and how those of other ports are removed.
    fn no_certificate(&self, certificate: &str, port: Option<u16>) -> Failure {
        let asked = port.map_or_else(|| "all ports".into(), |port| format!("port {port}"));
        let others = self.certificates.list().into_iter();
        let commands: Vec<String> = others
            .filter(|record| record.certificate == certificate)
            .map(|record| record.port.map(|port| format!(" --port {port}")))
            .map(|port| {
                format!(
                    "`portico cert remove {certificate}{}`",
                    port.unwrap_or_default()
                )
            })
            .collect();
        let hint = match commands.as_slice() {
            [] => "`portico cert list` shows those there are".into(),
            commands => format!(
                "{} removes what the file is used for",
                commands.join(" or ")
            ),
        };
        let text = format!("there is no certificate {certificate} for {asked}; {hint}");
        Failure::new(code::REQUEST, text)
    }

    /// All certificates, those that can't be used too.
    fn certificate_list(&self) -> Vec<CertificateRecord> {
        let mut list = self.certificates.list();
        for record in &mut list {
            let same = |other: &CertificateRecord| {
                other.certificate == record.certificate && other.port == record.port
            };
            record.configured = self.settings.certificates.iter().any(same);
        }
        list
    }
}
