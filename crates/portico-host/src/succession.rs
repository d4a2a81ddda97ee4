//! Who is the host of a place where one runs already.
//!
//! An application starts a host where none runs: without a configuration, and for as long as it is needed. A host that a
//! person or a service manager starts there is the one that was meant, so it asks the other to end and takes its place.
//! The processes that were registered register again by themselves.

use std::path::Path;
use std::time::Duration;

use portico_locate::{Location, NamedBy, connect};

use crate::place::{Place, Taken};
use crate::protocol::{Answer, Request};
use crate::{Failure, client};

/// How long connections of the host before may take to finish: no new client is served meanwhile.
const DRAIN: Duration = Duration::from_secs(1);
/// How long it may take to answer and to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// An application may be faster once more, and start another one in between.
const ATTEMPTS: u32 = 5;

/// Takes the place of the host at this socket, also from one that was started on demand, unless this one is.
///
/// # Errors
/// As [`Place::take`].
pub(crate) fn take(socket: &Path, on_demand: bool) -> Result<Taken, Failure> {
    let mut taken = Place::take(socket)?;
    for _ in 0..ATTEMPTS {
        let Taken::Occupied(pid) = &taken else {
            break;
        };
        if on_demand || !is_on_demand(socket) {
            break;
        }
        tracing::info!(
            pid,
            "a host runs here that an application has started; it ends, and this one takes its place"
        );
        // Should it break off: it has ended, or the next round finds it still there.
        let _ = ask(
            socket,
            &Request::Stop {
                drain_ms: u64::try_from(DRAIN.as_millis()).ok(),
            },
        );
        taken = Place::take_at_once(socket)?;
    }
    Ok(taken)
}

fn is_on_demand(socket: &Path) -> bool {
    let status = ask(socket, &Request::Status).and_then(|answer| answer.status);
    status.is_some_and(|status| status.on_demand)
}

fn ask(socket: &Path, request: &Request) -> Option<Answer> {
    let location = Location {
        path: socket.to_owned(),
        named_by: NamedBy::Option,
    };
    let stream = connect(&location, PATIENCE).ok()?;
    client::ask(&stream, request, Some(PATIENCE)).ok()
}
