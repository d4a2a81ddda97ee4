//! Certificates of `https` ports: read from PEM files, bound to ports and SNI names, read again when the files change.
//!
//! The files are looked at once a second (by what stat(2) says, symbolic links followed) and not by inotify, which
//! misses what certificate managers do: links switched far up the path, bind mounts, network file systems. A new pair
//! that can't be used is reported, and the old one stays in use.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use portico_http::h1::DateCache;
use portico_sys::files;
use portico_tls::{CertificateSummary, Context, ContextOptions, Identity};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::protocol::CertificateRecord;
use crate::{Failure, code};

/// Certificates of a host, at most.
pub const MAX_CERTIFICATES: usize = 10_000;
/// Bytes of a PEM file, at most.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The certificates in use, those of the configuration before those of run time.
#[derive(Debug, Default)]
pub struct Certificates {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    record: CertificateRecord,
    /// `None`: its files could not be used so far.
    loaded: Option<Loaded>,
    files: Vec<Option<Stamp>>,
    /// Why the files as they are now are not in use.
    problem: Option<String>,
}

/// A context with the names it is for.
#[derive(Clone)]
pub struct Loaded {
    /// Key, certificate, client authorities. It offers HTTP/2 and HTTP/1.1 (ALPN).
    pub context: Context,
    /// The same with HTTP/1.1 alone.
    pub http1_context: Context,
    /// SNI names, possibly with `*`.
    pub names: Vec<String>,
    /// End of the validity, seconds since 1970.
    pub not_after: i64,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// What tells one version of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Certificates {
    /// Reads all certificates. Blocks on the disk.
    ///
    /// # Errors
    /// The first one that can't be used, or that is there twice.
    pub fn load(records: impl IntoIterator<Item = CertificateRecord>) -> Result<Self, Failure> {
        let mut certificates = Self::default();
        for record in records {
            certificates.add(record)?;
        }
        Ok(certificates)
    }

    /// Reads one more. Blocks on the disk.
    ///
    /// # Errors
    /// It can't be used, or is there already; nothing has changed then.
    pub fn add(&mut self, record: CertificateRecord) -> Result<(), Failure> {
        self.check_new(&record)?;
        let (entry, problem) = Entry::read(record);
        problem.map_or(Ok(()), Err)?;
        self.entries.push(entry);
        Ok(())
    }

    /// The same for one that was usable once: if it is not now, it is kept, and tried again when its files change.
    /// Blocks on the disk.
    ///
    /// # Errors
    /// Why it is not in use now.
    pub fn add_known(&mut self, record: CertificateRecord) -> Result<(), Failure> {
        self.check_new(&record)?;
        let (entry, problem) = Entry::read(record);
        self.entries.push(entry);
        problem.map_or(Ok(()), Err)
    }

    fn check_new(&self, record: &CertificateRecord) -> Result<(), Failure> {
        if self.find(&record.certificate, record.port).is_some() {
            return Err(Failure::new(
                code::CERTIFICATE,
                format!(
                    "{} is in use already; remove it first to change it (a new file under the same name is noticed by \
                     itself)",
                    describe(record)
                ),
            ));
        }
        if self.entries.len() >= MAX_CERTIFICATES {
            let text =
                format!("this host has {MAX_CERTIFICATES} certificates, and that is the limit");
            return Err(Failure::new(code::LIMIT, text));
        }
        Ok(())
    }

    /// Takes a certificate out of use. Returns its record.
    pub fn remove(&mut self, certificate: &str, port: Option<u16>) -> Option<CertificateRecord> {
        let at = self.find(certificate, port)?;
        Some(self.entries.remove(at).record)
    }

    /// Reads those whose files have changed. Returns what to tell people, and whether a port must be told.
    /// Blocks on the disk.
    pub fn refresh(&mut self, force: bool) -> (bool, Vec<Result<String, Failure>>) {
        let mut changed = false;
        let mut news = Vec::new();
        for entry in &mut self.entries {
            let files = stamps(&entry.record);
            if !force && files == entry.files {
                continue;
            }
            entry.files = files;
            match load(&entry.record) {
                Ok(loaded) => {
                    entry.loaded = Some(loaded);
                    entry.problem = None;
                    changed = true;
                    news.push(Ok(describe(&entry.record)));
                }
                Err(failure) => {
                    entry.problem = Some(failure.message.clone());
                    news.push(Err(failure));
                }
            }
        }
        (changed, news)
    }

    /// What serves a port: the default first, which is one without names if there is any. A certificate that is bound
    /// to the port comes before those for all.
    #[must_use]
    pub fn for_port(&self, port: u16) -> Vec<Loaded> {
        let bound = |to: Option<u16>| {
            let matching = move |entry: &&Entry| entry.record.port == to;
            self.entries.iter().filter(matching)
        };
        let mut all: Vec<_> = bound(Some(port)).chain(bound(None)).collect();
        all.sort_by_key(|entry| !entry.record.names.is_empty());
        let loaded = |entry: &Entry| entry.loaded.clone();
        all.into_iter().filter_map(loaded).collect()
    }

