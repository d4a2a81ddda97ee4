//! Keys and digests at the bounds and beyond them. What is too weak OpenSSL refuses, too; what is too long costs too much
//! for a stranger, and OpenSSL takes it.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod support {
    pub mod certificates;
    pub mod openssl;
}

use std::time::SystemTime;

use portico_x509::{MAX_RSA_BITS, Purpose, Refusal, TrustOptions, TrustStore};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, KeyUsagePurpose};
use support::certificates::element;
use support::openssl::{self, Authority};

const OK: u32 = 0;
const LEAF_KEY_TOO_SMALL: u32 = 66;
const DIGEST_TOO_WEAK: u32 = 68;

struct World {
    root: Vec<u8>,
    authority: Authority,
    now: u64,
}

impl World {
    fn new() -> Self {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root = params.self_signed(&key).unwrap().der().to_vec();
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            authority: Authority::new(&root, &key.serialize_der()),
            root,
            // Certificates begin to be valid when they are made.
            now: since_1970.unwrap().as_secs() + 3_600,
        }
    }

    fn refusal(&self, sent: &[Vec<u8>]) -> Option<Refusal> {
        let options = TrustOptions {
            anchors: std::slice::from_ref(&self.root),
            ..TrustOptions::default()
        };
        let store = TrustStore::new(&options).unwrap();
        store.verify(sent, Purpose::Client, self.now).err()
    }

    /// Our verdict, which must be OpenSSL's.
    fn verdict(&self, leaf: Vec<u8>) -> u32 {
        let sent = [leaf];
        let ours = self.refusal(&sent);
        let theirs = openssl::verify(
            std::slice::from_ref(&self.root),
            &sent,
            &[],
            false,
            self.now,
        );
        assert_eq!(ours.is_none(), theirs.is_ok(), "{ours:?} {theirs:?}");
        ours.map_or(OK, |refusal| refusal.code)
    }
}

/// An RSA key of so many bits, all of them ones.
fn rsa(bits: u32) -> Vec<u8> {
    let bits = bits as usize;
    let mut modulus = vec![0xff; bits.div_ceil(8)];
    modulus[0] >>= 8 * modulus.len() - bits;
    if bits.is_multiple_of(8) {
        modulus.insert(0, 0);
    }
    let numbers = [element(2, &modulus), element(2, &[1, 0, 1])].concat();
    let key = [vec![0], element(0x30, &numbers)].concat();
    let algorithm = [
        element(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]),
        element(5, &[]),
    ];
    let algorithm = element(0x30, &algorithm.concat());
    element(0x30, &[algorithm, element(3, &key)].concat())
}

#[test]
fn rsa_keys_have_a_least_and_a_greatest_length() {
    let world = World::new();
    let of = |bits| world.authority.issue(&rsa(bits), "sha256");
    assert_eq!(world.verdict(of(2_048)), OK);
    assert_eq!(world.verdict(of(1_024)), LEAF_KEY_TOO_SMALL);
    // OpenSSL rounds, and takes this one.
    let refused = world.refusal(&[of(2_047)]).unwrap();
    assert_eq!(refused.code, LEAF_KEY_TOO_SMALL);
    assert_eq!(world.verdict(of(MAX_RSA_BITS)), OK);

    let too_long = of(MAX_RSA_BITS + 1);
    assert_eq!(
        world.refusal(std::slice::from_ref(&too_long)),
        Some(Refusal::REJECTED)
    );
    // Nor may it stand anywhere else in what a peer sends.
    let sent = [of(2_048), too_long];
    assert_eq!(world.refusal(&sent), Some(Refusal::REJECTED));
    assert_eq!(world.refusal(&sent[..1]), None);
}

#[test]
fn elliptic_curves_have_a_least_size() {
    let world = World::new();
    let on = |curve| {
        let key = world.authority.key_on(curve);
        world.verdict(world.authority.issue(&key, "sha256"))
    };
    assert_eq!(on("P-224"), OK);
    assert_eq!(on("P-192"), LEAF_KEY_TOO_SMALL);
}

#[test]
fn digests_have_a_least_strength() {
    let world = World::new();
    let key = rsa(2_048);
    // 112 bits of security, and 63.
    assert_eq!(world.verdict(world.authority.issue(&key, "sha224")), OK);
    assert_eq!(
        world.verdict(world.authority.issue(&key, "sha1")),
        DIGEST_TOO_WEAK
    );
}
