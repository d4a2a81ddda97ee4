//! `docs/records.md`: the tables of records as a page to read.

use std::fmt::Write as _;

use portico_channel::layout::{self, NUMBERS, command, event};
use portico_channel::schema::{HEAD_BYTES, RecordSchema, Type, WordSchema};

use crate::layout::{groups, one_line};

const BEGINNING: &str = "\
<!-- Generated from crates/portico-channel/src/layout by `make generate`. Do not edit. -->

# Records

The engine and an application exchange records: **events** go to the application, **commands** to the engine. Between
threads they travel in rings, between a host and its processes in shared memory (`portico-channel`), and the JavaScript
lane of the same thread reads and writes them in place. This page names every word of them. The source is the tables in
`crates/portico-channel/src/layout`; from these come the Rust structs, the TypeScript places
(`packages/portico/src/generated/layout.ts`) and this page.

A record is a row of 32-bit little-endian words, then its table if it has one, then its payload, padded to a multiple of
four bytes. Places are byte offsets from the record's first byte. Every record begins with:

| at | name | type | meaning |
|---|---|---|---|
| 0 | size | u32 | bytes of the whole record, padding included |
| 4 | kind | u8 | which record it is |
| 5 | flags | 24 bits | as the kind says |

Types: `u8`, `u16`, `u32` and `u64` are numbers; `range` is an offset from the record's first byte and a length, 32 bits
each; `address` is 16 bytes in network order; other names are groups, listed [below](#groups). The payload of a command is
its pieces one behind the other, in the order in which they are named; `EXTERNAL` moves the last one out of the record.

What an untrusted side wrote is checked before anything is read from it: the record has the words of its kind, ranges and
pieces lie in it, and so do as many entries of its table as it says.

A **connection token** is `slot | generation << 20`, 20 bits of slot and 11 of generation; the index of a thread stands in
the highest bits of the slot. A **sequence number** names a request on its connection, counted from 1; in
HTTP/2 it is the stream's number.
";

/// The page.
pub(crate) fn generate() -> String {
    let mut out = String::from(BEGINNING);
    let _ = writeln!(
        out,
        "\nLayout version: {}. Both sides must have the same, and have been built from the same tables (`FINGERPRINT`, a hash of them): an application that joins a host of another version is refused.",
        layout::LAYOUT_VERSION
    );
    for (title, records) in [("Events", event::EVENTS), ("Commands", command::COMMANDS)] {
        let _ = writeln!(out, "\n## {title}");
        for record in records {
            write_record(&mut out, record);
        }
    }
    let _ = writeln!(out, "\n## Groups");
    for group in groups() {
        let _ = writeln!(
            out,
            "\n### {}\n\n{}\n",
            group.type_name,
            one_line(group.doc)
        );
        write_words(&mut out, group.words, 0);
    }
    let _ = writeln!(out, "\n## Flags and values");
    for numbers in NUMBERS {
        let _ = writeln!(out, "\n### {}\n\n{}\n", numbers.name, one_line(numbers.doc));
        out.push_str("| name | number | meaning |\n|---|---|---|\n");
        for (name, number, doc) in numbers.numbers {
            let _ = writeln!(out, "| `{name}` | {number} | {} |", cell(doc));
        }
    }
    out
}

fn write_record(out: &mut String, record: &RecordSchema) {
    let _ = writeln!(out, "\n### {} ({})\n", record.name, record.kind);
    for paragraph in record.doc.split("\n\n") {
        let _ = writeln!(out, "{}\n", one_line(paragraph));
    }
    write_words(out, record.words, HEAD_BYTES);
    let mut notes = Vec::new();
    if let Some((name, Type::Group(entry))) = record.table {
        notes.push(format!(
            "Table `{name}`: [{0}](#{1}) each.",
            entry.type_name,
            entry.type_name.to_lowercase()
        ));
    }
    if !record.parts.is_empty() {
        let parts: Vec<String> = record
            .parts
            .iter()
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        notes.push(format!("Payload: {}.", parts.join(", ")));
    }
    if !record.flags.is_empty() {
        notes.push(format!("Flags: [{0}](#{0}).", record.flags));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "\n{}", notes.join(" "));
    }
}

fn write_words(out: &mut String, words: &[WordSchema], start: usize) {
    out.push_str("| at | name | type | meaning |\n|---|---|---|---|\n");
    let mut at = start;
    for word in words {
        let _ = writeln!(
            out,
            "| {at} | `{}` | {} | {} |",
            word.name,
            type_name(word.value),
            cell(word.doc)
        );
        at += word.value.bytes();
    }
}

fn type_name(value: Type) -> &'static str {
    match value {
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::I32 => "i32",
        Type::U64 => "u64",
        Type::Range => "range",
        Type::Address => "address",
        Type::Group(group) => group.type_name,
        _ => "",
    }
}

/// Text as a cell of a table.
fn cell(doc: &str) -> String {
    one_line(doc).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn every_record_and_flag_is_on_the_page() {
        let page = generate();
        for text in [
            "### REQUEST (3)",
            "| 16 | `method` | u8 |",
            "### RESPOND (1)",
            "Payload: `reason`, `fields`, `body`.",
            "### Endpoints",
            "| `EXTERNAL` | 1024 |",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
}
