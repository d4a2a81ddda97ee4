//! Verdicts on chains, each with the one that OpenSSL gives (Node shows the last finding; `openssl verify` is asked at
//! every run whether it accepts).
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod support {
    pub mod certificates;
    pub mod openssl;
}

use portico_x509::{
    Certificate, MAX_PATH, MAX_SENT, Purpose, Refusal, TrustError, TrustOptions, TrustStore,
};
use support::certificates::{
    AuthorityKeyId, NOW, Name, Recipe, authority, dns, element, leaf, list_with_extension, mail,
    root,
};
use support::openssl;

const OK: u32 = 0;
const CERT_SIGNATURE_FAILURE: u32 = 7;
const CERT_HAS_EXPIRED: u32 = 10;
const SELF_SIGNED_LEAF: u32 = 18;
const CHAIN_TOO_LONG: u32 = 22;
const UNABLE_TO_VERIFY_LEAF: u32 = 21;
const CERT_REVOKED: u32 = 23;
const PATH_LENGTH_EXCEEDED: u32 = 25;
const INVALID_PURPOSE: u32 = 26;
const CRITICAL_EXTENSION: u32 = 34;
const CRITICAL_LIST_EXTENSION: u32 = 36;
const DIFFERENT_CRL_SCOPE: u32 = 44;
const PERMITTED_VIOLATION: u32 = 47;
const EXCLUDED_VIOLATION: u32 = 48;
const INVALID_CA: u32 = 79;

fn ders(recipes: &[&Recipe]) -> Vec<Vec<u8>> {
    recipes.iter().map(|recipe| recipe.der()).collect()
}

/// Our verdict, after OpenSSL was asked for its own.
fn judge(anchors: &[&Recipe], sent: &[&Recipe], lists: &[Vec<u8>]) -> u32 {
    let (anchors, sent) = (ders(anchors), ders(sent));
    let verdicts = [false, true].map(|partial_chains| {
        let options = TrustOptions {
            anchors: &anchors,
            revocation_lists: lists,
            partial_chains,
        };
        let store = TrustStore::new(&options).unwrap();
        let ours = store.verify(&sent, Purpose::Client, NOW);
        let theirs = openssl::verify(&anchors, &sent, lists, partial_chains, NOW);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{ours:?} {theirs:?}");
        ours.map_or_else(|refusal| refusal.code, |_| OK)
    });
    verdicts[0]
}

#[test]
fn an_intermediate_must_say_that_it_is_an_authority() {
    let root = root("root", 0);
    let marked = authority("middle", 1, &root);
    let unmarked = Recipe {
        basic_constraints: None,
        ..marked.clone()
    };
    let denied = Recipe {
        basic_constraints: Some((false, None)),
        ..marked.clone()
    };
    let end = leaf("user", 5, &marked);
    assert_eq!(judge(&[&root], &[&end, &marked], &[]), OK);
    assert_eq!(judge(&[&root], &[&end, &unmarked], &[]), INVALID_CA);
    assert_eq!(judge(&[&root], &[&end, &denied], &[]), INVALID_PURPOSE);
    // In `ca`, below a root, it is an intermediate just as well.
    assert_eq!(judge(&[&root, &unmarked], &[&end], &[]), INVALID_CA);
}

#[test]
fn an_anchor_may_be_an_authority_by_its_key_usage_alone() {
    let old = Recipe {
        basic_constraints: None,
        ..root("root", 0)
    };
    assert_eq!(judge(&[&old], &[&leaf("user", 5, &old)], &[]), OK);
    let servers = Recipe {
        extended_key_usage: vec![1],
        ..old.clone()
    };
    let end = leaf("user", 5, &servers);
    assert_eq!(judge(&[&servers], &[&end], &[]), INVALID_PURPOSE);
    let nothing = Recipe {
        key_usage: None,
        ..old
    };
    let end = leaf("user", 5, &nothing);
    assert_eq!(judge(&[&nothing], &[&end], &[]), INVALID_PURPOSE);
}

