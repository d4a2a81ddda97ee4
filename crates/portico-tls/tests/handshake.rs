//! What a handshake settles: names, ALPN, versions, groups, refusals, key log.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;

use common::{BOTH, Pair, TLS12, TLS13, client_config, connect, context, names, options, server};
use portico_tls::{AlpnChoice, Connection, ContextOptions, Refusal, ServerNames};

fn with_alpn(
    versions: &[&'static rustls::SupportedProtocolVersion],
    protocols: &[&str],
) -> Arc<rustls::ClientConfig> {
    let mut config = client_config(versions, None);
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    Arc::new(config)
}

#[test]
fn facts_tell_what_was_agreed_on() {
    let options = ContextOptions {
        alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        ..options(&server())
    };
    let names = names(&options);
    for (versions, number) in [(TLS12, 0x0303), (TLS13, 0x0304)] {
        let mut pair = connect(&with_alpn(versions, &["http/1.1"]), &names).unwrap();
        let facts = pair.server.session_info().unwrap().clone();
        assert_eq!(facts.version, number);
        assert!(portico_tls::names::cipher_suite(facts.cipher_suite).is_some());
        assert!(portico_tls::names::named_group(facts.named_group).is_some());
        assert_eq!(facts.server_name.as_deref(), Some("localhost"));
        assert_eq!(facts.alpn.as_deref(), Some(&b"http/1.1"[..]));
        assert!(!facts.resumed && !facts.certificate_requested);
        assert_eq!(*pair.server.take_session_info().unwrap(), facts);
        assert!(pair.server.session_info().is_none());
    }
}

#[test]
fn an_alert_before_the_client_hello_does_not_get_past_the_choice_of_a_context() {
    let names = names(&options(&server()));
    for ask in [false, true] {
        let server = Connection::new(Arc::clone(&names), ask);
        let config = Arc::new(client_config(TLS13, None));
        let mut pair = Pair::with(&config, "localhost", server);
        let mut bytes = vec![21, 3, 1, 0, 2, 1, 90];
        pair.client.write_tls(&mut bytes).unwrap();
        let mut output = Vec::new();
        let error = pair
            .server
            .handle_input(&mut bytes, &mut Vec::new(), &mut output)
            .unwrap_err();
        assert_eq!(error.code(), "ERR_SSL_UNEXPECTED_MESSAGE");
        assert!(pair.server.session_info().is_none());
        assert_eq!(output, [21, 3, 3, 0, 2, 2, 10], "nothing but the alert");
    }
}

#[test]
fn finished_messages_and_keying_material_are_the_clients() {
    let names = names(&options(&server()));
    for suite in portico_tls::names::CIPHER_SUITES {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        provider
            .cipher_suites
            .retain(|found| u16::from(found.suite()) == suite.number);
        let versions = if suite.version == "TLSv1.3" {
            TLS13
        } else {
            TLS12
        };
        let config = common::client_config_with(provider, versions, None);
        let mut pair = Pair::new(&Arc::new(config), &names);
        // The key is EC.
        if suite.openssl_name.contains("RSA") {
            assert!(pair.pump().is_err());
            continue;
        }
        pair.pump().unwrap();
        let keying = pair.server.session_info().unwrap().keying.clone();
        let sha384 = suite.openssl_name.ends_with("SHA384");
        let (finished, secret) = match (versions == TLS13, sha384) {
            (true, true) => (48, 48),
            (true, false) => (32, 32),
            (false, _) => (12, 48),
        };
        assert_eq!(keying.finished().len(), finished);
        assert_eq!(keying.peer_finished().len(), finished);
        assert_ne!(keying.finished(), keying.peer_finished());
        assert_eq!(keying.secret().len(), secret);
        let randoms = if versions == TLS13 { 0 } else { 32 };
        assert_eq!(keying.randoms().map(<[u8]>::len), [randoms; 2]);
        assert_eq!(format!("{keying:?}"), "Keying");
    }
}

#[test]
fn handshakes_on_one_thread_do_not_hear_each_other() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        let mut pairs: Vec<_> = (0..3).map(|_| Pair::new(&config, &names)).collect();
        // Flight by flight, each in turn.
        for _ in 0..4 {
            for pair in &mut pairs {
                let mut flight = Vec::new();
                while pair.client.wants_write() {
                    pair.client.write_tls(&mut flight).unwrap();
                }
                let mut output = Vec::new();
                let status = pair
                    .server
                    .handle_input(&mut flight, &mut Vec::new(), &mut output);
                pair.note(status.unwrap());
                pair.hand_over(&output);
            }
        }
        let heard: std::collections::HashSet<_> = pairs
            .iter()
            .flat_map(|pair| {
                let keying = &pair.server.session_info().unwrap().keying;
                [keying.finished(), keying.peer_finished(), keying.secret()].map(<[u8]>::to_vec)
            })
            .collect();
        assert_eq!(heard.len(), 9);
    }
}

