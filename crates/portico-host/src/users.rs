//! Names of users and groups, by the system's databases (NSS).

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

/// The reservation that a record stands for. May block on the system's databases.
///
/// # Errors
/// The prefix is malformed, a user or group is not known, or nobody is named at all.
pub fn reservation(record: &ReservationRecord) -> Result<Reservation, Failure> {
    let prefix = parse_prefix(&record.prefix)?;
    let users: Result<Vec<_>, _> = record.users.iter().map(|name| user_id(name)).collect();
    let groups: Result<Vec<_>, _> = record.groups.iter().map(|name| group_id(name)).collect();
    let reservation = Reservation {
        prefix,
        users: users?,
        groups: groups?,
        everyone: record.everyone,
        delegate: record.delegate,
    };
    if reservation.users.is_empty() && reservation.groups.is_empty() && !reservation.everyone {
        let text = format!(
            "the reservation of {} names nobody: give users, groups or everyone",
            record.prefix
        );
        return Err(Failure::new(code::REQUEST, text));
    }
    Ok(reservation)
}

/// Reads a prefix as people and programs write it.
///
/// # Errors
/// [`code::PREFIX_INVALID`] with what is wrong with it.
pub fn parse_prefix(text: &str) -> Result<UrlPrefix, Failure> {
    UrlPrefix::parse(text)
        .map_err(|error| Failure::new(code::PREFIX_INVALID, format!("{text:?}: {error}")))
}

fn user_id(name: &str) -> Result<u32, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let found = User::from_name(name).ok().flatten();
    found
        .map(|user| user.uid.as_raw())
        .ok_or_else(|| unknown("user", name))
}

fn group_id(name: &str) -> Result<u32, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let found = Group::from_name(name).ok().flatten();
    found
        .map(|group| Gid::as_raw(group.gid))
        .ok_or_else(|| unknown("group", name))
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
            (record(&[], &[]), "names nobody"),
            (record(&["no such user"], &[]), "knows no user"),
            (record(&[], &["no such group"]), "knows no group"),
        ] {
            let failure = reservation(&wrong).unwrap_err();
            assert!(failure.message.contains(what), "{failure}");
        }
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_001), "4000000001");
        assert_eq!(parse_prefix("8080").unwrap_err().code, code::PREFIX_INVALID);
    }
}
