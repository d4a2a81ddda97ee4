//! Chains whose bytes come from elsewhere, for the fuzzer and for a test that does the same with random bytes.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]

use portico_x509::{Certificate, MAX_PATH, Purpose, TrustOptions, TrustStore};

use super::certificates::Recipe;
use super::scene::{self, Choices};

/// So many bytes choose the chain, the rest changes its bytes.
const SCENE_BYTES: usize = 40;

/// Judges one chain, and holds what must be true whatever the bytes are.
pub fn run(bytes: &[u8]) {
    let (scene, changes) = bytes.split_at(bytes.len().min(SCENE_BYTES));
    let scene = scene::compose(scene);
    let ders = |recipes: &[Recipe]| recipes.iter().map(Recipe::der).collect::<Vec<_>>();
    let (mut anchors, mut sent) = (ders(&scene.anchors), ders(&scene.sent));
    let mut lists: Vec<_> = scene
        .lists
        .iter()
        .map(|(by, revoked, years)| by.revocation_list(revoked, *years))
        .collect();
    let signed = [anchors.clone(), sent.clone()].concat();
    change(&mut anchors, &mut sent, &mut lists, changes);

    let options = TrustOptions {
        anchors: &anchors,
        revocation_lists: &lists,
        partial_chains: scene.partial,
    };
    let Ok(store) = TrustStore::new(&options) else {
        return;
    };
    assert_eq!(store.anchors().len(), anchors.len());
    for purpose in [Purpose::Client, Purpose::Server] {
        let verdict = store.verify(&sent, purpose, scene.now);
        assert_eq!(
            verdict.as_ref().err(),
            store.verify(&sent, purpose, scene.now).as_ref().err(),
            "the same question has the same answer"
        );
        match verdict {
            Ok(path) => check_path(&path, &store, &sent[0], &signed),
            Err(refusal) => assert_ne!(refusal.code, 0),
        }
    }
}

/// An accepted path begins with the leaf, ends in an anchor, and has nothing in it that was changed after it was signed.
fn check_path(path: &[Certificate], store: &TrustStore, leaf: &[u8], signed: &[Vec<u8>]) {
    assert!((1..=MAX_PATH).contains(&path.len()));
    let ders: Vec<_> = path.iter().map(Certificate::der).collect();
    let leaf = Certificate::read(leaf).expect("a leaf that was accepted");
    assert_eq!(ders.first(), Some(&leaf.der()));
    let anchors: Vec<_> = store.anchors().iter().map(Certificate::der).collect();
    let last = ders.last().expect("it is not empty");
    assert!(anchors.contains(last), "it ends in an anchor");
    for der in &ders {
        assert!(
            signed.contains(der) || anchors.contains(der),
            "it was signed like this"
        );
    }
}

/// Changes bytes of one certificate or list after the other.
fn change(
    anchors: &mut Vec<Vec<u8>>,
    sent: &mut Vec<Vec<u8>>,
    lists: &mut Vec<Vec<u8>>,
    bytes: &[u8],
) {
    let mut choices = Choices(bytes);
    while !choices.0.is_empty() {
        let group = match choices.byte() % 4 {
            0 => &mut *anchors,
            1 => &mut *lists,
            _ => &mut *sent,
        };
        if group.is_empty() {
            continue;
        }
        let which = choices.below(group.len());
        let place = usize::from(choices.byte()) << 8 | usize::from(choices.byte());
        let value = choices.byte();
        let file = &mut group[which];
        let place = place % file.len().max(1);
        match choices.byte() % 8 {
            0..=3 if !file.is_empty() => file[place] = value,
            4 if !file.is_empty() => file[place] ^= 1 << (value % 8),
            5 => file.truncate(place),
            6 => file.insert(place, value),
            _ => {
                let copy = file.clone();
                group.push(copy);
            }
        }
    }
}
