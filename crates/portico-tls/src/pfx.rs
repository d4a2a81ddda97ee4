//! PKCS#12 files (RFC 7292), in the ciphers of today's OpenSSL and in those of old (`openssl pkcs12 -legacy`).

use p12_keystore::{Pkcs12Archive, error::Error};
use portico_x509::Certificate;

use crate::{ContextError, Identity, Pfx};

/// What a file holds.
pub(crate) struct Opened {
    pub(crate) identity: Identity,
    /// Certificates that are not part of the identity's chain.
    pub(crate) others: Vec<Vec<u8>>,
}

/// Opens a file. The chain is put into order: leaf, its issuer, and so on.
pub(crate) fn open(pfx: &Pfx) -> Result<Opened, ContextError> {
    let archive =
        Pkcs12Archive::from_pkcs12(&pfx.data, &pfx.passphrase).map_err(|error| explain(&error))?;
    let bag = archive.keys.first().ok_or_else(|| {
        failure(
            "ERR_OSSL_PKCS12_PARSE_ERROR",
            "`pfx` holds no private key: export it with the key",
        )
    })?;
    let mut certificates: Vec<Vec<u8>> = archive
        .certs
        .iter()
        .map(|bag| bag.cert.as_der().to_vec())
        .collect();
    // The leaf carries the key's id (RFC 7292, 4.2.2: localKeyId); files without ids put it first.
    let id = bag.local_key_id.as_ref().map(|id| id.0.as_slice());
    let leaf_at = id.and_then(|id| {
        archive
            .certs
            .iter()
            .position(|cert| cert.local_key_id.as_deref() == Some(id))
    });
    if certificates.is_empty() {
        let text = "`pfx` holds no certificate: export it with the certificate";
        return Err(failure("ERR_OSSL_PKCS12_PARSE_ERROR", text));
    }
    let leaf = certificates.remove(leaf_at.unwrap_or(0).min(certificates.len() - 1));
    let (chain, others) = order(leaf, certificates);
    let identity = Identity {
        chain,
        key: bag.key.as_der().to_vec(),
    };
    Ok(Opened { identity, others })
}

/// Takes issuers out of `pool` one by one. What is left is not of the chain.
fn order(leaf: Vec<u8>, mut pool: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut current = Certificate::read(&leaf);
    let mut chain = vec![leaf];
    while let Some(certificate) = current
        .take()
        .filter(|certificate| !certificate.may_have_issued(certificate))
    {
        let issued = |der: &Vec<u8>| {
            Certificate::read(der).is_some_and(|issuer| issuer.may_have_issued(&certificate))
        };
        if let Some(at) = pool.iter().position(issued) {
            let issuer = pool.swap_remove(at);
            current = Certificate::read(&issuer);
            chain.push(issuer);
        }
    }
    (chain, pool)
}

fn explain(error: &Error) -> ContextError {
    match error {
        // OpenSSL's words, which users search for.
        Error::MacError(_) | Error::UnpadError | Error::Pkcs5Error(_) => failure(
            "ERR_OSSL_PKCS12_MAC_VERIFY_FAILURE",
            "error:11800071:PKCS12 routines::mac verify failure: wrong `passphrase` for `pfx`?",
        ),
        Error::DerError(_) | Error::InvalidVersion | Error::InvalidLength | Error::InvalidData => {
            failure(
                "ERR_OSSL_ASN1_NOT_ENOUGH_DATA",
                format!(
                    "error:0680008E:asn1 encoding routines::not enough data: `pfx` is no PKCS#12 file ({error})"
                ),
            )
        }
        other => failure(
            "ERR_OSSL_UNSUPPORTED",
            format!(
                "error:0308010C:digital envelope routines::unsupported: `pfx` can't be opened: {other}"
            ),
        ),
    }
}

fn failure(code: &'static str, message: impl Into<String>) -> ContextError {
    ContextError::new(code, "pfx", message)
}