    /// Those that have expired, with the date: which record, and what to say.
    pub fn expired(&self) -> impl Iterator<Item = (&CertificateRecord, String)> {
        self.entries.iter().filter_map(|entry| {
            let date = expired(entry.loaded.as_ref()?.not_after)?;
            let text = format!("{} expired on {date}", describe(&entry.record));
            Some((&entry.record, text))
        })
    }

    /// For people.
    #[must_use]
    pub fn list(&self) -> Vec<CertificateRecord> {
        let row = |entry: &Entry| {
            let mut row = CertificateRecord {
                problem: entry.problem.clone(),
                ..entry.record.clone()
            };
            if let Some(loaded) = &entry.loaded {
                row.names.clone_from(&loaded.names);
                row.not_after = loaded.not_after;
            }
            row
        };
        self.entries.iter().map(row).collect()
    }

    fn find(&self, certificate: &str, port: Option<u16>) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| entry.record.certificate == certificate && entry.record.port == port)
    }
}

impl Entry {
    /// Reads the files; with what is wrong with them, if anything is.
    fn read(record: CertificateRecord) -> (Self, Option<Failure>) {
        // Before reading: a change in between is noticed at the next look.
        let files = stamps(&record);
        let (loaded, failure) = match load(&record) {
            Ok(loaded) => {
                if let Some(date) = expired(loaded.not_after) {
                    tracing::warn!("{} expired on {date}: clients refuse it", describe(&record));
                }
                (Some(loaded), None)
            }
            Err(failure) => (None, Some(failure)),
        };
        let entry = Self {
            record,
            loaded,
            files,
            problem: failure.as_ref().map(|failure| failure.message.clone()),
        };
        (entry, failure)
    }
}

fn describe(record: &CertificateRecord) -> String {
    match record.port {
        Some(port) => format!("certificate {} for port {port}", record.certificate),
        None => format!("certificate {}", record.certificate),
    }
}

fn load(record: &CertificateRecord) -> Result<Loaded, Failure> {
    let chain = certificates(&record.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&read(&record.key)?).map_err(|error| {
        let text = match error {
            rustls_pki_types::pem::Error::NoItemsFound => {
                "no private key in it (one with a passphrase can't be used: remove it with `openssl pkey`)".to_owned()
            }
            other => other.to_string(),
        };
        unusable(&record.key, text)
    })?;
    let summary = chain
        .first()
        .and_then(|leaf| CertificateSummary::read(leaf))
        .ok_or_else(|| unusable(&record.certificate, "its first certificate can't be read"))?;
    let ca = match &record.client_ca {
        Some(path) => certificates(path)?,
        None => Vec::new(),
    };
    let mut options = ContextOptions {
        identities: vec![Identity {
            chain,
            key: key.secret_der().to_vec(),
        }],
        request_cert: record.request_client_certificate || record.require_client_certificate,
        reject_unauthorized: record.require_client_certificate,
        ca,
        alpn: vec![b"http/1.1".to_vec()],
        ..ContextOptions::default()
    };
    let make = |options: &ContextOptions| {
        Context::new(options).map_err(|error| {
            let why = format!(
                "with {}: {}",
                record.key,
                without_openssl_code(error.message())
            );
            unusable(&record.certificate, why)
        })
    };
    let http1_context = make(&options)?;
    options.alpn.insert(0, b"h2".to_vec());
    let context = make(&options)?;
    let names = if record.names.is_empty() {
        summary.dns_names
    } else {
        record.names.clone()
    };
    Ok(Loaded {
        context,
        http1_context,
        names,
        not_after: summary.not_after,
    })
}

fn certificates(path: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let bytes = read(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes)
        .map(|item| item.map(|der| der.to_vec()))
        .collect();
    let chain = chain.map_err(|error| unusable(path, error))?;
    if chain.is_empty() {
        return Err(unusable(
            path,
            "no certificate in it; it must be a PEM file",
        ));
    }
    Ok(chain)
}

fn read(path: &str) -> Result<Vec<u8>, Failure> {
    if !Path::new(path).is_absolute() {
        return Err(unusable(path, "the path must be absolute"));
    }
    files::read(Path::new(path), MAX_FILE_BYTES).map_err(|error| unusable(path, error))
}

/// The sentence for people: Node's errors begin with OpenSSL's code and names.
fn without_openssl_code(message: &str) -> &str {
    let sentence = message
        .strip_prefix("error:")
        .and_then(|rest| rest.split_once(": "));
    sentence.map_or(message, |(_, sentence)| sentence)
}

/// When it expired, as text, if it has.
fn expired(not_after: i64) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let not_after = u64::try_from(not_after).unwrap_or(0);
    let text = *DateCache::new().update(not_after);
    (not_after < now).then(|| String::from_utf8_lossy(&text).into_owned())
}

fn unusable(path: &str, why: impl std::fmt::Display) -> Failure {
    Failure::new(code::CERTIFICATE, format!("{path} can't be used: {why}"))
}

fn stamps(record: &CertificateRecord) -> Vec<Option<Stamp>> {
    [
        Some(&record.certificate),
        Some(&record.key),
        record.client_ca.as_ref(),
    ]
    .into_iter()
    .flatten()
    .map(|path| std::fs::metadata(path).ok().as_ref().map(Stamp::of))
    .collect()
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests;