#[test]
fn names_and_revocation_are_judged_on_one_path() {
    let root = root("root", 0);
    let narrow = Recipe {
        permitted: vec![dns("a.test")],
        serial: 12,
        ..authority("middle", 1, &root)
    };
    let revoked = Recipe {
        serial: 13,
        ..authority("middle", 1, &root)
    };
    let end = Recipe {
        names: vec![dns("elsewhere.test")],
        ..leaf("user", 5, &narrow)
    };
    let lists = [
        root.revocation_list(&[13], (2026, 2030)),
        narrow.revocation_list(&[], (2026, 2030)),
    ];
    for (others, wanted) in [
        (vec![&narrow], PERMITTED_VIOLATION),
        (vec![&revoked], CERT_REVOKED),
        (vec![&narrow, &revoked], PERMITTED_VIOLATION),
        (vec![&revoked, &narrow], CERT_REVOKED),
    ] {
        let sent = [vec![&end], others].concat();
        assert_eq!(judge(&[&root], &sent, &lists), wanted);
    }
}

#[test]
fn of_an_expired_and_a_renewed_authority_the_valid_one_is_taken() {
    let new = root("root", 0);
    let old = Recipe {
        valid: (2015, 2020),
        serial: 2,
        ..new.clone()
    };
    let end = leaf("user", 5, &new);
    assert_eq!(judge(&[&old, &new], &[&end], &[]), OK);
    assert_eq!(judge(&[&new, &old], &[&end], &[]), OK);
    assert_eq!(judge(&[&old], &[&end], &[]), CERT_HAS_EXPIRED);
    let middle = authority("middle", 1, &new);
    let before = Recipe {
        valid: (2015, 2020),
        serial: 3,
        ..middle.clone()
    };
    let end = leaf("user", 5, &middle);
    assert_eq!(judge(&[&new], &[&end, &before, &middle], &[]), OK);
    assert_eq!(judge(&[&new], &[&end, &before], &[]), CERT_HAS_EXPIRED);
}

#[test]
fn a_path_length_counts_authorities_but_not_self_issued_ones() {
    let limited = |most| Recipe {
        basic_constraints: Some((true, Some(most))),
        ..root("root", 0)
    };
    let root = limited(0);
    // A key rollover: the root issues its own name with a new key.
    let rolled = authority("root", 1, &root);
    let end = leaf("user", 5, &rolled);
    assert_eq!(judge(&[&root], &[&end, &rolled], &[]), OK);
    let middle = authority("middle", 1, &root);
    let end = leaf("user", 5, &middle);
    assert_eq!(judge(&[&root], &[&end, &middle], &[]), PATH_LENGTH_EXCEEDED);
    // A leaf with its issuer's name is self-issued, too, and does not lengthen what is above it.
    let same_name = leaf("middle", 5, &middle);
    assert_eq!(
        judge(&[&root], &[&same_name, &middle], &[]),
        PATH_LENGTH_EXCEEDED
    );
    assert_eq!(judge(&[&limited(1)], &[&end, &middle], &[]), OK);
}

#[test]
fn names_of_every_kind_are_held_against_constraints() {
    let root = root("root", 0);
    let middle = |permitted: &[Name], excluded: &[Name]| Recipe {
        permitted: permitted.to_vec(),
        excluded: excluded.to_vec(),
        ..authority("middle", 1, &root)
    };
    let directory = |name: &str| Name::Directory(name.to_owned());
    for (permitted, excluded, names, wanted) in [
        (
            vec![mail("example.test")],
            vec![],
            vec![mail("u@example.test")],
            OK,
        ),
        (
            vec![mail("example.test")],
            vec![],
            vec![mail("u@other.test")],
            PERMITTED_VIOLATION,
        ),
        (
            vec![],
            vec![mail("example.test")],
            vec![mail("u@example.test")],
            EXCLUDED_VIOLATION,
        ),
        (vec![directory("user.test")], vec![], vec![], OK),
        (
            vec![directory("other")],
            vec![],
            vec![],
            PERMITTED_VIOLATION,
        ),
        (
            vec![],
            vec![directory("user.test")],
            vec![],
            EXCLUDED_VIOLATION,
        ),
        (
            vec![dns("inside.test")],
            vec![],
            vec![dns("a.inside.test")],
            OK,
        ),
        // A common name that looks like a host counts where there are no DNS names.
        (
            vec![dns("inside.test")],
            vec![],
            vec![],
            PERMITTED_VIOLATION,
        ),
        (vec![dns("user.test")], vec![], vec![], OK),
        (vec![], vec![dns("user.test")], vec![], EXCLUDED_VIOLATION),
    ] {
        let middle = middle(&permitted, &excluded);
        let end = Recipe {
            names,
            ..leaf("user.test", 5, &middle)
        };
        let verdict = judge(&[&root], &[&end, &middle], &[]);
        assert_eq!(verdict, wanted, "{permitted:?} {excluded:?}");
    }
}

