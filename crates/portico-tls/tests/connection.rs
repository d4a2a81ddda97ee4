//! A connection against a rustls client in memory: data, closing, alerts, key updates.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;

use common::{BOTH, Pair, TLS12, TLS13, client_config, connect, names, options, server};
use portico_tls::names::CIPHER_SUITES;
use portico_tls::{Connection, ContextOptions};

#[test]
fn plaintext_travels_both_ways() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let mut pair = connect(&Arc::new(client_config(versions, None)), &names).unwrap();
        pair.send(b"hello");
        pair.pump().unwrap();
        assert_eq!(pair.plaintext, b"hello");
        assert_eq!(pair.answer(b"world"), b"world");
    }
}

#[test]
fn one_byte_at_a_time_is_enough() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let mut pair = Pair::new(&Arc::new(client_config(versions, None)), &names);
        pair.piece = 1;
        pair.pump().unwrap();
        assert!(pair.status.handshake_done);
        pair.send(&[7; 40_000]);
        pair.pump().unwrap();
        assert_eq!(pair.plaintext, vec![7; 40_000]);
    }
}

#[test]
fn every_suite_carries_long_and_short_data() {
    let rsa = common::self_signed(common::params("localhost"), common::rsa_key());
    let both = vec![server().identity(), rsa.identity()];
    for suite in CIPHER_SUITES {
        let version = if suite.version == "TLSv1.3" {
            0x0304
        } else {
            0x0303
        };
        let options = ContextOptions {
            identities: both.clone(),
            cipher_suites: vec![suite.number],
            min_version: version,
            max_version: version,
            ..ContextOptions::default()
        };
        let versions: Vec<_> = [TLS12, TLS13].concat();
        let config = Arc::new(client_config(&versions, None));
        let mut pair = connect(&config, &names(&options)).unwrap();
        assert_eq!(
            pair.server.session_info().unwrap().cipher_suite,
            suite.number
        );
        for round in 0..5u8 {
            pair.send(&vec![round; 20_000]);
            pair.pump().unwrap();
            assert_eq!(pair.answer(&vec![round; 50_000]), vec![round; 50_000]);
            assert_eq!(pair.answer(&[round]), [round]);
        }
        assert_eq!(pair.plaintext.len(), 100_000);
    }
}

#[test]
fn an_answer_of_16_kb_is_one_record() {
    let names = names(&options(&server()));
    for (versions, overhead) in [(TLS13, 5 + 1 + 16), (TLS12, 5 + 8 + 16)] {
        let mut pair = connect(&Arc::new(client_config(versions, None)), &names).unwrap();
        let mut output = Vec::new();
        pair.server.write(&[1; 16_384], &mut output).unwrap();
        assert_eq!(output.len(), 16_384 + overhead);
        pair.hand_over(&output);
        assert_eq!(pair.received().len(), 16_384);
    }
}

#[test]
fn parts_are_joined_across_records() {
    let mut pair = connect(
        &Arc::new(client_config(TLS13, None)),
        &names(&options(&server())),
    )
    .unwrap();
    let (head, body) = ([b'h'; 300], [b'b'; 40_000]);
    let mut output = Vec::new();
    pair.server
        .write_parts(&[&head, &[], &body], &mut output)
        .unwrap();
    assert_eq!(output.len(), 40_300 + 3 * 22);
    pair.hand_over(&output);
    assert_eq!(pair.received(), [&head[..], &body[..]].concat());
    let mut nothing = Vec::new();
    pair.server.write_parts(&[&[], &[]], &mut nothing).unwrap();
    assert!(nothing.is_empty(), "no empty records");
}

