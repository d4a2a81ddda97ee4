//! Certificate paths (RFC 5280, section 6), judged by AWS-LC's `X509_verify_cert`, with OpenSSL's verdicts.
//!
//! A [`TrustStore`] is built once from trust anchors and revocation lists; [`TrustStore::verify`] judges a chain as a
//! peer sent it, at a time that the caller gives, and says what OpenSSL would say: nothing, or an `X509_V_ERR_*` number.
//! [`Certificate`] reads single certificates, so that whoever needs a part of one uses the same parser.
//!
//! No path validation is written here. What is: the calls into the library behind a safe API, bounds, and the few rules
//! by which OpenSSL refuses what AWS-LC lets pass (`openssl_rules.rs`). The crate does no I/O, reads no clock and knows
//! nothing of TLS; `portico-tls` is its only user.
//!
//! `unsafe` is allowed here for the calls. The library's symbols carry its version as a prefix
//! (`aws_lc_0_47_0_X509_verify_cert`), so they cannot meet those of an OpenSSL in the same process.

mod certificate;
mod finding;
mod library;
mod limits;
mod openssl_rules;
mod path;
mod revocation_list;
mod trust_store;

pub use certificate::Certificate;
pub use finding::Refusal;
pub use limits::{MAX_PATH, MAX_RSA_BITS, MAX_SENT};
pub use trust_store::{Purpose, TrustError, TrustOptions, TrustStore};
