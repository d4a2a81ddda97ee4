//! The rows of `tests/framing/responses.txt`: what a response's parts say of its end. The same rows are held against
//! what the JavaScript side and node:http send.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use portico_http::h1::read_framing;
use portico_http::semantics::FramingFields;
use portico_http::semantics::response_framing::{
    AddedFraming, AnsweredRequest, BodyEnd, Misframed, ResponseFraming,
};

const ROWS: &str = include_str!("../../../tests/framing/responses.txt");

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = ROWS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.skip(1)
        .map(|line| line.split('|').map(str::trim).collect())
}

/// The fields that are sent of those that a program set.
fn fields(given: &str) -> FramingFields {
    let lines: String = given
        .split("; ")
        .filter(|field| *field != "-" && !field.ends_with(": removed"))
        .map(|field| format!("{field}\r\n"))
        .collect();
    read_framing(lines.as_bytes()).unwrap()
}

#[test]
fn each_row_ends_where_it_says() {
    let mut count = 0;
    for row in rows() {
        let [request, status, given, written, added, body, _, end, host] = row[..] else {
            panic!("{row:?}");
        };
        let (method, version) = request.split_once(' ').unwrap();
        let request = AnsweredRequest {
            is_head: method == "HEAD",
            is_connect: method == "CONNECT",
            is_http_1_0: version == "1.0",
        };
        let length = if written == "nothing" { 0 } else { 5 };
        let added = AddedFraming {
            content_length: (added == "content-length").then_some(length),
            transfer_encoding: added == "transfer-encoding",
            in_chunks: body == "chunks",
        };
        let end = match end.split_once(' ') {
            Some((bytes, "bytes")) => BodyEnd::Length(bytes.parse().unwrap()),
            Some(("last", "chunk")) => BodyEnd::LastChunk,
            _ => BodyEnd::ConnectionEnd,
        };
        let expected = ResponseFraming {
            end,
            is_last: host == "last",
        };
        let found = ResponseFraming::of(request, status.parse().unwrap(), &fields(given), added);
        assert_eq!(found, Ok(expected), "{row:?}");
        count += 1;
    }
    assert!(count > 50);
}

/// A client that sees a body's end before it, behind it or never must not be sent another response.
#[test]
fn a_body_without_an_end_of_its_own_is_the_last_of_its_connection() {
    for row in rows() {
        if row[7] == "connection" {
            assert_eq!(row[8], "last", "{row:?}");
        }
        if row[6] == "closed" {
            continue;
        }
        let is_on_the_wire = match (row[5], row[7]) {
            ("chunks", end) => end == "last chunk" || row[8] == "last",
            (_, end) => end.ends_with("bytes") || row[8] == "last",
        };
        assert!(is_on_the_wire, "{row:?}");
    }
}

#[test]
fn no_interim_response_ends_an_exchange() {
    for status in [0, 99, 100, 101, 103, 199, 1000] {
        let framing = ResponseFraming::of(
            AnsweredRequest::default(),
            status,
            &FramingFields::default(),
            AddedFraming::default(),
        );
        assert_eq!(framing, Err(Misframed), "{status}");
    }
}
