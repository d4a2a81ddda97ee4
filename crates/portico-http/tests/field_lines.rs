//! The reader of field lines that are all there, against the parser of requests, whose field lines come in pieces.

#![allow(clippy::unwrap_used, reason = "tests")]

use portico_http::h1::{
    FieldLines, HeadLimits, HeadParser, HeadProgress, InvalidHosts, ParseErrorCode, are_trailers,
    read_framing,
};
use portico_http::semantics::field_value::{Directive, list};
use proptest::prelude::*;
use proptest::sample::select;

const PIECES: [&str; 36] = [
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    ":",
    "\0",
    "\x7f",
    "\u{e4}",
    "a",
    "A: b\r\n",
    "a:\r\n",
    "X-Y: \t z \r\n",
    "Host: a\r\n",
    "Content-Length: 5\r\n",
    "content-length:7 \r\n",
    "Content-Length: 05\r\n",
    "Content-Length: 1, 1\r\n",
    "Content-Length: \r\n",
    "Content-Length: 18446744073709551616\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "TRANSFER-ENCODING: chunked, gzip\r\n",
    "Transfer-Encoding: chunked \r\n",
    "Connection: close\r\n",
    "Connection: keep-alive, Upgrade\r\n",
    "Upgrade: a\r\n",
    "Upgrade:\r\n",
    " folded\r\n",
    "X : b\r\n",
    "\u{e4}: b\r\n",
    "X: \u{e4}\r\n",
    "A: b\rc\r\n",
    "A: b\nc\r\n",
    "Accept: */*\r\n",
    "x",
];

fn lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        20 => select(&PIECES[..]).prop_map(|piece| piece.bytes().collect()),
        1 => proptest::collection::vec(any::<u8>(), 1..8),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces: Vec<Vec<u8>>| pieces.concat())
}

/// Name, number and value of each field.
type Fields = Vec<(Vec<u8>, u16, Vec<u8>)>;

/// What the parser of requests makes of field lines, its own rules for `Host` aside.
fn parsed(lines: &[u8]) -> Result<(Fields, portico_http::h1::Head), ParseErrorCode> {
    let bytes = [b"POST / HTTP/1.1\r\n", lines, b"\r\n"].concat();
    let limits = HeadLimits {
        invalid_hosts: InvalidHosts::Accept,
        ..HeadLimits::default()
    };
    let mut parser = HeadParser::new();
    let head = parser
        .parse(&bytes, &mut HeadProgress::default(), &limits)
        .map_err(|error| error.code)?
        .ok_or(ParseErrorCode::InvalidHeaderToken)?;
    if head.head_bytes as usize != bytes.len() {
        // A blank line among them ended the head.
        return Err(ParseErrorCode::InvalidHeaderToken);
    }
    let field = |field: &portico_http::semantics::Field| {
        (
            field.name(&bytes).to_vec(),
            field.name_number,
            field.value(&bytes).to_vec(),
        )
    };
    Ok((parser.fields().iter().map(field).collect(), head))
}

fn read(lines: &[u8]) -> Option<Fields> {
    FieldLines::new(lines)
        .map(|line| {
            let line = line.ok()?;
            Some((line.name.to_vec(), line.number, line.value.to_vec()))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn what_the_parser_takes_is_read_likewise(lines in lines()) {
        let Ok((fields, head)) = parsed(&lines) else { return Ok(()) };
        prop_assert_eq!(read(&lines), Some(fields));
        // It refuses a second length, whether they agree or not; so what it takes never contradicts itself.
        let framing = read_framing(&lines).unwrap();
        match head.framing {
            portico_http::h1::Framing::None => prop_assert!(framing.says_nothing_of_the_body()),
            portico_http::h1::Framing::ContentLength(length) => prop_assert_eq!(framing.content_length, Some(length)),
            portico_http::h1::Framing::Chunked => prop_assert!(framing.is_chunked && framing.content_length.is_none()),
        }
        prop_assert_eq!(head.keep_alive, !framing.connection.close);
        prop_assert_eq!(head.upgrade, framing.connection.upgrade && framing.has_upgrade);
    }

    #[test]
    fn what_is_no_field_line_is_none_for_the_parser(lines in lines()) {
        if read(&lines).is_none() {
            prop_assert!(parsed(&lines).is_err(), "{:?}", String::from_utf8_lossy(&lines));
        }
    }

    #[test]
    fn what_is_read_can_be_written_again_and_nothing_else_comes_out(lines in lines()) {
        let Some(fields) = read(&lines) else { return Ok(()) };
        let mut written = Vec::new();
        for (name, _, value) in &fields {
            prop_assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
            written.extend([&name[..], b": ", value, b"\r\n"].concat());
        }
        prop_assert_eq!(read(&written), Some(fields));
        prop_assert_eq!(read_framing(&written), read_framing(&lines));
        prop_assert_eq!(are_trailers(&written), are_trailers(&lines));
    }

    #[test]
    fn elements_of_a_list_are_parts_of_it(value in proptest::collection::vec(select(b"ab,\"\\ \t=1".to_vec()), 0..40)) {
        for element in list(&value) {
            prop_assert!(!element.is_empty());
            prop_assert!(value.windows(element.len()).any(|part| part == element));
            let directive = Directive::of(element);
            prop_assert!(directive.name.len() <= element.len());
        }
    }
}
