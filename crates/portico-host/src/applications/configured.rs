//! Applications as the configuration file has them, in the host's own terms. Blocks on the disk and on the user database.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::unistd::{Gid, Uid, User};
use portico_config::{ApplicationOptions, Id, Instances};
use portico_router::{Scheme, UrlPrefix};
use portico_supervisor::Policy;
use portico_sys::spawn::{Identity, Isolation};

use crate::applications::command::{self, Node};
use crate::applications::package::package_folder;
use crate::applications::specification::{Listen, LogLimits, Output, Specification};
use crate::users;

/// The application that a section stands for.
///
/// # Errors
/// What it names that is not there, in words.
pub(crate) fn specification(options: &ApplicationOptions) -> Result<Specification, String> {
    let folder = options.directory.clone().unwrap_or_default();
    let folder = std::path::absolute(&folder).map_err(|error| unreadable(&folder, &error))?;
    if !folder.is_dir() {
        return Err(format!("there is no folder {}", folder.display()));
    }
    let node = node(options)?;
    let (program, arguments) = match options.command.as_slice() {
        [program, arguments @ ..] => (program, arguments),
        [] => return Err("its command is empty".into()),
    };
    let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
    let resolved = command::resolve(program, &arguments, &folder, &node)?;
    let package = package_folder(&resolved.directory).ok_or_else(|| {
        format!(
            "the npm package `portico` was not found, which it is run with: install it in {} (npm install portico), or \
             name its folder with PORTICO_PACKAGE",
            resolved.directory.display()
        )
    })?;
    let (identity, user) = identity(options)?;
    let environment = environment(options, user.as_ref(), &node)?;
    let listen = listen(options, &environment)?;
    Ok(Specification {
        name: options.name.clone(),
        command: resolved.command,
        directory: resolved.directory,
        listen,
        environment: environment.into_iter().collect(),
        inherits_environment: false,
        package,
        isolation: Isolation {
            identity,
            umask: options.umask,
            ends_with_starter: false,
        },
        instances: instances(options.instances),
        output: Output::Logs(LogLimits {
            max_bytes: options.log_max_size,
            max_age: options.log_max_age,
            files: options.log_files,
        }),
        hang_timeout: Some(options.hang_timeout).filter(|time| !time.is_zero()),
        max_requests: Some(options.max_requests).filter(|count| *count > 0),
        max_memory: Some(options.max_memory).filter(|bytes| *bytes > 0),
        max_heap: Some(options.max_heap).filter(|bytes| *bytes > 0),
        max_age: Some(options.max_age).filter(|age| !age.is_zero()),
        wait_ready: options.wait_ready,
        shutdown_message: options.shutdown_message,
        policy: policy(options),
    })
}

/// How many workers there are to be.
pub(crate) fn instances(wanted: Instances) -> u32 {
    match wanted {
        Instances::Count(count) => count,
        Instances::Max => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            u32::try_from(cores).unwrap_or(u32::MAX)
        }
    }
}

fn policy(options: &ApplicationOptions) -> Policy {
    Policy {
        start_timeout: (!options.prefix.is_empty() || options.wait_ready)
            .then_some(options.start_timeout),
        drain_timeout: options.drain_timeout,
        stop_timeout: options.stop_timeout,
        max_unavailable: options.max_unavailable,
        overlapped: options.overlapped,
        rapid_failures: options.rapid_failures,
        failure_window: options.rapid_failure_window,
        first_backoff: Duration::from_secs(1),
        ..Policy::default()
    }
}

fn node(options: &ApplicationOptions) -> Result<Node, String> {
    let arguments = options.node_arguments.iter();
    let arguments = arguments.map(OsString::from).collect();
    let Some(named) = &options.node else {
        return Ok(Node {
            arguments,
            ..Node::default()
        });
    };
    let named = std::path::absolute(named).map_err(|error| unreadable(named, &error))?;
    let program = match named.is_dir() {
        true => named.join("bin/node"),
        false => named,
    };
    if !program.is_file() {
        return Err(format!("there is no Node at {}", program.display()));
    }
    Ok(Node {
        program: program.into(),
        arguments,
    })
}

