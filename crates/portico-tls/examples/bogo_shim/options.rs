//! The command line of BoringSSL's runner. A flag that this server has nothing for makes the test "unimplemented", with
//! the flag as the reason: none is passed over that the test could depend on.

use std::path::PathBuf;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use portico_tls::{ContextOptions, Identity};

use crate::exporter::Export;

/// Why a test can't be tried.
pub(crate) struct Unimplemented(pub(crate) String);

/// Where the runner listens, and how often it wants to be called.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) port: u16,
    pub(crate) ipv6: bool,
    pub(crate) shim_id: u64,
    pub(crate) resume_count: usize,
    /// What the first connection, and what all later ones, are to do.
    pub(crate) initial: Settings,
    pub(crate) resumed: Settings,
}

/// What one connection is to do, and what must come out.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    credentials: Vec<Credential>,
    /// Credentials have settings of their own.
    one_by_one: bool,
    trusted: Option<PathBuf>,
    pub(crate) min_version: u16,
    pub(crate) max_version: u16,
    no_tls12: bool,
    no_tls13: bool,
    curves: Vec<u16>,
    schemes: Vec<u16>,
    pub(crate) require_certificate: bool,
    pub(crate) verify_peer: bool,
    pub(crate) no_ticket: bool,
    server_preference: bool,
    /// Bytes one at a time, and the application asked for the context.
    pub(crate) asynchronous: bool,
    pub(crate) alpn: Alpn,
    pub(crate) writes_first: bool,
    pub(crate) shuts_down: bool,
    pub(crate) check_close_notify: bool,
    export: Export,
    uses_export_context: bool,
    pub(crate) expected: Expected,
}

/// What to answer to protocols.
#[derive(Clone, Default)]
pub(crate) enum Alpn {
    #[default]
    Nothing,
    Select(Vec<u8>),
    Decline,
    Reject,
}

/// What the handshake must settle. Empty and `None`: anything.
#[derive(Clone, Default)]
pub(crate) struct Expected {
    pub(crate) version: Option<u16>,
    pub(crate) curve: Option<u16>,
    pub(crate) server_name: Option<String>,
    pub(crate) advertised_alpn: Option<Vec<u8>>,
    pub(crate) alpn: Option<Vec<u8>>,
    pub(crate) retry_request: Option<bool>,
    pub(crate) resumed: Option<bool>,
    pub(crate) peer_chain: Option<PathBuf>,
    pub(crate) verified: bool,
}

#[derive(Clone, Default)]
struct Credential {
    chain: PathBuf,
    key: PathBuf,
}