#[test]
fn the_clients_signature_schemes_are_told_in_its_order() {
    let names = names(&options(&server()));
    let pair = connect(&Arc::new(client_config(TLS13, None)), &names).unwrap();
    let schemes = &pair.server.session_info().unwrap().client_schemes;
    assert!(schemes.contains(&0x0403) && schemes.contains(&0x0804));
    assert!(schemes.len() <= portico_tls::names::SIGNATURE_SCHEMES.len());
}

#[test]
fn the_hybrid_group_is_used_with_clients_that_offer_it() {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .kx_groups
        .insert(0, rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768);
    let config = Arc::new(common::client_config_with(provider, TLS13, None));
    let pair = connect(&config, &names(&options(&server()))).unwrap();
    assert_eq!(pair.server.session_info().unwrap().named_group, 0x11ec);
}

#[test]
fn a_group_without_key_share_is_asked_for_again() {
    let options = ContextOptions {
        named_groups: vec![0x18],
        ..options(&server())
    };
    let pair = connect(&Arc::new(client_config(TLS13, None)), &names(&options)).unwrap();
    assert_eq!(pair.server.session_info().unwrap().named_group, 0x18);
}

#[test]
fn names_choose_the_certificate() {
    let (first, second) = (server(), server());
    let mut names = ServerNames::new(context(&options(&first)));
    names.add("*.example.com", context(&options(&second)));
    let names = Arc::new(names);
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        for (name, wanted) in [
            ("a.example.com", &second),
            ("a.b.example.com", &first),
            ("localhost", &first),
        ] {
            let mut pair = Pair::with(&config, name, Connection::new(Arc::clone(&names), false));
            pair.pump().unwrap();
            assert_eq!(
                pair.client.peer_certificates().unwrap()[0].as_ref(),
                wanted.der
            );
            assert_eq!(
                pair.server.session_info().unwrap().server_name.as_deref(),
                Some(name)
            );
        }
    }
}

#[test]
fn the_application_may_choose_context_and_protocol() {
    let (first, second) = (server(), server());
    let names = names(&options(&first));
    let other = context(&options(&second));
    for versions in BOTH {
        let config = with_alpn(versions, &["x", "spdy"]);
        let mut pair = Pair::with(&config, "n.test", Connection::new(Arc::clone(&names), true));
        pair.pump().unwrap();
        assert!(pair.status.client_hello && !pair.status.handshake_done);
        let hello = pair.server.client_hello().unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("n.test"));
        assert_eq!(hello.alpn, b"\x01x\x04spdy");
        pair.provide(Some(&other), AlpnChoice::Protocol(b"spdy"))
            .unwrap();
        assert!(pair.status.handshake_done);
        assert!(pair.server.client_hello().is_none());
        assert_eq!(
            pair.client.peer_certificates().unwrap()[0].as_ref(),
            second.der
        );
        assert_eq!(pair.client.alpn_protocol(), Some(&b"spdy"[..]));
    }
}

#[test]
fn ignoring_the_protocols_goes_on_without() {
    let options = ContextOptions {
        alpn: vec![b"h2".to_vec()],
        ..options(&server())
    };
    let names = names(&options);
    let config = with_alpn(TLS13, &["other"]);
    let mut pair = Pair::with(&config, "a", Connection::new(Arc::clone(&names), true));
    pair.pump().unwrap();
    pair.provide(None, AlpnChoice::Ignore).unwrap();
    assert_eq!(pair.server.session_info().unwrap().alpn, None);
    let error = connect(&config, &names).err().unwrap();
    assert_eq!(error.code(), "ERR_SSL_NO_APPLICATION_PROTOCOL");
}

