//! The HTTP tables: methods, field names, parse errors. Each is an array indexed by the number that records carry.

use std::fmt::Write as _;

use portico_http::FIELD_NAMES;
use portico_http::Method;
use portico_http::h1::ParseErrorCode;

pub(crate) fn generate() -> String {
    let mut out =
        String::from("// Generated from crates/portico-http by `make generate`. Do not edit.\n");
    let methods = Method::ALL
        .iter()
        .map(|method| (usize::from(method.number()), quote(method.as_str())));
    array(&mut out, "Methods by number.", "METHODS", "string", methods);
    let names = FIELD_NAMES
        .iter()
        .enumerate()
        .map(|(number, name)| (number, quote(name)));
    array(
        &mut out,
        "Well-known field names, lower case, by number.",
        "FIELD_NAMES",
        "string",
        names,
    );
    let codes = ParseErrorCode::ALL
        .iter()
        .map(|code| (usize::from(code.number()), quote(code.name())));
    array(
        &mut out,
        "`code` of parse errors by number.",
        "PARSE_ERROR_CODES",
        "string",
        codes,
    );
    let reasons = ParseErrorCode::ALL
        .iter()
        .map(|code| (usize::from(code.number()), quote(code.reason())));
    array(
        &mut out,
        "`reason` of parse errors by number.",
        "PARSE_ERROR_REASONS",
        "string",
        reasons,
    );
    out
}

/// `layout/tables.rs` of portico-channel: what the fingerprint of the layout says of the tables.
pub(crate) fn generate_fingerprint() -> String {
    format!(
        "// Generated from crates/portico-http by `make generate`. Do not edit.\n\n\
         /// Hash of the tables of numbers that records carry: methods, names of fields, errors of parsing.\n\
         pub(super) const TABLES: u32 = {};\n",
        hash()
    )
}

/// FNV-1a of the tables, 32 bits.
pub(crate) fn hash() -> u32 {
    generate().bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Numbers that no entry has get an empty string.
fn array(
    out: &mut String,
    about: &str,
    name: &str,
    kind: &str,
    entries: impl Iterator<Item = (usize, String)>,
) {
    let mut slots: Vec<String> = Vec::new();
    for (number, text) in entries {
        if slots.len() <= number {
            slots.resize(number + 1, "''".to_owned());
        }
        if let Some(slot) = slots.get_mut(number) {
            *slot = text;
        }
    }
    // Writing to a String does not fail.
    let _ = write!(
        out,
        "\n/** {about} */\nexport const {name}: readonly {kind}[] = [\n"
    );
    for slot in slots {
        let _ = writeln!(out, "  {slot},");
    }
    out.push_str("];\n");
}