#[test]
fn critical_extensions_that_are_not_processed_are_refused() {
    let root = root("root", 0);
    let access = element(6, &[0x2b, 6, 1, 5, 5, 7, 0x30, 1]);
    let access = [access, element(0x86, b"http://a.test")].concat();
    let access = element(0x30, &element(0x30, &access));
    for arcs in [vec![1, 3, 6, 1, 5, 5, 7, 1, 1], vec![1, 2, 3, 4]] {
        for (critical, wanted) in [(true, CRITICAL_EXTENSION), (false, OK)] {
            let end = Recipe {
                extensions: vec![(arcs.clone(), critical, access.clone())],
                ..leaf("user", 5, &root)
            };
            assert_eq!(judge(&[&root], &[&end], &[]), wanted);
        }
    }
}

#[test]
fn an_authority_key_identifier_must_name_the_issuer() {
    let root = root("root", 0);
    let of = |issuer: &str, serial| AuthorityKeyId {
        key_id: None,
        issuer_and_serial: Some((issuer.to_owned(), serial)),
    };
    for (id, wanted) in [
        (of("root", 1), OK),
        (of("root", 9), UNABLE_TO_VERIFY_LEAF),
        (of("another", 1), UNABLE_TO_VERIFY_LEAF),
    ] {
        let end = Recipe {
            authority_key_id: Some(id),
            ..leaf("user", 5, &root)
        };
        assert_eq!(judge(&[&root], &[&end], &[]), wanted);
    }
}

#[test]
fn a_leaf_that_signed_itself_is_trusted_as_an_exact_copy_only() {
    for key_usage in [None, Some(0x80), Some(0x84)] {
        let own = Recipe {
            extended_key_usage: vec![2],
            basic_constraints: Some((false, None)),
            key_usage,
            ..root("own", 5)
        };
        let again = Recipe {
            serial: 99,
            ..own.clone()
        };
        assert_eq!(judge(&[&own], &[&own], &[]), OK, "{key_usage:?}");
        let verdict = judge(&[&own], &[&again], &[]);
        assert_eq!(verdict, SELF_SIGNED_LEAF, "{key_usage:?}");
        let old = Recipe {
            valid: (2015, 2020),
            ..own
        };
        assert_eq!(judge(&[&old], &[&old], &[]), CERT_HAS_EXPIRED);
        assert_eq!(judge(&[], &[&old], &[]), CERT_HAS_EXPIRED);
    }
}

#[test]
fn a_leaf_that_names_itself_as_issuer_is_self_signed() {
    let root = root("root", 0);
    let with_id = leaf("root", 5, &root);
    assert_eq!(judge(&[&root], &[&with_id], &[]), OK);
    let without = Recipe {
        subject_key_id: None,
        ..with_id
    };
    assert_eq!(judge(&[&root], &[&without], &[]), SELF_SIGNED_LEAF);
}

#[test]
fn the_newest_revocation_list_counts() {
    let root = root("root", 0);
    let end = leaf("user", 5, &root);
    let list = |revoked: &[u8], from| root.revocation_list(revoked, (from, 2030));
    for (lists, wanted) in [
        ([list(&[], 2024), list(&[7], 2026)], CERT_REVOKED),
        ([list(&[7], 2026), list(&[], 2024)], CERT_REVOKED),
        ([list(&[7], 2024), list(&[], 2026)], OK),
        ([list(&[], 2026), list(&[7], 2024)], OK),
    ] {
        assert_eq!(judge(&[&root], &[&end], &lists), wanted);
    }
}

