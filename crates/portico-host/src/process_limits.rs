//! What the system lets this process have, descriptors and mappings, and how much of it registrations may take: clients'
//! connections and all users share it. Out of mappings the process could not even allocate memory any more.

use std::path::Path;

use portico_sys::files;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::visitors::MAX_VISITS_OF_A_USER;

/// One user's registrations may take this part of what there is, and its other control connections the same part of
/// the descriptors.
const PART_OF_A_USER: usize = 8;
/// Linux's default.
const USUAL_MAPPINGS: usize = 65_530;
const MAPPINGS_FILE: &str = "/proc/sys/vm/max_map_count";
/// Bytes of that file, at most.
const MAPPINGS_FILE_BYTES: u64 = 64;

/// How many registrations there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Of all users.
    pub(crate) members: usize,
    /// Of one user other than root and the host's own.
    pub(crate) members_of_a_user: usize,
}

/// Each registration takes descriptors of its own, and so does each connection: as many as this process may have.
pub(crate) fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays at {:?}", limit.current);
    }
}

/// The room for registrations of a host with so many shards.
pub(crate) fn room(shards: u32) -> Room {
    room_in(descriptors(), mappings(), shards)
}

/// Control connections of one user that have not registered, at most.
pub(crate) fn visits_of_a_user() -> usize {
    (descriptors() / PART_OF_A_USER).clamp(1, MAX_VISITS_OF_A_USER)
}

/// A registration takes a control connection, what rings the application, and a bell and a mapping for each shard. Half of
/// the descriptors are for clients, a quarter of the mappings for everything else.
fn room_in(descriptors: usize, mappings: usize, shards: u32) -> Room {
    let shards = usize::try_from(shards).unwrap_or(usize::MAX).max(1);
    let each = shards.saturating_add(2);
    let smaller =
        |descriptors: usize, mappings: usize| (descriptors / each).min(mappings / shards).max(1);
    Room {
        members: smaller(descriptors / 2, mappings / 4 * 3),
        members_of_a_user: smaller(descriptors / PART_OF_A_USER, mappings / PART_OF_A_USER),
    }
}

fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    limit.unwrap_or(usize::MAX)
}

fn mappings() -> usize {
    let bytes = files::read(Path::new(MAPPINGS_FILE), MAPPINGS_FILE_BYTES).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let count = text.and_then(|text| text.trim().parse().ok());
    count.unwrap_or(USUAL_MAPPINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_less_of_decides() {
        for (descriptors, mappings, shards, members, members_of_a_user) in [
            (1 << 20, USUAL_MAPPINGS, 2, 24_573, 4095),
            (1 << 20, USUAL_MAPPINGS, 64, 767, 127),
            (1024, USUAL_MAPPINGS, 2, 128, 32),
            (
                usize::MAX,
                usize::MAX,
                1,
                usize::MAX / 2 / 3,
                usize::MAX / 8 / 3,
            ),
            (8, 8, 64, 1, 1),
        ] {
            let expected = Room {
                members,
                members_of_a_user,
            };
            assert_eq!(room_in(descriptors, mappings, shards), expected);
        }
    }

    #[test]
    fn this_system_says_how_many_mappings_there_may_be() {
        assert!(mappings() >= 1024);
    }
}
