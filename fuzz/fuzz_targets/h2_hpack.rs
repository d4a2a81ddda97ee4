//! Field blocks: another decoder must read the same fields from them, and what we encode of these fields must come
//! back in both. A connection with small limits must be at the same place in its table.
//!
//! The first byte says how large the table is; each block has its length before it, in one byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico_http::h2::FieldSection;
use portico_http::h2::hpack::{Decoder, Encoder, HpackError, OutgoingField};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fuzz_target!(|data: &[u8]| {
    let Some((&size, mut rest)) = data.split_first() else {
        return;
    };
    let table_size = u32::from(size) * 20;
    let mut ours = Decoder::new(table_size);
    let mut limited = Decoder::new(table_size);
    let mut theirs = loona_hpack::Decoder::new();
    theirs.set_max_table_size(table_size as usize);
    theirs.set_max_allowed_table_size(table_size as usize);
    let mut echo = Echo::new(table_size);
    while let Some((&length, after)) = rest.split_first() {
        let (block, after) = after.split_at(after.len().min(length.into()));
        rest = after;
        let mut section = FieldSection::new();
        section.start(1 << 24, 1 << 20);
        let result = ours.decode(block, &mut section);
        let mut small = FieldSection::new();
        small.start(300, 4);
        let small_result = limited.decode(block, &mut small);
        let fields = fields_of(&section);
        let other = theirs.decode(block);
        match (result, other) {
            (Ok(()), Ok(other)) => assert_eq!(fields, other),
            // A block that is nothing but a table size.
            (Ok(()), Err(_)) => assert!(fields.is_empty()),
            // RFC 7541, section 4.2; the other one takes it.
            (Err(HpackError::MisplacedTableSize), _) | (Err(_), Err(_)) => return,
            (Err(error), Ok(other)) => panic!("{error:?}: {other:?}"),
        }
        if small_result == Err(HpackError::ListTooLarge) {
            return;
        }
        assert_eq!(small_result, result);
        assert_eq!(limited.entries(), ours.entries());
        if !small.is_too_large() {
            assert_eq!(fields_of(&small), fields);
        }
        echo.check(&fields);
    }
});

fn fields_of(section: &FieldSection) -> Fields {
    let bytes = section.bytes();
    let field = |field: &portico_http::semantics::Field| (field.name(bytes).to_vec(), field.value(bytes).to_vec());
    section.fields().iter().map(field).collect()
}

/// Our encoder, and both decoders behind it.
struct Echo<'a> {
    encoder: Encoder,
    ours: Decoder,
    theirs: loona_hpack::Decoder<'a>,
}

impl Echo<'_> {
    fn new(table_size: u32) -> Self {
        let mut theirs = loona_hpack::Decoder::new();
        theirs.set_max_table_size(table_size as usize);
        theirs.set_max_allowed_table_size(table_size as usize);
        Self { encoder: Encoder::new(table_size), ours: Decoder::new(table_size), theirs }
    }

    fn check(&mut self, fields: &Fields) {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            self.encoder.encode(&mut block, &OutgoingField::new(name, value));
        }
        let lower: Fields = fields.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
        let mut section = FieldSection::new();
        section.start(1 << 24, 1 << 20);
        assert_eq!(self.ours.decode(&block, &mut section), Ok(()));
        assert_eq!(fields_of(&section), lower);
        assert_eq!(self.theirs.decode(&block).expect("our block"), lower);
    }
}
