//! Limits, and what is beyond them.

#![allow(clippy::unwrap_used, reason = "tests")]

use portico_http::ParseErrorCode;
use portico_http::h1::{
    ChunkEvent, ChunkedDecoder, ExcessFields, Framing, Head, HeadLimits, HeadParser, HeadProgress,
    ParseError, leading_blank,
};

fn parse(
    parser: &mut HeadParser,
    bytes: &[u8],
    limits: &HeadLimits,
) -> Result<Option<Head>, ParseError> {
    parser.parse(bytes, &mut HeadProgress::default(), limits)
}

fn head_of(field_lines: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\n{field_lines}\r\n").into_bytes()
}

#[test]
fn dropped_fields_are_obeyed_all_the_same() {
    let limits = HeadLimits {
        max_headers_count: 2,
        excess_fields: ExcessFields::Drop,
        ..HeadLimits::default()
    };
    let mut parser = HeadParser::new();
    let bytes = head_of("Host: a\r\nA: b\r\nContent-Length: 7\r\nConnection: close\r\n");
    let head = parse(&mut parser, &bytes, &limits).unwrap().unwrap();
    assert_eq!(parser.fields().len(), 2);
    assert_eq!(head.framing, Framing::ContentLength(7));
    assert!(!head.keep_alive && head.has_host);

    let bytes = head_of("Host: a\r\nA: b\r\nContent-Length: 7\r\nContent-Length: 7\r\n");
    let error = parse(&mut parser, &bytes, &limits).unwrap_err();
    assert_eq!(error.code, ParseErrorCode::DuplicateContentLength);
}

#[test]
fn as_many_fields_as_the_limit_are_taken_and_one_more_is_refused() {
    let limits = HeadLimits {
        max_headers_count: 3,
        ..HeadLimits::default()
    };
    let mut parser = HeadParser::new();
    assert!(
        parse(&mut parser, &head_of(&"a: b\r\n".repeat(3)), &limits)
            .unwrap()
            .is_some()
    );
    assert_eq!(parser.fields().len(), 3);
    let error = parse(&mut parser, &head_of(&"a: b\r\n".repeat(4)), &limits).unwrap_err();
    assert_eq!(error.code, ParseErrorCode::HeaderOverflow);
    assert!(parser.fields().is_empty());
}

#[test]
fn no_limit_takes_thousands_of_fields() {
    let limits = HeadLimits {
        max_headers_count: 0,
        ..HeadLimits::default()
    };
    let mut parser = HeadParser::new();
    let bytes = head_of(&"a: b\r\n".repeat(5000));
    assert!(parse(&mut parser, &bytes, &limits).unwrap().is_some());
    assert_eq!(parser.fields().len(), 5000);
    assert!(
        parser
            .fields()
            .iter()
            .all(|field| field.value(&bytes) == b"b")
    );
}

#[test]
fn a_head_fits_the_size_that_is_told_for_buffers() {
    let limits = HeadLimits {
        max_header_size: 100,
        max_headers_count: 0,
        ..HeadLimits::default()
    };
    let most = limits.max_head_bytes() as usize;
    let mut parser = HeadParser::new();
    let mut bytes = b"GET / HTTP/1.1\r\nA:".to_vec();
    bytes.resize(most - 1, b' ');
    let mut progress = HeadProgress::default();
    assert_eq!(parser.parse(&bytes, &mut progress, &limits), Ok(None));
    bytes.push(b' ');
    let error = parser.parse(&bytes, &mut progress, &limits).unwrap_err();
    assert_eq!(error.code, ParseErrorCode::HeaderOverflow);
}

#[test]
fn a_name_may_have_as_many_bytes_as_a_field_can_tell_and_not_one_more() {
    let limits = HeadLimits {
        max_header_size: 1 << 20,
        ..HeadLimits::default()
    };
    let most = usize::from(u16::MAX);
    let mut parser = HeadParser::new();
    let bytes = head_of(&format!("{}: b\r\n", "a".repeat(most)));
    assert!(parse(&mut parser, &bytes, &limits).unwrap().is_some());
    let field = parser.fields().iter().next().unwrap();
    assert_eq!(field.name(&bytes), "a".repeat(most).as_bytes());
    assert_eq!(field.value(&bytes), b"b");

    let longer = head_of(&format!("{}: b\r\n", "a".repeat(most + 1)));
    let error = parse(&mut parser, &longer, &limits).unwrap_err();
    assert_eq!(error.code, ParseErrorCode::HeaderOverflow);
    assert!(parser.fields().is_empty());
    // The parser goes on with the next connection's head.
    assert!(parse(&mut parser, &bytes, &limits).unwrap().is_some());
}

#[test]
fn progress_is_fresh_again_after_a_head_and_after_an_error() {
    let limits = HeadLimits::default();
    let mut parser = HeadParser::new();
    let mut progress = HeadProgress::default();
    assert_eq!(
        parser.parse(b"GET / HTTP/1.1\r\nA: b\r\n", &mut progress, &limits),
        Ok(None)
    );
    assert!(!progress.is_fresh());
    assert!(
        parser
            .parse(b"GET / HTTP/1.1\r\nA: b\r\n\r\n", &mut progress, &limits)
            .unwrap()
            .is_some()
    );
    assert!(progress.is_fresh());
    assert_eq!(parser.fields().len(), 1);
    assert_eq!(parser.parse(b"GET /", &mut progress, &limits), Ok(None));
    assert!(parser.parse(b"GET /\0", &mut progress, &limits).is_err());
    assert!(progress.is_fresh());
}

#[test]
fn blank_lines_can_be_dropped_before_a_head() {
    assert_eq!(leading_blank(b"\r\n\n\rGET"), 4);
    assert_eq!(leading_blank(b"GET\r\n"), 0);
    let mut parser = HeadParser::new();
    let head = parse(
        &mut parser,
        b"\r\n\r\nGET / HTTP/1.1\r\nA: b\r\n\r\n",
        &HeadLimits::default(),
    );
    let head = head.unwrap().unwrap();
    assert_eq!(
        (head.start, head.target.offset, head.head_bytes),
        (4, 8, 28)
    );
}

#[test]
fn trailers_have_the_limits_of_a_head_counted_anew() {
    let limits = HeadLimits {
        max_header_size: 10,
        max_headers_count: 2,
        ..HeadLimits::default()
    };
    let mut parser = HeadParser::new();
    for (body, names) in [
        ("1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\n", Some(2)),
        ("1\r\na\r\n0\r\nA: 12345678\r\n\r\n", Some(1)),
        ("1\r\na\r\n0\r\nA: 123456789\r\n\r\n", None),
        ("1\r\na\r\n0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n", None),
    ] {
        let mut decoder = ChunkedDecoder::new();
        let (used, event) = decoder
            .decode(body.as_bytes(), &mut parser, &limits)
            .unwrap();
        assert_eq!((used, event), (4, ChunkEvent::Data(3..4)));
        let rest = &body.as_bytes()[used..];
        match decoder.decode(rest, &mut parser, &limits) {
            Ok((used, event)) => {
                assert_eq!((used, event), (rest.len(), ChunkEvent::Done));
                assert_eq!(Some(parser.fields().len()), names, "{body}");
            }
            Err(error) => {
                assert_eq!(
                    (error.code, names),
                    (ParseErrorCode::HeaderOverflow, None),
                    "{body}"
                );
            }
        }
    }
}
