//! The variables that a worker gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::applications::package;
use crate::applications::specification::{Listen, Specification};

/// What is the host's own, beside all that begins with `PORTICO_`: a worker would talk to its service manager with it.
const OWN: [&str; 10] = [
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "INVOCATION_ID",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "CREDENTIALS_DIRECTORY",
    "NODE_CHANNEL_FD",
    "NODE_UNIQUE_ID",
];
/// What a worker gets of a host that is not its user's.
const COMMON: [&str; 4] = ["PATH", "LANG", "TZ", "NODE_OPTIONS"];

/// The variables of one worker.
pub(super) fn of_worker(
    specification: &Specification,
    socket: &Path,
    identity: &str,
    slot: u32,
) -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, _)| is_inherited(specification, name))
        .collect();
    let port = match &specification.listen {
        Listen::Prefixes { port, .. } => Some(port.to_string()),
        Listen::AnyPort | Listen::Nothing => None,
    };
    variables.extend(port.map(|port| ("PORT".into(), port.into())));
    let slot = slot.to_string();
    variables.insert("NODE_APP_INSTANCE".into(), slot.clone().into());
    variables.extend(specification.environment.iter().cloned());
    for (name, value) in [
        ("PORTICO_HOST", socket.as_os_str()),
        ("PORTICO_WORKER", OsStr::new(identity)),
        ("PORTICO_APPLICATION", OsStr::new(&specification.name)),
        ("PORTICO_INSTANCE", OsStr::new(&slot)),
        ("PORTICO_PACKAGE", specification.package.as_os_str()),
        ("PORTICO_REQUIRE", OsStr::new("1")),
    ] {
        variables.insert(name.into(), value.into());
    }
    if let Some(listen) = listen(&specification.listen) {
        variables.insert("PORTICO_LISTEN".into(), listen.into());
    }
    let options = variables.remove(OsStr::new("NODE_OPTIONS"));
    let options = package::node_options(&specification.package, options);
    variables.insert("NODE_OPTIONS".into(), options);
    variables
}

fn is_inherited(specification: &Specification, name: &OsStr) -> bool {
    let Some(text) = name.to_str() else {
        return specification.inherits_environment;
    };
    let is_own = text.starts_with("PORTICO_") || OWN.contains(&text);
    let is_common = COMMON.contains(&text) || text.starts_with("LC_");
    !is_own && (specification.inherits_environment || is_common)
}

/// Which ports stand for which prefixes, as JSON.
fn listen(listen: &Listen) -> Option<String> {
    let table = match listen {
        Listen::AnyPort => serde_json::json!({ "*": ["http://*:{port}/"] }),
        Listen::Prefixes {
            port,
            is_fixed,
            prefixes,
        } => {
            let mut table = serde_json::Map::new();
            table.insert(port.to_string(), prefixes.clone().into());
            if !is_fixed {
                table.insert("0".into(), prefixes.clone().into());
            }
            table.into()
        }
        Listen::Nothing => return None,
    };
    Some(table.to_string())
}
