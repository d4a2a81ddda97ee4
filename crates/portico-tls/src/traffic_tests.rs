//! Records that rustls' client would never send, sealed with its own keys.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::sync::Arc;

use crate::common::{Pair, TLS12, TLS13, client_config, connect, names, options, server};
use crate::record::{RecordKey, content_type};
use crate::{Connection, Status, TlsError};

const HANDSHAKE: u8 = content_type::HANDSHAKE;
const ALERT: u8 = content_type::ALERT;
const DATA: u8 = content_type::APPLICATION_DATA;
const UPDATE: [u8; 5] = [24, 0, 0, 1, 0];
const UPDATE_REQUESTED: [u8; 5] = [24, 0, 0, 1, 1];

/// A server after its handshake, and the key of its client, from which on nothing is rustls' any more.
struct Peer {
    server: Connection,
    key: RecordKey,
    tls13: bool,
    plaintext: Vec<u8>,
    output: Vec<u8>,
}

impl Peer {
    fn new(versions: &[&'static rustls::SupportedProtocolVersion]) -> Self {
        let mut config = client_config(versions, None);
        config.enable_secret_extraction = true;
        let pair = connect(&Arc::new(config), &names(&options(&server()))).unwrap();
        let Pair { client, server, .. } = pair;
        let tls13 = client.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        let (sequence, secrets) = client.dangerous_extract_secrets().unwrap().tx;
        Self {
            server,
            key: RecordKey::new(tls13, sequence, &secrets).unwrap(),
            tls13,
            plaintext: Vec::new(),
            output: Vec::new(),
        }
    }

    fn send(&mut self, kind: u8, content: &[u8]) -> Result<Status, TlsError> {
        let mut record = Vec::new();
        self.key.seal(kind, &[content], &mut record).unwrap();
        self.server
            .handle_input(&mut record, &mut self.plaintext, &mut self.output)
    }

    fn code(&mut self, kind: u8, content: &[u8]) -> &'static str {
        self.send(kind, content).unwrap_err().code()
    }
}

#[test]
fn our_own_key_renewal_is_followed_by_the_client() {
    let names = names(&options(&server()));
    let mut pair = connect(&Arc::new(client_config(TLS13, None)), &names).unwrap();
    for round in 0..4u8 {
        let mut output = Vec::new();
        pair.server
            .traffic_mut()
            .unwrap()
            .renew_sealing_key(&mut output)
            .unwrap();
        pair.hand_over(&output);
        assert_eq!(pair.answer(&[round; 99]), [round; 99]);
    }
    assert_eq!(pair.client_error, None);
}

#[test]
fn tls12_keys_are_not_renewed() {
    let names = names(&options(&server()));
    let mut pair = connect(&Arc::new(client_config(TLS12, None)), &names).unwrap();
    let traffic = pair.server.traffic_mut().unwrap();
    assert!(traffic.renew_sealing_key(&mut Vec::new()).is_err());
    assert!(!traffic.sealing.is_worn());
}

#[test]
fn an_idle_connection_keeps_no_buffer() {
    let names = names(&options(&server()));
    for versions in [TLS12, TLS13] {
        let mut pair = connect(&Arc::new(client_config(versions, None)), &names).unwrap();
        pair.piece = 7;
        pair.send(&[1; 30_000]);
        pair.pump().unwrap();
        assert_eq!(pair.plaintext.len(), 30_000);
        assert_eq!(pair.server.traffic_mut().unwrap().partial.capacity(), 0);
    }
}

#[test]
fn requests_for_key_updates_are_answered_once_and_before_the_next_data() {
    let names = names(&options(&server()));
    let mut pair = connect(&Arc::new(client_config(TLS13, None)), &names).unwrap();
    let mut output = Vec::new();
    for _ in 0..1_000 {
        // Data in between, so that they are not idle ones.
        pair.client.refresh_traffic_keys().unwrap();
        pair.send(b"x");
        let mut bytes = Vec::new();
        while pair.client.wants_write() {
            pair.client.write_tls(&mut bytes).unwrap();
        }
        pair.server
            .handle_input(&mut bytes, &mut pair.plaintext, &mut output)
            .unwrap();
    }
    assert!(output.is_empty(), "a peer that reads nothing costs nothing");
    pair.server.write(b"answer", &mut output).unwrap();
    assert_eq!(output.len(), (5 + 5 + 1 + 16) + (5 + 6 + 1 + 16));
    pair.hand_over(&output);
    assert_eq!(pair.received(), b"answer");
    assert_eq!(pair.answer(b"more"), b"more");
}

