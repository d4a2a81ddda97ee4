//! The whole configuration.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::cross_check::{self, Located};
use crate::error::ConfigError;
use crate::fields::{Fields, find};
use crate::kinds::Given;
use crate::nearest::nearest;
use crate::reader::Reader;
use crate::row::Applies;
use crate::section::{Entry, Section, Settings};
use crate::sections::{
    ApplicationOptions, CacheOptions, CertificateOptions, HostOptions, Limits, ListenerOptions,
    QueueOptions, ReservationOptions, SiteOptions,
};

/// Bytes of a configuration file.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// A valid configuration. An empty file is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `[host]`.
    pub host: HostOptions,
    /// `[[listener]]`.
    pub listeners: Vec<ListenerOptions>,
    /// `[[certificate]]`.
    pub certificates: Vec<CertificateOptions>,
    /// `[limits]`.
    pub limits: Limits,
    /// `[cache]`.
    pub cache: CacheOptions,
    /// `[queue]`: for prefixes without a site. Sites have their own, complete.
    pub queue: QueueOptions,
    /// `[[site]]`.
    pub sites: Vec<SiteOptions>,
    /// `[[reservation]]`.
    pub reservations: Vec<ReservationOptions>,
    /// `[[application]]`.
    pub applications: Vec<ApplicationOptions>,
}

impl Config {
    /// Parses and checks the text of a configuration. `file` is only for messages. Users, groups and files are not
    /// looked up.
    ///
    /// # Errors
    /// Every mistake, in the order of the file. If the text is not TOML, only what is wrong about that.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<ConfigError>> {
        let (table, syntax_errors) = DeTable::parse_recoverable(text);
        let mut reader = Reader::new(file, text);
        for error in &syntax_errors {
            let place = error.span().unwrap_or(0..0);
            let message = error.message().replace('\n', "; ");
            reader.error(&place, message);
        }
        if reader.error_count() > 0 {
            return Err(reader.into_errors());
        }
        let config = read(table.get_ref(), &mut reader);
        match config {
            Some(config) if reader.error_count() == 0 => Ok(config),
            _ => Err(reader.into_errors()),
        }
    }

    /// Reads and parses a file. Paths of certificates and keys, and of applications' folders and files, that do not begin
    /// with a slash are made to start at the file's folder. Blocks while it reads.
    ///
    /// # Errors
    /// As [`Config::parse`], or one error without a line if the file can't be read.
    pub fn load(path: &Path) -> Result<Self, Vec<ConfigError>> {
        let name = path.display().to_string();
        let whole = |message: String| vec![ConfigError::of_file(&name, message)];
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| whole(format!("can't be read: {error}")))?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(whole("is larger than 4 MiB".to_owned()));
        }
        let mut config = Self::parse(&text, &name)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for certificate in &mut config.certificates {
            let files = [
                Some(&mut certificate.certificate),
                Some(&mut certificate.key),
                certificate.client_ca.as_mut(),
            ];
            for file in files.into_iter().flatten() {
                *file = folder.join(PathBuf::from(&*file));
            }
        }
        if let Some(own) = &mut config.host.log_directory {
            *own = folder.join(PathBuf::from(&*own));
        }
        for application in &mut config.applications {
            let own = application.directory.get_or_insert_default();
            *own = folder.join(PathBuf::from(&*own));
            let files = [&mut application.environment_file, &mut application.node];
            for file in files.into_iter().flatten() {
                *file = folder.join(PathBuf::from(&*file));
            }
        }
        Ok(config)
    }

    /// Options in which `new` differs and that take effect only when the host is started again, as `section.name`.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<String> {
        fn names<S: Section>(old: &S, new: &S) -> impl Iterator<Item = String> {
            old.differences(new, Applies::Restart)
                .into_iter()
                .map(|name| format!("{}.{name}", S::NAME))
        }
        names(&self.host, &new.host)
            .chain(names(&self.limits, &new.limits))
            .chain(names(&self.cache, &new.cache))
            .chain(names(&self.queue, &new.queue))
            .collect()
    }
}

