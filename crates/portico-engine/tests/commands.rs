//! Commands that come too late, twice or malformed, and what they are about.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use portico_channel::layout::{command, event};
use portico_engine::CommandError;
use support::{Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

#[test]
fn a_stale_token_reaches_no_connection() {
    let mut server = Server::new();
    let mut first = server.connect();
    send(&mut first, GET);
    let old = server.request();
    drop(first);
    server.next(event::PEER_END);
    server
        .commands
        .write(0, command::Destroy { token: old.token }, &[]);
    server.submit();
    server.next(event::CLOSED);
    let mut second = server.connect();
    send(&mut second, GET);
    let new = server.request();
    assert_ne!(old.token, new.token);
    server.answer(&old, b"wrong");
    server.answer(&new, b"right");
    assert_eq!(read_answer(&mut second).1, b"right");
}

#[test]
fn answering_twice_or_after_the_end_changes_nothing() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"one");
    server.answer(&request, b"two");
    server
        .commands
        .data(request.token, request.sequence(), 0, b"three");
    server
        .commands
        .end(request.token, request.sequence(), 0, b"");
    server.submit();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"four");
    assert_eq!(read_answer(&mut client).1, b"one");
    assert_eq!(read_answer(&mut client).1, b"four");
}

#[test]
fn malformed_commands_are_named() {
    let mut server = Server::new();
    let mut client = server.connect();
    send(&mut client, GET);
    let token = server.request().token;
    let word = |value: u32| value.to_le_bytes();
    let respond = |status: u32, reason: u32| {
        let mut bytes = Vec::new();
        for value in [
            44,
            command::RESPOND,
            token,
            1,
            status,
            0,
            reason,
            0,
            0,
            0,
            0,
        ] {
            bytes.extend(word(value));
        }
        bytes
    };
    let cases: [(Vec<u8>, CommandError); 6] = [
        (vec![1, 2, 3], CommandError::Malformed { offset: 0 }),
        (
            [word(16), word(1)].concat(),
            CommandError::Malformed { offset: 0 },
        ),
        (
            [word(12), word(99), word(0)].concat(),
            CommandError::UnknownKind {
                offset: 0,
                kind: 99,
            },
        ),
        (
            respond(99, 0),
            CommandError::OutOfRange {
                offset: 0,
                word: "status",
            },
        ),
        (respond(200, 1), CommandError::Malformed { offset: 0 }),
        (
            respond(200, u32::MAX),
            CommandError::Malformed { offset: 0 },
        ),
    ];
    for (bytes, error) in cases {
        assert_eq!(server.shard.apply(&bytes, None), Err(error));
    }
    server
        .commands
        .write(0, command::Pause { token, sequence: 0 }, &[]);
    let mut bytes = server.commands.as_bytes().to_vec();
    let offset = bytes.len();
    bytes.extend([0xff; 12]);
    assert_eq!(
        server.shard.apply(&bytes, None),
        Err(CommandError::Malformed { offset })
    );
}
