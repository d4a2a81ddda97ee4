//! The results of client certificate verification, read out of their table's source: the crate itself would bring the
//! whole of the cryptography library into this program.

use std::fmt::Write as _;

/// The TypeScript copy of the table in `crates/portico-tls/src/verify_error.rs`.
pub(crate) fn generate(source: &str) -> Result<String, String> {
    let mut out = String::from(
        "// Generated from crates/portico-tls/src/verify_error.rs by `make generate`. Do not edit.\n\n\
         /** OpenSSL's names of the results of client certificate verification, by number. */\n\
         export const VERIFY_ERRORS: ReadonlyMap<number, string> = new Map([\n",
    );
    let mut rows = 0;
    for row in source.lines().filter_map(row) {
        let (number, name) = row?;
        // Writing to a String does not fail.
        let _ = writeln!(out, "  [{number}, '{name}'],");
        rows += 1;
    }
    if rows == 0 {
        return Err(
            "no row of the form `Variant = number, \"NAME\", \"text\";` was found".to_owned(),
        );
    }
    out.push_str("]);\n");
    Ok(out)
}

/// Number and name in a line like `CertRevoked = 23, "CERT_REVOKED", "certificate revoked";`.
fn row(line: &str) -> Option<Result<(u32, &str), String>> {
    let (_, rest) = line.trim().strip_suffix("\";")?.split_once(" = ")?;
    let (number, rest) = rest.split_once(", \"")?;
    let (name, _) = rest.split_once("\", \"")?;
    Some(
        parse(number)
            .map(|number| (number, name))
            .ok_or_else(|| format!("'{number}' is no number")),
    )
}

fn parse(text: &str) -> Option<u32> {
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x") {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok(),
        None => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn a_row_becomes_an_entry() {
        let source = "    /// Doc.\n    CertRevoked = 23, \"CERT_REVOKED\", \"certificate revoked\";\n    None = 0x1_0000, \"A\", \"b\";";
        let text = generate(source).unwrap_or_default();
        assert!(text.contains("[23, 'CERT_REVOKED']"), "{text}");
        assert!(text.contains("[65536, 'A']"), "{text}");
    }

    #[test]
    fn a_source_without_rows_is_an_error() {
        assert!(generate("nothing").is_err());
    }
}
