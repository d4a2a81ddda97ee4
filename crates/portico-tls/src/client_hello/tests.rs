use super::*;

/// A ClientHello with these extensions, in records of at most `most` bytes.
fn hello(extensions: &[(u16, &[u8])], most: usize) -> Vec<u8> {
    let mut list = Vec::new();
    for (kind, content) in extensions {
        list.extend(kind.to_be_bytes());
        list.extend((content.len() as u16).to_be_bytes());
        list.extend_from_slice(content);
    }
    let mut body = vec![3, 3];
    body.extend([0; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend((list.len() as u16).to_be_bytes());
    body.extend(list);
    let mut message = vec![CLIENT_HELLO, 0];
    message.extend((body.len() as u16).to_be_bytes());
    message.extend(body);
    let mut records = Vec::new();
    for part in message.chunks(most) {
        records.extend([22, 3, 1]);
        records.extend((part.len() as u16).to_be_bytes());
        records.extend(part);
    }
    records
}

fn offer(name: &str, alpn: &[u8]) -> Peek {
    Peek::Hello(Box::new(Offer {
        server_name: Some(name.to_owned()),
        alpn: alpn.to_vec(),
        highest_version: 0x0303,
        ..Offer::default()
    }))
}

fn peek(bytes: &[u8]) -> Peek {
    HelloReader::default().look(bytes)
}

fn found(extensions: &[(u16, &[u8])]) -> Offer {
    match peek(&hello(extensions, 1_000)) {
        Peek::Hello(offer) => *offer,
        other => panic!("{other:?}"),
    }
}

const NAME: (u16, &[u8]) = (0, b"\0\x08\0\0\x05a.com");
const ALPN: (u16, &[u8]) = (16, b"\0\x05\x02h2\x01x");

#[test]
fn name_and_protocols_are_found_however_it_is_cut() {
    for most in [1, 3, 10, 50, 1_000] {
        let bytes = hello(&[(21, b""), NAME, ALPN], most);
        assert_eq!(peek(&bytes), offer("a.com", b"\x02h2\x01x"));
        let mut reader = HelloReader::default();
        for end in 0..bytes.len() {
            let which = format!("{end} of {}", bytes.len());
            assert_eq!(reader.look(&bytes[..end]), Peek::Incomplete, "{which}");
            assert_eq!(peek(&bytes[..end]), Peek::Incomplete, "{which}");
        }
        assert_eq!(reader.look(&bytes), offer("a.com", b"\x02h2\x01x"));
    }
}

#[test]
fn the_bytes_of_its_records_have_a_bound_and_their_number_has_none() {
    let padding = vec![0; 0xff00];
    let bytes = hello(&[(21, &padding)], 16);
    assert!(bytes.len() < MAX_RECORDS_BYTES);
    assert!(matches!(peek(&bytes), Peek::Hello(_)));
    let bytes = hello(&[(21, &padding)], 8);
    assert_eq!(peek(&bytes[..MAX_RECORDS_BYTES]), Peek::Incomplete);
    assert_eq!(peek(&bytes[..MAX_RECORDS_BYTES + 1]), Peek::Excessive);
}

#[test]
fn a_client_without_extensions_is_one() {
    let expected = Offer {
        highest_version: 0x0303,
        ..Offer::default()
    };
    assert_eq!(found(&[]), expected);
}

#[test]
fn ways_to_resume_are_seen() {
    let expected = SessionOffer {
        tickets: true,
        resumes: true,
    };
    assert_eq!(found(&[(35, b""), (41, b"x")]).sessions, expected);
}

#[test]
fn versions_are_those_of_the_extension_where_it_is() {
    for (content, highest) in [
        (&[4, 3, 4, 3, 3][..], 0x0304),
        (&[2, 3, 2], 0x0302),
        (&[6, 0x7a, 0x7a, 3, 3, 0x7f, 0x1c], 0x0303),
        (&[0], 0),
    ] {
        assert_eq!(found(&[(43, content)]).highest_version, highest);
    }
    assert_eq!(peek(&hello(&[(43, b"")], 1_000)), Peek::Other);
}

#[test]
fn a_renegotiation_is_told_from_the_promise_to_do_it_well() {
    assert!(!found(&[(0xff01, &[0])]).renegotiates);
    assert!(found(&[(0xff01, &[1, 7])]).renegotiates);
    // Badly written: for rustls.
    assert!(!found(&[(0xff01, &[])]).renegotiates);
}

#[test]
fn what_tls13_demands_is_seen() {
    let all = found(&[(10, b""), (13, b""), (51, b""), (42, b"")]);
    let demanded = Extensions {
        supported_groups: true,
        signature_algorithms: true,
        key_share: true,
    };
    assert_eq!((all.has, all.early_data), (demanded, true));
}

#[test]
fn nonsense_is_left_to_rustls() {
    for bytes in [
        &b"GET / HTTP/1.1"[..],
        &[22, 3, 1, 0, 0],
        &[22, 3, 1, 0, 4, 2, 0, 0, 0],
        &[22, 3, 1, 0, 5, 1, 0, 0, 1, 0],
        &hello(&[(16, b"\0\x03\x05h2")], 1_000),
        &hello(&[(16, b"\0\x01\0")], 1_000),
    ] {
        assert_eq!(peek(bytes), Peek::Other, "{bytes:?}");
    }
    // A name that is none counts as none.
    assert_eq!(found(&[(0, b"\0\x04\0\0\x01\0")]).server_name, None);
}
