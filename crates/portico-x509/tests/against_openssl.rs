//! Chains with random faults, put to OpenSSL as well. What it refuses is not accepted, and what it accepts is.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod support {
    pub mod certificates;
    pub mod openssl;
    pub mod scene;
}

use portico_x509::{Certificate, Purpose, TrustOptions, TrustStore};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use support::certificates::Recipe;
use support::{openssl, scene};

/// The same chains at each run, so that a change of OpenSSL's cannot fail a change of ours; `PROPTEST_RNG_SEED` and
/// `PROPTEST_CASES` draw others.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(256);
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(5280);
    }
    config
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn openssl_agrees_on_chains_with_faults(bytes in prop::collection::vec(any::<u8>(), 0..48)) {
        let scene = scene::compose(&bytes);
        let ders = |recipes: &[Recipe]| recipes.iter().map(Recipe::der).collect::<Vec<_>>();
        let (anchors, sent) = (ders(&scene.anchors), ders(&scene.sent));
        let lists: Vec<_> = scene
            .lists
            .iter()
            .map(|(by, revoked, years)| by.revocation_list(revoked, *years))
            .collect();
        let store = TrustStore::new(&TrustOptions {
            anchors: &anchors,
            revocation_lists: &lists,
            partial_chains: scene.partial,
        })
        .unwrap();
        let ours = store.verify(&sent, Purpose::Client, scene.now);
        let asked = openssl::verify(&anchors, &sent, &lists, scene.partial, scene.now);
        match &ours {
            // A trusted leaf is a path of one for AWS-LC, which has no issuer to look its revocation up with then.
            Err(_) if scene.partial && !lists.is_empty() && anchors.contains(&sent[0]) => {}
            Err(_) => prop_assert!(asked.is_err(), "{ours:?}\n{scene:#?}"),
            // Of several issuers OpenSSL can choose one whose keyUsage forbids it, and fail. Then the path that was
            // found here must be good for OpenSSL when nothing else is there to choose.
            Ok(path) => prop_assert!(
                asked.is_ok() || accepts_alone(path, &lists, scene.partial, scene.now),
                "{asked:?}\n{scene:#?}"
            ),
        }
    }
}

fn accepts_alone(path: &[Certificate], lists: &[Vec<u8>], partial: bool, now: u64) -> bool {
    let path: Vec<_> = path.iter().map(Certificate::der).collect();
    let (chain, anchor) = path.split_at(path.len().saturating_sub(1).max(1));
    let anchor = if anchor.is_empty() { chain } else { anchor };
    openssl::verify(anchor, chain, lists, partial, now).is_ok()
}