#[test]
fn a_refusal_sends_its_alert() {
    use rustls::AlertDescription as Alert;
    let names = names(&options(&server()));
    for (why, alert, code) in [
        (
            Refusal::ServerName,
            Alert::UnrecognisedName,
            "ERR_SSL_UNRECOGNIZED_NAME",
        ),
        (
            Refusal::Alpn,
            Alert::NoApplicationProtocol,
            "ERR_SSL_NO_APPLICATION_PROTOCOL",
        ),
        (
            Refusal::Internal,
            Alert::InternalError,
            "ERR_SSL_INTERNAL_ERROR",
        ),
    ] {
        let config = with_alpn(TLS13, &["x"]);
        let mut pair = Pair::with(&config, "a.test", Connection::new(Arc::clone(&names), true));
        pair.pump().unwrap();
        let mut output = Vec::new();
        assert_eq!(pair.server.refuse(why, &mut output).code(), code);
        pair.hand_over(&output);
        assert_eq!(pair.client_error, Some(rustls::Error::AlertReceived(alert)));
    }
}

#[test]
fn no_agreement_has_openssls_names() {
    let tls13 = ContextOptions {
        min_version: 0x0304,
        ..options(&server())
    };
    let suite = ContextOptions {
        cipher_suites: vec![0x1303],
        min_version: 0x0304,
        ..options(&server())
    };
    let no_identity = ContextOptions::default();
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .cipher_suites
        .retain(|suite| u16::from(suite.suite()) == 0x1301);
    let only_aes = Arc::new(common::client_config_with(provider, TLS13, None));
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .kx_groups
        .retain(|group| u16::from(group.name()) == 0x17);
    let only_p256 = Arc::new(common::client_config_with(provider, TLS13, None));
    let x25519 = ContextOptions {
        named_groups: vec![0x1d],
        ..options(&server())
    };
    for (options, config, code) in [
        (
            tls13,
            Arc::new(client_config(TLS12, None)),
            "ERR_SSL_UNSUPPORTED_PROTOCOL",
        ),
        (suite, only_aes, "ERR_SSL_NO_SHARED_CIPHER"),
        (
            no_identity,
            Arc::new(client_config(TLS13, None)),
            "ERR_SSL_NO_SHARED_CIPHER",
        ),
        (x25519, only_p256, "ERR_SSL_NO_SUITABLE_KEY_SHARE"),
    ] {
        let mut pair = Pair::new(&config, &names(&options));
        let error = pair.pump().unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(
            matches!(pair.client_error, Some(rustls::Error::AlertReceived(_))),
            "the client is told: {:?}",
            pair.client_error
        );
    }
}

#[test]
fn what_is_no_tls_is_named() {
    let names = names(&options(&server()));
    let rows: [(&[u8], &str, usize); 8] = [
        (
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "ERR_SSL_HTTP_REQUEST",
            0,
        ),
        (b"POST / HTTP/1.1\r\n\r\n", "ERR_SSL_HTTP_REQUEST", 0),
        (
            b"CONNECT a:1 HTTP/1.1\r\n\r\n",
            "ERR_SSL_HTTPS_PROXY_REQUEST",
            0,
        ),
        (
            b"SSH-2.0-OpenSSH_9.2\r\n",
            "ERR_SSL_WRONG_VERSION_NUMBER",
            7,
        ),
        (&[0; 64], "ERR_SSL_WRONG_VERSION_NUMBER", 7),
        (
            &[0x16, 3, 1, 0xff, 0xff, 1, 0, 0, 0],
            "ERR_SSL_PACKET_LENGTH_TOO_LONG",
            7,
        ),
        (&[0x17, 3, 3, 0, 1, 0], "ERR_SSL_UNEXPECTED_MESSAGE", 7),
        (
            &[0x15, 3, 1, 0, 2, 2, 40],
            "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
            0,
        ),
    ];
    for (bytes, code, alert_bytes) in rows {
        // What comes in pieces has the same name.
        for piece in [1, 4, 1_000] {
            let mut server = Connection::new(Arc::clone(&names), false);
            let mut output = Vec::new();
            let mut bytes = bytes.to_vec();
            let error = bytes
                .chunks_mut(piece)
                .find_map(|piece| {
                    let result = server.handle_input(piece, &mut Vec::new(), &mut output);
                    result.err()
                })
                .unwrap();
            let which = format!("{bytes:?} in pieces of {piece}");
            assert_eq!(error.code(), code, "{which}: {error}");
            assert_eq!(output.len(), alert_bytes, "{which}");
            assert!(!server.is_handshaking());
        }
    }
}

