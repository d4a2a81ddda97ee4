//! Reads bytes as hexadecimal digits, one request a line, and writes Portico's verdict on each in the words of
//! `tests/wire/README.md`, then a tab and the fields of the head. `tests/wire/compare-random.mjs` runs this.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{BufRead as _, BufWriter, Result, Write as _, stdin, stdout};

fn main() -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let outcome = support::verdict(&bytes(line?.as_bytes()), &[]);
        writeln!(out, "{}\t{}", outcome.verdict, outcome.fields)?;
    }
    out.flush()
}

fn bytes(digits: &[u8]) -> Vec<u8> {
    let value = |digit: &u8| char::from(*digit).to_digit(16).unwrap_or(0) as u8;
    digits
        .as_chunks::<2>()
        .0
        .iter()
        .map(|[high, low]| value(high) << 4 | value(low))
        .collect()
}
