//! The command line: what can be said, and what it means.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use portico_host::applications::MAX_INSTANCES;

use crate::logs::LogsArguments;

/// One port, many processes: the host of Portico.
#[derive(Debug, Parser)]
#[command(
    name = "portico",
    version,
    about = "One port, many Node processes: runs and controls Portico's host",
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no host is running,\n\
                  4 the host ended because one of its threads was stuck.\n\
                  `portico help COMMAND` shows a command with examples. The manual is docs/host.md.",
    arg_required_else_help = true,
    propagate_version = false
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Control socket of the host [default: $PORTICO_HOST, else the system host's if it runs, else this user's]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program, and keep it running: a host and its processes in one
    #[command(after_help = "Examples:\n  \
        portico run app.js\n  \
        portico run --instances max app.js -- --colour red\n  \
        portico run 'npm start'\n  \
        portico run .                                 the folder's package.json says what to start\n\n\
        Each port that the program's HTTP servers listen on is opened by the host; the processes share its requests. A\n\
        process that crashes is replaced at once. HUP replaces the processes one after the other, and no request fails;\n\
        TERM and INT (Ctrl-C) let requests finish and end all (a second one: at once). The exit code is the program's where\n\
        it can't start.")]
    Run(RunArguments),
    /// Run the host in the foreground
    #[command(after_help = "Examples:\n  \
        portico host                                  with defaults\n  \
        portico host --config /etc/portico/portico.toml\n\n\
        Signals: TERM and INT let connections finish and end the host (a second one: at once), HUP reads the\n\
        configuration and the certificates again. Under systemd it tells readiness and takes sockets that systemd opened.")]
    Host(HostArguments),
    /// Show the applications that the host runs
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an application: its command, its workers, what they wrote last, and how the last one failed
    Describe {
        /// Its name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what an application's processes wrote
    Logs(LogsArguments),
    /// Start an application that was stopped, or has failed
    Start {
        /// Its name
        name: String,
    },
    /// End an application's processes, then start others; its requests wait
    Restart {
        /// Its name
        name: String,
    },
    /// Change how many processes an application has
    Scale {
        /// Its name
        name: String,
        /// How many: a number, or "max" for one for each core
        #[arg(value_parser = instances)]
        instances: u32,
    },
    /// Show prefixes, processes, queues and rates
    #[command(after_help = "Examples:\n  \
        portico status\n  \
        portico status --watch\n  \
        portico status --json | jq '.prefixes[].processes[].pid'")]
    Status(StatusArguments),
    /// Say which users may register which prefixes
    #[command(subcommand)]
    Reserve(Reserve),
    /// Say which certificates serve which https ports and names
    #[command(subcommand)]
    Cert(Cert),
    /// Show or purge the answers that the host keeps
    #[command(subcommand)]
    Cache(Cache),
    /// Read the configuration and the certificates again; nothing is dropped. With a name: replace an application's processes
    #[command(
        after_help = "With the name of an application its processes are replaced one after the other: each new one serves\n\
                      before the one before it ends, and no request fails.\n\n\
                      If the new configuration is bad, or a port of it can't be opened, the host says what is wrong and goes\n\
                      on with the old one."
    )]
    Reload {
        /// An application
        name: Option<String>,
    },
    /// End the host: connections may finish, new ones are refused. With a name: end an application's processes
    #[command(after_help = "Examples:\n  \
        portico stop                                  waits as long as `drain_timeout` says (30 s by default)\n  \
        portico stop --drain 0                        at once\n  \
        portico stop app                              the processes of that application; the host goes on\n\n\
        Returns when the host has ended.")]
    Stop {
        /// An application
        #[arg(conflicts_with = "drain")]
        name: Option<String>,
        /// Seconds that connections may take to finish
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        drain: Option<Duration>,
    },
    /// Let a new program take over from the running host; no connection is refused
    #[command(after_help = "Examples:\n  \
        portico upgrade                               the program at the path that the host was started from\n  \
        portico upgrade --program /opt/portico-2/portico\n\n\
        If the new program can't start, the old one goes on and this command says why.")]
    Upgrade {
        /// The new program
        #[arg(long, value_name = "PATH")]
        program: Option<PathBuf>,
    },
    /// Check a configuration file and the certificates, users and groups that it names; nothing is put into force
    CheckConfig {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Arguments of `portico run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Script, folder with a package.json, program, or a command in quotes
    pub(crate) program: String,
    /// Arguments of the program
    #[arg(last = true)]
    pub(crate) arguments: Vec<OsString>,
    /// How many processes: a number, or "max" for one for each core
    #[arg(long, short, value_name = "N", default_value = "1", value_parser = instances)]
    pub(crate) instances: u32,
    /// Seconds for which a process may take none of its requests, before it is killed and replaced [default: 0, no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) hang_timeout: Option<Duration>,
    /// Requests after which a process is replaced by a new one, without a failed request [default: 0, no limit]
    #[arg(long, value_name = "N")]
    pub(crate) max_requests: Option<u64>,
}

/// Arguments of `portico host`.
#[derive(Debug, Args)]
pub(crate) struct HostArguments {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Folder of what is added at run time [default: /var/lib/portico for root, else $XDG_STATE_HOME/portico]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// End some seconds after the last registration left; end quietly if a host runs already (what applications use)
    #[arg(long)]
    pub(crate) on_demand: bool,
}

/// Arguments of `portico status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show it again every second, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// Show every request in flight and what it waits for, and each process's channel
    #[arg(long)]
    pub(crate) requests: bool,
}