#[test]
fn revocation_lists_for_some_certificates_count_for_those_only() {
    // issuingDistributionPoint (RFC 5280, section 5.2.5): onlyContainsUserCerts, onlyContainsCACerts.
    let root = root("root", 0);
    let end = leaf("user", 5, &root);
    let only = |tag: u8| {
        let content = element(0x30, &element(tag, &[0xff]));
        list_with_extension(&root, &[0x55, 0x1d, 0x1c], true, &content)
    };
    let (users, authorities) = (only(0x81), only(0x82));
    assert_eq!(
        judge(&[&root], &[&end], &[users.clone(), authorities.clone()]),
        OK
    );
    assert_eq!(judge(&[&root], &[&end], &[users]), DIFFERENT_CRL_SCOPE);
    assert_eq!(
        judge(&[&root], &[&end], &[authorities]),
        DIFFERENT_CRL_SCOPE
    );
    let unknown = list_with_extension(&root, &[0x2a, 3, 4], true, &[5, 0]);
    assert_eq!(
        judge(&[&root], &[&end], &[unknown]),
        CRITICAL_LIST_EXTENSION
    );
    let unknown = list_with_extension(&root, &[0x2a, 3, 4], false, &[5, 0]);
    assert_eq!(judge(&[&root], &[&end], &[unknown]), OK);
}

#[test]
fn a_list_of_changes_is_not_taken_for_a_complete_one() {
    let root = root("root", 0);
    for critical in [true, false] {
        let delta = list_with_extension(&root, &[0x55, 0x1d, 0x1b], critical, &[2, 1, 1]);
        let refused = TrustStore::new(&TrustOptions {
            anchors: &ders(&[&root]),
            revocation_lists: &[delta],
            partial_chains: false,
        });
        assert_eq!(refused.unwrap_err(), TrustError::DeltaList);
    }
}

#[test]
fn a_foreign_signature_is_found() {
    let root = root("root", 0);
    let forged = Recipe {
        signed_by: 3,
        ..leaf("user", 5, &root)
    };
    assert_eq!(judge(&[&root], &[&forged], &[]), CERT_SIGNATURE_FAILURE);
}

#[test]
fn the_path_goes_from_the_leaf_to_an_anchor() {
    let root = root("root", 0);
    let middle = authority("middle", 1, &root);
    let end = leaf("user", 5, &middle);
    let anchors = ders(&[&root]);
    let store = TrustStore::new(&TrustOptions {
        anchors: &anchors,
        ..TrustOptions::default()
    });
    let stranger = leaf("stranger", 4, &root);
    let sent = ders(&[&end, &stranger, &middle, &root]);
    let path = store.unwrap().verify(&sent, Purpose::Client, NOW).unwrap();
    let path: Vec<_> = path.iter().map(Certificate::der).collect();
    assert_eq!(path, ders(&[&end, &middle, &root]));
    // A leaf that is an anchor is a path, whatever was sent with it.
    let anchors = ders(&[&end]);
    let store = TrustStore::new(&TrustOptions {
        anchors: &anchors,
        partial_chains: true,
        ..TrustOptions::default()
    });
    let path = store.unwrap().verify(&sent, Purpose::Client, NOW).unwrap();
    assert_eq!(
        path.iter().map(Certificate::der).collect::<Vec<_>>(),
        anchors
    );
}

#[test]
fn threads_share_a_store() {
    let root = root("root", 0);
    let middle = authority("middle", 1, &root);
    let revoked = Recipe {
        serial: 8,
        ..leaf("user", 5, &middle)
    };
    let lists = [
        root.revocation_list(&[], (2026, 2030)),
        middle.revocation_list(&[9, 8, 6], (2026, 2030)),
    ];
    let anchors = ders(&[&root]);
    // Nothing has been looked up in it yet: what the library sorts and caches, it does while the threads run.
    let store = TrustStore::new(&TrustOptions {
        anchors: &anchors,
        revocation_lists: &lists,
        partial_chains: false,
    })
    .unwrap();
    let chains = [
        (ders(&[&leaf("user", 5, &middle), &middle]), OK),
        (ders(&[&revoked, &middle]), CERT_REVOKED),
    ];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (chain, wanted) in chains.iter().cycle().take(100) {
                    let verdict = store.verify(chain, Purpose::Client, NOW);
                    let verdict = verdict.map_or_else(|refusal| refusal.code, |_| OK);
                    assert_eq!(verdict, *wanted);
                }
            });
        }
    });
}

