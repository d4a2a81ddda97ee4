//! Clients that send early data, which is never accepted: it is skipped, and the handshake goes on.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;
#[path = "support/early_client.rs"]
mod early_client;

use std::io::Write;
use std::sync::Arc;

use common::{Pair, TLS13, client_config, names, options, server};
use early_client::client;
use portico_tls::{Connection, ContextOptions, ServerNames};
use rustls::{AlertDescription, ClientConfig};

/// What tickets allow.
const MOST: u32 = early_client::MOST;

/// A pair whose client has written early data in records of these sizes.
fn early(config: &Arc<ClientConfig>, names: &Arc<ServerNames>, ask: bool, sizes: &[usize]) -> Pair {
    let server = Connection::new(Arc::clone(names), ask);
    let mut pair = Pair::with(config, "localhost", server);
    let mut writer = pair.client.early_data().expect("the ticket allows it");
    for size in sizes {
        assert_eq!(writer.write(&vec![7; *size]).unwrap(), *size);
    }
    pair
}

#[test]
fn rejected_early_data_is_skipped_whatever_its_records() {
    let issued = server();
    let plain = options(&issued);
    // The client guesses another group, and is asked for this one.
    let retried = ContextOptions {
        named_groups: vec![0x18],
        ..options(&issued)
    };
    let small = [100; 163];
    for options in [plain, retried] {
        let names = names(&options);
        for sizes in [
            &[1][..],
            &[12_000],
            &[4_096, 4_096],
            &[4_096; 4],
            &[16_384],
            &small,
        ] {
            for piece in [1, 1_000, usize::MAX] {
                let mut pair = early(&client(&issued), &names, false, sizes);
                pair.piece = piece;
                let which = format!("{sizes:?} in pieces of {piece}");
                pair.pump().expect(&which);
                assert!(pair.status.handshake_done, "{which}");
                assert!(!pair.client.is_early_data_accepted());
                assert_eq!(pair.plaintext, b"", "{which}");
                pair.send(b"after");
                pair.pump().unwrap();
                assert_eq!(pair.plaintext, b"after", "{which}");
                assert_eq!(pair.answer(b"answer"), b"answer");
            }
        }
    }
}

#[test]
fn early_data_waits_for_the_choice_of_a_context() {
    let issued = server();
    let mut pair = early(
        &client(&issued),
        &names(&options(&issued)),
        true,
        &[8_192, 8_192],
    );
    pair.pump().unwrap();
    assert!(pair.status.client_hello);
    pair.provide(None, portico_tls::AlpnChoice::Context)
        .unwrap();
    assert!(pair.status.handshake_done);
}

#[test]
fn so_many_bytes_wait_for_the_choice_of_a_context_and_not_one_more() {
    // What a ClientHello and its records may have, and 20 KiB.
    const MOST_WAITING: usize = (96 + 20) * 1024;
    let issued = server();
    let names = names(&options(&issued));
    for beyond in [0, 1] {
        let mut pair = early(&client(&issued), &names, true, &[]);
        let mut flight = Vec::new();
        while pair.client.wants_write() {
            pair.client.write_tls(&mut flight).unwrap();
        }
        let sent = flight.len();
        let mut output = Vec::new();
        let mut input = |bytes: &mut [u8]| {
            let server = &mut pair.server;
            server.handle_input(bytes, &mut Vec::new(), &mut output)
        };
        assert!(input(&mut flight).unwrap().client_hello);
        let result = input(&mut vec![9; MOST_WAITING + beyond - sent]);
        if beyond == 0 {
            assert!(!result.unwrap().handshake_done);
            assert!(output.is_empty() && pair.server.client_hello().is_some());
            continue;
        }
        assert_eq!(result.unwrap_err().code(), "ERR_SSL_UNEXPECTED_MESSAGE");
        assert_eq!(output, [21, 3, 3, 0, 2, 2, 10]);
        // The connection is over, and keeps nothing.
        assert!(pair.server.client_hello().is_none());
        assert!(
            pair.server
                .handle_input(&mut [9], &mut Vec::new(), &mut output)
                .is_err()
        );
    }
}

/// What a client gets whose first flight is followed by these bytes, and the server's error.
fn refused(mut pair: Pair, bytes: &[u8]) -> (AlertDescription, &'static str) {
    let mut flight = Vec::new();
    while pair.client.wants_write() {
        pair.client.write_tls(&mut flight).unwrap();
    }
    flight.extend_from_slice(bytes);
    let mut output = Vec::new();
    let result = pair
        .server
        .handle_input(&mut flight, &mut Vec::new(), &mut output);
    pair.hand_over(&output);
    let Some(rustls::Error::AlertReceived(alert)) = pair.client_error else {
        panic!("{:?}", pair.client_error)
    };
    (alert, result.unwrap_err().code())
}

fn junk(bytes: u16) -> Vec<u8> {
    let [high, low] = bytes.to_be_bytes();
    let mut record = vec![23, 3, 3, high, low];
    record.resize(5 + usize::from(bytes), 9);
    record
}

#[test]
fn early_data_beyond_the_limit_ends_the_connection() {
    let issued = server();
    let retried = ContextOptions {
        named_groups: vec![0x18],
        ..options(&issued)
    };
    let too_much = (
        AlertDescription::UnexpectedMessage,
        "ERR_SSL_TOO_MUCH_EARLY_DATA",
    );
    for options in [options(&issued), retried] {
        let names = names(&options);
        let pair = early(&client(&issued), &names, false, &[16_384]);
        assert_eq!(refused(pair, &junk(17)), too_much);
        let pair = early(&client(&issued), &names, false, &[]);
        let empty = junk(17).repeat(MOST as usize + 1);
        assert_eq!(refused(pair, &empty), too_much);
    }
}

#[test]
fn who_has_announced_none_is_not_skipped() {
    let issued = server();
    let names = names(&options(&issued));
    let pair = Pair::new(&Arc::new(client_config(TLS13, None)), &names);
    let expected = (
        AlertDescription::BadRecordMac,
        "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
    );
    assert_eq!(refused(pair, &junk(40)), expected);
}
