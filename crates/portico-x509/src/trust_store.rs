//! What chains are verified against.

use std::ffi::{c_int, c_ulong};
use std::fmt;
use std::ptr::NonNull;

use aws_lc_sys as lib;

use crate::certificate::Key;
use crate::finding;
use crate::library::clear_errors;
use crate::path::{self, Sent};
use crate::revocation_list::RevocationList;
use crate::{Certificate, MAX_PATH, MAX_RSA_BITS, MAX_SENT, Refusal, openssl_rules};

/// What a [`TrustStore`] is built from. All bytes are DER.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrustOptions<'a> {
    /// Certificates to trust. One that did not sign itself helps to build paths, and ends one only with
    /// [`Self::partial_chains`].
    pub anchors: &'a [Vec<u8>],
    /// Revocation lists. If there is any, each certificate of a path must be looked up in one.
    pub revocation_lists: &'a [Vec<u8>],
    /// Any certificate of `anchors` may end a path (OpenSSL's `X509_V_FLAG_PARTIAL_CHAIN`).
    pub partial_chains: bool,
}

/// What the certificates must allow (keyUsage, extKeyUsage, nsCertType).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// TLS clients (OpenSSL's `sslclient`).
    Client,
    /// TLS servers (OpenSSL's `sslserver`).
    Server,
}

/// Why a store could not be built: the operator's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustError {
    /// An anchor is no certificate that can be read.
    Anchor,
    /// A revocation list can't be read.
    RevocationList,
    /// A revocation list has changes only (RFC 5280, section 5.2.4), and would be taken for a whole one.
    DeltaList,
    /// The library has no memory.
    Memory,
}

impl fmt::Display for TrustError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Anchor => "a trust anchor can't be read",
            Self::RevocationList => "a revocation list can't be read",
            Self::DeltaList => "a revocation list is a delta: give complete ones",
            Self::Memory => "out of memory",
        })
    }
}

impl std::error::Error for TrustError {}

/// Anchors and revocation lists, parsed once. Threads may share it.
pub struct TrustStore {
    store: Store,
    anchors: Vec<Certificate>,
}

impl TrustStore {
    /// Parses anchors and lists.
    ///
    /// # Errors
    /// The first that can't be used.
    pub fn new(options: &TrustOptions<'_>) -> Result<Self, TrustError> {
        let anchors = options
            .anchors
            .iter()
            .map(|der| Certificate::read(der).ok_or(TrustError::Anchor))
            .collect::<Result<Vec<_>, _>>()?;
        let store = Store::new()?;
        for anchor in &anchors {
            store.add(anchor)?;
        }
        for der in options.revocation_lists {
            let list = RevocationList::read(der).ok_or(TrustError::RevocationList)?;
            if list.is_delta() {
                return Err(TrustError::DeltaList);
            }
            store.add_list(&list)?;
        }
        let mut flags = lib::X509_V_FLAG_TRUSTED_FIRST;
        if options.partial_chains {
            flags |= lib::X509_V_FLAG_PARTIAL_CHAIN;
        }
        if !options.revocation_lists.is_empty() {
            flags |= lib::X509_V_FLAG_CRL_CHECK | lib::X509_V_FLAG_CRL_CHECK_ALL;
        }
        store.configure(flags)?;
        Ok(Self { store, anchors })
    }

    /// The anchors, in the order in which they were given.
    #[must_use]
    pub fn anchors(&self) -> &[Certificate] {
        &self.anchors
    }

    /// Judges certificates as a peer sent them, leaf first, DER. `now` in seconds since 1970.
    ///
    /// Costs at most [`MAX_PATH`] signatures of certificates and as many of revocation lists, with keys of at most
    /// [`MAX_RSA_BITS`]. Does not block.
    ///
    /// Gives the path that was found, from the leaf to an anchor.
    ///
    /// # Errors
    /// What OpenSSL would find last, if it went on after each finding.
    pub fn verify(
        &self,
        sent: &[Vec<u8>],
        purpose: Purpose,
        now: u64,
    ) -> Result<Vec<Certificate>, Refusal> {
        if sent.len() > MAX_SENT {
            return Err(Refusal::TOO_LONG);
        }
        let sent = sent
            .iter()
            .map(|der| Certificate::read(der).filter(is_affordable))
            .collect::<Option<Vec<_>>>()
            .ok_or(Refusal::REJECTED)?;
        let (leaf, others) = sent.split_first().ok_or(Refusal::REJECTED)?;
        let sent = Sent { leaf, others };
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let is_pinned = self.is_pinned(leaf);
        let more_flags = if is_pinned {
            lib::X509_V_FLAG_PARTIAL_CHAIN
        } else {
            0
        };
        // SAFETY: the store lives as long as `self`.
        let path = unsafe { path::judge(self.store.0, &sent, purpose.number(), now, more_flags) };
        let mut path = path.ok_or(Refusal::REJECTED)?;
        openssl_rules::apply(&mut path, is_pinned, purpose.extended_key_usage(), now);
        finding::last(&path.findings).map_or_else(|| Ok(self.up_to_anchor(path.certificates)), Err)
    }