#[test]
fn close_notify_is_told_once_in_each_direction() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let mut pair = connect(&Arc::new(client_config(versions, None)), &names).unwrap();
        pair.send(b"last words");
        pair.client.send_close_notify();
        pair.pump().unwrap();
        assert_eq!(pair.plaintext, b"last words");
        assert!(pair.status.peer_closed);
        // Half-closed: answers still flow.
        assert_eq!(pair.answer(b"answer"), b"answer");
        let mut output = Vec::new();
        pair.server.close_notify(&mut output);
        let length = output.len();
        pair.server.close_notify(&mut output);
        assert_eq!(output.len(), length, "the second one adds nothing");
        assert_eq!(
            pair.server.write(b"x", &mut output).unwrap_err().code(),
            "EPIPE"
        );
        pair.hand_over(&output);
        assert!(pair.client.process_new_packets().unwrap().peer_has_closed());
    }
}

#[test]
fn writing_before_the_handshake_fails() {
    let mut server = Connection::new(names(&options(&server())), false);
    let mut output = Vec::new();
    assert_eq!(server.write(b"x", &mut output).unwrap_err().code(), "EPIPE");
    server.close_notify(&mut output);
    assert!(output.is_empty());
    assert!(server.is_handshaking());
}

#[test]
fn a_changed_byte_is_found() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let mut pair = connect(&Arc::new(client_config(versions, None)), &names).unwrap();
        pair.send(b"hello");
        let mut bytes = Vec::new();
        pair.client.write_tls(&mut bytes).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let mut output = Vec::new();
        let mut plaintext = Vec::new();
        let error = pair
            .server
            .handle_input(&mut bytes, &mut plaintext, &mut output)
            .unwrap_err();
        assert_eq!(error.code(), "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC");
        assert!(plaintext.is_empty());
        pair.hand_over(&output);
        let alert = rustls::AlertDescription::BadRecordMac;
        assert_eq!(pair.client_error, Some(rustls::Error::AlertReceived(alert)));
    }
}

#[test]
fn an_alert_of_the_peer_has_openssls_name() {
    let names = names(&options(&server()));
    let mut server = Connection::new(Arc::clone(&names), false);
    let mut alert = [21, 3, 1, 0, 2, 2, 70];
    let error = server
        .handle_input(&mut alert, &mut Vec::new(), &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.code(), "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION");
    assert_eq!(
        error.message(),
        "error:0A00042E:SSL routines::tlsv1 alert protocol version"
    );
}

#[test]
fn the_clients_key_update_is_followed_and_answered() {
    let names = names(&options(&server()));
    let mut pair = connect(&Arc::new(client_config(TLS13, None)), &names).unwrap();
    for round in 0..5u8 {
        pair.client.refresh_traffic_keys().unwrap();
        pair.send(&[round; 100]);
        pair.pump().unwrap();
        assert_eq!(pair.answer(&[round; 100]), [round; 100]);
    }
    assert_eq!(pair.plaintext.len(), 500);
}

#[test]
fn endless_key_updates_end_the_connection() {
    let names = names(&options(&server()));
    let mut pair = connect(&Arc::new(client_config(TLS13, None)), &names).unwrap();
    let error = (0..100).find_map(|_| {
        pair.client.refresh_traffic_keys().unwrap();
        pair.pump().err()
    });
    assert_eq!(error.unwrap().code(), "ERR_SSL_UNEXPECTED_MESSAGE");
}

#[test]
fn no_input_makes_a_fresh_connection_panic() {
    use proptest::prelude::*;
    let names = names(&options(&server()));
    let prefix = prop_oneof![
        Just(vec![]),
        Just(vec![22, 3, 1]),
        Just(vec![22, 3, 1, 0, 10, 1, 0, 0, 6]),
        Just(vec![23, 3, 3]),
    ];
    proptest!(|(prefix in prefix, bytes in prop::collection::vec(any::<u8>(), 0..600), piece in 1usize..700, ask: bool)| {
        let mut server = Connection::new(Arc::clone(&names), ask);
        let mut input = [prefix, bytes].concat();
        let mut output = Vec::new();
        for piece in input.chunks_mut(piece) {
            if let Err(error) = server.handle_input(piece, &mut Vec::new(), &mut output) {
                prop_assert!(!error.message().is_empty() && !error.code().is_empty());
                break;
            }
        }
    });
}

