//! Request heads: whole and in pieces they must come out the same, fields must lie inside of the head, and the
//! framing must be one that can't be read in two ways.
//!
//! The first two bytes say where the head is cut, the third how small the limits are.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico_http::h1::{ExcessFields, Framing, Head, HeadLimits, HeadParser, InvalidHosts, ParseError, HeadProgress};

fuzz_target!(|data: &[u8]| {
    let Some(([first, second, size], bytes)) = data.split_first_chunk() else {
        return;
    };
    let limits = HeadLimits {
        max_header_size: if *size < 0x80 { HeadLimits::default().max_header_size } else { u32::from(*size) },
        max_headers_count: u32::from(*size % 8),
        excess_fields: if size % 2 == 0 { ExcessFields::Refuse } else { ExcessFields::Drop },
        invalid_hosts: if size % 4 < 2 { InvalidHosts::Refuse } else { InvalidHosts::Accept },
    };
    let mut parser = HeadParser::new();
    let whole = parser.parse(bytes, &mut HeadProgress::default(), &limits);
    let fields = parser.fields().to_vec();
    if let Ok(Some(head)) = &whole {
        check_head(bytes, head, &parser, limits.invalid_hosts);
    } else {
        assert!(fields.is_empty());
    }

    let step = usize::from(*second).max(1);
    let cuts = (usize::from(*first)..bytes.len()).step_by(step);
    assert_eq!(without_offset(in_pieces(&mut parser, bytes, cuts, &limits)), without_offset(whole));
    assert_eq!(parser.fields(), fields);
});

fn in_pieces(
    parser: &mut HeadParser,
    bytes: &[u8],
    cuts: impl Iterator<Item = usize>,
    limits: &HeadLimits,
) -> Result<Option<Head>, ParseError> {
    let mut progress = HeadProgress::default();
    for cut in cuts {
        let parsed = parser.parse(&bytes[..cut], &mut progress, limits);
        if parsed != Ok(None) {
            return parsed;
        }
    }
    parser.parse(bytes, &mut progress, limits)
}

/// Where a head grows too large depends on what was there when it was looked at.
fn without_offset(parsed: Result<Option<Head>, ParseError>) -> Result<Option<Head>, &'static str> {
    parsed.map_err(|error| error.code.reason())
}

fn check_head(bytes: &[u8], head: &Head, parser: &HeadParser, invalid_hosts: InvalidHosts) {
    let end = head.head_bytes as usize;
    assert!(bytes[..end].ends_with(b"\r\n\r\n") || parser.fields().is_empty());
    let mut at = head.target.range().end;
    let (mut lengths, mut codings, mut hosts) = (0, 0, 0);
    for field in parser.fields() {
        let (name, value) = (field.name(bytes), field.value(bytes));
        assert!(field.name_offset as usize > at && !name.is_empty());
        at = (field.value_offset + field.value_length) as usize;
        assert!(at < end);
        assert!(name.iter().all(|byte| byte.is_ascii_graphic() && *byte != b':'));
        assert!(value.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t'));
        assert_eq!(value, value.trim_ascii());
        lengths += usize::from(name.eq_ignore_ascii_case(b"content-length"));
        codings += usize::from(name.eq_ignore_ascii_case(b"transfer-encoding"));
        hosts += usize::from(name.eq_ignore_ascii_case(b"host"));
    }
    assert!(lengths <= 1 && (lengths == 0 || codings == 0));
    assert!(hosts <= 1 || invalid_hosts == InvalidHosts::Accept);
    match head.framing {
        Framing::None => assert!(lengths == 0 && codings == 0),
        Framing::ContentLength(_) => assert!(codings == 0),
        Framing::Chunked => assert!(lengths == 0 && head.minor_version == 1),
    }
}