#[test]
fn the_identity_follows_the_clients_schemes() {
    let ec = server();
    let rsa = common::self_signed(common::params("localhost"), common::rsa_key());
    let options = ContextOptions {
        identities: vec![rsa.identity(), ec.identity()],
        ..ContextOptions::default()
    };
    let names = names(&options);
    // A TLS 1.2 client with RSA suites only.
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .cipher_suites
        .retain(|suite| u16::from(suite.suite()) == 0xc02f);
    let only_rsa = Arc::new(common::client_config_with(provider, TLS12, None));
    let pair = connect(&only_rsa, &names).unwrap();
    assert_eq!(
        pair.client.peer_certificates().unwrap()[0].as_ref(),
        rsa.der
    );
    for versions in BOTH {
        let pair = connect(&Arc::new(client_config(versions, None)), &names).unwrap();
        assert_eq!(pair.client.peer_certificates().unwrap()[0].as_ref(), ec.der);
    }
}

#[test]
fn allowed_schemes_limit_our_signatures() {
    let rsa = common::self_signed(common::params("localhost"), common::rsa_key());
    let pkcs1 = ContextOptions {
        signature_schemes: vec![0x0401],
        ..options(&rsa)
    };
    let names = names(&pkcs1);
    assert!(connect(&Arc::new(client_config(TLS12, None)), &names).is_ok());
    let error = connect(&Arc::new(client_config(TLS13, None)), &names)
        .err()
        .unwrap();
    assert_eq!(
        error.code(),
        "ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM",
        "{error}"
    );
}

#[test]
fn the_servers_order_of_suites_counts_unless_told_otherwise() {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider
        .cipher_suites
        .sort_by_key(|suite| u16::from(suite.suite()) != 0x1301);
    let config = Arc::new(common::client_config_with(provider, TLS13, None));
    for (honor_cipher_order, wanted) in [(true, 0x1302), (false, 0x1301)] {
        let options = ContextOptions {
            honor_cipher_order,
            ..options(&server())
        };
        let pair = connect(&config, &names(&options)).unwrap();
        assert_eq!(pair.server.session_info().unwrap().cipher_suite, wanted);
    }
}

#[test]
fn the_key_log_has_the_lines_of_this_connection_only() {
    let options = ContextOptions {
        key_log: true,
        ..options(&server())
    };
    let names = names(&options);
    for (versions, labels) in [
        (TLS12, &["CLIENT_RANDOM "][..]),
        (
            TLS13,
            &[
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET ",
                "SERVER_HANDSHAKE_TRAFFIC_SECRET ",
                "CLIENT_TRAFFIC_SECRET_0 ",
                "SERVER_TRAFFIC_SECRET_0 ",
                "EXPORTER_SECRET ",
            ][..],
        ),
    ] {
        let client = || Arc::new(client_config(versions, None));
        let mut other = connect(&client(), &names).unwrap();
        let mut pair = connect(&client(), &names).unwrap();
        let lines = pair.server.take_key_log();
        let lines: Vec<_> = lines
            .iter()
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect();
        assert_eq!(lines.len(), labels.len(), "{lines:?}");
        for label in labels {
            assert!(
                lines
                    .iter()
                    .any(|line| line.starts_with(label) && line.ends_with('\n'))
            );
        }
        assert!(pair.server.take_key_log().is_empty());
        assert_eq!(other.server.take_key_log().len(), labels.len());
    }
}
