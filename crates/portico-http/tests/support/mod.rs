//! The rows of `tests/wire/`, and what Portico makes of their bytes in the rows' words.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "test support"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use portico_http::h1::{
    ChunkEvent, ChunkedDecoder, Expect, Framing, Head, HeadLimits, HeadParser, HeadProgress,
    InvalidHosts, ParseError,
};

/// A row.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) place: String,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) portico: String,
    pub(crate) strict_host: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) fields: Option<String>,
    pub(crate) why: Option<String>,
}

/// Verdict, and the fields of an accepted head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) verdict: String,
    pub(crate) fields: String,
}

/// All rows of all files.
pub(crate) fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/wire");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        read_file(&file, &mut cases);
    }
    cases
}

fn read_file(file: &PathBuf, cases: &mut Vec<Case>) {
    let file_name = file.file_name().unwrap().to_string_lossy();
    for (index, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(attribute) = line.strip_prefix("  ") else {
            let place = format!("{file_name}:{}", index + 1);
            cases.push(Case {
                place,
                name: line.to_owned(),
                ..Case::default()
            });
            continue;
        };
        let (key, value) = attribute.split_once(": ").expect(line);
        let case = cases.last_mut().expect("a name comes first");
        match key {
            "bytes" => case.bytes = unescape(value),
            "portico" => case.portico = value.to_owned(),
            "strict-host" => case.strict_host = Some(value.to_owned()),
            "node" => case.node = Some(value.to_owned()),
            "fields" => case.fields = Some(value.to_owned()),
            "why" => case.why = Some(value.to_owned()),
            "node-9.3" => {}
            _ => panic!("{file_name}:{}: unknown key {key}", index + 1),
        }
    }
}

/// The bytes that an escaped text stands for: `\r \n \t \\ \xNN`, and `\(text*count)` for a text many times.
pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character != '\\' {
            bytes.push(u8::try_from(character).unwrap());
            continue;
        }
        let escape = rest.chars().next().unwrap();
        rest = &rest[1..];
        match escape {
            'r' => bytes.push(b'\r'),
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            '\\' => bytes.push(b'\\'),
            'x' => {
                bytes.push(u8::from_str_radix(&rest[..2], 16).unwrap());
                rest = &rest[2..];
            }
            '(' => {
                let (repetition, after) = rest.split_once(')').unwrap();
                let (part, count) = repetition.rsplit_once('*').unwrap();
                bytes.extend(unescape(part).repeat(count.parse().unwrap()));
                rest = after;
            }
            other => panic!("unknown escape {other}"),
        }
    }
    bytes
}

pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            b'\r' => text.push_str("\\r"),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7e => text.push(byte.into()),
            _ => write!(text, "\\x{byte:02x}").unwrap(),
        }
    }
    text
}

/// What Portico makes of the first request in Node's place, given in pieces that end at the `cuts`.
pub(crate) fn verdict(bytes: &[u8], cuts: &[usize]) -> Outcome {
    verdict_on_host(bytes, cuts, InvalidHosts::Accept)
}

/// The same, with what is to happen to invalid hosts.
pub(crate) fn verdict_on_host(
    bytes: &[u8],
    cuts: &[usize],
    invalid_hosts: InvalidHosts,
) -> Outcome {
    let limits = HeadLimits {
        invalid_hosts,
        ..HeadLimits::default()
    };
    let mut parser = HeadParser::new();
    let mut progress = HeadProgress::default();
    let mut head = None;
    let mut ends: Vec<usize> = cuts
        .iter()
        .copied()
        .filter(|&cut| cut < bytes.len())
        .collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    for end in ends {
        match parser.parse(&bytes[..end], &mut progress, &limits) {
            Ok(None) => {}
            Ok(Some(complete)) => {
                head = Some(complete);
                break;
            }
            Err(error) => return refused(error, 0),
        }
    }
    let Some(head) = head else {
        return Outcome {
            verdict: "incomplete".into(),
            fields: String::new(),
        };
    };
    let fields = listed(&parser, bytes);
    let mut verdict = words(&head, bytes);
    let body_start = head.head_bytes as usize;
    match head.framing {
        _ if head.upgrade => {}
        Framing::None => {}
        Framing::ContentLength(length) => {
            let body = &bytes[body_start..];
            match usize::try_from(length)
                .ok()
                .and_then(|length| body.get(..length))
            {
                Some(body) => write!(verdict, " body={}", shown(body)).unwrap(),
                None => verdict.push_str(" body-incomplete"),
            }
        }
        Framing::Chunked => match chunked(&bytes[body_start..], body_start, cuts, &mut parser) {
            Ok(text) => verdict.push_str(&text),
            Err(error) => return refused(error, body_start),
        },
    }
    Outcome { verdict, fields }
}