#[test]
fn a_crowd_of_issuers_ends_at_the_bound() {
    let root = root("root", 0);
    // Two names: each certificate of the one could have issued each of the other, and none has.
    let crowd: Vec<_> = (0..MAX_SENT)
        .map(|index| Recipe {
            subject: ["day", "night"][index % 2].to_owned(),
            issuer: ["night", "day"][index % 2].to_owned(),
            serial: u8::try_from(index).unwrap() + 1,
            signed_by: 2,
            key_usage: None,
            subject_key_id: None,
            authority_key_id: None,
            ..authority("", 1, &root)
        })
        .collect();
    let anchors = ders(&[&root]);
    let options = TrustOptions {
        anchors: &anchors,
        ..TrustOptions::default()
    };
    let store = TrustStore::new(&options).unwrap();
    let verify = |count: usize| {
        let sent: Vec<_> = crowd[..count].iter().map(Recipe::der).collect();
        store.verify(&sent, Purpose::Client, NOW).unwrap_err().code
    };
    // Signatures were checked last, of a path that is not longer than the bound.
    assert_eq!(verify(MAX_PATH - 1), CERT_SIGNATURE_FAILURE);
    assert_eq!(verify(MAX_SENT), CERT_SIGNATURE_FAILURE);
    let too_many = vec![anchors[0].clone(); MAX_SENT + 1];
    let refused = store.verify(&too_many, Purpose::Client, NOW);
    assert_eq!(refused.unwrap_err(), Refusal::TOO_LONG);
}

#[test]
fn a_path_may_be_as_long_as_the_bound_and_not_longer() {
    let root = root("root", 0);
    let mut line = vec![root];
    for depth in 1..MAX_PATH {
        let above = &line[depth - 1];
        line.push(authority(&format!("level {depth}"), depth, above));
    }
    let anchors = ders(&[&line[0]]);
    let options = TrustOptions {
        anchors: &anchors,
        ..TrustOptions::default()
    };
    let store = TrustStore::new(&options).unwrap();
    for (levels, wanted) in [(MAX_PATH - 2, OK), (MAX_PATH - 1, CHAIN_TOO_LONG)] {
        let end = leaf("user", 5, &line[levels]);
        let mut sent = vec![end.der()];
        sent.extend(line[1..=levels].iter().rev().map(Recipe::der));
        let verdict = store.verify(&sent, Purpose::Client, NOW);
        let verdict = verdict.map_or_else(|refusal| refusal.code, |_| OK);
        assert_eq!(verdict, wanted, "{levels} authorities");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    let root = root("root", 0);
    let anchors = ders(&[&root]);
    let store = TrustStore::new(&TrustOptions {
        anchors: &anchors,
        ..TrustOptions::default()
    })
    .unwrap();
    let good = leaf("user", 5, &root).der();
    let longer = [good.clone(), vec![0]].concat();
    for sent in [
        vec![],
        vec![longer],
        vec![good.clone(), b"nonsense".to_vec()],
        vec![good[..good.len() - 1].to_vec()],
    ] {
        let verdict = store.verify(&sent, Purpose::Client, NOW);
        assert_eq!(verdict.unwrap_err(), Refusal::REJECTED);
    }
    let fails = |anchors: &[Vec<u8>], lists: &[Vec<u8>]| {
        TrustStore::new(&TrustOptions {
            anchors,
            revocation_lists: lists,
            partial_chains: false,
        })
        .unwrap_err()
    };
    assert_eq!(fails(&[b"nonsense".to_vec()], &[]), TrustError::Anchor);
    assert_eq!(fails(&[], &[good]), TrustError::RevocationList);
}

#[test]
fn purposes_are_told_apart() {
    let root = root("root", 0);
    let anchors = ders(&[&root]);
    let options = TrustOptions {
        anchors: &anchors,
        ..TrustOptions::default()
    };
    let store = TrustStore::new(&options).unwrap();
    for (uses, client, server) in [
        (vec![], true, true),
        (vec![2], true, false),
        (vec![1], false, true),
        (vec![0], false, false),
    ] {
        let end = Recipe {
            extended_key_usage: uses,
            ..leaf("user", 5, &root)
        };
        let sent = [end.der()];
        assert_eq!(store.verify(&sent, Purpose::Client, NOW).is_ok(), client);
        assert_eq!(store.verify(&sent, Purpose::Server, NOW).is_ok(), server);
    }
}