/// `portico cache`.
#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Show how many answers are kept, and how often they were given
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the answers that are kept
    #[command(after_help = "Examples:\n  \
        portico cache show\n  \
        portico cache show http://example.com/news/\n  \
        portico cache show /news/ --json")]
    Show {
        /// Only those whose URL, or path, begins so
        #[arg(default_value = "", hide_default_value = true)]
        prefix: String,
        /// So many at most
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give answers up: requests that begin when this has returned are answered anew
    #[command(after_help = "Examples:\n  \
        portico cache purge --url http://example.com/news/1\n  \
        portico cache purge --prefix /news/               on each host\n  \
        portico cache purge --tag user-7\n  \
        portico cache purge --all")]
    Purge(PurgeArguments),
}

/// Arguments of `portico cache purge`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["url", "prefix", "tag", "all"]))]
pub(crate) struct PurgeArguments {
    /// This URL with its query, or a path on each host
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// All URLs, or paths, that begin so
    #[arg(long, value_name = "URL")]
    pub(crate) prefix: Option<String>,
    /// Answers with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// All answers
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `portico reserve`.
#[derive(Debug, Subcommand)]
pub(crate) enum Reserve {
    /// Reserve a prefix, and all below it
    #[command(after_help = "Examples:\n  \
        portico reserve add http://+:80/shop/ --user ann --group shop\n  \
        portico reserve add https://+:443/ --user www --delegate\n\n\
        Only these users (and root) may then register it. On ports below 1024 only root may register without a\n\
        reservation. A reserved prefix that no process serves answers 503. The reservation outlives the host.")]
    Add(ReserveArguments),
    /// Show all reservations
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a reservation back
    Remove {
        /// URL prefix, such as http://+:80/shop/
        prefix: String,
    },
}

/// Arguments of `portico reserve add`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("whom").required(true).multiple(true).args(["user", "group", "everyone"]))]
pub(crate) struct ReserveArguments {
    /// URL prefix, such as http://+:80/shop/
    pub(crate) prefix: String,
    /// A user that may register it, by name or number (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Vec<String>,
    /// A group whose members may (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub(crate) group: Vec<String>,
    /// Every user may
    #[arg(long)]
    pub(crate) everyone: bool,
    /// They may also reserve prefixes below it for others
    #[arg(long)]
    pub(crate) delegate: bool,
}

/// `portico cert`.
#[derive(Debug, Subcommand)]
pub(crate) enum Cert {
    /// Use a certificate
    #[command(after_help = "Examples:\n  \
        portico cert add --cert /etc/ssl/a.pem --key /etc/ssl/a.key\n  \
        portico cert add --cert a.pem --key a.key --port 8443 --name a.example --name '*.a.example'\n  \
        portico cert add --cert a.pem --key a.key --client-ca staff.pem --require-client-certificate\n\n\
        The first certificate of a port serves clients that ask for no name or an unknown one. Files that change are\n\
        read again by themselves.")]
    Add(CertArguments),
    /// Show all certificates
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Use a certificate no more
    Remove {
        /// Its certificate file, as in the list
        #[arg(value_name = "FILE")]
        certificate: PathBuf,
        /// The port that it is bound to
        #[arg(long)]
        port: Option<u16>,
    },
}

/// Arguments of `portico cert add`.
#[derive(Debug, Args)]
pub(crate) struct CertArguments {
    /// PEM file with the certificate and its chain
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: PathBuf,
    /// PEM file with the private key
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Only for this port [default: all https ports]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Only for this name of SNI (may be given several times) [default: the certificate's names]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    /// PEM file with the authorities of client certificates: clients are asked for one
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,
    /// Refuse clients without a certificate of these authorities
    #[arg(long, requires = "client_ca")]
    pub(crate) require_client_certificate: bool,
}

fn instances(text: &str) -> Result<u32, String> {
    if text == "max" {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        return Ok(u32::try_from(cores).unwrap_or(1));
    }
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=MAX_INSTANCES).contains(number));
    number.ok_or_else(|| format!("must be \"max\" or a number from 1 to {MAX_INSTANCES}"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .ok_or_else(|| "must be a number of seconds from 0 on, such as 30 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn instances_are_a_number_or_max() {
        assert_eq!(instances("1000"), Ok(1000));
        assert!(instances("max").unwrap() >= 1);
        for wrong in ["0", "1001", "-1", "many", ""] {
            let error = instances(wrong).unwrap_err();
            assert!(
                error.contains("\"max\" or a number from 1 to 1000"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_reservation_names_a_user_or_a_group() {
        let parse = |arguments: &[&str]| {
            Cli::try_parse_from(
                ["portico", "reserve", "add", "http://+:80/"]
                    .iter()
                    .chain(arguments),
            )
        };
        assert!(parse(&[]).is_err());
        assert!(parse(&["--user", "ann", "--group", "staff"]).is_ok());
    }
}
