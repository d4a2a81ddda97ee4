//! Properties that hold for all bytes.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use portico_http::h1::{
    CHUNK_END, ChunkEvent, ChunkedDecoder, HeadLimits, HeadParser, HeadProgress, write_chunk_size,
    write_last_chunk,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use support::verdict;

/// Pieces from which heads, right and wrong, are put together.
const PIECES: [&str; 48] = [
    "GET / HTTP/1.1\r\n",
    "POST /a?b=c#d HTTP/1.0\r\n",
    "CONNECT a:1 HTTP/1.1\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "GET http://a@b/ HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "\0",
    "Host: a\r\n",
    "Host: a.example.com:8080\r\n",
    "Host: [::1]\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "content-length:\r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "transfer-encoding: ,\r\n",
    "Connection: keep-alive\r\n",
    "Connection: close, upgrade\r\n",
    "Upgrade: a\r\n",
    "Expect: 100-continue\r\n",
    "X-Unknown-And-Rather-Long-Name: value\r\n",
    "a: b\r\n",
    "a:\r\n",
    "Accept: */* \r\n",
    "Cookie: a\tb\r\n",
    "Upgrade-Insecure-Requests: 1\r\n",
    "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n",
    " folded\r\n",
    "\tfolded\r\n",
    "X : b\r\n",
    "\u{e4}: b\r\n",
    "X: \u{e4}\r\n",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\na: b\r\n\r\n",
    "ff;a=\"b\\\"c\"\r\n",
    "GET",
    "/",
    "HTTP/1.1",
    "hello",
    "\r\n\r\n",
];

fn heads() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        20 => select(&PIECES[..]).prop_map(|piece| piece.bytes().collect()),
        1 => proptest::collection::vec(any::<u8>(), 1..8),
    ];
    (any::<bool>(), proptest::collection::vec(piece, 0..12)).prop_map(|(line, pieces)| {
        let mut bytes: Vec<u8> = pieces.concat();
        if line {
            // Most should get past the request line.
            bytes.splice(0..0, *b"POST /x HTTP/1.1\r\n");
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn pieces_give_the_verdict_of_the_whole(bytes in heads(), cuts in proptest::collection::vec(any::<Index>(), 0..6)) {
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        prop_assert_eq!(verdict(&bytes, &cuts), verdict(&bytes, &[]));
    }

    #[test]
    fn single_bytes_give_the_verdict_of_the_whole(bytes in heads()) {
        let cuts: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(verdict(&bytes, &cuts), verdict(&bytes, &[]));
    }

    #[test]
    fn whatever_follows_a_head_changes_nothing(bytes in heads(), after in heads()) {
        let limits = HeadLimits::default();
        let mut parser = HeadParser::new();
        if let Ok(Some(head)) = parser.parse(&bytes, &mut HeadProgress::default(), &limits) {
            let fields = parser.fields().to_vec();
            let whole = [&bytes[..head.head_bytes as usize], &after].concat();
            prop_assert_eq!(parser.parse(&whole, &mut HeadProgress::default(), &limits), Ok(Some(head)));
            prop_assert_eq!(parser.fields(), &fields[..]);
        }
    }

    #[test]
    fn fields_lie_inside_the_head_in_order(bytes in heads()) {
        let mut parser = HeadParser::new();
        let parsed = parser.parse(&bytes, &mut HeadProgress::default(), &HeadLimits::default());
        if let Ok(Some(head)) = parsed {
            let mut at = head.target.range().end;
            prop_assert!(head.start <= head.target.offset);
            for field in parser.fields() {
                prop_assert!(field.name_offset as usize > at);
                prop_assert!(field.name_length > 0);
                prop_assert!(field.value_offset > field.name_offset + u32::from(field.name_length));
                at = (field.value_offset + field.value_length) as usize;
                let name = field.name(&bytes);
                prop_assert_eq!(field.name_number, portico_http::semantics::field_name_number(name));
                let value = field.value(&bytes);
                prop_assert_eq!(value, value.trim_ascii());
            }
            prop_assert!(at < head.head_bytes as usize);
            prop_assert_eq!(&bytes[..head.head_bytes as usize][head.head_bytes as usize - 2..], b"\r\n");
        } else {
            prop_assert!(parser.fields().is_empty());
        }
    }

    #[test]
    fn no_bytes_at_all_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), max in 0_u32..64) {
        let limits = HeadLimits { max_header_size: max, max_headers_count: max % 3, ..HeadLimits::default() };
        let mut parser = HeadParser::new();
        let mut progress = HeadProgress::default();
        for end in 0..=bytes.len() {
            let _ = parser.parse(&bytes[..end], &mut progress, &limits);
        }
        let mut decoder = ChunkedDecoder::new();
        let _ = decoder.decode(&bytes, &mut parser, &limits);
    }

    #[test]
    fn small_limits_hold_for_whole_heads_as_for_pieces(bytes in heads(), max in 1_u32..100, count in 0_u32..5) {
        let limits = HeadLimits { max_header_size: max, max_headers_count: count, ..HeadLimits::default() };
        let mut parser = HeadParser::new();
        let whole = parser.parse(&bytes, &mut HeadProgress::default(), &limits);
        let fields = parser.fields().to_vec();
        let mut progress = HeadProgress::default();
        let mut pieces = Ok(None);
        for end in 0..=bytes.len() {
            pieces = parser.parse(&bytes[..end], &mut progress, &limits);
            if pieces != Ok(None) {
                break;
            }
        }
        // Where an overflow is noticed depends on what is there.
        prop_assert_eq!(pieces.map_err(|error| error.code), whole.map_err(|error| error.code));
        prop_assert_eq!(parser.fields(), &fields[..]);
    }

    #[test]
    fn what_is_chunked_comes_out_again(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..50), 0..6),
        trailer in any::<bool>(),
        cuts in proptest::collection::vec(any::<Index>(), 0..8),
    ) {
        let mut encoded = Vec::new();
        for chunk in &chunks {
            write_chunk_size(&mut encoded, chunk.len() as u64);
            encoded.extend_from_slice(chunk);
            encoded.extend_from_slice(CHUNK_END);
        }
        write_last_chunk(&mut encoded, if trailer { b"Digest: a\r\n" } else { b"" });
        let length = encoded.len();
        encoded.extend_from_slice(b"GET / HTTP/1.1\r\n");

        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(length + 1)).collect();
        ends.push(encoded.len());
        ends.sort_unstable();
        let (mut decoder, mut parser) = (ChunkedDecoder::new(), HeadParser::new());
        let (mut decoded, mut at) = (Vec::new(), 0);
        'pieces: for end in ends {
            loop {
                let input = &encoded[at.min(end)..end];
                let (consumed, event) = decoder.decode(input, &mut parser, &HeadLimits::default()).unwrap();
                at += consumed;
                match event {
                    ChunkEvent::Data(range) => decoded.extend_from_slice(&input[range]),
                    ChunkEvent::NeedMore => break,
                    ChunkEvent::Done => {
                        let names: Vec<&[u8]> = parser.fields().iter().map(|field| field.name(input)).collect();
                        prop_assert_eq!(names, vec![&b"Digest"[..]; usize::from(trailer)]);
                        break 'pieces;
                    }
                }
            }
        }
        prop_assert!(decoder.is_done());
        prop_assert_eq!(at, length);
        prop_assert_eq!(decoded, chunks.concat());
    }
}
