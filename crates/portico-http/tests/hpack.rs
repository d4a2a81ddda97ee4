//! HPACK: the rows of `tests/rows/hpack.txt`, and another implementation.

#![allow(clippy::unwrap_used, reason = "tests")]

use portico_http::h2::FieldSection;
use portico_http::h2::hpack::{Decoder, Encoder, HpackError, OutgoingField, encode_independent};
use proptest::prelude::*;

fn bytes_of_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| char::from(byte).to_digit(16).unwrap() as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// A section that takes what is not absurd.
fn section() -> FieldSection {
    let mut section = FieldSection::new();
    section.start(1 << 20, 10_000);
    section
}

fn fields_of(section: &FieldSection) -> Vec<(Vec<u8>, Vec<u8>)> {
    let bytes = section.bytes();
    section
        .fields()
        .iter()
        .map(|field| (field.name(bytes).to_vec(), field.value(bytes).to_vec()))
        .collect()
}

#[test]
fn the_rows_come_out() {
    let mut decoder = Decoder::new(4096);
    let mut expected: Vec<String> = Vec::new();
    let mut decoded: Vec<String> = Vec::new();
    let rows = include_str!("rows/hpack.txt");
    for (index, line) in rows.lines().enumerate() {
        let place = index + 1;
        let (word, rest) = line.trim().split_once(' ').unwrap_or_default();
        if let Some(row) = line.strip_prefix("  ") {
            if word == "entries" {
                assert_eq!(decoder.entries().to_string(), rest, "line {place}");
                assert_eq!(decoded, expected, "before line {place}");
            } else {
                expected.push(row.to_owned());
            }
            continue;
        }
        match word {
            "table" => decoder = Decoder::new(rest.parse().unwrap()),
            "block" => {
                let mut section = section();
                let result = decoder.decode(&bytes_of_hex(rest), &mut section);
                assert_eq!(result, Ok(()), "line {place}");
                expected.clear();
                let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
                decoded = fields_of(&section)
                    .into_iter()
                    .map(|(name, value)| format!("{}: {}", text(name), text(value)))
                    .collect();
            }
            "error" => {
                let (hex, name) = rest.rsplit_once(' ').unwrap();
                let error = decoder.decode(&bytes_of_hex(hex), &mut section());
                assert_eq!(format!("{:?}", error.unwrap_err()), name, "line {place}");
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "line {place}"),
        }
    }
}

#[test]
fn a_table_that_settings_made_smaller_must_be_confirmed() {
    let mut decoder = Decoder::new(4096);
    decoder.set_allowed_size(0);
    let result = decoder.decode(&[0x82], &mut section());
    assert_eq!(result, Err(HpackError::MissingTableSize));
    assert_eq!(decoder.decode(&[0x20, 0x82], &mut section()), Ok(()));
    let result = decoder.decode(&[0x21], &mut section());
    assert_eq!(result, Err(HpackError::TableSizeTooLarge));
}

#[test]
fn fields_that_are_too_many_are_dropped_and_the_table_stays_right() {
    let mut decoder = Decoder::new(4096);
    let mut section = FieldSection::new();
    section.start(80, 100);
    // Three fields of 34 bytes each as the limit counts, all of which become entries.
    let block = bytes_of_hex("40 01 61 01 62  40 01 63 01 64  40 01 65 01 66");
    assert_eq!(decoder.decode(&block, &mut section), Ok(()));
    assert!(section.is_too_large() && section.fields().is_empty());
    assert_eq!(section.size(), 102);
    section.start(80, 100);
    assert_eq!(decoder.decode(&[0xbe, 0xc0], &mut section), Ok(()));
    let field = |name: &str, value: &str| (name.into(), value.into());
    assert_eq!(fields_of(&section), [field("e", "f"), field("a", "b")]);
    section.start(80, 1);
    assert_eq!(decoder.decode(&[0xbe, 0xc0], &mut section), Ok(()));
    assert!(section.is_too_large() && section.fields().is_empty());
}

#[test]
fn a_block_that_stands_for_far_more_than_is_allowed_is_given_up() {
    let mut decoder = Decoder::new(4096);
    let mut block = vec![0x40, 0x7f, 0xa1, 0x1e];
    block.extend([b'a'; 4000]);
    block.push(0);
    let mut section = FieldSection::new();
    section.start(16_384, 1000);
    assert_eq!(decoder.decode(&block, &mut section), Ok(()));
    let memory = section.bytes().len();
    assert_eq!(decoder.decode(&[0xbe; 12], &mut section), Ok(()));
    assert!(section.is_too_large() && section.bytes().len() <= memory);
    let result = decoder.decode(&[0xbe; 100], &mut section);
    assert_eq!(result, Err(HpackError::ListTooLarge));
}