impl Arguments {
    /// Reads the whole command line.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, Unimplemented> {
        let mut arguments = Self::default();
        let words = words.collect::<Vec<_>>();
        refuse_classes(&words)?;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let flag = word.as_str();
            if arguments.take_own(flag, &mut words)? {
                continue;
            }
            let rest = words.as_slice().to_vec().into_iter();
            let count = rest.len();
            let mut left = rest.clone();
            if let Some(flag) = flag.strip_prefix("-on-initial-") {
                arguments.initial.take(&format!("-{flag}"), &mut left)?;
            } else if let Some(flag) = flag.strip_prefix("-on-resume-") {
                arguments.resumed.take(&format!("-{flag}"), &mut left)?;
            } else {
                arguments.initial.take(flag, &mut rest.clone())?;
                arguments.resumed.take(flag, &mut left)?;
            }
            for _ in left.len()..count {
                words.next();
            }
        }
        Ok(arguments)
    }

    /// Flags that belong to no connection.
    fn take_own(
        &mut self,
        flag: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<bool, Unimplemented> {
        match flag {
            "-ipv6" => self.ipv6 = true,
            "-port" => self.port = number(flag, words)?,
            "-shim-id" => self.shim_id = number(flag, words)?,
            "-resume-count" => self.resume_count = number(flag, words)?,
            "-server" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Whole classes of tests, whatever else they ask for.
fn refuse_classes(words: &[String]) -> Result<(), Unimplemented> {
    let has = |flag| words.iter().any(|word| word == flag);
    let why = if has("-dtls") {
        "class DTLS: Portico speaks TLS over TCP only"
    } else if has("-quic") {
        "class QUIC: Portico has none"
    } else if !has("-server") {
        "class client: Portico has no TLS client"
    } else {
        return Ok(());
    };
    Err(Unimplemented(why.into()))
}

impl Settings {
    fn take(
        &mut self,
        flag: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), Unimplemented> {
        match flag {
            // They say how BoringSSL's program drives its library, and nothing about what is on the wire.
            "-implicit-handshake" | "-no-op-extra-handshake" | "-no-tls1" | "-no-tls11" => {}
            "-async" | "-use-early-callback" => self.asynchronous = true,
            "-cert-file" => self.credential().chain = path(flag, words)?,
            "-key-file" => self.credential().key = path(flag, words)?,
            "-new-x509-credential" => {
                self.one_by_one = true;
                self.credentials.push(Credential::default());
            }
            "-trust-cert" => self.trusted = Some(path(flag, words)?),
            "-min-version" => self.min_version = number(flag, words)?,
            "-max-version" => self.max_version = number(flag, words)?,
            "-no-tls12" => self.no_tls12 = true,
            "-no-tls13" => self.no_tls13 = true,
            "-curves" => self.curves.push(number(flag, words)?),
            "-signing-prefs" if !self.one_by_one => self.schemes.push(number(flag, words)?),
            "-require-any-client-certificate" => self.require_certificate = true,
            "-verify-peer" => self.verify_peer = true,
            "-no-ticket" => self.no_ticket = true,
            "-server-preference" => self.server_preference = true,
            "-select-alpn" => self.alpn = Alpn::Select(text(flag, words)?.into_bytes()),
            "-decline-alpn" => self.alpn = Alpn::Decline,
            "-reject-alpn" => self.alpn = Alpn::Reject,
            "-shim-writes-first" => self.writes_first = true,
            "-shim-shuts-down" => self.shuts_down = true,
            "-check-close-notify" => self.check_close_notify = true,
            _ if flag.contains("-export-") => return self.take_export(flag, words),
            _ => return self.take_expected(flag, words),
        }
        Ok(())
    }

    fn take_export(
        &mut self,
        flag: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), Unimplemented> {
        match flag {
            "-export-keying-material" => self.export.bytes = number(flag, words)?,
            "-export-label" => self.export.label = text(flag, words)?.into_bytes(),
            "-export-context" => self.export.context = Some(text(flag, words)?.into_bytes()),
            "-use-export-context" => self.uses_export_context = true,
            _ => return Err(Unimplemented(format!("flag {flag}"))),
        }
        Ok(())
    }

    /// What to export, if anything.
    pub(crate) fn export(&self) -> Option<Export> {
        let mut export = self.export.clone();
        if !self.uses_export_context {
            export.context = None;
        }
        (export.bytes > 0).then_some(export)
    }

    fn take_expected(
        &mut self,
        flag: &str,
        words: &mut impl Iterator<Item = String>,
    ) -> Result<(), Unimplemented> {
        let expected = &mut self.expected;
        match flag {
            "-expect-version" => expected.version = Some(number(flag, words)?),
            "-expect-curve-id" => expected.curve = Some(number(flag, words)?),
            "-expect-server-name" => expected.server_name = Some(text(flag, words)?),
            "-expect-advertised-alpn" => {
                expected.advertised_alpn = Some(text(flag, words)?.into_bytes());
            }
            "-expect-alpn" => expected.alpn = Some(text(flag, words)?.into_bytes()),
            "-expect-hrr" => expected.retry_request = Some(true),
            "-expect-no-hrr" => expected.retry_request = Some(false),
            "-expect-session-miss" => expected.resumed = Some(false),
            "-expect-peer-cert-file" => expected.peer_chain = Some(path(flag, words)?),
            "-expect-verify-result" => expected.verified = true,
            // The runner sees the same from its side, or the keys would differ.
            "-expect-selected-credential" | "-expect-peer-signature-algorithm" => {
                drop(text(flag, words)?);
            }
            "-expect-extended-master-secret" | "-expect-session-id" | "-expect-no-session-id" => {}
            _ => return Err(Unimplemented(format!("flag {flag}"))),
        }
        Ok(())
    }

    /// The one that the flags in hand are about.
    fn credential(&mut self) -> &mut Credential {
        if self.credentials.is_empty() {
            self.credentials.push(Credential::default());
        }
        let last = self.credentials.len() - 1;
        &mut self.credentials[last]
    }

    /// The context that these settings ask for.
    pub(crate) fn context(&self) -> Result<ContextOptions, Unimplemented> {
        let mut options = ContextOptions {
            request_cert: self.require_certificate || self.verify_peer,
            reject_unauthorized: self.require_certificate,
            honor_cipher_order: self.server_preference,
            tickets: !self.no_ticket,
            // The same for both contexts of a run.
            ticket_keys: vec![7; 48],
            named_groups: self.curves.clone(),
            signature_schemes: self.schemes.clone(),
            min_version: self.min_version,
            max_version: self.max_version,
            ..ContextOptions::default()
        };
        if self.no_tls12 {
            options.min_version = 0x0304;
        }
        if self.no_tls13 {
            options.max_version = 0x0303;
        }
        for credential in &self.credentials {
            options.identities.push(credential.load()?);
        }
        if let Some(file) = &self.trusted {
            options.ca = certificates(file);
        }
        if let Alpn::Select(protocol) = &self.alpn {
            options.alpn = vec![protocol.clone()];
        }
        Ok(options)
    }
}

impl Credential {
    fn load(&self) -> Result<Identity, Unimplemented> {
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| Unimplemented(format!("a key that can't be read: {error}")))?;
        Ok(Identity {
            chain: certificates(&self.chain),
            key: key.secret_der().to_vec(),
        })
    }
}

/// The certificates of a PEM file, DER.
pub(crate) fn certificates(file: &PathBuf) -> Vec<Vec<u8>> {
    let found = CertificateDer::pem_file_iter(file).into_iter().flatten();
    found.flatten().map(|der| der.to_vec()).collect()
}

fn text(flag: &str, words: &mut impl Iterator<Item = String>) -> Result<String, Unimplemented> {
    let none = || Unimplemented(format!("flag {flag} without a value"));
    words.next().ok_or_else(none)
}

fn path(flag: &str, words: &mut impl Iterator<Item = String>) -> Result<PathBuf, Unimplemented> {
    text(flag, words).map(PathBuf::from)
}

fn number<T: std::str::FromStr>(
    flag: &str,
    words: &mut impl Iterator<Item = String>,
) -> Result<T, Unimplemented> {
    let word = text(flag, words)?;
    let wrong = |_| Unimplemented(format!("flag {flag} with the value {word}"));
    word.parse().map_err(wrong)
}