/// `None` after a mistake; there may be more in `reader` if not.
fn read(table: &DeTable<'_>, reader: &mut Reader) -> Option<Config> {
    refuse_unknown_sections(table, reader);
    let host = settings::<HostOptions>(table, reader);
    let listeners = entries::<ListenerOptions>(table, reader);
    let errors = reader.error_count();
    let certificates = entries::<CertificateOptions>(table, reader);
    let certain = (reader.error_count() == errors).then_some(&certificates[..]);
    let limits = settings::<Limits>(table, reader);
    let cache = settings::<CacheOptions>(table, reader);
    let queue = settings::<QueueOptions>(table, reader);
    if let Some(queue) = &queue {
        reader.queue = queue.clone();
    }
    let sites = entries::<SiteOptions>(table, reader);
    let reservations = entries::<ReservationOptions>(table, reader);
    let applications = entries::<ApplicationOptions>(table, reader);
    cross_check::listeners(&listeners, certain, reader);
    cross_check::certificates(&certificates, reader);
    cross_check::sites(&sites, certain, reader);
    cross_check::reservations(&reservations, reader);
    cross_check::applications(&applications, certain, reader);
    let prefixes = cross_check::prefixes(&sites, &reservations, &applications);
    cross_check::schemes(&listeners, &certificates, prefixes, reader);
    Some(Config {
        host: host?,
        listeners: values(listeners),
        certificates: values(certificates),
        limits: limits?,
        cache: cache?,
        queue: queue?,
        sites: values(sites),
        reservations: values(reservations),
        applications: values(applications),
    })
}

fn values<S>(located: Vec<Located<S>>) -> Vec<S> {
    located.into_iter().map(|entry| entry.value).collect()
}

/// Sections by name, and whether there are many of them.
const SECTIONS: [(&str, bool); 9] = [
    (HostOptions::NAME, false),
    (ListenerOptions::NAME, true),
    (CertificateOptions::NAME, true),
    (Limits::NAME, false),
    (CacheOptions::NAME, false),
    (QueueOptions::NAME, false),
    (SiteOptions::NAME, true),
    (ReservationOptions::NAME, true),
    (ApplicationOptions::NAME, true),
];

fn brackets((name, many): (&str, bool)) -> String {
    if many {
        format!("[[{name}]]")
    } else {
        format!("[{name}]")
    }
}

fn refuse_unknown_sections(table: &DeTable<'_>, reader: &mut Reader) {
    for key in table.keys() {
        let name = &**key.get_ref();
        if SECTIONS.iter().any(|(own, _)| *own == name) {
            continue;
        }
        let shown = name.escape_debug();
        let meant = nearest(name, SECTIONS.map(|(own, _)| own));
        let meant = SECTIONS.iter().find(|(own, _)| Some(*own) == meant);
        let owner = crate::row::rows().into_iter().find(|row| row.name == name);
        let text = match (meant, owner) {
            (Some(section), _) => {
                format!(
                    "unknown section \"{shown}\"; did you mean {}?",
                    brackets(*section)
                )
            }
            (None, Some(row)) => {
                format!(
                    "\"{shown}\" stands outside of any section; it belongs in [{}]",
                    row.section
                )
            }
            (None, None) => format!(
                "unknown section \"{shown}\"; there are: {}",
                SECTIONS.map(brackets).join(", ")
            ),
        };
        reader.error(&key.span(), text);
    }
}

fn settings<S: Settings>(table: &DeTable<'_>, reader: &mut Reader) -> Option<S> {
    let Some(given) = find(table, S::NAME) else {
        return Some(S::default());
    };
    match given.get_ref() {
        DeValue::Table(own) => {
            let mut fields = Fields::new(S::NAME, own, given.span(), reader);
            S::read_over(&S::default(), &mut fields)
        }
        _ => {
            let name = S::NAME;
            reader.error(
                &given.span(),
                format!("{name} is one section: write [{name}], once"),
            );
            None
        }
    }
}

/// Those without a mistake; the mistakes of the others are noted.
fn entries<S: Entry>(table: &DeTable<'_>, reader: &mut Reader) -> Vec<Located<S>> {
    let Some(given) = find(table, S::NAME) else {
        return Vec::new();
    };
    let DeValue::Array(items) = given.get_ref() else {
        not_a_list::<S>(given, reader);
        return Vec::new();
    };
    let mut read = Vec::new();
    for item in items.iter() {
        let DeValue::Table(own) = item.get_ref() else {
            not_a_list::<S>(item, reader);
            continue;
        };
        let value = S::read(&mut Fields::new(S::NAME, own, item.span(), reader));
        read.extend(value.map(|value| Located::new(value, own, item.span())));
    }
    read
}

fn not_a_list<S: Section>(given: &Given<'_>, reader: &mut Reader) {
    let name = S::NAME;
    reader.error(
        &given.span(),
        format!("there may be several of these: write [[{name}]], with two brackets on each side"),
    );
}