#[test]
fn a_key_update_split_over_records_is_followed() {
    for size in 1..5 {
        let mut peer = Peer::new(TLS13);
        for piece in UPDATE_REQUESTED.chunks(size) {
            assert!(peer.send(HANDSHAKE, piece).is_ok());
        }
        assert!(peer.output.is_empty());
        // The old key is of no use now.
        assert_eq!(
            peer.code(DATA, b"x"),
            "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC"
        );
    }
}

#[test]
fn nothing_may_come_between_the_parts_of_a_message() {
    for (kind, content) in [(DATA, &b"x"[..]), (DATA, b""), (ALERT, &[1, 0])] {
        let mut peer = Peer::new(TLS13);
        peer.send(HANDSHAKE, &UPDATE[..2]).unwrap();
        assert_eq!(peer.code(kind, content), "ERR_SSL_UNEXPECTED_MESSAGE");
        assert!(peer.plaintext.is_empty());
    }
}

#[test]
fn other_messages_after_a_tls13_handshake_end_the_connection() {
    for (content, code) in [
        (&b""[..], "ERR_SSL_UNEXPECTED_MESSAGE"),
        (&[1, 0, 0, 0], "ERR_SSL_UNEXPECTED_MESSAGE"),
        (&[11, 0, 0, 4, 0, 0, 0, 0], "ERR_SSL_UNEXPECTED_MESSAGE"),
        (&[24, 0, 0, 1, 0, 24], "ERR_SSL_UNEXPECTED_MESSAGE"),
        (&[24, 0, 0, 1, 2], "ERR_SSL_BAD_KEY_UPDATE"),
        (&[24, 0, 0, 2, 0, 0], "ERR_SSL_BAD_PACKET"),
    ] {
        let mut peer = Peer::new(TLS13);
        assert_eq!(peer.code(HANDSHAKE, content), code, "{content:?}");
        assert!(!peer.output.is_empty(), "the peer is told");
        assert!(peer.server.write(b"x", &mut Vec::new()).is_err());
    }
}

#[test]
fn alerts_are_of_two_bytes() {
    for (versions, content, code) in [
        (TLS13, &b""[..], "ERR_SSL_UNEXPECTED_MESSAGE"),
        (TLS13, &[2], "ERR_SSL_BAD_PACKET"),
        (TLS13, &[1, 0, 1, 0], "ERR_SSL_BAD_PACKET"),
        (TLS12, b"", "ERR_SSL_BAD_PACKET"),
        (TLS12, &[1, 0, 1, 0], "ERR_SSL_BAD_PACKET"),
        // In TLS 1.3 all are fatal whatever they say of themselves; in TLS 1.2 their level counts.
        (TLS13, &[1, 80], "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR"),
        (TLS12, &[2, 80], "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR"),
    ] {
        let mut peer = Peer::new(versions);
        assert_eq!(peer.code(ALERT, content), code, "{content:?}");
    }
    let mut peer = Peer::new(TLS12);
    assert!(peer.send(ALERT, &[1, 80]).is_ok());
    assert!(peer.send(DATA, b"x").is_ok());
}

#[test]
fn what_comes_after_close_notify_is_not_read() {
    for versions in [TLS12, TLS13] {
        let mut peer = Peer::new(versions);
        assert!(peer.send(ALERT, &[1, 0]).unwrap().peer_closed);
        for _ in 0..3 {
            assert_eq!(peer.send(DATA, b"late").unwrap(), Status::default());
        }
        assert!(peer.plaintext.is_empty() && peer.output.is_empty());
    }
}

#[test]
fn records_of_other_types_end_the_connection() {
    for versions in [TLS12, TLS13] {
        // ChangeCipherSpec, heartbeat, nonsense: sealed.
        for kind in [20, 24, 0, 255] {
            let mut peer = Peer::new(versions);
            // In TLS 1.3 a type of zero is padding, and a record of nothing but padding has no type.
            assert_eq!(peer.code(kind, &[1]), "ERR_SSL_UNEXPECTED_MESSAGE");
        }
    }
}

