//! The descriptors of this process, and how many of them one user may take: what a process may have is shared by clients'
//! connections, registrations and commands of all users.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::visitors::MAX_VISITS_OF_A_USER;

/// One user's registrations may take this part of the descriptors, and so may its other control connections.
const PART: usize = 8;

/// Each registration takes descriptors of its own, and so does each connection: as many as this process may have.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays at {:?}", limit.current);
    }
}

/// Registrations of one user, at most, by the descriptors that they take with so many shards.
pub(crate) fn members_of_a_user(shards: u32) -> usize {
    part_of(limit()) / each(shards)
}

/// Control connections of one user that have not registered, at most.
pub(crate) fn visits_of_a_user() -> usize {
    part_of(limit()).min(MAX_VISITS_OF_A_USER)
}

/// The control connection, what rings the application, and a bell for each shard.
fn each(shards: u32) -> usize {
    usize::try_from(shards)
        .unwrap_or(usize::MAX)
        .saturating_add(2)
}

fn part_of(limit: usize) -> usize {
    (limit / PART).max(1)
}

fn limit() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(usize::MAX)
}
