//! Options that can't be honoured say so; names and tables.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{context, ec_key, options, params, self_signed, server};
use portico_tls::names::{CIPHER_SUITES, NAMED_GROUPS, cipher_suite, named_group};
use portico_tls::{Context, ContextOptions, Identity, Pfx, ServerNames, VerifyError};

#[test]
fn a_bad_option_is_named() {
    let good = server();
    let base = || options(&good);
    let other = self_signed(params("other"), ec_key());
    let mixed = Identity {
        chain: vec![good.der.clone()],
        key: other.key,
    };
    let broken = Identity {
        chain: vec![vec![1, 2, 3]],
        key: good.key.clone(),
    };
    let no_chain = Identity {
        chain: vec![],
        key: good.key.clone(),
    };
    let no_key = Identity {
        chain: vec![good.der.clone()],
        key: vec![0x30, 0],
    };
    let pfx = |data: &[u8]| {
        vec![Pfx {
            data: data.to_vec(),
            passphrase: String::new(),
        }]
    };
    let rows: [(ContextOptions, &str, &str); 14] = [
        (
            ContextOptions {
                identities: vec![mixed],
                ..base()
            },
            "key",
            "ERR_OSSL_X509_KEY_VALUES_MISMATCH",
        ),
        (
            ContextOptions {
                identities: vec![broken],
                ..base()
            },
            "cert",
            "ERR_OSSL_ASN1_BAD_OBJECT_HEADER",
        ),
        (
            ContextOptions {
                identities: vec![no_chain],
                ..base()
            },
            "cert",
            "ERR_OSSL_PEM_NO_START_LINE",
        ),
        (
            ContextOptions {
                identities: vec![no_key],
                ..base()
            },
            "key",
            "ERR_OSSL_UNSUPPORTED",
        ),
        (
            ContextOptions {
                pfx: pfx(b"no pfx"),
                ..base()
            },
            "pfx",
            "ERR_OSSL_ASN1_NOT_ENOUGH_DATA",
        ),
        (
            ContextOptions {
                ca: vec![vec![0; 9]],
                ..base()
            },
            "ca",
            "ERR_OSSL_ASN1_BAD_OBJECT_HEADER",
        ),
        (
            ContextOptions {
                crl: vec![vec![0; 9]],
                ..base()
            },
            "crl",
            "ERR_CRYPTO_OPERATION_FAILED",
        ),
        (
            ContextOptions {
                cipher_suites: vec![0x002f],
                ..base()
            },
            "ciphers",
            "ERR_SSL_NO_CIPHER_MATCH",
        ),
        (
            ContextOptions {
                named_groups: vec![0x0019],
                ..base()
            },
            "ecdhCurve",
            "ERR_CRYPTO_OPERATION_FAILED",
        ),
        (
            ContextOptions {
                request_cert: true,
                signature_schemes: vec![0x0203],
                ..base()
            },
            "sigalgs",
            "ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM",
        ),
        (
            ContextOptions {
                ticket_keys: vec![0; 47],
                ..base()
            },
            "ticketKeys",
            "ERR_INVALID_ARG_VALUE",
        ),
        (
            ContextOptions {
                max_version: 0x0302,
                ..base()
            },
            "maxVersion",
            "ERR_TLS_INVALID_PROTOCOL_VERSION",
        ),
        (
            ContextOptions {
                min_version: 0x0304,
                max_version: 0x0303,
                ..base()
            },
            "maxVersion",
            "ERR_TLS_INVALID_PROTOCOL_VERSION",
        ),
        (
            ContextOptions {
                min_version: 0x0305,
                ..base()
            },
            "maxVersion",
            "ERR_TLS_INVALID_PROTOCOL_VERSION",
        ),
    ];
    for (options, field, code) in rows {
        let error = Context::new(&options).err().expect(field);
        assert_eq!((error.field(), error.code()), (field, code), "{error}");
        assert!(!error.message().is_empty());
    }
}

#[test]
fn old_minimum_versions_are_raised() {
    assert!(
        Context::new(&ContextOptions {
            min_version: 0x0301,
            ..options(&server())
        })
        .is_ok()
    );
    assert!(
        Context::new(&ContextOptions {
            min_version: 0,
            max_version: 0,
            ..options(&server())
        })
        .is_ok()
    );
}

#[test]
fn names_match_as_nodes_add_context_does() {
    let make = || context(&options(&server()));
    let (default, exact, wild, later) = (make(), make(), make(), make());
    let mut names = ServerNames::new(default.clone());
    names.add("*.example.com", wild.clone());
    names.add("WWW.example.com", exact.clone());
    names.add("late*.test", later.clone());
    for (name, wanted) in [
        (None, &default),
        (Some("example.com"), &default),
        (Some("a.example.com"), &wild),
        (Some("A.EXAMPLE.com"), &wild),
        (Some("www.example.com"), &exact),
        (Some("a.b.example.com"), &default),
        (Some("late.test"), &later),
        (Some("later.test"), &later),
        (Some("alate.test"), &default),
        (Some("xexample.com"), &default),
        (Some(""), &default),
    ] {
        assert!(names.select(name).same(wanted), "{name:?}");
    }
    names.add("*.example.com", later.clone());
    assert!(
        names.select(Some("www.example.com")).same(&later),
        "the later one wins"
    );
    names.set_default(later.clone());
    assert!(names.select(None).same(&later));
}

#[test]
fn tables_have_no_repetitions() {
    for (index, suite) in CIPHER_SUITES.iter().enumerate() {
        assert!(
            CIPHER_SUITES[..index]
                .iter()
                .all(|other| other.number != suite.number)
        );
        assert_eq!(cipher_suite(suite.number), Some(suite));
    }
    for group in NAMED_GROUPS {
        assert_eq!(named_group(group.number), Some(group));
    }
    for (index, error) in VerifyError::ALL.iter().enumerate() {
        assert!(
            VerifyError::ALL[..index]
                .iter()
                .all(|other| other.number() != error.number())
        );
        assert!(!error.openssl_name().is_empty() && !error.message().is_empty());
    }
}