fn refused(error: ParseError, base: usize) -> Outcome {
    Outcome {
        verdict: format!(
            "{}: {} @{}",
            error.code.name(),
            error.code.reason(),
            base + error.offset
        ),
        fields: String::new(),
    }
}

fn words(head: &Head, bytes: &[u8]) -> String {
    let mut words = format!(
        "{} {} HTTP/1.{} ",
        head.method.as_str(),
        shown(head.target.of(bytes)),
        head.minor_version
    );
    match head.framing {
        Framing::None => words.push_str("none"),
        Framing::ContentLength(length) => write!(words, "length={length}").unwrap(),
        Framing::Chunked => words.push_str("chunked"),
    }
    words.push_str(match (head.upgrade, head.keep_alive) {
        (true, _) => " upgrade",
        (false, true) => " keep-alive",
        (false, false) => " close",
    });
    words.push_str(match head.expect {
        Expect::None => "",
        Expect::Continue => " expect-continue",
        Expect::Other => " expect-other",
    });
    if !head.has_host {
        words.push_str(" no-host");
    }
    words
}

/// Decodes a chunked body that begins at `start` of the bytes that `cuts` cut.
fn chunked(
    body: &[u8],
    start: usize,
    cuts: &[usize],
    parser: &mut HeadParser,
) -> Result<String, ParseError> {
    let limits = HeadLimits::default();
    let mut decoder = ChunkedDecoder::new();
    let mut data = Vec::new();
    let mut at = 0;
    let mut ends: Vec<usize> = cuts
        .iter()
        .filter_map(|cut| cut.checked_sub(start))
        .filter(|&end| end < body.len())
        .collect();
    ends.push(body.len());
    ends.sort_unstable();
    for end in ends {
        loop {
            let input = &body[at.min(end)..end];
            let base = at;
            let (consumed, event) =
                decoder
                    .decode(input, parser, &limits)
                    .map_err(|error| ParseError {
                        code: error.code,
                        offset: base + error.offset,
                    })?;
            at += consumed;
            match event {
                ChunkEvent::Data(range) => data.extend_from_slice(&input[range]),
                ChunkEvent::NeedMore => break,
                ChunkEvent::Done => {
                    let mut text = format!(" body={}", shown(&data));
                    let trailers = listed(parser, input);
                    if !trailers.is_empty() {
                        let length = trailers.len();
                        let trailers = if length > MAX_SHOWN {
                            format!("({length} bytes)")
                        } else {
                            trailers
                        };
                        write!(text, " trailers={trailers}").unwrap();
                    }
                    return Ok(text);
                }
            }
        }
    }
    Ok(" body-incomplete".into())
}

fn listed(parser: &HeadParser, bytes: &[u8]) -> String {
    let fields: Vec<String> = parser
        .fields()
        .iter()
        .map(|field| {
            format!(
                "{}: {}",
                escape(field.name(bytes)),
                escape(field.value(bytes))
            )
        })
        .collect();
    fields.join(" | ")
}

/// Longer texts are told by their length.
const MAX_SHOWN: usize = 64;

fn shown(bytes: &[u8]) -> String {
    if bytes.len() > MAX_SHOWN {
        format!("({} bytes)", bytes.len())
    } else {
        escape(bytes)
    }
}