#[test]
fn no_change_of_the_clients_bytes_makes_a_connection_panic() {
    use proptest::prelude::*;
    let names = names(&options(&server()));
    let configs = BOTH.map(|versions| Arc::new(client_config(versions, None)));
    proptest!(|(config in 0usize..2, flight in 0usize..3, at: prop::sample::Index, value: u8, piece in 1usize..2000)| {
        let mut pair = Pair::new(&configs[config], &names);
        for number in 0..4 {
            let mut bytes = Vec::new();
            while pair.client.wants_write() {
                pair.client.write_tls(&mut bytes).unwrap();
            }
            if bytes.is_empty() {
                pair.send(b"some data");
                continue;
            }
            if number == flight {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let mut output = Vec::new();
            let mut plaintext = Vec::new();
            for piece in bytes.chunks_mut(piece) {
                if pair.server.handle_input(piece, &mut plaintext, &mut output).is_err() {
                    return Ok(());
                }
            }
            pair.hand_over(&output);
            if pair.client_error.is_some() {
                return Ok(());
            }
        }
    });
}

/// One step of a caller or a peer.
#[derive(Clone, Debug)]
enum Step {
    ClientSends(usize),
    ClientCloses,
    ClientRenewsKeys,
    Exchange(usize),
    ServerWrites(usize),
    ServerCloses,
    Provide(bool),
    Refuse,
    Garbage(Vec<u8>),
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    use proptest::prelude::*;
    prop_oneof![
        4 => (0usize..40_000).prop_map(Step::ClientSends),
        1 => Just(Step::ClientCloses),
        1 => Just(Step::ClientRenewsKeys),
        8 => (1usize..5_000).prop_map(Step::Exchange),
        4 => (0usize..40_000).prop_map(Step::ServerWrites),
        1 => Just(Step::ServerCloses),
        4 => any::<bool>().prop_map(Step::Provide),
        1 => Just(Step::Refuse),
        1 => prop::collection::vec(any::<u8>(), 0..50).prop_map(Step::Garbage),
    ]
}

#[test]
fn no_order_of_operations_makes_a_connection_panic() {
    use portico_tls::{AlpnChoice, Refusal};
    use proptest::prelude::*;
    let names = names(&options(&server()));
    let other = common::context(&options(&server()));
    let configs = BOTH.map(|versions| Arc::new(client_config(versions, None)));
    proptest!(|(config in 0usize..2, ask: bool, steps in prop::collection::vec(step(), 0..40))| {
        let mut pair =
            Pair::with(&configs[config], "localhost", Connection::new(Arc::clone(&names), ask));
        for step in steps {
            let mut output = Vec::new();
            match step {
                Step::ClientSends(length) => {
                    let _ = std::io::Write::write(&mut pair.client.writer(), &vec![1; length]);
                }
                Step::ClientCloses if !pair.client.is_handshaking() => pair.client.send_close_notify(),
                Step::ClientCloses => {}
                Step::ClientRenewsKeys => {
                    let _ = pair.client.refresh_traffic_keys();
                }
                Step::Exchange(piece) => {
                    pair.piece = piece;
                    let _ = pair.pump();
                }
                Step::ServerWrites(length) => {
                    let _ = pair.server.write(&vec![2; length], &mut output);
                }
                Step::ServerCloses => pair.server.close_notify(&mut output),
                Step::Provide(own) => {
                    let context = own.then_some(&other);
                    let _ = pair.provide(context, AlpnChoice::Ignore);
                }
                Step::Refuse => {
                    pair.server.refuse(Refusal::Internal, &mut output);
                }
                Step::Garbage(mut bytes) => {
                    let _ = pair.server.handle_input(&mut bytes, &mut Vec::new(), &mut output);
                }
            }
            pair.hand_over(&output);
            let _ = (pair.server.session_info(), pair.server.client_hello(), pair.server.is_handshaking());
        }
    });
}
