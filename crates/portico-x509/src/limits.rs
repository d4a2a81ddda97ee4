//! What a chain may cost. All of these count certificates that a peer chose; anchors are the operator's.

/// Most certificates of a path, leaf and anchor included. The library checks one signature for each but the last, and
/// one of a revocation list for each: at most 31 a chain.
pub const MAX_PATH: usize = 16;

/// Most certificates that a peer may send.
pub const MAX_SENT: usize = 32;

/// Largest RSA key in a certificate that a peer sends; the library itself would take 16,384 bits.
pub const MAX_RSA_BITS: u32 = 8_192;

/// Smallest RSA and elliptic-curve keys: OpenSSL's security level 2, its default since 3.2. OpenSSL 3 rounds what it
/// computes of an RSA key's length, and takes somewhat shorter ones than its documentation says.
pub(crate) const MIN_RSA_BITS: u32 = 2_048;
pub(crate) const MIN_EC_BITS: u32 = 224;
/// Bits of security that a signature's digest must have, likewise.
pub(crate) const MIN_DIGEST_SECURITY_BITS: i32 = 112;
