//! A client that may send early data, because another server has allowed it: for the tests and for the fuzzer.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use super::common::{Issued, TLS13, client_config};

/// What tickets allow.
pub(crate) const MOST: u32 = 16_384;

/// A client that has a ticket of another server, which allows early data.
pub(crate) fn client(issued: &Issued) -> Arc<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let chain = vec![CertificateDer::from(issued.der.clone())];
    let key = PrivateKeyDer::try_from(issued.key.clone()).unwrap();
    let mut other = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(TLS13)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    other.max_early_data_size = MOST;
    let mut config = client_config(TLS13, None);
    config.enable_early_data = true;
    let config = Arc::new(config);
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::clone(&config), name).unwrap();
    let mut other = ServerConnection::new(Arc::new(other)).unwrap();
    while client.wants_write() || other.wants_write() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        other.read_tls(&mut &bytes[..]).unwrap();
        other.process_new_packets().unwrap();
        let mut bytes = Vec::new();
        other.write_tls(&mut bytes).unwrap();
        client.read_tls(&mut &bytes[..]).unwrap();
        client.process_new_packets().unwrap();
    }
    config
}
