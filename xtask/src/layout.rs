//! The TypeScript copy of the tables of records: where each word stands, kinds, flags.
//!
//! Places are members of `const enum`s, which the compiler puts in as numbers: reading a word costs what a literal index
//! costs.

use portico_channel::layout::{self, NUMBERS, command, event};
use portico_channel::schema::{GroupSchema, HEAD_BYTES, RecordSchema, Type, WordSchema};
use portico_channel::token;

/// Bytes of a word.
const WORD_BYTES: usize = 4;

/// `generated/layout.ts`.
///
/// # Errors
/// A table in which a number would not lie in a word of its own or a part of one.
pub(crate) fn generate() -> Result<String, String> {
    let mut out = String::from(
        "// Generated from crates/portico-channel/src/layout by `make generate`. Do not edit.\n\n",
    );
    for (name, value) in [
        ("LAYOUT_VERSION", layout::LAYOUT_VERSION),
        ("FINGERPRINT", layout::fingerprint(crate::tables::hash())),
        ("SLOT_BITS", token::SLOT_BITS),
        ("SLOT_MASK", token::SLOT_MASK),
        ("GENERATION_BITS", token::GENERATION_BITS),
        ("TEMPLATE_BYTES", layout::TEMPLATE_BYTES),
        ("HEAD_BYTES", layout::HEAD_BYTES),
        ("RECORD_BYTES", layout::RECORD_BYTES),
    ] {
        out += &format!("export const {name} = {value};\n");
    }
    for (prefix, records) in [("EVENT", event::EVENTS), ("COMMAND", command::COMMANDS)] {
        for record in records {
            out += &format!("export const {prefix}_{} = {};\n", record.name, record.kind);
        }
    }
    for numbers in NUMBERS {
        for (name, number, _) in numbers.numbers {
            let module = numbers.name.to_uppercase();
            out += &format!("export const {module}_{name} = {number};\n");
        }
    }
    out += "\n/** Words that every record begins with. */\nexport const enum RecordHead {\n  SIZE = 0,\n  KIND = 1,\n  \
            KIND_MASK = 255,\n  FLAGS_SHIFT = 8,\n  TOKEN = 2,\n}\n\n\
            /** Words of a range, from its first. */\nexport const enum RangeWords {\n  OFFSET = 0,\n  LENGTH = 1,\n}\n\n\
            /** Words of a number of 64 bits, from its first. */\nexport const enum LongWords {\n  LOW = 0,\n  HIGH = 1,\n}\n";
    for group in groups() {
        let doc = format!("{} Places count from its first word.", one_line(group.doc));
        out += &places(group.type_name, &doc, group.words, 0)?;
    }
    for (prefix, records) in [("Event", event::EVENTS), ("Command", command::COMMANDS)] {
        for record in records {
            let name = format!("{prefix}{}", record.type_name);
            let doc = format!("Words of `{}`.", record.name);
            out += &places(&name, &doc, record.words, HEAD_BYTES)?;
        }
    }
    Ok(out)
}

/// Groups that the records use, each once.
pub(crate) fn groups() -> Vec<&'static GroupSchema> {
    let mut found: Vec<&'static GroupSchema> = Vec::new();
    let mut add = |value: Type| {
        if let Type::Group(group) = value
            && !found.contains(&group)
        {
            found.push(group);
        }
    };
    for record in all() {
        record.words.iter().for_each(|word| add(word.value));
        if let Some((_, entry)) = record.table {
            add(entry);
        }
    }
    found
}

fn all() -> impl Iterator<Item = &'static RecordSchema> {
    event::EVENTS.iter().chain(command::COMMANDS)
}

/// A doc comment as one line.
pub(crate) fn one_line(doc: &str) -> String {
    let words: Vec<&str> = doc.split_whitespace().collect();
    words.join(" ")
}

fn places(name: &str, doc: &str, words: &[WordSchema], start: usize) -> Result<String, String> {
    let mut members = Vec::new();
    let mut at = start;
    for word in words {
        let upper = word.name.to_uppercase();
        let index = at / WORD_BYTES;
        let bytes = word.value.bytes();
        if !at.is_multiple_of(bytes.min(WORD_BYTES)) {
            return Err(format!("{name}.{}: not within one word", word.name));
        }
        match word.value {
            Type::U8 | Type::U16 => {
                members.push((upper.clone(), index));
                members.push((format!("{upper}_SHIFT"), at % WORD_BYTES * 8));
                members.push((format!("{upper}_MASK"), (1 << (bytes * 8)) - 1));
            }
            Type::U64 => {
                members.push((format!("{upper}_LOW"), index));
                members.push((format!("{upper}_HIGH"), index + 1));
            }
            Type::Range => {
                members.push((format!("{upper}_OFFSET"), index));
                members.push((format!("{upper}_LENGTH"), index + 1));
            }
            _ => members.push((upper, index)),
        }
        at += bytes;
    }
    if !at.is_multiple_of(WORD_BYTES) {
        return Err(format!("{name}: its last word is not full"));
    }
    let mut out = format!("\n/** {doc} */\nexport const enum {name} {{\n");
    for (member, index) in members {
        out += &format!("  {member} = {index},\n");
    }
    out += &format!("  WORDS = {},\n  BYTES = {at},\n}}\n", at / WORD_BYTES);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{generate, places};
    use portico_channel::schema::{Type, WordSchema};

    const fn word(name: &'static str, value: Type) -> WordSchema {
        WordSchema {
            name,
            doc: "",
            value,
        }
    }

    #[test]
    fn every_word_has_its_place() {
        let words = [
            word("token", Type::U32),
            word("low", Type::U8),
            word("middle", Type::U8),
            word("high", Type::U16),
            word("text", Type::Range),
            word("length", Type::U64),
        ];
        let text = places("Some", "Words of `SOME`.", &words, 8).unwrap_or_default();
        for line in [
            "TOKEN = 2,",
            "LOW = 3,\n  LOW_SHIFT = 0,\n  LOW_MASK = 255,",
            "MIDDLE_SHIFT = 8,",
            "HIGH = 3,\n  HIGH_SHIFT = 16,\n  HIGH_MASK = 65535,",
            "TEXT_OFFSET = 4,\n  TEXT_LENGTH = 5,",
            "LENGTH_LOW = 6,\n  LENGTH_HIGH = 7,",
            "WORDS = 8,\n  BYTES = 32,",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn a_number_across_two_words_is_refused() {
        let words = [word("small", Type::U8), word("large", Type::U32)];
        assert!(places("Some", "", &words, 0).is_err());
        assert!(places("Some", "", &words[..1], 0).is_err());
    }

    #[test]
    fn the_tables_can_be_written() {
        let text = generate().unwrap_or_default();
        assert!(text.contains("export const enum CommandRespond {"));
        assert!(text.contains("export const REQUEST_FLAG_COMPLETE = 2;"));
    }
}
