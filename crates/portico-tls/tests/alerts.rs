//! Each way to break a handshake ends with the alert that the RFCs say, sealed once the client expects it so: the client
//! here is rustls', and takes no other.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

#[path = "support/client_hello.rs"]
mod client_hello;
mod common;
#[path = "support/peer_keys.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation
)]
mod peer_keys;

use std::sync::{Arc, Mutex};

use client_hello::Hello;
use common::{
    Pair, TLS12, TLS13, client_config, client_config_with, connect, names, options, params,
    rsa_key, self_signed, server,
};
use peer_keys::PeerKey;
use portico_tls::{ContextOptions, ServerNames, TlsError};
use rustls::{AlertDescription as A, ClientConfig, KeyLog};

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;

/// What the client got, and the code of the server's error.
type Outcome = (A, &'static str);

const UNEXPECTED: Outcome = (A::UnexpectedMessage, "ERR_SSL_UNEXPECTED_MESSAGE");
const OVERFLOW: Outcome = (A::RecordOverflow, "ERR_SSL_PACKET_LENGTH_TOO_LONG");

fn flight(pair: &mut Pair) -> Vec<u8> {
    let mut bytes = Vec::new();
    while pair.client.wants_write() {
        pair.client.write_tls(&mut bytes).unwrap();
    }
    bytes
}

/// Gives bytes to the server, and what it says to the client.
fn give(pair: &mut Pair, mut bytes: Vec<u8>) -> Result<(), TlsError> {
    let mut output = Vec::new();
    let result = pair
        .server
        .handle_input(&mut bytes, &mut pair.plaintext, &mut output);
    pair.hand_over(&output);
    result.map(drop)
}

fn outcome(pair: Pair, result: Result<(), TlsError>) -> Outcome {
    match pair.client_error {
        Some(rustls::Error::AlertReceived(alert)) => (alert, result.unwrap_err().code()),
        other => panic!("{other:?} after {result:?}"),
    }
}

/// What comes of bytes behind the first flight, given once the server has answered it.
fn after_flight(config: &Arc<ClientConfig>, names: &Arc<ServerNames>, bytes: Vec<u8>) -> Outcome {
    let mut pair = Pair::new(config, names);
    let mut first = flight(&mut pair);
    let mut output = Vec::new();
    let answered = pair
        .server
        .handle_input(&mut first, &mut Vec::new(), &mut output);
    answered.unwrap();
    let mut bytes = bytes;
    let result = pair
        .server
        .handle_input(&mut bytes, &mut Vec::new(), &mut output);
    pair.hand_over(&output);
    outcome(pair, result.map(drop))
}

/// What comes of a first flight that is changed.
fn of_hello(
    versions: &[&'static rustls::SupportedProtocolVersion],
    options: &ContextOptions,
    change: impl FnOnce(&mut Hello),
) -> (Pair, Result<(), TlsError>) {
    let mut pair = Pair::new(&Arc::new(client_config(versions, None)), &names(options));
    let mut hello = Hello::read(&flight(&mut pair));
    change(&mut hello);
    let result = give(&mut pair, hello.records(16_384));
    (pair, result)
}

/// Records that are wrong by themselves, whoever sends them.
fn bad_records() -> [(Vec<u8>, Outcome); 5] {
    [
        (vec![24, 3, 3, 0, 1, 0], UNEXPECTED),
        (vec![20, 3, 3, 0, 1, 2], UNEXPECTED),
        (vec![20, 3, 3, 0, 2, 1, 1], UNEXPECTED),
        (vec![23, 3, 3, 0xff, 0xff], OVERFLOW),
        (vec![22, 3, 3, 0x7f, 0xff], OVERFLOW),
    ]
}

#[test]
fn a_bad_record_has_its_alert_at_every_stage() {
    let names = names(&options(&server()));
    for versions in [TLS12, TLS13] {
        let config = Arc::new(client_config(versions, None));
        // A session, so that the second round of TLS 1.2 answers with its Finished message, and seals from there.
        for resumes in [false, true] {
            for (bytes, expected) in bad_records() {
                let which = format!("{versions:?} {resumes} {bytes:?}");
                let mut fresh = Pair::new(&config, &names);
                let result = give(&mut fresh, bytes.clone());
                assert_eq!(outcome(fresh, result), expected, "{which}");
                assert_eq!(after_flight(&config, &names, bytes), expected, "{which}");
            }
            connect(&config, &names).unwrap().answer(b"tickets");
        }
    }
}

#[test]
fn a_finished_message_in_the_clear_is_unexpected() {
    let names = names(&options(&server()));
    let config = Arc::new(client_config(TLS13, None));
    let mut finished = vec![HANDSHAKE, 3, 3, 0, 52, 20, 0, 0, 48];
    finished.resize(57, 0);
    assert_eq!(after_flight(&config, &names, finished), UNEXPECTED);
    // An alert may be in the clear (the client may have no keys), and is no longer than that.
    let long_alert = vec![ALERT, 3, 3, 0, 3, 2, 40, 0];
    assert_eq!(after_flight(&config, &names, long_alert), UNEXPECTED);
}

/// The secret of the client's handshake messages.
#[derive(Debug, Default)]
struct Secret(Mutex<Vec<u8>>);

impl KeyLog for Secret {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        if label == "CLIENT_HANDSHAKE_TRAFFIC_SECRET" {
            *self.0.lock().unwrap() = secret.to_vec();
        }
    }
}

/// What comes of sealed records in the place of the client's Finished message.
fn instead_of_finished(records: &[(u8, &[u8])]) -> Outcome {
    let secret = Arc::<Secret>::default();
    let mut config = client_config(TLS13, None);
    config.key_log = Arc::<Secret>::clone(&secret);
    let names = names(&options(&server()));
    let mut pair = Pair::new(&Arc::new(config), &names);
    let first = flight(&mut pair);
    give(&mut pair, first).unwrap();
    let suite = pair.client.negotiated_cipher_suite().unwrap().suite();
    let mut key = PeerKey::of_secret(&secret.0.lock().unwrap(), suite);
    let mut bytes = Vec::new();
    for (kind, content) in records {
        bytes.extend(key.seal(*kind, content, 0));
    }
    let result = give(&mut pair, bytes);
    outcome(pair, result)
}

#[test]
fn a_sealed_record_that_is_out_of_place_has_its_alert() {
    let interleaved = [(HANDSHAKE, &[20, 0, 0][..]), (ALERT, &[1, 90][..])];
    assert_eq!(instead_of_finished(&interleaved), UNEXPECTED);
    let no_type = [(0, &[0, 0, 0][..])];
    assert_eq!(instead_of_finished(&no_type), UNEXPECTED);
    let warnings = [(ALERT, &[1, 90][..]); 40];
    let too_many = (A::UnexpectedMessage, "ERR_SSL_TOO_MANY_WARN_ALERTS");
    assert_eq!(instead_of_finished(&warnings), too_many);
    let long_message = [(HANDSHAKE, &[20, 1, 0, 0, 0][..])];
    let excessive = (A::IllegalParameter, "ERR_SSL_EXCESSIVE_MESSAGE_SIZE");
    assert_eq!(instead_of_finished(&long_message), excessive);
}

#[test]
fn a_point_that_is_on_no_curve_is_an_illegal_parameter() {
    let config = Arc::new(client_config(TLS12, None));
    let illegal = (A::IllegalParameter, "ERR_SSL_BAD_KEY_SHARE");
    let share = [&[0, 36, 0, 0x1d, 0, 32][..], &[0; 32]].concat();
    let (pair, result) = of_hello(TLS13, &options(&server()), |hello| hello.set(51, &share));
    assert_eq!(outcome(pair, result), illegal);
    let off_curve = [&[4][..], &[1; 64]].concat();
    for (group, point) in [(0x1d, vec![0; 32]), (0x17, off_curve), (0x17, vec![4; 9])] {
        let options = ContextOptions {
            named_groups: vec![group],
            ..options(&server())
        };
        let length = u8::try_from(point.len()).unwrap();
        let mut bytes = vec![HANDSHAKE, 3, 3, 0, length + 5, 16, 0, 0, length + 1, length];
        bytes.extend(point);
        assert_eq!(after_flight(&config, &names(&options), bytes), illegal);
    }
}

#[test]
fn no_usable_signature_scheme_fails_the_handshake() {
    let expected = (
        A::HandshakeFailure,
        "ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM",
    );
    let rsa = || self_signed(params("localhost"), rsa_key());
    // RSA for EC and the other way round, and another curve than the key's.
    for (schemes, identity) in [([4, 1], server()), ([4, 3], rsa()), ([5, 3], server())] {
        let (pair, result) = of_hello(TLS12, &options(&identity), |hello| {
            hello.set(13, &[&[0, 2], &schemes[..]].concat());
        });
        assert_eq!(outcome(pair, result), expected);
    }
    // In TLS 1.3 it is found out behind the ServerHello.
    let pkcs1 = ContextOptions {
        signature_schemes: vec![0x0401],
        ..options(&rsa())
    };
    let config = Arc::new(client_config(TLS13, None));
    let mut pair = Pair::new(&config, &names(&pkcs1));
    let result = pair.pump();
    assert_eq!(outcome(pair, result), expected);
}

#[test]
fn a_fallback_from_a_version_that_there_is_is_refused() {
    let both = options(&server());
    let tls12 = ContextOptions {
        max_version: 0x0303,
        ..both.clone()
    };
    let fall_back = |hello: &mut Hello| hello.suites.extend([0x56, 0x00]);
    let (pair, result) = of_hello(TLS12, &both, fall_back);
    let inappropriate = (A::InappropriateFallback, "ERR_SSL_INAPPROPRIATE_FALLBACK");
    assert_eq!(outcome(pair, result), inappropriate);
    // Below TLS 1.2, too, where the version would not do either.
    let (pair, result) = of_hello(TLS12, &both, |hello| {
        fall_back(hello);
        hello.version = [3, 2];
    });
    assert_eq!(outcome(pair, result), inappropriate);
    // From the highest version there is no fall.
    assert!(of_hello(TLS12, &tls12, fall_back).1.is_ok());
    assert!(of_hello(TLS13, &both, fall_back).1.is_ok());
}

#[test]
fn the_first_hello_of_a_connection_renegotiates_nothing() {
    let both = options(&server());
    let (pair, result) = of_hello(TLS12, &both, |hello| hello.set(0xff01, &[1, 7]));
    let mismatch = (A::HandshakeFailure, "ERR_SSL_RENEGOTIATION_MISMATCH");
    assert_eq!(outcome(pair, result), mismatch);
    let empty = |hello: &mut Hello| hello.set(0xff01, &[0]);
    assert!(of_hello(TLS12, &both, empty).1.is_ok());
    // TLS 1.3 does not know the extension.
    assert!(
        of_hello(TLS13, &both, |hello| hello.set(0xff01, &[1, 7]))
            .1
            .is_ok()
    );
}

#[test]
fn tls13_without_its_extensions_is_missing_one() {
    let both = options(&server());
    for (extension, code) in [
        (51, "ERR_SSL_NO_SUITABLE_KEY_SHARE"),
        (10, "ERR_SSL_MISSING_SUPPORTED_GROUPS_EXTENSION"),
        (13, "ERR_SSL_MISSING_SIGALGS_EXTENSION"),
    ] {
        let (pair, result) = of_hello(TLS13, &both, |hello| hello.remove(extension));
        assert_eq!(outcome(pair, result), (A::MissingExtension, code));
    }
}

#[test]
fn the_second_hello_has_a_key_share_as_well() {
    let retried = ContextOptions {
        named_groups: vec![0x18],
        ..options(&server())
    };
    let config = Arc::new(client_config(TLS13, None));
    let mut pair = Pair::new(&config, &names(&retried));
    let first = flight(&mut pair);
    give(&mut pair, first).unwrap();
    // Behind the ChangeCipherSpec.
    let second = flight(&mut pair).split_off(6);
    let mut hello = Hello::read(&second);
    hello.remove(51);
    let result = give(&mut pair, hello.records(16_384));
    let missing = (A::MissingExtension, "ERR_SSL_NO_SUITABLE_KEY_SHARE");
    assert_eq!(outcome(pair, result), missing);
}

#[test]
fn the_old_version_field_says_nothing_beside_the_new_one() {
    let both = options(&server());
    for versions in [TLS12, TLS13] {
        let (_, result) = of_hello(versions, &both, |hello| {
            hello.version = [3, 2];
            if versions == TLS12 {
                hello.set(43, &[2, 3, 3]);
            }
        });
        result.unwrap();
    }
}

#[test]
fn a_hello_may_come_in_many_records_and_not_be_endless() {
    let names = names(&options(&server()));
    for versions in [TLS12, TLS13] {
        let mut pair = Pair::new(&Arc::new(client_config(versions, None)), &names);
        let hello = Hello::read(&flight(&mut pair));
        let records = hello.records(1);
        give(&mut pair, records).unwrap();
        pair.pump().unwrap();
        assert!(pair.status.handshake_done);

        let mut pair = Pair::new(&Arc::new(client_config(versions, None)), &names);
        let too_long = vec![HANDSHAKE, 3, 1, 0, 5, 1, 1, 0, 0, 3];
        let result = give(&mut pair, too_long);
        let excessive = (A::IllegalParameter, "ERR_SSL_EXCESSIVE_MESSAGE_SIZE");
        assert_eq!(outcome(pair, result), excessive);

        let mut pair = Pair::new(&Arc::new(client_config(versions, None)), &names);
        let mut padded = hello.clone();
        padded.set(21, &[0; 20_000]);
        let mut records = padded.records(1);
        records.truncate(96 * 1024 + 1);
        let result = give(&mut pair, records);
        assert_eq!(
            outcome(pair, result),
            (A::DecodeError, "ERR_SSL_BAD_PACKET")
        );
    }
}

#[test]
fn tls12_has_no_alert_for_a_certificate_that_was_not_sent() {
    let issued = server();
    let options = ContextOptions {
        request_cert: true,
        ca: vec![issued.der.clone()],
        ..options(&issued)
    };
    let code = "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE";
    for (versions, alert) in [
        (TLS12, A::HandshakeFailure),
        (TLS13, A::CertificateRequired),
    ] {
        let mut pair = Pair::new(&Arc::new(client_config(versions, None)), &names(&options));
        let result = pair.pump();
        assert_eq!(outcome(pair, result), (alert, code));
    }
}

#[test]
fn no_agreement_on_a_suite_is_told_in_both_versions() {
    for (versions, suite) in [(TLS12, 0xc02c), (TLS13, 0x1301)] {
        let options = ContextOptions {
            cipher_suites: vec![0x1303, 0xcca9],
            ..options(&server())
        };
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        provider
            .cipher_suites
            .retain(|found| u16::from(found.suite()) == suite);
        let config = client_config_with(provider, versions, None);
        let mut pair = Pair::new(&Arc::new(config), &names(&options));
        let result = pair.pump();
        let code = "ERR_SSL_NO_SHARED_CIPHER";
        assert_eq!(outcome(pair, result), (A::HandshakeFailure, code));
    }
}
