//! What the tests share: certificates made on the spot, and two endpoints in memory.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used
)]

use std::sync::Arc;

use portico_tls::{
    AlpnChoice, Connection, Context, ContextOptions, Identity, ServerNames, Status, TlsError,
};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer};
use rcgen::{KeyPair, KeyUsagePurpose};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};

/// A certificate and what is needed to issue more.
pub struct Issued {
    pub der: Vec<u8>,
    pub key: Vec<u8>,
    pub issuer: Issuer<'static, KeyPair>,
}

impl Issued {
    pub fn identity(&self) -> Identity {
        Identity {
            chain: vec![self.der.clone()],
            key: self.key.clone(),
        }
    }

    pub fn identity_with(&self, more: &[&Issued]) -> Identity {
        let mut identity = self.identity();
        identity
            .chain
            .extend(more.iter().map(|issued| issued.der.clone()));
        identity
    }
}

pub fn ec_key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap()
}

pub fn rsa_key() -> KeyPair {
    KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap()
}

pub fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params
}

pub fn ca_params(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

pub fn client_params(name: &str) -> CertificateParams {
    let mut params = params(name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

pub fn self_signed(params: CertificateParams, key: KeyPair) -> Issued {
    let der = params.self_signed(&key).unwrap().der().to_vec();
    Issued {
        der,
        key: key.serialize_der(),
        issuer: Issuer::new(params, key),
    }
}

pub fn issue(params: CertificateParams, key: KeyPair, by: &Issued) -> Issued {
    let der = params.signed_by(&key, &by.issuer).unwrap().der().to_vec();
    Issued {
        der,
        key: key.serialize_der(),
        issuer: Issuer::new(params, key),
    }
}

pub fn server() -> Issued {
    self_signed(params("localhost"), ec_key())
}

pub fn options(issued: &Issued) -> ContextOptions {
    ContextOptions {
        identities: vec![issued.identity()],
        ..ContextOptions::default()
    }
}

pub fn context(options: &ContextOptions) -> Context {
    Context::new(options).unwrap()
}

pub fn names(options: &ContextOptions) -> Arc<ServerNames> {
    Arc::new(ServerNames::new(context(options)))
}

/// Accepts any server.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}

fn algorithms() -> rustls::crypto::WebPkiSupportedAlgorithms {
    rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms
}

pub const TLS12: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS12];
pub const TLS13: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];
pub const BOTH: [&[&rustls::SupportedProtocolVersion]; 2] = [TLS12, TLS13];

pub fn client_config_with(
    provider: rustls::crypto::CryptoProvider,
    versions: &[&'static rustls::SupportedProtocolVersion],
    identity: Option<Identity>,
) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone));
    let mut config = builder.with_no_client_auth();
    if let Some(Identity { chain, key }) = identity {
        let key = PrivateKeyDer::try_from(key).unwrap();
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).unwrap();
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        let identity = Arc::new(rustls::sign::CertifiedKey::new(chain, key));
        config.client_auth_cert_resolver = Arc::new(Always(identity));
    }
    config
}

/// Sends a certificate whatever the server asks for and whatever rustls thinks of it.
#[derive(Debug)]
struct Always(Arc<rustls::sign::CertifiedKey>);

impl rustls::client::ResolvesClientCert for Always {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

pub fn client_config(
    versions: &[&'static rustls::SupportedProtocolVersion],
    identity: Option<Identity>,
) -> ClientConfig {
    client_config_with(
        rustls::crypto::aws_lc_rs::default_provider(),
        versions,
        identity,
    )
}

/// A client and a server connected by memory.
pub struct Pair {
    pub client: ClientConnection,
    pub server: Connection,
    /// What the server has received as plaintext.
    pub plaintext: Vec<u8>,
    pub status: Status,
    /// Largest piece that is handed to the server at once.
    pub piece: usize,
    pub client_error: Option<rustls::Error>,
    /// What the client has received and `received` has not given yet.
    inbox: Vec<u8>,
}

impl Pair {
    pub fn new(config: &Arc<ClientConfig>, names: &Arc<ServerNames>) -> Self {
        Self::with(
            config,
            "localhost",
            Connection::new(Arc::clone(names), false),
        )
    }

    pub fn with(config: &Arc<ClientConfig>, name: &str, server: Connection) -> Self {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let client = ClientConnection::new(Arc::clone(config), name).unwrap();
        let status = Status::default();
        Self {
            client,
            server,
            plaintext: Vec::new(),
            status,
            piece: usize::MAX,
            client_error: None,
            inbox: Vec::new(),
        }
    }

    /// Hands bytes to and fro until both are quiet. Gives the server's error.
    pub fn pump(&mut self) -> Result<(), TlsError> {
        loop {
            let mut to_server = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut to_server).unwrap();
            }
            if to_server.is_empty() {
                return Ok(());
            }
            let mut output = Vec::new();
            let mut result = Ok(());
            for piece in to_server.chunks_mut(self.piece) {
                match self
                    .server
                    .handle_input(piece, &mut self.plaintext, &mut output)
                {
                    Ok(status) => self.note(status),
                    Err(error) => {
                        result = Err(error);
                        break;
                    }
                }
            }
            self.hand_over(&output);
            result?;
        }
    }

    pub fn provide(
        &mut self,
        context: Option<&Context>,
        alpn: AlpnChoice<'_>,
    ) -> Result<(), TlsError> {
        let mut output = Vec::new();
        let result = self
            .server
            .provide(context, alpn, &mut self.plaintext, &mut output);
        self.hand_over(&output);
        self.note(result?);
        self.pump()
    }

    pub fn note(&mut self, status: Status) {
        self.status.client_hello |= status.client_hello;
        self.status.handshake_done |= status.handshake_done;
        self.status.peer_closed |= status.peer_closed;
    }

    pub fn hand_over(&mut self, mut bytes: &[u8]) {
        // A client that has failed takes nothing more: rustls asserts that.
        while !bytes.is_empty() && self.client_error.is_none() {
            self.client.read_tls(&mut bytes).unwrap();
            if let Err(error) = self.client.process_new_packets() {
                self.client_error.get_or_insert(error);
                return;
            }
            let _ = std::io::Read::read_to_end(&mut self.client.reader(), &mut self.inbox);
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        std::io::Write::write_all(&mut self.client.writer(), bytes).unwrap();
    }

    pub fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        self.server.write(bytes, &mut output).unwrap();
        self.hand_over(&output);
        self.received()
    }

    pub fn received(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbox)
    }
}

/// A finished handshake, or the server's error.
pub fn connect(config: &Arc<ClientConfig>, names: &Arc<ServerNames>) -> Result<Pair, TlsError> {
    let mut pair = Pair::new(config, names);
    pair.pump()?;
    assert!(pair.status.handshake_done, "the handshake is complete");
    Ok(pair)
}