#[test]
fn a_field_that_is_sent_again_becomes_one_byte() {
    let mut encoder = Encoder::new(4096);
    let mut decoder = Decoder::new(4096);
    let sent = [
        ("Content-Type", "text/html; charset=utf-8"),
        ("X-Powered-By", "Express"),
        ("Set-Cookie", "id=secret"),
    ];
    let mut lengths = Vec::new();
    for _ in 0..4 {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        encoder.status(&mut block, 201);
        for (name, value) in sent {
            let field = OutgoingField::new(name.as_bytes(), value.as_bytes());
            encoder.encode(&mut block, &field);
        }
        lengths.push(block.len());
        let mut section = section();
        assert_eq!(decoder.decode(&block, &mut section), Ok(()));
        let fields = fields_of(&section);
        assert_eq!(fields[0], (b":status".to_vec(), b"201".to_vec()));
        assert_eq!(fields[2], (b"x-powered-by".to_vec(), b"Express".to_vec()));
        assert_eq!(fields.len(), 4);
    }
    // What holds a secret is never an entry.
    assert_eq!(decoder.entries(), 3);
    assert_eq!(lengths[2], lengths[3]);
    assert!(lengths[0] > 40 && lengths[2] < 16, "{lengths:?}");
}

#[test]
fn an_independent_head_fits_any_connection_at_any_time() {
    let mut head = Vec::new();
    let fields = [
        ("Content-Type", "text/plain"),
        ("accept-encoding", "gzip, deflate"),
    ];
    let outgoing =
        fields.map(|(name, value)| OutgoingField::new(name.as_bytes(), value.as_bytes()));
    encode_independent(&mut head, 200, outgoing);
    let mut encoder = Encoder::new(4096);
    let mut decoder = Decoder::new(4096);
    for round in 0..10 {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        block.extend_from_slice(&head);
        let value = (round / 3).to_string();
        encoder.encode(
            &mut block,
            &OutgoingField::new(b"X-Round", value.as_bytes()),
        );
        let mut section = section();
        assert_eq!(decoder.decode(&block, &mut section), Ok(()));
        let fields: Vec<_> = fields_of(&section);
        assert_eq!(fields[0].1, b"200");
        assert_eq!(fields[1].0, b"content-type");
        assert_eq!(fields[3].1, value.as_bytes());
        if round == 5 {
            encoder.set_table_size(0);
            encoder.set_table_size(200);
        }
    }
}

/// Names and values that repeat, and others.
fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let name = prop_oneof![
        Just(b"content-type".to_vec()),
        Just(b"x-own".to_vec()),
        Just(b":path".to_vec()),
        Just(b"set-cookie".to_vec()),
        "[a-z-]{1,40}".prop_map(String::into_bytes),
    ];
    let value = prop_oneof![
        Just(b"text/html".to_vec()),
        Just(Vec::new()),
        "[ -~]{0,60}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..200),
    ];
    (name, value)
}

fn blocks() -> impl Strategy<Value = Vec<Vec<(Vec<u8>, Vec<u8>)>>> {
    proptest::collection::vec(proptest::collection::vec(field(), 1..12), 1..8)
}

proptest! {
    #[test]
    fn what_we_encode_another_decoder_reads(blocks in blocks(), sizes in proptest::collection::vec(0_u32..5000, 8)) {
        let mut encoder = Encoder::new(4096);
        let mut ours = Decoder::new(5000);
        let mut theirs = loona_hpack::Decoder::new();
        theirs.set_max_allowed_table_size(5000);
        for (index, fields) in blocks.iter().cycle().take(blocks.len() * 3).enumerate() {
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value) in fields {
                encoder.encode(&mut block, &OutgoingField::new(name, value));
            }
            let decoded = theirs.decode(&block).map_err(|error| format!("{error:?}"));
            prop_assert_eq!(decoded.as_ref(), Ok(fields));
            let mut section = section();
            prop_assert_eq!(ours.decode(&block, &mut section), Ok(()));
            prop_assert_eq!(&fields_of(&section), fields);
            if let Some(size) = sizes.get(index) {
                encoder.set_table_size(*size);
            }
        }
    }

    #[test]
    fn what_another_encoder_encodes_we_read(blocks in blocks()) {
        let mut encoder = loona_hpack::Encoder::new();
        let mut decoder = Decoder::new(4096);
        for fields in blocks.iter().cycle().take(blocks.len() * 2) {
            let borrowed = fields.iter().map(|(name, value)| (&name[..], &value[..]));
            let block = encoder.encode(borrowed);
            let mut section = section();
            prop_assert_eq!(decoder.decode(&block, &mut section), Ok(()));
            prop_assert_eq!(&fields_of(&section), fields);
        }
    }

    #[test]
    fn any_bytes_are_read_alike_by_another_decoder(
        blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..5),
    ) {
        let mut ours = Decoder::new(4096);
        let mut theirs = loona_hpack::Decoder::new();
        theirs.set_max_allowed_table_size(4096);
        for block in blocks {
            let mut section = section();
            let result = ours.decode(&block, &mut section);
            let other = theirs.decode(&block);
            // A block that is nothing but a table size changes nothing for us; the other one refuses it.
            let is_size_alone = section.fields().is_empty() && result == Ok(());
            // And it takes one behind a field, where RFC 7541, section 4.2, has none.
            let is_size_behind = result == Err(HpackError::MisplacedTableSize);
            prop_assert!(result.is_ok() == other.is_ok() || is_size_alone || is_size_behind, "{:?} {:?}", result, other.is_ok());
            let (Ok(()), Ok(other)) = (result, other) else {
                break;
            };
            prop_assert_eq!(fields_of(&section), other);
        }
    }
}
