//! What a context is made of: the Rust twin of `TlsContextOptions` of the add-on.

/// One private key with its certificate chain.
#[derive(Clone, Default)]
pub struct Identity {
    /// Certificates, DER, leaf first.
    pub chain: Vec<Vec<u8>>,
    /// Private key, DER: PKCS#8, PKCS#1 (RSA) or SEC1 (EC); not encrypted.
    pub key: Vec<u8>,
}

/// A PKCS#12 file, holding one key with its chain and possibly further certificates (which are trusted as `ca`, as
/// Node does).
#[derive(Clone, Default)]
pub struct Pfx {
    /// The file's bytes.
    pub data: Vec<u8>,
    /// Its passphrase; empty if there is none.
    pub passphrase: String,
}

/// Settings of a [`crate::Context`]. [`ContextOptions::default`] has no identity, versions 1.2 and 1.3, and the
/// library's suites and groups.
#[derive(Clone)]
pub struct ContextOptions {
    /// Keys with certificates. Of several, the first is taken that fits the client's signature schemes, EC keys before
    /// RSA keys, as OpenSSL does.
    pub identities: Vec<Identity>,
    /// PKCS#12 files; each adds an identity after those of `identities`.
    pub pfx: Vec<Pfx>,
    /// Trust anchors for client certificates, DER.
    pub ca: Vec<Vec<u8>>,
    /// Certificate revocation lists, DER. If there is any, each certificate of a client's chain needs one.
    pub crl: Vec<Vec<u8>>,
    /// Ask clients for a certificate.
    pub request_cert: bool,
    /// With `request_cert`: fail the handshake of a client without a certificate, or whose certificate does not
    /// verify. Without: let it finish, and tell the result in [`crate::SessionInfo::verify_error`].
    pub reject_unauthorized: bool,
    /// Trust any certificate of `ca` as the end of a chain, not only those that signed themselves.
    pub allow_partial_trust_chain: bool,
    /// ALPN protocols in order of preference; empty: the extension is ignored.
    pub alpn: Vec<Vec<u8>>,
    /// Lowest version: 0x0303 (TLS 1.2) or 0x0304 (TLS 1.3); 0 is 0x0303.
    pub min_version: u16,
    /// Highest version; 0 is 0x0304.
    pub max_version: u16,
    /// IANA numbers in order of preference; empty: the library's default. A list with suites of one version only
    /// leaves the other version's defaults in place, as in OpenSSL, where the two are separate settings.
    pub cipher_suites: Vec<u16>,
    /// IANA numbers in order of preference; empty: the library's default.
    pub named_groups: Vec<u16>,
    /// Seconds for which a session can be resumed; 0: 7,200, OpenSSL's default.
    pub session_timeout: u32,
    /// 48 bytes as in Node's `ticketKeys` (16 name, 16 HMAC, 16 AES), so that processes which share them accept each
    /// other's tickets; empty: made at random, and rotated.
    pub ticket_keys: Vec<u8>,
    /// The server's order of suites counts, as Node has it by default; else the client's.
    pub honor_cipher_order: bool,
    /// Hand out session tickets. Without them sessions are resumed by id, from memory.
    pub tickets: bool,
    /// IANA numbers of the signature schemes that may be used, for our signatures and clients'; empty: all.
    pub signature_schemes: Vec<u16>,
    /// Collect key log lines (see [`crate::Connection::take_key_log`]).
    pub key_log: bool,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            identities: Vec::new(),
            pfx: Vec::new(),
            ca: Vec::new(),
            crl: Vec::new(),
            request_cert: false,
            reject_unauthorized: true,
            allow_partial_trust_chain: false,
            alpn: Vec::new(),
            min_version: 0x0303,
            max_version: 0x0304,
            cipher_suites: Vec::new(),
            named_groups: Vec::new(),
            session_timeout: 0,
            ticket_keys: Vec::new(),
            honor_cipher_order: true,
            tickets: true,
            signature_schemes: Vec::new(),
            key_log: false,
        }
    }
}