/// Who it runs as, if not as the host, and the user's entry in the database.
fn identity(options: &ApplicationOptions) -> Result<(Option<Identity>, Option<User>), String> {
    let own = rustix::process::geteuid().as_raw();
    let by_id = |uid: u32| User::from_uid(Uid::from_raw(uid)).ok().flatten();
    let word = |id: &Id| match id {
        Id::Name(name) => name.clone(),
        Id::Number(number) => number.to_string(),
    };
    let uid = options.user.as_ref().map(|id| users::user_id(&word(id)));
    let uid = uid.transpose().map_err(|failure| failure.message)?;
    let gid = options.group.as_ref().map(|id| users::group_id(&word(id)));
    let gid = gid.transpose().map_err(|failure| failure.message)?;
    let user = by_id(uid.unwrap_or(own));
    if uid.is_none() && gid.is_none() {
        return Ok((None, user));
    }
    if own != 0 && (uid.is_some_and(|uid| uid != own) || gid.is_some()) {
        let text = "only a host that runs as root can start it as another user or group";
        return Err(text.into());
    }
    let uid = uid.unwrap_or(own);
    let group = user.as_ref().map(|user| user.gid.as_raw());
    let gid = gid.or(group).ok_or_else(|| {
        format!("this machine knows no user with the number {uid}: name its group too")
    })?;
    let groups = user
        .as_ref()
        .and_then(|user| std::ffi::CString::new(user.name.clone()).ok())
        .and_then(|name| nix::unistd::getgrouplist(&name, Gid::from_raw(gid)).ok())
        .unwrap_or_else(|| vec![Gid::from_raw(gid)]);
    let identity = Identity {
        uid,
        gid,
        groups: groups.into_iter().map(Gid::as_raw).collect(),
    };
    Ok(((own == 0).then_some(identity), user))
}

/// Its variables: those of its user, of its file, of its section, each over the ones before.
fn environment(
    options: &ApplicationOptions,
    user: Option<&User>,
    node: &Node,
) -> Result<BTreeMap<OsString, OsString>, String> {
    let mut all = BTreeMap::new();
    if let Some(user) = user {
        all.insert("HOME".into(), user.dir.clone().into_os_string());
        all.insert("SHELL".into(), user.shell.clone().into_os_string());
        all.insert("USER".into(), user.name.clone().into());
        all.insert("LOGNAME".into(), user.name.clone().into());
    }
    // npm and other tools find the same Node.
    if let Some(folder) = Path::new(&node.program)
        .parent()
        .filter(|it| it.is_absolute())
    {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&before));
        let joined = std::env::join_paths(folders).unwrap_or(before);
        all.insert("PATH".into(), joined);
    }
    if let Some(file) = &options.environment_file {
        let text = fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
        for (index, line) in text.lines().enumerate() {
            let variable = variable(line).map_err(|()| {
                let (file, line) = (file.display(), index + 1);
                format!("{file}:{line}:1: write NAME=value")
            })?;
            all.extend(variable);
        }
    }
    let own = options.environment.iter();
    all.extend(own.map(|(name, value)| (name.into(), value.into())));
    Ok(all)
}

/// A line of a file of variables; `None`: it has none.
fn variable(line: &str) -> Result<Option<(OsString, OsString)>, ()> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or(())?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || line.contains('\0') {
        return Err(());
    }
    let unquoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    });
    Ok(Some((name.into(), unquoted.unwrap_or(value).into())))
}

fn listen(
    options: &ApplicationOptions,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Listen, String> {
    let is_http = |prefix: &&UrlPrefix| prefix.scheme() == Scheme::Http;
    let first = options.prefix.iter().find(is_http);
    let Some(first) = first.or(options.prefix.first()) else {
        return Ok(Listen::Nothing);
    };
    let named = environment.get(std::ffi::OsStr::new("PORT"));
    let named = named.map(|text| {
        let number = text.to_str().and_then(|text| text.parse().ok());
        let number = number.filter(|port| *port > 0);
        number.ok_or_else(|| format!("its PORT is {}, and no port's number", text.display()))
    });
    let fixed = match options.port {
        Some(port) => Some(port),
        None => named.transpose()?,
    };
    Ok(Listen::Prefixes {
        port: fixed.unwrap_or(first.port()),
        is_fixed: fixed.is_some(),
        prefixes: options.prefix.iter().map(ToString::to_string).collect(),
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("{} can't be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_has_one_a_line() {
        let pair = |name: &str, value: &str| Ok(Some((name.into(), value.into())));
        for (line, expected) in [
            ("", Ok(None)),
            ("  # comment", Ok(None)),
            ("A=1", pair("A", "1")),
            ("export A = two words ", pair("A", "two words")),
            ("A=\" b=c \"", pair("A", " b=c ")),
            ("A='#'", pair("A", "#")),
            ("A=\"", pair("A", "\"")),
            ("A=", pair("A", "")),
            ("A", Err(())),
            ("=1", Err(())),
        ] {
            assert_eq!(variable(line), expected, "{line}");
        }
    }
}