#[test]
fn plain_records_end_a_tls13_connection() {
    for mut record in [
        vec![20, 3, 3, 0, 1, 1],
        vec![21, 3, 3, 0, 2, 1, 0],
        vec![22, 3, 3, 0, 5, 24, 0, 0, 1, 0],
    ] {
        let mut peer = Peer::new(TLS13);
        let result = peer
            .server
            .handle_input(&mut record, &mut peer.plaintext, &mut peer.output);
        assert_eq!(result.unwrap_err().code(), "ERR_SSL_UNEXPECTED_MESSAGE");
    }
}

#[test]
fn empty_records_are_borne_with_for_a_while() {
    for versions in [TLS12, TLS13] {
        let mut peer = Peer::new(versions);
        for _ in 0..5 {
            for _ in 0..32 {
                peer.send(DATA, b"").unwrap();
            }
            peer.send(DATA, b"x").unwrap();
        }
        let refused = (0..33).find_map(|_| peer.send(DATA, b"").err());
        assert_eq!(refused.unwrap().code(), "ERR_SSL_UNEXPECTED_MESSAGE");
        assert_eq!(peer.plaintext, b"xxxxx");
    }
}

#[test]
fn renegotiation_is_refused_with_a_warning_and_then_for_good() {
    let mut peer = Peer::new(TLS12);
    for _ in 0..2 {
        peer.output.clear();
        peer.send(HANDSHAKE, &[1, 0, 0, 0]).unwrap();
        assert!(!peer.output.is_empty());
        peer.send(DATA, b"x").unwrap();
    }
    assert_eq!(
        peer.code(HANDSHAKE, &[1, 0, 0, 0]),
        "ERR_SSL_NO_RENEGOTIATION"
    );
    let mut other = Peer::new(TLS12);
    assert_eq!(
        other.code(HANDSHAKE, &[16, 0, 0, 0]),
        "ERR_SSL_UNEXPECTED_MESSAGE"
    );
}

#[test]
fn records_beyond_the_limits_are_refused() {
    for versions in [TLS12, TLS13] {
        let mut peer = Peer::new(versions);
        peer.send(DATA, &[0; 16_384]).unwrap();
        assert_eq!(peer.plaintext.len(), 16_384);
        // By its header alone: before the bytes have come.
        let limit: u16 = 16_384 + 2_048;
        let [high, low] = (limit + 1).to_be_bytes();
        let mut header = [23, 3, 3, high, low];
        let error = peer
            .server
            .handle_input(&mut header, &mut peer.plaintext, &mut peer.output)
            .unwrap_err();
        assert_eq!(error.code(), "ERR_SSL_PACKET_LENGTH_TOO_LONG");

        let mut peer = Peer::new(versions);
        let length: u16 = if peer.tls13 {
            16_384 + 257
        } else {
            16_384 + 25
        };
        let [high, low] = length.to_be_bytes();
        let mut record = vec![23, 3, 3, high, low];
        record.resize(5 + usize::from(length), 7);
        let error = peer
            .server
            .handle_input(&mut record, &mut peer.plaintext, &mut peer.output)
            .unwrap_err();
        assert_eq!(error.code(), "ERR_SSL_PACKET_LENGTH_TOO_LONG");
    }
}

#[test]
fn a_record_that_comes_twice_or_out_of_order_is_refused() {
    for versions in [TLS12, TLS13] {
        for order in [&[0, 0][..], &[1], &[0, 2]] {
            let mut peer = Peer::new(versions);
            let records: Vec<_> = (0..3u8)
                .map(|number| {
                    let mut record = Vec::new();
                    peer.key.seal(DATA, &[&[number]], &mut record).unwrap();
                    record
                })
                .collect();
            let mut input: Vec<u8> = order.iter().flat_map(|at| records[*at].clone()).collect();
            let error = peer
                .server
                .handle_input(&mut input, &mut peer.plaintext, &mut peer.output)
                .unwrap_err();
            assert_eq!(error.code(), "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC");
        }
    }
}
