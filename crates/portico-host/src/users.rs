//! Names of users and groups, by the system's databases (NSS).

use std::cell::RefCell;
use std::collections::HashMap;

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User};
use portico_router::{Reservation, UrlPrefix};

use crate::protocol::ReservationRecord;
use crate::{Failure, code};

/// The user's name, or its number where it has none. May block on the system's databases.
#[must_use]
pub fn user_name(uid: u32) -> String {
    let found = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    found.map_or_else(|| uid.to_string(), |user| user.name)
}

/// Names of users, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct UserNames(RefCell<HashMap<u32, String>>);

impl UserNames {
    /// As [`user_name`].
    pub(crate) fn of(&self, uid: u32) -> String {
        let mut names = self.0.borrow_mut();
        names.entry(uid).or_insert_with(|| user_name(uid)).clone()
    }
}

/// The reservation that a record stands for. May block on the system's databases.
///
/// # Errors
/// The prefix is malformed, a user or group is not known, or no user is named at all.
pub fn reservation(record: &ReservationRecord) -> Result<Reservation, Failure> {
    let (reservation, unknown) = known_part(record)?;
    unknown.map_or(Ok(reservation), Err)
}

/// The same for those users and groups that are known now, with what is wrong with the others: no user gets in by a name
/// that is not known. May block on the system's databases.
///
/// # Errors
/// The prefix is malformed, or no user is named at all.
pub fn known_part(record: &ReservationRecord) -> Result<(Reservation, Option<Failure>), Failure> {
    let prefix = parse_prefix(&record.prefix)?;
    if record.users.is_empty() && record.groups.is_empty() && !record.everyone {
        let text = format!(
            "the reservation of {} allows no user: give users, groups or everyone",
            record.prefix
        );
        return Err(Failure::new(code::REQUEST, text));
    }
    let mut unknown = None;
    let mut known = |id: Result<u32, Failure>| match id {
        Ok(id) => Some(id),
        Err(failure) => {
            unknown.get_or_insert(failure);
            None
        }
    };
    let users = record.users.iter();
    let users = users.filter_map(|name| known(user_id(name))).collect();
    let groups = record.groups.iter();
    let groups = groups.filter_map(|name| known(group_id(name))).collect();
    let reservation = Reservation {
        prefix,
        users,
        groups,
        everyone: record.everyone,
        delegate: record.delegate,
    };
    Ok((reservation, unknown))
}

/// Reads a prefix as people and programs write it.
///
/// # Errors
/// [`code::PREFIX_INVALID`] with what is wrong with it.
pub fn parse_prefix(text: &str) -> Result<UrlPrefix, Failure> {
    UrlPrefix::parse(text)
        .map_err(|error| Failure::new(code::PREFIX_INVALID, format!("{text:?}: {error}")))
}

/// The number of a user, given by name or number.
pub(crate) fn user_id(name: &str) -> Result<u32, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    match User::from_name(name) {
        Ok(found) => found
            .map(|user| user.uid.as_raw())
            .ok_or_else(|| unknown("user", name)),
        Err(error) => Err(unreadable("user", name, error)),
    }
}

/// The number of a group, given by name or number.
pub(crate) fn group_id(name: &str) -> Result<u32, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    match Group::from_name(name) {
        Ok(found) => found
            .map(|group| Gid::as_raw(group.gid))
            .ok_or_else(|| unknown("group", name)),
        Err(error) => Err(unreadable("group", name, error)),
    }
}

fn unreadable(kind: &str, name: &str, error: Errno) -> Failure {
    let text =
        format!("{kind} {name:?} can't be looked up now ({error}): try again, or give its number");
    Failure::new(code::REQUEST, text)
}

fn unknown(kind: &str, name: &str) -> Failure {
    let text =
        format!("this machine knows no {kind} {name:?}: correct the name, or give its number");
    Failure::new(code::REQUEST, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_become_ids_and_what_is_wrong_is_said() {
        let record = |users: &[&str], groups: &[&str]| ReservationRecord {
            prefix: "http://+:8080/".into(),
            users: users.iter().map(|name| (*name).to_owned()).collect(),
            groups: groups.iter().map(|name| (*name).to_owned()).collect(),
            ..ReservationRecord::default()
        };
        let made = reservation(&record(&["root", "10001"], &["root"])).unwrap();
        assert_eq!((made.users, made.groups), (vec![0, 10_001], vec![0]));
        for (wrong, what) in [
            (record(&[], &[]), "allows no user"),
            (record(&["no such user"], &[]), "knows no user"),
            (record(&[], &["no such group"]), "knows no group"),
        ] {
            let failure = reservation(&wrong).unwrap_err();
            assert!(failure.message.contains(what), "{failure}");
        }
        let (part, unknown) = known_part(&record(&["root", "no such user"], &[])).unwrap();
        assert_eq!((part.users, part.groups), (vec![0], vec![]));
        assert!(unknown.unwrap().message.contains("no such user"));
        let (known, unknown) = known_part(&record(&[], &["no such group"])).unwrap();
        assert!(known.groups.is_empty() && !known.everyone && unknown.is_some());
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_001), "4000000001");
        assert_eq!(parse_prefix("8080").unwrap_err().code, code::PREFIX_INVALID);
    }
}