    /// With partial chains a leaf can be an anchor itself. The library goes on to what was sent with it, which
    /// nothing vouches for.
    fn up_to_anchor(&self, mut path: Vec<Certificate>) -> Vec<Certificate> {
        if !path.last().is_some_and(|last| self.is_anchor(last)) {
            path.truncate(1);
        }
        path
    }

    fn is_anchor(&self, certificate: &Certificate) -> bool {
        self.anchors.iter().any(|anchor| anchor.same(certificate))
    }

    /// Whether a leaf is an anchor that signed itself although its keyUsage does not say so. For OpenSSL it is
    /// self-signed and trusted, AWS-LC looks for an issuer; so it must be told that an exact copy is enough.
    fn is_pinned(&self, leaf: &Certificate) -> bool {
        leaf.issued(leaf) == lib::X509_V_ERR_KEYUSAGE_NO_CERTSIGN
            && self.is_anchor(leaf)
            && leaf.signed_itself()
    }
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TrustStore({} anchors)", self.anchors.len())
    }
}

impl Purpose {
    fn number(self) -> c_int {
        match self {
            Self::Client => lib::X509_PURPOSE_SSL_CLIENT,
            Self::Server => lib::X509_PURPOSE_SSL_SERVER,
        }
    }

    /// `XKU_*`.
    fn extended_key_usage(self) -> u32 {
        match self {
            Self::Client => lib::XKU_SSL_CLIENT.unsigned_abs(),
            Self::Server => lib::XKU_SSL_SERVER.unsigned_abs(),
        }
    }
}

/// Whether signatures by this certificate's key are cheap enough to be checked for a stranger.
fn is_affordable(certificate: &Certificate) -> bool {
    !matches!(certificate.key(), Key::Rsa { bits } if bits > MAX_RSA_BITS)
}

/// The library's store.
struct Store(NonNull<lib::X509_STORE>);

// SAFETY: the library's stores are made to be shared between threads: what changes in them during a verification (the
// order of their objects) changes under their own lock. Settings change before the store is shared.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    fn new() -> Result<Self, TrustError> {
        // SAFETY: makes a new object, which is ours.
        let store = unsafe { lib::X509_STORE_new() };
        NonNull::new(store).map(Self).ok_or(TrustError::Memory)
    }

    fn add(&self, anchor: &Certificate) -> Result<(), TrustError> {
        // SAFETY: both objects are alive; the store takes a reference of its own.
        let added = unsafe { lib::X509_STORE_add_cert(self.0.as_ptr(), anchor.as_ptr()) };
        done(added)
    }

    fn add_list(&self, list: &RevocationList) -> Result<(), TrustError> {
        // SAFETY: both objects are alive; the store takes a reference of its own.
        let added = unsafe { lib::X509_STORE_add_crl(self.0.as_ptr(), list.as_ptr()) };
        done(added)
    }

    fn configure(&self, flags: c_int) -> Result<(), TrustError> {
        // The library counts neither leaf nor anchor.
        let depth = c_int::try_from(MAX_PATH).unwrap_or(c_int::MAX) - 2;
        // SAFETY: the store is alive, and not shared yet.
        let set = unsafe {
            lib::X509_STORE_set_depth(self.0.as_ptr(), depth)
                & lib::X509_STORE_set_flags(self.0.as_ptr(), c_ulong::from(flags.unsigned_abs()))
        };
        done(set)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: one reference is ours.
        unsafe { lib::X509_STORE_free(self.0.as_ptr()) }
    }
}

fn done(result: c_int) -> Result<(), TrustError> {
    clear_errors();
    if result == 1 {
        Ok(())
    } else {
        Err(TrustError::Memory)
    }
}
