use super::*;
use crate::layout::{alpn_flag, command, event, response_flag};
use crate::{CommandWriter, EventWriter, Records, Response, opening};

fn first(bytes: &[u8]) -> RecordView<'_> {
    Records::new(bytes).next().unwrap().unwrap()
}

fn request(fields: &[event::Field]) -> Vec<u8> {
    let mut memory = [0; 256];
    let mut events = EventWriter::new(&mut memory);
    let head = b"GET /x HTTP/1.1\r\nHost: y\r\n\r\n";
    let words = event::Request {
        token: 5,
        sequence: 6,
        method: 1,
        major_version: 1,
        minor_version: 1,
        scheme: 1,
        field_count: fields.len() as u32,
        target: Range {
            offset: event::Request::payload_offset(fields.len()) + 4,
            length: 2,
        },
        content_length: u64::MAX - 1,
        ..event::Request::default()
    };
    let mut room = events.write(3, words, fields.len(), head.len()).unwrap();
    room.fill_table(fields.iter().copied());
    room.put(0, head);
    events.written().to_vec()
}

fn field(offset: u32) -> event::Field {
    event::Field {
        name_length: 4,
        name_number: 9,
        name_offset: offset + 17,
        value: Range {
            offset: offset + 23,
            length: 1,
        },
    }
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let offset = event::Request::payload_offset(1);
    let bytes = request(&[field(offset)]);
    let record = first(&bytes);
    assert!(event::is_sound(record));
    assert_eq!((record.kind(), record.flags()), (event::REQUEST, 3));
    let view = record.read::<event::Request>().unwrap();
    assert_eq!((view.token, view.sequence), (5, 6));
    assert_eq!((view.method, view.major_version, view.scheme), (1, 1, 1));
    assert_eq!(view.content_length, u64::MAX - 1);
    assert_eq!(view.bytes(view.target), b"/x");
    assert_eq!(view.bytes(view.rest), b"");
    let fields: Vec<_> = view.fields().collect();
    assert_eq!(fields, [field(offset)]);
    assert_eq!(view.bytes(fields[0].name()), b"Host");
    assert_eq!(view.bytes(fields[0].value), b"y");
}

#[test]
fn words_stand_where_the_table_says() {
    let bytes = request(&[]);
    assert_eq!(event::Request::BYTES, 56);
    assert_eq!(bytes[8..16], [5, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(bytes[16..24], [1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(bytes[24..32], [60, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(bytes[48..56], [0xfe, 255, 255, 255, 255, 255, 255, 255]);
}

#[test]
fn pieces_follow_each_other() {
    let mut commands = CommandWriter::new();
    let response = Response {
        status: 200,
        reason: b"Fine",
        fields: b"A: b\r\n",
        body: b"hello",
        content_length: 5,
        ..Response::default()
    };
    commands.respond(1, 2, &response);
    let head = first(commands.as_bytes())
        .read::<command::Respond>()
        .unwrap();
    assert_eq!((head.status, head.content_length), (200, 5));
    assert_eq!(head.reason(), b"Fine");
    assert_eq!(head.fields(), b"A: b\r\n");
    assert_eq!(head.body(), b"hello");
}

#[test]
fn a_body_beside_its_record_need_not_lie_in_it_and_what_comes_before_must() {
    let words = command::Respond {
        reason_bytes: 4,
        body_bytes: 1 << 20,
        ..command::Respond::default()
    };
    let mut bytes = opening(response_flag::EXTERNAL, words, 4);
    bytes.extend_from_slice(b"Fine");
    assert!(command::is_sound(first(&bytes)));
    assert_eq!(
        first(&bytes).read::<command::Respond>().unwrap().body(),
        b""
    );
    set_flags(&mut bytes, 0);
    assert!(!command::is_sound(first(&bytes)));
    set_flags(&mut bytes, response_flag::EXTERNAL);
    rewrite::<command::Respond>(&mut bytes, |head| head.reason_bytes = 5);
    assert!(!command::is_sound(first(&bytes)));
}

/// Every record of both tables, with all words 0.
fn shortest(kind: u32, words_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; words_bytes];
    bytes[..4].copy_from_slice(&(words_bytes as u32).to_le_bytes());
    bytes[4] = kind as u8;
    bytes
}

#[test]
fn a_record_of_every_kind_is_sound_with_its_words_and_not_with_fewer() {
    type IsSound = fn(RecordView<'_>) -> bool;
    let tables: [(&[RecordSchema], IsSound); 2] = [
        (event::EVENTS, event::is_sound),
        (command::COMMANDS, command::is_sound),
    ];
    for (table, is_sound) in tables {
        for (index, schema) in table.iter().enumerate() {
            assert_eq!(schema.kind as usize, index + 1, "in the order of numbers");
            let words = schema.words.iter().map(|word| word.value.bytes());
            let size = HEAD_BYTES + words.sum::<usize>();
            assert!(
                is_sound(first(&shortest(schema.kind, size))),
                "{}",
                schema.name
            );
            if size > 12 {
                let bytes = shortest(schema.kind, size - 4);
                assert!(!is_sound(first(&bytes)), "{}", schema.name);
            }
        }
        assert!(!is_sound(first(&shortest(0, 64))));
        assert!(!is_sound(first(&shortest(200, 64))));
    }
}

#[test]
fn a_place_outside_of_its_record_is_no_place() {
    for (offset, length) in [(0, 1 << 20), (200, 0), (u32::MAX, u32::MAX), (52, 5)] {
        let mut bytes = shortest(event::REQUEST, event::Request::BYTES);
        rewrite::<event::Request>(&mut bytes, |words| words.target = Range { offset, length });
        assert!(!event::is_sound(first(&bytes)), "{offset} {length}");
    }
    let mut bytes = shortest(event::REQUEST, event::Request::BYTES);
    rewrite::<event::Request>(&mut bytes, |words| words.field_count = 1);
    assert!(!event::is_sound(first(&bytes)), "a table that is not there");
    let mut bytes = shortest(event::END, event::End::BYTES);
    rewrite::<event::End>(&mut bytes, |words| words.field_count = u32::MAX);
    assert!(!event::is_sound(first(&bytes)));
}

#[test]
fn an_entry_that_names_a_place_outside_is_found_in_a_record_of_an_untrusted_side() {
    for bad in [
        event::Field {
            name_offset: 4000,
            ..field(60)
        },
        event::Field {
            value: Range {
                offset: 80,
                length: 90,
            },
            ..field(60)
        },
    ] {
        let bytes = request(&[field(60), bad]);
        assert!(first(&bytes).read::<event::Request>().is_some());
        assert!(!event::is_sound(first(&bytes)), "{bad:?}");
    }
}

#[test]
fn flags_change_and_the_kind_stays() {
    let mut bytes = opening(alpn_flag::NONE, command::Alpn::default(), 0);
    set_flags(&mut bytes, 0x00ab_cdef);
    let record = first(&bytes);
    assert_eq!(
        (record.kind(), record.flags()),
        (command::ALPN, 0x00ab_cdef)
    );
    assert_eq!(record.size(), bytes.len());
    set_flags(&mut [0; 3], 1);
}
